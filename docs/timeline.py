"""The picture of a timeline: a turn that reasons, searches, reasons again and answers."""

from __future__ import annotations

from collections.abc import Iterator

from headrace import events as ev
from headrace.cli.timeline.svg import timeline_svg
from headrace.content import TextContent
from headrace.events import Event, Record
from headrace.outcome import END_TURN
from headrace.timeline.timeline import timeline
from headrace.usage import Usage

_WORD, _ARGS = "stream ", '"why"'


def picture() -> str:
    """Return the timeline as an SVG."""
    return timeline_svg(timeline(records()))


def records() -> list[Record]:
    """Return the records of the example."""
    return [Record(seq, at_ms, event) for seq, (at_ms, event) in enumerate(_moments(), 1)]


def _moments() -> Iterator[tuple[int, Event]]:
    yield 0, ev.TurnStarted(dialect="responses", provider="openai", model="gpt-5")
    yield 0, ev.OutputStarted(0)
    yield from _thought(0, range(420, 2300, 35))
    yield from _thought(1, range(2340, 3900, 35))
    yield from _search(2)
    yield from _thought(4, range(7300, 8600, 35))
    yield 8900, ev.TextStarted(part=5, output=0, item=5)
    yield from ((at, ev.TextDelta(5, _piece(at))) for at in range(8900, 13_600, 25))
    yield 13_600, ev.TextFinished(5)
    yield 13_650, ev.OutputFinished(0, END_TURN)
    usage = Usage(
        input_tokens=1840, cached_input_tokens=1024, output_tokens=912, reasoning_tokens=520
    )
    yield 13_650, ev.TurnFinished(reason=END_TURN, usage=usage)


def _thought(part: int, times: range) -> Iterator[tuple[int, Event]]:
    yield times.start, ev.ReasoningStarted(part=part, output=0, item=part, kind="summary")
    yield from ((at, ev.ReasoningDelta(part, _piece(at))) for at in times)
    yield times.stop, ev.ReasoningFinished(part)


def _search(part: int) -> Iterator[tuple[int, Event]]:
    call, name = "ws_1", "web_search"
    started = ev.ToolCallStarted(
        part=part, output=0, item=2, call_id=call, name=name, executor="provider"
    )
    result = (TextContent("three pages"),)
    yield 4000, started
    yield from ((at, ev.ToolCallArgsDelta(part, _ARGS)) for at in range(4000, 4700, 50))
    yield 4700, ev.ToolCallFinished(part=part, call_id=call, name=name, args={}, raw="{}")
    yield 4720, ev.ToolActivity(part=part, call_id=call, status="searching")
    yield 6900, ev.ToolActivity(part=part, call_id=call, status="completed")
    yield 6900, ev.ToolOutput(part=3, output=0, item=3, call_id=call, content=result)


def _piece(at_ms: int) -> str:
    """Longer and shorter by a rule, so that the rate has a shape and every build the same."""
    wave = abs(at_ms % 1400 - 700) // 100
    return _WORD * (1 + wave)
