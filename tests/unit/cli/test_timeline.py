"""The timeline, drawn: in the terminal and as a picture."""

from __future__ import annotations

import io
import json
import re
import sys
import unicodedata
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import events as ev
from headrace.cli.main import main
from headrace.cli.terminal.output import Paint, plain_signs
from headrace.cli.timeline.layout import (
    MAX_LANES,
    Scale,
    count_words,
    duration_words,
    runs,
    tick_words,
    ticks,
)
from headrace.cli.timeline.printer import TimelinePrinter
from headrace.cli.timeline.svg import WIDTH, timeline_svg
from headrace.cli.timeline.text import timeline_lines
from headrace.events import Event, Record
from headrace.outcome import END_TURN
from headrace.timeline.span import Span
from headrace.timeline.timeline import Timeline, timeline
from headrace.usage import Usage
from tests.corpus import recorded
from tests.dialect_streams import ANY_STREAM
from tests.unit.cli.stream import HELLO, THINK
from tests.wire import events_of

Capture = pytest.CaptureFixture[str]
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = 'x\x1b[31m\u202e<&"\x00\ufffe\ud800]]>世界 ' + "W" * 200


W80 = """\
m-1 · chat                                                                10.0 s

           0       2 s      4 s     6 s     8 s  10 s     time    chars    per s
           ┬───────┬────────┬───────┬───────┬───────┬
reasoning      ━━━━━━━━╸                                 2.0 s      100       50
find                   ╶────━━━━━━━━                     3.0 s   1 call
text                                ━━━━━━━━━━━━━━━━━    4.0 s    3,000      750

first      reasoning after 1.0 s · text after 6.0 s
quiet      1.0 s from 0 ms · 2.0 s from 1.0 s · 1.0 s from 3.0 s · 2.0 s from
           4.0 s · 4.0 s from 6.0 s
usage      7 tokens out
speed      1.0 tokens/s while it streams
end        end_turn"""
W31 = """\
m-1 · chat               10.0 s

           0         5 s   10 s
           ┬─────────┬────────┬
reasoning    ━━━━
find             ──━━━━
text                   ━━━━━━━━

first      reasoning after 1.0
           s · text after 6.0 s
quiet      1.0 s from 0 ms ·
           2.0 s from 1.0 s ·
           1.0 s from 3.0 s ·
           2.0 s from 4.0 s · …
usage      7 tokens out
speed      1.0 tokens/s while
           it streams
end        end_turn"""
W40 = """\
m-1 · chat                        10.0 s

           0         5 s   10 s     time
           ┬─────────┬────────┬
reasoning    ━━━━                  2.0 s
find             ──━━━━            3.0 s
text                   ━━━━━━━━    4.0 s

first      reasoning after 1.0 s · text
           after 6.0 s
quiet      1.0 s from 0 ms · 2.0 s from
           1.0 s · 1.0 s from 3.0 s ·
           2.0 s from 4.0 s · 4.0 s from
           6.0 s
usage      7 tokens out
speed      1.0 tokens/s while it streams
end        end_turn"""


def stamped(*moments: tuple[int, Event]) -> list[Record]:
    return [Record(seq, at, event) for seq, (at, event) in enumerate(moments, 1)]


def example() -> Timeline:
    """Thinks from 1 s to 3 s, calls and runs a tool to 6 s, writes from 6 s to 10 s."""
    where: dict[str, Any] = {"part": 1, "call_id": "c1"}
    return timeline(
        stamped(
            (0, ev.TurnStarted(dialect="chat", model="m-1")),
            (1000, ev.ReasoningStarted(part=0, output=0, item=0)),
            (1000, ev.ReasoningDelta(0, "hm" * 50)),
            (3000, ev.ReasoningFinished(0)),
            (3000, ev.ToolCallStarted(**where, output=0, item=1, name="find", executor="provider")),
            (3000, ev.ToolCallArgsDelta(1, "{")),
            (4000, ev.ToolCallArgsDelta(1, "}")),
            (4000, ev.ToolCallFinished(**where, name="find", args={}, raw="{}")),
            (6000, ev.ToolActivity(**where, status="completed")),
            (6000, ev.TextStarted(part=2, output=0, item=2)),
            (6000, ev.TextDelta(2, "yes")),
            (10_000, ev.TextDelta(2, "yes" * 999)),
            (10_000, ev.TextFinished(2)),
            (10_000, ev.OutputFinished(0, END_TURN)),
            (10_000, ev.TurnFinished(reason=END_TURN, usage=Usage(output_tokens=7))),
        )
    )


