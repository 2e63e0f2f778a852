"""Describes an event in one row of text.

Foreign text stays raw here; the table makes it safe and cuts it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from headrace import events
from headrace.cli.terminal.color import Style
from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent
from headrace.outcome import FinishReason
from headrace.usage import Usage

_SHORT_CHARS = 24


def describe_event(event: events.Event | events.UnknownEvent) -> tuple[Style, str]:
    """Return the style and the text of an event's row."""
    style, words = _ROWS.get(type(event), (Style.PLAIN, _as_json))
    return style, words(event)


def _join(*facts: object) -> str:
    return " · ".join(str(fact) for fact in facts if fact is not None and fact != "")


def _short(text: str) -> str:
    return text if len(text) <= _SHORT_CHARS else text[:_SHORT_CHARS] + "…"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _as_json(event: Any) -> str:
    if isinstance(event, events.UnknownEvent):
        return event.data.decode("utf-8", "replace")
    return _json({name: getattr(event, name) for name in event.__struct_fields__})


# --- the turn and its outputs ----------------------------------------------------


def _turn_started(event: events.TurnStarted) -> str:
    return _join(event.dialect, event.provider, event.model, event.response_id)


def _output_started(event: events.OutputStarted) -> str:
    return _join(f"output {event.output}", event.role)


def _output_finished(event: events.OutputFinished) -> str:
    return _join(f"output {event.output}", _reason(event.reason, event.raw_reason))


def _reason(reason: FinishReason | None, raw: str | None) -> str:
    if reason is None:
        return "broken off"
    word = str(reason)
    return word if raw is None or raw in word else f"{word} ({raw})"


def _turn_finished(event: events.TurnFinished) -> str:
    return _join(
        str(event.reason),
        usage_words(event.usage),
        _skipped_note(event.skipped_frames),
    )


def _turn_failed(event: events.TurnFailed) -> str:
    code = f"({event.code})" if event.code else ""
    return _join(
        " ".join(filter(None, (f"{event.category}: {event.message}", code))),
        _retry(event),
        usage_words(event.usage),
        _skipped_note(event.skipped_frames),
    )


def _retry(event: events.TurnFailed) -> str:
    if not event.retryable:
        return ""
    wait = "" if event.retry_after_s is None else f" after {event.retry_after_s:g} s"
    return f"may be tried again{wait}"


def _skipped_note(frames: int) -> str:
    return f"{frames} unreadable frame{'s' * (frames != 1)} skipped" if frames else ""


def usage_words(usage: Usage) -> str:
    """Format the known counts: `120 tokens in (64 cached) · 45 out (20 reasoning)`."""
    into = _format_count(usage.input_tokens, "token in", usage.cached_input_tokens, "cached")
    unit = "out" if into else "token out"
    out = _format_count(usage.output_tokens, unit, usage.reasoning_tokens, "reasoning")
    cost = "" if usage.cost is None else f"cost {usage.cost:g}"
    return _join(into, out, cost)


def _format_count(number: int | None, unit: str, part: int | None, part_unit: str) -> str:
    if number is None:
        return ""
    counted = unit if number == 1 else unit.replace("token", "tokens")
    return f"{number:,} {counted}" + (f" ({part:,} {part_unit})" if part else "")


# --- parts -----------------------------------------------------------------------


def _place(event: Any) -> str:
    """Return the output if there is more than one, and the provider's id."""
    return _join(f"output {event.output}" if event.output else "", event.item_id)


def _text(event: events.TextDelta | events.ReasoningDelta | events.ToolCallArgsDelta) -> str:
    return event.text if not event.text.isspace() else event.text.replace(" ", "␣")


def _reasoning_started(event: events.ReasoningStarted) -> str:
    number = "" if event.summary_index is None else f" {event.summary_index}"
    return _join(f"summary{number}" if event.kind == "summary" else "", _place(event))


def _reasoning_finished(event: events.ReasoningFinished) -> str:
    return f"signed {_short(event.signature)}" if event.signature else ""


def _reasoning_redacted(event: events.ReasoningRedacted) -> str:
    return _join(f"{len(event.data):,} characters for the provider alone", _place(event))


def _text_started(event: events.TextStarted) -> str:
    return _join("refusal" if event.is_refusal else "", event.channel, _place(event))


def _text_finished(event: events.TextFinished) -> str:
    return ""


def _call_started(event: events.ToolCallStarted) -> str:
    who = "run by the provider" if event.executor == "provider" else ""
    place = f"output {event.output}" if event.output else ""
    return _join(event.name, who, place, event.call_id)


def _call_finished(event: events.ToolCallFinished) -> str:
    return f"{event.name} {event.raw.strip() or '{}'}"


def _call_malformed(event: events.ToolCallMalformed) -> str:
    return f"{event.name}: {event.error} · {event.raw}"


def _activity(event: events.ToolActivity) -> str:
    return _join(event.status, None if event.detail is None else _json(event.detail))


def _output(event: events.ToolOutput) -> str:
    words = _join(*(_content(entry) for entry in event.content)) or "nothing"
    return f"error: {words}" if event.is_error else words


def _content(content: Content) -> str:
    match content:
        case TextContent(text):
            return text
        case JSONContent(value):
            return _json(value)
        case ImageContent():
            return _media(content.media_type, content.data, content.url)
        case FileContent():
            return _join(content.name, _media(content.media_type, content.data, content.url))


def _media(media_type: str, data: str | None, url: str | None) -> str:
    return _join(media_type, url, f"{len(data):,} characters of base64" if data else "")


def _media_produced(event: events.MediaProduced) -> str:
    return _media(event.media_type, event.data, event.url)


def _opaque(event: events.OpaqueItem) -> str:
    return f"{event.kind} {event.data}"


def _seal(event: events.PartSealed) -> str:
    return f"{event.kind} {_short(event.value)}"


def _citation(event: events.CitationAdded) -> str:
    quote = f"“{event.quote}”" if event.quote else ""
    return _join(event.title, event.ref or event.source, quote)


_Row = tuple[Style, Callable[[Any], str]]
_ROWS: dict[type, _Row] = {
    events.TextDelta: (Style.PLAIN, _text),
    events.ReasoningDelta: (Style.DIM, _text),
    events.ToolCallArgsDelta: (Style.BOLD, _text),
    events.TurnStarted: (Style.CYAN, _turn_started),
    events.OutputStarted: (Style.PLAIN, _output_started),
    events.OutputFinished: (Style.PLAIN, _output_finished),
    events.ReasoningStarted: (Style.DIM, _reasoning_started),
    events.ReasoningFinished: (Style.DIM, _reasoning_finished),
    events.ReasoningRedacted: (Style.DIM, _reasoning_redacted),
    events.TextStarted: (Style.PLAIN, _text_started),
    events.TextFinished: (Style.PLAIN, _text_finished),
    events.ToolCallStarted: (Style.BOLD, _call_started),
    events.ToolCallFinished: (Style.BOLD, _call_finished),
    events.ToolCallMalformed: (Style.RED, _call_malformed),
    events.ToolActivity: (Style.BOLD, _activity),
    events.ToolOutput: (Style.BOLD, _output),
    events.MediaProduced: (Style.PLAIN, _media_produced),
    events.OpaqueItem: (Style.PLAIN, _opaque),
    events.PartSealed: (Style.DIM, _seal),
    events.CitationAdded: (Style.CYAN, _citation),
    events.TurnFinished: (Style.GREEN, _turn_finished),
    events.TurnFailed: (Style.RED, _turn_failed),
}
