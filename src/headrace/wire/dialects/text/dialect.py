"""The text dialect: pieces of text until a finish reason comes."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.outcome import ErrorInfo, other_reason
from headrace.usage import Usage
from headrace.wire.dialects.dialect import JSONDialect
from headrace.wire.dialects.text.shape import (
    ERROR_WORDS,
    FINISH_WORDS,
    SHAPES,
    UNFINISHED_WORDS,
    Shape,
    find_shape,
    find_similar_shape,
    read_path,
)
from headrace.wire.framing.frame import Frame
from headrace.wire.json.number import parse_count
from headrace.wire.json.payload import NotJSON
from headrace.wire.json.value import as_list, as_object, as_objects, as_text
from headrace.wire.ledger import Ledger
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

# What Bedrock adds to the last payload of every model.
_METRICS = "amazon-bedrock-invocationMetrics"
_NOT_KEPT = frozenset({"id", "model", "model_id", "type", "index", "token", "details"})


class WirePayload(msgspec.Struct, gc=False):
    """A payload is read as a whole, because its fields depend on the API."""


class TextDialect(JSONDialect[WirePayload]):
    """Reads streams of text by the table of shapes."""

    name = "text"
    deltas = frozenset(shape.text[-1] for shape in SHAPES if shape.text)

    def __init__(self, ledger: Ledger, *, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> None:
        super().__init__(ledger, WirePayload, limits)
        self._whole_texts: dict[int, str] = {}

    @staticmethod
    def recognizes(payload: dict[str, Any]) -> bool:
        """Return whether a payload can only be one of this dialect."""
        return find_shape(payload) is not None

    def feed(self, frame: Frame) -> None:
        """Read one payload."""
        try:
            payload = self._decode_fields(frame.data)
        except NotJSON as error:
            self._handle_unreadable(frame, str(error))
            return
        shape = find_similar_shape(payload)
        if shape is None or "error" in (frame.event, frame.field):
            if not payload:
                self._handle_empty(frame)
            elif payload.get("type") != "ping":
                self._fail_if_error(frame)
            return
        self.ledger.start(
            model=as_text(payload.get("model")) or as_text(payload.get("model_id")),
            response_id=as_text(payload.get("id")),
        )
        if shape.is_cumulative:
            self._feed_whole_texts(as_list(payload[shape.field]))
            return
        is_last = self._feed_outputs(payload, shape)
        if is_last and not self.ledger.is_finished:
            self._note(payload, shape)

    def _feed_outputs(self, payload: dict[str, Any], shape: Shape) -> bool:
        """Read the outputs of a payload; return whether one of them ends."""
        entries = as_objects(payload.get(shape.field)) if shape.is_list else [payload]
        is_last = False
        for number, entry in enumerate(entries):
            output = self.ledger.output(number)
            # Special tokens, such as the end of the text, are not part of it.
            if as_object(entry.get("token")).get("special") is not True:
                output.add_text(as_text(read_path(entry, shape.text)) or "")
            self._report(entry, shape)
            word = as_text(read_path(entry, shape.reason))
            if word is None or word.lower() in UNFINISHED_WORDS:
                continue
            is_last = True
            if word.lower() in ERROR_WORDS:
                text = f"the provider ended the stream with {word!r}"
                self.fail(ErrorInfo("server", text, code=word, retryable=True))
                return True
            output.finish(FINISH_WORDS.get(word.lower()) or other_reason(word), word)
        return is_last

    def _feed_whole_texts(self, texts: list[Any]) -> None:
        """Add what each text has more than the one before it."""
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                continue
            known = self._whole_texts.get(number, "")
            if known.startswith(text):
                self.ledger.output(number)
                continue
            start = len(known) if text.startswith(known) else _find_difference(known, text)
            self.ledger.output(number).add_text(text[start:])
            self._whole_texts[number] = text

    def close(self) -> None:
        """Take the end of the bytes, which is the only end that whole texts have."""
        if not self.ledger.skipped_frames:
            for number in self._whole_texts:
                self.ledger.output(number).finish(other_reason(""), None)
        super().close()

    def _report(self, entry: dict[str, Any], shape: Shape) -> None:
        usage = Usage(
            input_tokens=parse_count(read_path(entry, shape.input_tokens)),
            output_tokens=parse_count(read_path(entry, shape.output_tokens)),
        )
        metrics = as_object(entry.get(_METRICS))
        self.ledger.report(usage.merge(_parse_metrics(metrics)))

    def _note(self, payload: dict[str, Any], shape: Shape) -> None:
        """Keep what the last payload tells beside its text."""
        if shape.is_list:
            self.ledger.report(_parse_metrics(as_object(payload.get(_METRICS))))
        paths = (shape.text, shape.reason, shape.input_tokens, shape.output_tokens)
        read = {path[0] for path in paths if path}
        self.ledger.note_fields(payload, _NOT_KEPT | read | {shape.field})


def _find_difference(known: str, text: str) -> int:
    pairs = enumerate(zip(known, text, strict=False))
    return next((place for place, (old, new) in pairs if old != new), len(known))


def _parse_metrics(metrics: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=parse_count(metrics.get("inputTokenCount")),
        output_tokens=parse_count(metrics.get("outputTokenCount")),
    )