def named(name: str, message: str = "") -> Timeline:
    """One call of a tool, and an end."""
    where: dict[str, Any] = {"part": 0, "call_id": name}
    return timeline(
        stamped(
            (0, ev.TurnStarted(dialect="chat", model=name)),
            (0, ev.ToolCallStarted(**where, output=0, item=0, name=name)),
            (5, ev.ToolCallMalformed(**where, name=name, raw="", error="")),
            (9, ev.TurnFailed(category="server", message=message or name)),
        )
    )


def crowd(spans: int, tools: int = 1) -> Timeline:
    """Many short calls of many tools, thoughts between them."""
    moments: list[tuple[int, Event]] = [(0, ev.TurnStarted(dialect="chat"))]
    for part in range(0, 2 * spans, 2):
        where: dict[str, Any] = {"part": part, "call_id": f"c{part}"}
        name = f"tool {part % tools}"
        start = ev.ToolCallStarted(**where, output=0, item=part, name=name, executor="provider")
        moments += [(part * 10, start), (part * 10 + 3, ev.ToolActivity(**where, status="on"))]
        moments.append((part * 10 + 5, ev.ReasoningStarted(part=part + 1, output=0, item=part)))
        moments.append((part * 10 + 9, ev.ReasoningDelta(part + 1, "hm")))
        moments.append((part * 10 + 9, ev.ReasoningFinished(part + 1)))
    return timeline(stamped(*moments))


def busy(tools: int, outputs: int = 1) -> Timeline:
    """Each output thinks, calls many tools, the later the longer, and writes."""
    moments: list[tuple[int, Event]] = [(0, ev.TurnStarted(dialect="chat"))]
    moments += [(0, ev.OutputStarted(output)) for output in range(outputs)]
    part = at = 0
    for output in range(outputs):
        moments.append((at, ev.ReasoningStarted(part=part, output=output, item=part)))
        moments.append((at, ev.ReasoningDelta(part, "hm")))
        moments.append((at, ev.ReasoningFinished(part)))
        for tool in range(tools):
            part, at = part + 1, at + 10 + tool
            where: dict[str, Any] = {"part": part, "call_id": f"c{part}", "name": f"tool {tool}"}
            moments.append((at - tool, ev.ToolCallStarted(**where, output=output, item=part)))
            moments.append((at, ev.ToolCallFinished(**where, args={}, raw="")))
        part += 1
        moments.append((at, ev.TextStarted(part=part, output=output, item=part)))
        moments.append((at, ev.TextDelta(part, "yes")))
        moments.append((at, ev.TextFinished(part)))
        part += 1
    return timeline(stamped(*moments))


def lines_of(drawn: Timeline, columns: int) -> list[str]:
    return [line.rstrip() for line in timeline_lines(drawn, columns, Paint(False))]


# --- the layout ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("duration_ms", "most", "words"),
    [
        (0, 5, ["0"]),
        (3, 5, ["0", "1 ms", "2 ms", "3 ms"]),
        (900, 5, ["0", "200 ms", "400 ms", "600 ms", "800 ms"]),
        (1900, 4, ["0", "0.5 s", "1 s", "1.5 s"]),
        (13_000, 3, ["0", "5 s", "10 s"]),
        (240_000, 4, ["0:00", "1:00", "2:00", "3:00", "4:00"]),
        (3_600_000, 2, ["0:00:00", "0:30:00", "1:00:00"]),
    ],
)
def test_ticks_are_few_and_round(duration_ms: int, most: int, words: list[str]) -> None:
    assert [tick_words(at, duration_ms) for at in ticks(duration_ms, most)] == words


@given(st.integers(0, 10**15), st.integers(1, 30))
def test_there_are_never_many_ticks(duration_ms: int, most: int) -> None:
    times = ticks(duration_ms, most)
    assert times[0] == 0
    assert len(times) <= most + 1
    assert times[-1] <= duration_ms


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1.0 s"),
        (59_949, "59.9 s"),
        (59_950, "1:00 min"),
        (245_000, "4:05 min"),
        (3_599_499, "59:59 min"),
        (3_599_500, "1:00 h"),
        (7_500_000, "2:05 h"),
        (3_600_000_000, "1,000 h"),
    ],
)
def test_durations_are_short_words(ms: int, words: str) -> None:
    assert duration_words(ms) == words


