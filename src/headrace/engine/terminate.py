"""The way to end a run from inside a hook or a tool."""

from __future__ import annotations

from headrace.errors import HeadraceError


class Terminate(HeadraceError):
    """Raise it in any hook or tool to end the run with a reason: it ends as
    `aborted(terminated)`, with every call answered."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
