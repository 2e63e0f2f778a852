"""`CitationBuffer`: the citations of one content block, which may arrive before its text."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from headrace.events import CitationAdded
from headrace.wire.ledger import Output


class CitationBuffer:
    """Adds the citations of a block to the output, each as soon as the block has a part.

    `create` makes the event of a citation, for a part or for none.
    """

    __slots__ = ("_create", "_item_key", "_output", "pending")

    def __init__(
        self,
        output: Output,
        item_key: Hashable,
        create: Callable[[int | None, dict[str, Any]], CitationAdded],
    ) -> None:
        self._output = output
        self._item_key = item_key
        self._create = create
        self.pending: list[dict[str, Any]] = []
        """Citations that came before the text of the block."""

    def add(self, citation: dict[str, Any]) -> None:
        """Add a citation, or keep it until the block has a part."""
        part = self._output.find_part(self._item_key)
        if part is None:
            self._output.count_citation()
            self.pending.append(citation)
            return
        self._output.cite(self._create(part, citation))

    def flush(self) -> None:
        """Add the pending citations. Call it after text has been added."""
        pending, self.pending = self.pending, []
        for citation in pending:
            self.add(citation)

    def close(self) -> None:
        """Add the citations of a block that never got a part."""
        for citation in self.pending:
            self._output.cite(self._create(None, citation))