def test_counts_fit_into_a_column() -> None:
    assert [count_words(n) for n in (7, 1234.5, 999_999, 1_000_000, 2_500_000_000)] == [
        "7",
        "1,234",
        "999,999",
        "1.0 M",
        "2.5 G",
    ]


def test_the_shortest_span_is_seen_also_at_the_end() -> None:
    moment = Span(kind="text", output=0, start_ms=100, end_ms=100)
    (run,) = runs([moment], Scale(0, 100, 50), least=3)
    assert (run.start, run.end) == (47, 50)


# --- the terminal ----------------------------------------------------------------


def test_a_drawing_is_a_scale_with_lanes_numbers_and_facts() -> None:
    assert "\n".join(lines_of(example(), 80)) == W80
    assert "\n".join(lines_of(example(), 40)) == W40
    assert "\n".join(lines_of(example(), 31)) == W31


def test_every_line_fits() -> None:
    long = Timeline(ended_ms=10**10, spans=example().spans)
    drawings = (example(), named(HOSTILE), named("世界" * 30), crowd(300, 40), timeline([]), long)
    for columns in (*range(12, 41), 57, 80, 133, 200):
        for drawn in drawings:
            for line in lines_of(drawn, columns):
                wide = sum(unicodedata.east_asian_width(char) in "WF" for char in line)
                assert len(line) + wide <= columns


@pytest.mark.parametrize("columns", [1, 12, 25, 39])
def test_the_printer_keeps_to_a_narrow_terminal(columns: int) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="utf-8")
    printer = TimelinePrinter(out, columns, Paint(False), is_several=True)
    printer.begin("a/very/long/name.sse", "sse")
    for record in stamped((0, ev.TurnStarted(dialect="chat")), (9, ev.TextDelta(0, "x"))):
        printer.feed(record)
    printer.close()
    assert max(map(len, raw.getvalue().decode().splitlines())) <= max(columns, 12)


def test_thinking_and_text_are_shown_however_many_tools_there_are() -> None:
    for drawn in (busy(tools=40), busy(tools=40, outputs=3)):
        shown = lines_of(drawn, 80)
        pictured = words(picture(drawn))
        outputs = drawn.outputs or 1
        for name in ("reasoning", "text"):
            assert sum(line.startswith(name) for line in shown) == outputs
            assert pictured.count(name) == outputs
        tools = sum(line.startswith("tool") for line in shown)
        assert tools == sum(word.startswith("tool") for word in pictured)
        hidden = f"{40 * outputs - tools} rows that are not shown"
        assert any(hidden in line for line in shown)
        assert hidden in pictured


def test_the_tools_that_took_longest_are_shown_in_their_order() -> None:
    shown = [line for line in lines_of(busy(tools=40), 80) if line.startswith("tool")]
    assert [line.split()[1] for line in shown] == [str(n) for n in range(18, 40)]


def test_one_row_that_is_not_shown_is_one() -> None:
    drawn = busy(tools=MAX_LANES - 1)
    assert "1 row that is not shown" in "\n".join(lines_of(drawn, 80))


def test_colours_change_nothing_but_the_colour() -> None:
    painted = "\n".join(timeline_lines(example(), 80, Paint(True)))
    plain = re.sub(r"\x1b\[[\d;]*m", "", painted)
    assert plain == "\n".join(timeline_lines(example(), 80, Paint(False)))
    assert "\x1b[36m" in painted


def test_names_do_not_reach_the_terminal_raw() -> None:
    shown = "\n".join(timeline_lines(named(HOSTILE), 80, Paint(False)))
    assert not [c for c in shown if c != "\n" and unicodedata.category(c) in ("Cc", "Cs")]


def test_a_terminal_without_the_signs_gets_others_in_the_same_places() -> None:
    drawing = "\n".join(timeline_lines(example(), 80, Paint(False)))
    assert plain_signs(drawing).isascii()
    assert len(plain_signs(drawing)) == len(drawing)


