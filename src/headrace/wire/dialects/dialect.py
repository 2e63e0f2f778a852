"""The seam of all dialects, frames in and facts to the ledger, and what those of JSON share."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Protocol, TypeVar

import msgspec

from headrace.events import OutputsKind
from headrace.outcome import ErrorInfo
from headrace.wire.error import failure_from
from headrace.wire.framing.frame import Frame
from headrace.wire.json.payload import NotJSON, PayloadDecoder, parse
from headrace.wire.json.value import as_object
from headrace.wire.ledger import Ledger
from headrace.wire.limits import Limits

T = TypeVar("T", bound=msgspec.Struct)


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

    def fail(self, failure: ErrorInfo) -> None:
        """The turn breaks: state what is still held back, and the failure."""
        ...


class JSONDialect(Generic[T]):
    """A grammar whose frames are JSON objects of one kind. A dialect adds `feed`, and says
    in `_release` what it holds back until the end."""

    outputs: ClassVar[OutputsKind] = "candidates"
    """What output numbers mean in this grammar, unless the decoder is told."""
    deltas: ClassVar[frozenset[str]] = frozenset()
    """The fields whose texts go on from frame to frame, wherever they stand."""

    def __init__(self, ledger: Ledger, kind: type[T], limits: Limits) -> None:
        self.ledger = ledger
        self._max_depth = limits.max_depth
        payloads = PayloadDecoder(kind, limits.max_depth, self.deltas, ledger.join_halves)
        self._decode = payloads.decode
        # For grammars whose frames come by the thousand: see `PayloadDecoder`.
        self._decode_shallow = payloads.decode_shallow
        self._shallow_bytes = payloads.shallow_bytes

    def close(self) -> None:
        """End of bytes."""
        self._end(has_terminator=False)

    def fail(self, failure: ErrorInfo) -> None:
        """The turn breaks."""
        self._release()
        self.ledger.fail(failure)

    def _end(self, *, has_terminator: bool) -> None:
        self._release()
        self.ledger.end(has_terminator=has_terminator)

    def _release(self) -> None:
        """Say what is held back."""

    def _payload(self, frame: Frame) -> T | None:
        """The payload; None where the frame has none, and all is said about it."""
        try:
            return self._decode(frame.data)
        except NotJSON:
            self._unreadable(frame)
            return None

    def _unreadable(self, frame: Frame) -> None:
        """The terminator, an error in words, nothing, or something that is skipped."""
        data = frame.data.strip()
        if data == b"[DONE]":
            self._end(has_terminator=True)
        elif "error" in (frame.event, frame.field):
            self.fail(failure_from(frame.text))
        elif data:
            self.ledger.skip_frame()

    def _whole(self, frame: Frame) -> dict[str, Any]:
        """The payload with all its fields; only seldom frames are read a second time."""
        return as_object(parse(frame.data, self._max_depth))
