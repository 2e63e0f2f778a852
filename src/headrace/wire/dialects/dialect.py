"""The base class of all dialects: frames in, facts to the ledger out."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from headrace.events import DeltaEvent, OutputsKind
from headrace.outcome import ErrorInfo
from headrace.wire.error import find_error, parse_error
from headrace.wire.framing.frame import Frame
from headrace.wire.json.payload import NotJSON, PayloadDecoder, encode_json, parse_payload
from headrace.wire.json.value import as_list, as_object, as_objects
from headrace.wire.ledger import Ledger
from headrace.wire.limits import WireLimits

T = TypeVar("T", bound=msgspec.Struct)


class JSONDialect(Generic[T]):
    """One wire format whose frames are JSON objects of one type.

    It states facts to its ledger, which makes the events. Once the ledger has finished, no more
    frames are fed. A subclass has the constructor `(ledger, *, limits, **decoder_options)`,
    defines `feed` and `recognizes`, and states in `_release` what it has held back until the end.
    """

    name: ClassVar[str]
    """The name of the dialect: that of its folder, with hyphens."""
    only_framing: ClassVar[str | None] = None
    """The framing that no other dialect uses, if there is one: then there is nothing to detect."""
    decoder_options: ClassVar[tuple[str, ...]] = ()
    """The options of the decoder that the constructor takes, by name."""
    outputs: ClassVar[OutputsKind] = "candidates"
    """What output numbers mean in this dialect, unless the caller of the decoder says."""
    is_ended_by_done: ClassVar[bool] = False
    """Whether `[DONE]` is the terminator of this dialect. Elsewhere gateways may add it."""
    deltas: ClassVar[frozenset[str]] = frozenset()
    """The fields, at any depth, whose texts are continued from frame to frame."""

    def __init__(self, ledger: Ledger, kind: type[T], limits: WireLimits) -> None:
        self.ledger = ledger
        self._max_depth = limits.max_depth
        payloads = PayloadDecoder(kind, limits.max_depth, self.deltas, ledger.join_surrogates)
        self._decode = payloads.decode
        self._decode_fields = payloads.decode_fields
        # For dialects that send thousands of frames: see `PayloadDecoder`.
        self._decode_shallow = payloads.decode_shallow
        self._shallow_bytes = payloads.shallow_bytes

    @staticmethod
    @abstractmethod
    def recognizes(payload: dict[str, Any]) -> bool:
        """Return whether a payload can only belong to this dialect."""

    @staticmethod
    def recognizes_text(frame: Frame) -> bool:
        """Return whether a frame that is no JSON object can only belong to this dialect."""
        del frame
        return False

    @abstractmethod
    def feed(self, frame: Frame) -> None:
        """Read one frame. Raises `WireError` if the stream cannot go on."""

    def read_delta(self, data: bytes, event: str) -> DeltaEvent | None:
        """Return the event of a payload that is one more delta of an open part, which nearly all
        are. Otherwise return None and state nothing: the frame must then go to `feed`. `event` is
        that of the frame, and not `error`."""
        del data, event
        return None

    def close(self) -> None:
        """Take the end of the bytes: state what was held back, and how the turn ends."""
        self._end(has_terminator=False)

    def fail(self, error: ErrorInfo) -> None:
        """End the turn with an error, after stating what was held back."""
        self._release()
        self.ledger.fail(error)

    def _end(self, *, has_terminator: bool) -> None:
        self._release()
        self.ledger.end(has_terminator=has_terminator)

    def _release(self) -> None:
        """Report to the ledger what has been held back."""

    def _decode_payload(self, frame: Frame) -> T | None:
        """Return the payload, or None if there is none; such a frame has been dealt with."""
        try:
            return self._decode(frame.data)
        except NotJSON as error:
            self._handle_unreadable(frame, str(error))
            return None

    def _handle_unreadable(self, frame: Frame, reason: str) -> None:
        """Deal with a frame that is no JSON object: the terminator, an error text, a list of
        payloads, or garbage."""
        data = frame.data.strip()
        if data == b"[DONE]":
            if self.is_ended_by_done:
                self._end(has_terminator=True)
        elif "error" in (frame.event, frame.field):
            self.fail(parse_error(frame.text))
        elif data.startswith(b"["):
            self._feed_list(frame, reason)
        elif data:
            self.ledger.skip_frame(frame.data, reason)

    def _handle_empty(self, frame: Frame) -> None:
        """Deal with JSON without fields: an empty object says nothing, and anything else is no
        payload."""
        if not frame.data.lstrip().startswith(b"{"):
            self._handle_unreadable(frame, "a JSON object was expected")

    def _feed_list(self, frame: Frame, reason: str) -> None:
        """Read an array of payloads, which Gemini sends if it is not asked for SSE. An array with
        anything else in it is skipped as a whole."""
        try:
            entries = as_list(parse_payload(frame.data, self._max_depth))
        except NotJSON:
            entries = []
        payloads = as_objects(entries)
        if not payloads or len(payloads) < len(entries):
            self.ledger.skip_frame(frame.data, reason)
            return
        for payload in payloads:
            if not self.ledger.is_finished:
                self.feed(Frame(encode_json(payload).encode(), frame.event))

    def _fail_if_error(self, frame: Frame) -> bool:
        """End the turn if a payload without content reports an error; return whether it did."""
        payload = self._decode_all_fields(frame)
        is_marked = "error" in (frame.event, frame.field)
        error = parse_error(payload) if is_marked else find_error(payload)
        if error is not None:
            self.fail(error)
        return error is not None

    def _decode_all_fields(self, frame: Frame) -> dict[str, Any]:
        """Return the payload with all its fields. Only rare frames are read a second time."""
        return as_object(parse_payload(frame.data, self._max_depth))
