"""The seam of a log, as a run sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from headrace.errors import HeadraceError
from headrace.events import Record


class SinkFailed(HeadraceError):
    """The log could not take a record; the run ends as `storage`."""


class Sink(Protocol):
    """A log. A record is shown to nobody before it is there."""

    async def append(self, records: Sequence[Record]) -> None:
        """Keep these, in order."""
        ...


@runtime_checkable
class PromptSink(Sink, Protocol):
    """A log that can be handed records without a wait for each. It is used so where nobody
    else has to be asked about them; what it has not kept yet is still shown to nobody."""

    def put(self, records: Sequence[Record], done: Callable[[Exception | None], None]) -> None:
        """Keep these behind what was put before, and call `done` in the event loop, in the
        order of the puts. Once some could not be kept, none after them may be."""
        ...