@pytest.mark.parametrize(("encoding", "sign"), [("latin-1", b"==="), ("utf-8", "━━━".encode())])
def test_the_encoding_of_standard_output_decides(encoding: str, sign: bytes) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding)
    printer = TimelinePrinter(out, 80, Paint(False), is_several=False)
    printer.begin("a", "sse")
    for record in stamped((0, ev.TurnStarted(dialect="世")), (9, ev.TextDelta(0, "x"))):
        printer.feed(record)
    printer.feed(Record(3, 500, ev.TextDelta(0, "x")))
    printer.close()
    assert sign in raw.getvalue()


# --- the picture -----------------------------------------------------------------


def picture(drawn: Timeline) -> ElementTree.Element:
    root = ElementTree.fromstring(timeline_svg(drawn))
    check_picture(root)
    return root


def check_picture(root: ElementTree.Element) -> None:
    """Everything is inside, and no two labels stand in each other."""
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    assert width == WIDTH
    for rect in root.iter(f"{SVG}rect"):
        x, y = float(rect.get("x", 0)), float(rect.get("y", 0))
        assert 0 <= x <= x + float(rect.attrib["width"]) <= width
        assert 0 <= y <= y + float(rect.attrib["height"]) <= height
        assert float(rect.attrib["width"]) > 0 or rect.get("class") == "quiet"
    boxes = [_box(text) for text in root.iter(f"{SVG}text")]
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height
    for a, b in combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def _box(text: ElementTree.Element) -> tuple[float, float, float, float]:
    classes = (text.get("class") or "").split()
    size = 15 if "title" in classes else 12.5
    is_name = "name" in classes
    wide = size * sum(_em(char, is_name=is_name) for char in text.text or " ")
    x, y = float(text.attrib["x"]), float(text.attrib["y"])
    is_end = {"number", "took"} & set(classes)
    left = x - wide if is_end else x - wide / 2 if "tick" in classes else x
    return left, y - 0.8 * size, left + wide, y + 0.2 * size


def _em(char: str, *, is_name: bool) -> float:
    if unicodedata.east_asian_width(char) in "WF":
        return 1.0
    if is_name:
        return 0.6
    return 0.98 if char in "mwMW@%…" else 0.7 if char.isupper() else 0.56


def words(root: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in root.iter(f"{SVG}text")]


def test_a_picture_says_what_the_drawing_says() -> None:
    root = picture(example())
    shown = words(root)
    assert shown[:2] == ["m-1 · chat", "10.0 s"]
    for fact in ("reasoning", "find", "1 call", "3,000", "reasoning after 1.0 s", "end_turn"):
        assert any(fact in word for word in shown)
    titles = [title.text for rect in root.iter(f"{SVG}rect") for title in rect]
    assert "find · running · 2.0 s" in titles
    assert "text · 4.0 s · 3,000 characters in 2 deltas" in titles


def test_a_picture_stands_alone_and_follows_the_page() -> None:
    svg = timeline_svg(example())
    assert "prefers-color-scheme: dark" in svg
    assert svg.count("http") == 1  # the namespace
    assert "<script" not in svg
    assert all(float(size) >= 12 for size in re.findall(r"font-size: ([\d.]+)px", svg))


@pytest.mark.parametrize("drawn", [timeline([]), crowd(1), crowd(60, 3), named("世界" * 30)])
def test_every_picture_is_whole(drawn: Timeline) -> None:
    picture(drawn)


def test_hostile_names_break_no_picture() -> None:
    for text in (words(picture(named(HOSTILE))), [timeline_svg(named(HOSTILE))]):
        shown = "".join(text)
        assert not set(shown) & {"\x1b", "\u202e", "\x00", "\ufffe"}
        assert "\\u202e" in shown


@given(st.text(st.characters(exclude_categories=[]), max_size=40))
@settings(max_examples=50)
def test_any_name_gives_xml(name: str) -> None:
    ElementTree.fromstring(timeline_svg(named(name or "x")))


def test_the_size_is_bounded_whatever_the_stream() -> None:
    kinds: Any = ("call", "tool")
    restless = Timeline(
        ended_ms=100_000,
        spans=tuple(
            Span(
                kind=kinds[at % 2],
                output=0,
                label=HOSTILE + str(at % 50),
                start_ms=at,
                end_ms=at,
                is_error=at % 3 == 0,
            )
            for at in range(100_000)
        ),
    )
    assert len(timeline_svg(restless)) < 1_000_000
    drawn = crowd(20_000, 100)
    svg = timeline_svg(drawn)
    root = picture(drawn)
    assert len(svg) < 1_000_000
    assert sum("rows that are not shown" in word for word in words(root)) == 1
    assert len(lines_of(drawn, 80)) < MAX_LANES + 12


