"""The seam of all dialects: frames in, facts to the ledger."""

from __future__ import annotations

from typing import Protocol

from headrace.content import Failure
from headrace.wire.framing.frame import Frame
from headrace.wire.ledger import Ledger


class Dialect(Protocol):
    """One wire grammar. It states facts to its ledger, which makes the events; after the
    ledger has finished it is not fed any more."""

    ledger: Ledger

    def feed(self, frame: Frame) -> None:
        """Read one frame. Raises `WireError` where the stream cannot go on."""
        ...

    def close(self) -> None:
        """The bytes have ended: state what is still held back, and the end."""
        ...

    def fail(self, failure: Failure) -> None:
        """The turn breaks: state what is still held back, and the failure."""
        ...
