"""`headrace decode --as ux`, as a user runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from headrace.cli.commands.decode.frame_printer import FrameRows
from headrace.cli.main import main
from headrace.cli.terminal.output import Paint
from headrace.projections.ux import UXFrame
from headrace.projections.ux import frame as fr
from tests.unit.cli.stream import FAILED, HELLO, THINK

Capture = pytest.CaptureFixture[str]
HOSTILE = "x\x1b[31m\u202e\x00 世界 " + "W" * 200


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two streams."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.sse").write_bytes(HELLO)
    (tmp_path / "b.sse").write_bytes(THINK)
    return tmp_path


def _shown(capsys: Capture, *argv: str) -> list[str]:
    assert main(["decode", "--as", "ux", *argv]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out.splitlines()


def test_there_is_a_row_for_each_frame(folder: Path, capsys: Capture) -> None:
    header, *rows = _shown(capsys, "b.sse")
    assert header == "  time s  frame"
    final = 'message_final             event {"id":"msg_c1","role":"assistant","run_id":null,'
    assert [row[8:] for row in rows[:-1]] == [
        "  message_started           run_id null",
        "  reasoning_part_started    summary_index 0 · sequence_number 0 · part_type"
        " reasoning_text",
        "  reasoning_part_delta      hm⏎yes · summary_index 0",
        "  reasoning_part_completed  summary_index 0 · is_complete true",
        "  reasoning_segment_meta    duration_ms 20",
        "  tool_call_started         weather · sequence_number 1",
        '  tool_call_update          status writing · args_delta {"city": "Oslo"}',
        '  tool_call_update          status ready · args {"city":"Oslo"}',
        "  status                    Using weather: Oslo · source tool",
    ]
    assert rows[-1][10:].startswith(final)


def test_events_are_the_payloads(folder: Path, capsys: Capture) -> None:
    payloads = [json.loads(line) for line in _shown(capsys, "--format", "events", "a.sse")]
    assert [payload["type"] for payload in payloads] == [
        "message_started", "segment_added", "text_delta", "text_delta", "message_final"
    ]  # fmt: skip
    assert payloads[2] == {"type": "text_delta", "event_id": "msg_c1", "text_delta": "Hel"}


def test_payloads_of_several_files_name_their_file(folder: Path, capsys: Capture) -> None:
    lines = [json.loads(line) for line in _shown(capsys, "--format", "events", "a.sse", "b.sse")]
    assert {line["file"] for line in lines} == {"a.sse", "b.sse"}
    assert [line["frame"]["type"] for line in lines].count("message_final") == 2


def test_a_failure_is_a_frame_and_no_failure_of_the_command(folder: Path, capsys: Capture) -> None:
    (folder / "c.sse").write_bytes(FAILED)
    assert _shown(capsys, "c.sse")[-1][10:].startswith("message_error")


def test_what_does_not_go_together_is_a_wrong_command_line(folder: Path, capsys: Capture) -> None:
    assert main(["decode", "--as", "ux", "--format", "timeline", "a.sse"]) == 2
    assert "--as ux has the formats table and events" in capsys.readouterr().err
    assert main(["decode", "--as", "ux", "--svg", "a.svg", "a.sse"]) == 2
    assert "which --as ux does not have" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [1, 20, 60, 100])
@pytest.mark.parametrize(
    "frame",
    [
        fr.ReasoningPartDelta("e", "s", 0, HOSTILE),
        fr.CodeInterpreterCallUpdate("e", "c", HOSTILE, args={"q": HOSTILE}),
        fr.Status("e", HOSTILE, "title", 0),
    ],
)
def test_a_row_fits_into_its_width_whatever_is_said(columns: int, frame: UXFrame) -> None:
    row = FrameRows("ux", columns, Paint(False), is_several=True).line(frame)
    assert len(row) <= max(columns, 64)
    assert not re.search("[\x00-\x1f\x7f\u202e]", row)


@pytest.mark.parametrize(
    ("frame", "look"),
    [
        (fr.ReasoningPartDelta("e", "s", 0, "a"), "2"),
        (fr.MCPCallUpdate("e", "c", "running"), "36"),
        (fr.TextPiece("e", "a"), ""),
    ],
)
def test_colours_tell_reasoning_tools_and_text_apart(frame: Any, look: str) -> None:
    row = FrameRows("ux", 80, Paint(True), is_several=True).line(frame)
    found = re.match(r"\x1b\[2m *[\d.]+\x1b\[0m  \x1b\[([\d;]+)m", row)
    assert (found[1] if found else "") == look
