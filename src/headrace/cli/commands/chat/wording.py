"""Numbers, values and ends as people read them: the words of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from headrace.cli.commands.chat.step import Step, Thought, Tool
from headrace.cli.terminal.safe_text import one_line, safe

_BRIEF_CHARS = 60


def duration(ms: float) -> str:
    """`40 ms`, `0.3 s`, `12 s`, `3 min 5 s`, `2 h 4 min`."""
    if ms < 100:
        return f"{_rounded(ms)} ms"
    if ms < 950:
        return f"{_rounded(ms / 100) / 10:g} s"
    seconds = _rounded(ms / 1_000)
    if seconds < 60:
        return f"{seconds} s"
    minutes = seconds // 60
    return (
        f"{minutes} min {seconds % 60} s"
        if minutes < 60
        else f"{minutes // 60} h {minutes % 60} min"
    )


def elapsed(ms: float) -> str:
    """Seconds that count up: they never run ahead of the clock."""
    return "0 s" if ms < 1_000 else duration(int(ms // 1_000) * 1_000)


def count(number: int, noun: str) -> str:
    """`1 tool`, `1,200 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shown_value(value: Any) -> str:
    """A value of a tool: text as it is, anything else as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return safe(value)
    return safe(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def shown_briefly(value: Any, limit: int = _BRIEF_CHARS) -> str:
    """The same in one line, short."""
    line = one_line(_brief(value))
    return f"{line[: limit - 1]}…" if len(line) > limit else line


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
    """`Thought for 12 s · 2 tools`: what the steps were, in a line."""
    times = [step.duration_ms for step in steps if isinstance(step, Thought)]
    ms = sum(one for one in times if one is not None)
    tools = sum(isinstance(step, Tool) for step in steps)
    told = [f"Thought for {'a moment' if ms < 1_000 else duration(ms)}"]
    return " · ".join([*told, count(tools, "tool")] if tools else told)


def _rounded(number: float) -> int:
    """Halves up, as the page does it."""
    return int(number + 0.5)
