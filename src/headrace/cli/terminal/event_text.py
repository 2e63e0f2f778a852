"""Describes an event in one row of text.

Foreign text stays raw here; the table makes it safe and cuts it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from headrace import events as ev
from headrace.cli.terminal.output import Style
from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent
from headrace.outcome import FinishReason
from headrace.usage import Usage

_SHORT_CHARS = 24
_STYLES: dict[type, Style] = {
    ev.ReasoningDelta: Style.DIM,
    ev.ReasoningStarted: Style.DIM,
    ev.ReasoningFinished: Style.DIM,
    ev.ReasoningRedacted: Style.DIM,
    ev.PartSealed: Style.DIM,
    ev.ToolCallStarted: Style.BOLD,
    ev.ToolCallArgsDelta: Style.BOLD,
    ev.ToolCallFinished: Style.BOLD,
    ev.ToolActivity: Style.BOLD,
    ev.ToolOutput: Style.BOLD,
    ev.ToolCallMalformed: Style.RED,
    ev.TurnFailed: Style.RED,
    ev.FrameSkipped: Style.RED,
    ev.TurnFinished: Style.GREEN,
    ev.TurnStarted: Style.CYAN,
    ev.CitationAdded: Style.CYAN,
}


def describe_event(event: ev.Event | ev.UnknownEvent) -> tuple[Style, str]:
    """Return the style and the text of an event's row."""
    return _STYLES.get(type(event), Style.PLAIN), _describe(event)


def _describe(event: ev.Event | ev.UnknownEvent) -> str:
    match event:
        case ev.TextDelta() | ev.ReasoningDelta() | ev.ToolCallArgsDelta():
            return event.text if not event.text.isspace() else event.text.replace(" ", "␣")
        case ev.TurnStarted():
            return _join(event.dialect, event.provider, event.model, event.response_id)
        case ev.OutputStarted():
            return _join(f"output {event.output}", event.role)
        case ev.OutputFinished():
            return _join(f"output {event.output}", _reason(event.reason, event.raw_reason))
        case ev.TurnFinished():
            skipped = _skipped_note(event.skipped_frames, is_complete=event.is_complete)
            return _join(str(event.reason), usage_words(event.usage), skipped)
        case ev.TurnFailed():
            code = f" ({event.code})" if event.code else ""
            what = f"{event.category}: {event.message}{code}"
            skipped = _skipped_note(event.skipped_frames)
            return _join(what, _retry(event), usage_words(event.usage), skipped)
        case ev.FrameSkipped():
            return _join(event.reason, f"{event.size:,} bytes")
        case ev.PartRestored():
            return f"{len(event.text):,} characters"
        case ev.UnknownEvent():
            return event.data.decode("utf-8", "replace")
        case _:
            return _describe_part(event)


def _describe_part(event: ev.Event) -> str:
    match event:
        case ev.ReasoningStarted():
            number = "" if event.summary_index is None else f" {event.summary_index}"
            return _join(f"summary{number}" if event.kind == "summary" else "", _place(event))
        case ev.ReasoningFinished():
            return f"signed {_short(event.signature)}" if event.signature else ""
        case ev.ReasoningRedacted():
            return _join(f"{len(event.data):,} characters for the provider alone", _place(event))
        case ev.TextStarted():
            return _join("refusal" if event.is_refusal else "", event.channel, _place(event))
        case ev.TextFinished():
            return ""
        case ev.MediaProduced():
            return _media(event.media_type, event.data, event.url)
        case ev.OpaqueItem():
            return f"{event.kind} {event.data}"
        case ev.PartSealed():
            return f"{event.kind} {_short(event.value)}"
        case ev.CitationAdded():
            quote = f"“{event.quote}”" if event.quote else ""
            return _join(event.title, event.ref or event.source, quote)
        case _:
            return _describe_tool(event)


def _describe_tool(event: ev.Event) -> str:
    match event:
        case ev.ToolCallStarted():
            who = "run by the provider" if event.executor == "provider" else ""
            place = f"output {event.output}" if event.output else ""
            return _join(event.name, who, place, event.call_id)
        case ev.ToolCallFinished():
            return f"{event.name} {event.raw.strip() or '{}'}"
        case ev.ToolCallMalformed():
            return f"{event.name}: {event.error} · {event.raw}"
        case ev.ToolActivity():
            return _join(event.status, None if event.detail is None else _json(event.detail))
        case ev.ToolOutput():
            words = _join(*(_content(entry) for entry in event.content)) or "nothing"
            return f"error: {words}" if event.is_error else words
        case _:
            return _json({name: getattr(event, name) for name in event.__struct_fields__})


def usage_words(usage: Usage) -> str:
    """Format the known counts: `120 tokens in (64 cached) · 45 out (20 reasoning)`."""
    into = _format_count(usage.input_tokens, "token in", usage.cached_input_tokens, "cached")
    unit = "out" if into else "token out"
    out = _format_count(usage.output_tokens, unit, usage.reasoning_tokens, "reasoning")
    cost = "" if usage.cost is None else f"cost {format_cost(usage)}"
    return _join(into, out, cost, "estimated" if usage.is_estimated else "")


def format_cost(usage: Usage) -> str:
    """Format the cost in dollars, with as many digits as it needs: `$0.0004`, `$1.25`. An estimate
    begins with `~`; an unknown cost is an empty text."""
    if usage.cost is None:
        return ""
    digits = f"{usage.cost:.2f}" if usage.cost >= 1 else f"{usage.cost:.6f}".rstrip("0").rstrip(".")
    return f"{'~' if usage.is_estimated else ''}${digits}"


def _format_count(number: int | None, unit: str, part: int | None, part_unit: str) -> str:
    if number is None:
        return ""
    counted = unit if number == 1 else unit.replace("token", "tokens")
    return f"{number:,} {counted}" + (f" ({part:,} {part_unit})" if part else "")


def _join(*facts: object) -> str:
    return " · ".join(str(fact) for fact in facts if fact is not None and fact != "")


def _short(text: str) -> str:
    return text if len(text) <= _SHORT_CHARS else text[:_SHORT_CHARS] + "…"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _reason(reason: FinishReason | None, raw: str | None) -> str:
    if reason is None:
        return "broken off"
    word = str(reason)
    return word if raw is None or raw in word else f"{word} ({raw})"


def _retry(event: ev.TurnFailed) -> str:
    if not event.retryable:
        return ""
    wait = "" if event.retry_after_s is None else f" after {event.retry_after_s:g} s"
    return f"may be tried again{wait}"


def _skipped_note(frames: int, *, is_complete: bool = True) -> str:
    note = f"{frames} unreadable frame{'s' * (frames != 1)} skipped" if frames else ""
    return note if is_complete else f"{note}, so content may be missing"


def _place(event: ev.ReasoningStarted | ev.ReasoningRedacted | ev.TextStarted) -> str:
    """Return the output if there is more than one, and the provider's id."""
    return _join(f"output {event.output}" if event.output else "", event.item_id)


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
