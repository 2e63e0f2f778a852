"""Whole answers of the Messages protocol, for clients that do not stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import msgspec

from headrace.events import JSONObject, Record
from headrace.projections.anthropic_messages import frame as fr
from headrace.projections.anthropic_messages.projection import MessagesProjection
from headrace.projections.discarded_step import drop_discarded

_FIELDS: dict[type, tuple[str, str]] = {
    fr.TextBody: ("text", "text"),
    fr.ThinkingBody: ("thinking", "thinking"),
    fr.SignatureBody: ("signature", "signature"),
    fr.InputBody: ("input", "partial_json"),
}


def build_message(records: Iterable[Record], **options: Any) -> JSONObject | fr.ErrorBody:
    """Return the body of a whole answer, or the error that it ended with.

    `options` are those of `MessagesProjection`, and `response_id`.
    """
    projection = MessagesProjection(**options)
    fold = _Fold()
    for record in drop_discarded(records):
        for frame in projection.feed(record):
            fold.feed(frame)
    for frame in projection.close():
        fold.feed(frame)
    return fold.message if fold.error is None else fold.error


class _Fold:
    """Collects the events of one answer."""

    def __init__(self) -> None:
        self.message: JSONObject = {}
        self.error: fr.ErrorBody | None = None
        self._pieces: dict[str, list[str]] = {}

    def feed(self, frame: fr.MessagesFrame) -> None:
        """Take the next frame."""
        match frame:
            case fr.MessageStart():
                self.message = dict(frame.message)
            case fr.BlockStart():
                self._pieces = {}
                self.message["content"].append(dict(frame.content_block))
            case fr.BlockDelta():
                self._add(frame.delta)
            case fr.BlockStop():
                self._stop(self.message["content"][-1])
            case fr.MessageDelta():
                self.message |= frame.delta
                self.message["usage"] = frame.usage
                if frame.warning:
                    self.message["warning"] = frame.warning
            case fr.ErrorFrame():
                self.error = frame.error
            case _:
                pass

    def _add(self, delta: fr.DeltaBody) -> None:
        if isinstance(delta, fr.CitationBody):
            self.message["content"][-1].setdefault("citations", []).append(delta.citation)
            return
        name, field = _FIELDS[type(delta)]
        self._pieces.setdefault(name, []).append(getattr(delta, field))

    def _stop(self, block: JSONObject) -> None:
        for name, pieces in self._pieces.items():
            text = "".join(pieces)
            block[name] = _parse_input(text) if name == "input" else text
        self._pieces = {}


def _parse_input(text: str) -> Any:
    """Return the arguments as an object. What is not one is wrapped, because the protocol has
    nothing else."""
    try:
        value: Any = msgspec.json.decode(text or "{}")
    except msgspec.DecodeError:
        return {"malformed_arguments": text}
    return cast("JSONObject", value) if isinstance(value, dict) else {"value": value}
