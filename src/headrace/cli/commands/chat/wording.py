"""Numbers, values and durations as people read them, in the same words as the web UI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from headrace.cli.commands.chat.step import Other, Step, Thought, Tool
from headrace.cli.terminal.safe_text import one_line, safe
from headrace.events import InputKind
from headrace.messages import InputRequest
from headrace.projections.ux.frame import InputRequestedFrame

_BRIEF_CHARS = 60
_REQUESTS: dict[InputKind, str] = {
    "approval": "needs your approval",
    "text": "asks for a text",
    "form": "asks for values",
    "result": "runs elsewhere: its result is needed",
}


def duration(ms: float) -> str:
    """Format a duration: `40 ms`, `0.3 s`, `12 s`, `3 min 5 s`, `2 h 4 min`."""
    if ms < 100:
        return f"{_round_half_up(ms)} ms"
    if ms < 950:
        return f"{_round_half_up(ms / 100) / 10:g} s"
    seconds = _round_half_up(ms / 1_000)
    if seconds < 60:
        return f"{seconds} s"
    minutes = seconds // 60
    return (
        f"{minutes} min {seconds % 60} s"
        if minutes < 60
        else f"{minutes // 60} h {minutes % 60} min"
    )


def format_elapsed(ms: float) -> str:
    """Format a running time in seconds, rounded down."""
    return "0 s" if ms < 1_000 else duration(int(ms // 1_000) * 1_000)


def count(number: int, noun: str) -> str:
    """Format a count: `1 tool`, `1,200 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_value(value: Any) -> str:
    """Format the value of a tool: text as it is, anything else as JSON."""
    if value is None:
        return ""
    value = _without_bytes(value)
    if isinstance(value, str):
        return safe(value)
    return safe(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def tool_fields(tool: Tool) -> list[tuple[str, str]]:
    """Return what is known of a tool call in full, with labels."""
    fields = (
        ("Arguments", tool.args),
        ("Steps", "\n".join(_step_lines(tool.steps))),
        ("Result", tool.result),
        ("Error", tool.error),
    )
    return [(label, text) for label, value in fields if (text := format_value(value))]


def _step_lines(steps: Sequence[Step], depth: int = 0) -> list[str]:
    """Return a line for each step of a sub-agent, and of its own sub-agents."""
    lines: list[str] = []
    for step in steps:
        lines.append("  " * depth + describe_step(step))
        if isinstance(step, Tool):
            lines += _step_lines(step.steps, depth + 1)
    return lines


def describe_step(step: Step) -> str:
    """Return what a sub-agent does in one line."""
    if isinstance(step, Tool):
        asked = format_brief(step.args if step.args is not None else step.args_text)
        came = format_brief(step.error if step.error is not None else step.result)
        return " ".join(filter(None, (step.name, asked, came and f"→ {came}")))
    return step.words if isinstance(step, Other) else summary([step])


def describe_request(
    request: InputRequestedFrame | InputRequest,
) -> tuple[str, list[tuple[str, str]]]:
    """Return what a run waits for: a title, and labeled texts."""
    title = f"{one_line(request.name)} {_REQUESTS[request.kind]}"
    fields = (
        ("Message", request.message),
        ("Arguments", request.args),
        ("Expected", request.schema if request.kind != "approval" else None),
    )
    return title, [(label, text) for label, value in fields if (text := format_value(value))]


def format_brief(value: Any, limit: int = _BRIEF_CHARS) -> str:
    """Format the value of a tool in one short line."""
    line = one_line(_brief(_without_bytes(value)))
    return f"{line[: limit - 1]}…" if len(line) > limit else line


def _without_bytes(value: Any) -> Any:
    """Return a value with names in place of images and files, whose bytes say nothing to a
    reader."""
    given = cast("object", value)
    if isinstance(given, list):
        return [_without_bytes(one) for one in value]
    if not isinstance(given, dict):
        return value
    fields = cast("dict[str, Any]", given)
    url = fields.get("url")
    if fields.get("type") not in ("image", "file") or not isinstance(url, str):
        return fields
    name = fields.get("name") or fields.get("media_type") or fields["type"]
    data = url.partition(";base64,")[2] if url.startswith("data:") else ""
    return f"[{name}, {len(data) * 3 // 4:,} bytes]" if data else f"[{name}] {url}"


def _brief(value: Any) -> str:
    match cast("object", value):
        case None:
            return ""
        case dict():
            return ", ".join(map(_plain, cast("dict[str, Any]", value).values()))
        case list():
            return ", ".join(map(_plain, value))
        case _:
            return _plain(value)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def summary(steps: Sequence[Step]) -> str:
    """Summarize the steps in a line: `Thought for 12 s · 2 tools`."""
    times = [step.duration_ms for step in steps if isinstance(step, Thought)]
    ms = sum(one for one in times if one is not None)
    tools = sum(isinstance(step, Tool) for step in steps)
    told = [f"Thought for {'a moment' if ms < 1_000 else duration(ms)}"]
    return " · ".join([*told, count(tools, "tool")] if tools else told)


def _round_half_up(number: float) -> int:
    """Round half up, as the web UI does."""
    return int(number + 0.5)