# --- authored and recorded streams -------------------------------------------------


@given(data=st.data())
@settings(max_examples=40)
def test_every_authored_stream_is_drawn(data: st.DataObject) -> None:
    pace = data.draw(st.sampled_from([0, 1, 40, 3000, 10**7]))
    stream = data.draw(ANY_STREAM)
    events = events_of(stream.data, framing=stream.framing)
    drawn = timeline(stamped(*((pace * at, event) for at, event in enumerate(events))))
    picture(drawn)
    columns = data.draw(st.integers(12, 200))
    assert all(
        len(line) <= columns for line in lines_of(drawn, columns) if line.isascii() or "━" in line
    )


@pytest.mark.shared("corpus/manifest.jsonl")
def test_every_recorded_stream_is_drawn() -> None:
    rows = recorded.rows()
    for row in rows[:: max(len(rows) // 150, 1)]:
        events = events_of(recorded.read(row), framing=recorded.FRAMINGS[row["framing"]])
        drawn = timeline(stamped(*((20 * at, event) for at, event in enumerate(events))))
        picture(drawn)
        assert lines_of(drawn, 80)


# --- the command -----------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two streams."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.sse").write_bytes(HELLO)
    (tmp_path / "b.sse").write_bytes(THINK)
    return tmp_path


def test_the_command_draws(folder: Path, capsys: Capture) -> None:
    assert main(["decode", "--format", "timeline", "b.sse"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("m-1 · chat")
    assert "weather" in shown
    assert "1,200 tokens in" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("told", "columns"),
    [("50", 50), ("120", 120), ("", 80), ("0", 80), ("wide", 80), ("9" * 5000, 80)],
)
def test_in_a_pipe_the_variable_tells_the_columns(
    told: str, columns: int, folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", told)
    assert main(["decode", "--format", "timeline", "b.sse"]) == 0
    assert len(capsys.readouterr().out.splitlines()[0].rstrip()) == columns


def test_drawings_of_several_files_have_headings(folder: Path, capsys: Capture) -> None:
    assert main(["decode", "--format", "timeline", "a.sse", "b.sse"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if line.startswith("── ")] == [
        "── a.sse (sse)",
        "── b.sse (sse)",
    ]


def test_recorded_times_are_drawn(folder: Path, capsys: Capture) -> None:
    first = HELLO.index(b"\n\n") + 2
    reads = {"lens": [first, len(HELLO) - first], "ms": [3, 4200]}
    (folder / "a.sse.chunks.json").write_text(json.dumps(reads))
    assert main(["decode", "--format", "timeline", "a.sse"]) == 0
    assert "4.2 s" in capsys.readouterr().out.splitlines()[0]


def test_a_picture_is_written_to_its_file(folder: Path, capsys: Capture) -> None:
    assert main(["decode", "--svg", "b.svg", "b.sse"]) == 0
    assert capsys.readouterr() == ("", "")
    check_picture(ElementTree.fromstring((folder / "b.svg").read_text("utf-8")))


def test_a_picture_of_standard_input_goes_to_standard_output(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(HELLO)))
    assert main(["decode", "--svg", "-", "--rate", "5", "--format", "timeline"]) == 0
    check_picture(ElementTree.fromstring(capsys.readouterr().out))


@pytest.mark.parametrize(
    ("argv", "what"),
    [
        (["a.sse", "b.sse"], "not 2 streams"),
        (["."], "not 2 streams"),
        (["--format", "events", "a.sse"], "not --format events"),
    ],
)
def test_a_picture_is_of_one_stream(
    argv: list[str], what: str, folder: Path, capsys: Capture
) -> None:
    assert main(["decode", "--svg", "x.svg", *argv]) == 2
    assert what in capsys.readouterr().err
    assert not (folder / "x.svg").exists()


def test_a_picture_that_cannot_be_written_is_told(folder: Path, capsys: Capture) -> None:
    assert main(["decode", "--svg", "no/x.svg", "a.sse"]) == 1
    assert "cannot write no/x.svg" in capsys.readouterr().err
