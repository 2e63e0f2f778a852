"""`headrace replay`: streams and runs, once more."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from headrace.cli.commands.replay.run import ReplayAgent, whole_run
from headrace.cli.main import main
from headrace.events import (
    Record,
    RunClosed,
    RunFailed,
    RunFinished,
    RunStarted,
    TextDelta,
    TextStarted,
    TurnFinished,
    TurnStarted,
)
from headrace.messages import fold
from headrace.outcome import END_TURN
from headrace.recording.file import READS_ENDING
from headrace.rehearsal.script import call, say, turn
from headrace.wire.decode import decode
from tests.shared import SHARED
from tests.unit.cli.folder import change, kept, run_of
from tests.unit.cli.stream import FAILED, HELLO, THINK

Capture = pytest.CaptureFixture[str]
HEADRACE = (sys.executable, "-m", "headrace")


def recorded_reads(folder: Path, data: bytes, cuts: int, pause_ms: float) -> Path:
    """A stream in so many reads, with a pause before each; its time begins with the first."""
    file = folder / "a.sse"
    size = -(-len(data) // cuts)
    lens = [len(data[at : at + size]) for at in range(0, len(data), size)]
    file.write_bytes(data)
    reads = {"lens": lens, "ms": [pause_ms] * len(lens)}
    (folder / f"a.sse{READS_ENDING}").write_text(json.dumps(reads))
    return file


# --- streams -------------------------------------------------------------------------


def test_a_stream_looks_as_when_it_was_asked(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "a.sse").write_bytes(THINK)
    assert main(["replay", "--speed", "max", str(tmp_path / "a.sse")]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == 'hm\nyes\n\nthe model calls weather {"city": "Oslo"}\n'


def test_thoughts_can_be_hidden(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "a.sse").write_bytes(THINK)
    assert main(["replay", "--speed", "max", "--hide-reasoning", str(tmp_path / "a.sse")]) == 0
    assert "hm" not in capsys.readouterr().err


class VirtualTime:
    """What `replay` asks of `time`; only sleeping moves it."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.mark.parametrize(("speed", "seconds"), [("1", 0.3), ("4", 0.075), ("0.5", 0.6), ("max", 0)])
def test_it_takes_its_recorded_time_or_a_share_of_it(
    speed: str, seconds: float, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = VirtualTime()
    monkeypatch.setattr("headrace.cli.commands.replay.command.time", time)
    file = recorded_reads(tmp_path, HELLO, cuts=4, pause_ms=100)
    assert main(["replay", "--speed", speed, str(file)]) == 0
    assert capsys.readouterr().out == "Hello\n"
    assert time.now_s - 100 == pytest.approx(seconds)


def test_a_failure_that_it_tells_of_is_told_and_no_failure_of_ours(
    capsys: Capture, tmp_path: Path
) -> None:
    (tmp_path / "a.sse").write_bytes(FAILED)
    assert main(["replay", "--speed", "max", str(tmp_path / "a.sse")]) == 0
    assert "rate_limit: too many" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("nowhere.sse", "no such file or run; a run is named by its id"),
        (".", "no recorded streams in this folder"),
        ("a.sse.chunks.json", "this file lists the reads of a stream"),
        ("last", "no conversations in"),
        ("run_0123456789", "the folder does not exist. Choose another folder with --data"),
    ],
)
def test_what_cannot_be_played_is_said(
    what: str, said: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.sse.chunks.json").write_text("{}")
    assert main(["replay", what, "--data", str(tmp_path / "data")]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"headrace replay: {what}: ")
    assert said in shown.err


@pytest.mark.parametrize("speed", ["0", "-1", "fast", "inf", "nan"])
def test_a_speed_is_a_number_or_max(speed: str, capsys: Capture) -> None:
    assert main(["replay", "--speed", speed, "x"]) == 2
    assert "or max" in capsys.readouterr().err


def test_ctrl_c_stops_it_and_keeps_what_was_shown(tmp_path: Path) -> None:
    file = recorded_reads(tmp_path, HELLO, cuts=2, pause_ms=20_000)
    command = [*HEADRACE, "replay", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(3) == b"Hel"
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        assert b"interrupted" in process.stderr.read()


def test_in_a_terminal_thoughts_are_dim_and_lines_do_not_run_together(tmp_path: Path) -> None:
    data = tmp_path / "data"
    kept(data)
    leader, follower = pty.openpty()
    command = [*HEADRACE, "replay", "--speed", "max", "last", "--data", str(data)]
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment |= {"TERM": "xterm", "COLUMNS": "40"}
    process = subprocess.Popen(command, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    shown = _drained(leader)
    assert process.wait() == 0
    assert "\x1b[2mOslo," in shown
    plain = re.sub(r"\x1b\[[0-9;]*[mK]", "", shown).replace("\r", "")
    assert 'Let me look.\nthe model calls weather {"city":"Oslo"}\n' in plain
    assert "\nweather gave It rains in Oslo.\n" in plain
    assert "\nTake an umbrella.\n" in plain


def _drained(leader: int) -> str:
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:  # Linux says EIO where the other end is closed
            piece = b""
        if not piece:
            break
        pieces.append(piece)
    os.close(leader)
    return b"".join(pieces).decode()


# --- runs ----------------------------------------------------------------------------


def test_a_run_is_played_with_its_tools(capsys: Capture, tmp_path: Path) -> None:
    (message_id,) = kept(tmp_path)
    for name in (message_id, run_of(tmp_path, message_id), message_id[:12], "last"):
        assert main(["replay", "--speed", "max", name, "--data", str(tmp_path)]) == 0
        shown = capsys.readouterr()
        assert shown.out == "Let me look.\nTake an umbrella.\n"
        assert (
            'the model calls weather {"city":"Oslo"}\nweather gave It rains in Oslo.' in shown.err
        )


def test_a_run_whose_records_are_gone_says_where_to_look(capsys: Capture, tmp_path: Path) -> None:
    kept(tmp_path)
    change(tmp_path, "DELETE FROM record_batches", "DELETE FROM record_chunks")
    assert main(["replay", "last", "--data", str(tmp_path)]) == 1
    assert "headrace inspect run_" in capsys.readouterr().err


def test_what_a_tool_gave_is_one_line(capsys: Capture, tmp_path: Path) -> None:
    turns = (
        turn(call("weather", city="Oslo, " * 40)),
        turn(say("Rain.")),
    )
    kept(tmp_path, turns=turns)
    assert main(["replay", "--speed", "max", "last", "--data", str(tmp_path)]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line[:12] for line in lines] == ["the model ca", "weather gave"]
    assert all(len(line) == 80 and line.endswith("…") for line in lines)


def test_an_unknown_run_is_told_the_newest(capsys: Capture, tmp_path: Path) -> None:
    (message_id,) = kept(tmp_path)
    assert main(["replay", "run_unknown", "--data", str(tmp_path)]) == 1
    assert run_of(tmp_path, message_id) in capsys.readouterr().err
    assert main(["replay", "run_", "--data", str(tmp_path)]) == 1
    assert "at least 8 characters" in capsys.readouterr().err


def test_data_of_another_version_is_said(capsys: Capture, tmp_path: Path) -> None:
    kept(tmp_path)
    change(tmp_path, "PRAGMA user_version = 99")
    assert main(["replay", "last", "--data", str(tmp_path)]) == 1
    assert "update Headrace" in capsys.readouterr().err


# --- the page ------------------------------------------------------------------------


def test_a_stream_alone_is_a_whole_run() -> None:
    records = whole_run(list(decode([HELLO], clock=lambda: 5)))
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert isinstance(records[0].event, RunStarted)
    assert isinstance(records[-1].event, RunFinished)
    assert fold(records).text == "Hello"
    assert fold(records).finish == END_TURN


def test_what_the_server_adds_is_taken_away_and_a_run_that_goes_on_gets_an_end() -> None:
    going_on = [
        Record(1, 0, RunStarted("r")),
        Record(2, 1, TurnStarted(dialect="chat")),
        Record(3, 2, TextStarted(part=0, output=0, item=0)),
        Record(4, 3, TextDelta(0, "ha")),
    ]
    assert isinstance(whole_run(going_on)[-1].event, RunFailed)
    over = [*going_on, Record(5, 4, RunFinished(END_TURN)), Record(6, 4, RunClosed("committed"))]
    assert whole_run(over) == over[:-1]
    assert isinstance(whole_run([])[-1].event, RunFailed)
    turn_only = [
        Record(1, 0, TurnStarted(dialect="chat")),
        Record(2, 0, TurnFinished(reason=END_TURN)),
    ]
    assert isinstance(whole_run(turn_only)[-1].event, RunFinished)


def test_a_run_that_is_stopped_has_one_end() -> None:
    async def stopped(how: str) -> list[Record]:
        curtain = asyncio.Event()
        agent = ReplayAgent("a", list(decode([HELLO])), 1.0, curtain)
        async with agent.run("", run_id="r") as run:
            taken: list[Record] = []
            run.hand_to(taken.extend)
            await asyncio.sleep(0)
            getattr(run, how)("enough")
            await run.wait()
            assert run.message.run_id is None or run.message.run_id == "r"
        return taken

    (cancelled,) = asyncio.run(stopped("cancel"))
    assert isinstance(cancelled.event, RunFinished)
    (interrupted,) = asyncio.run(stopped("interrupt"))
    assert isinstance(interrupted.event, RunFailed)


def _page(*argv: str) -> subprocess.Popen[str]:
    command = [*HEADRACE, "replay", "--page", *argv]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _fetched(url: str) -> bytes:
    assert url.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(url, timeout=60) as answer:
        data: bytes = answer.read()
        return data


@pytest.mark.parametrize("kind", ["stream", "run"])
def test_the_page_shows_it_as_a_conversation(kind: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    if kind == "run":
        kept(data, "First?", "Second?")
        argv, answer, questions = ["last", "--data", str(data)], "Take an umbrella.", 2
    else:
        (tmp_path / "a.sse").write_bytes(HELLO)
        argv, answer, questions = [str(tmp_path / "a.sse")], "Hello", 1
    with _page(*argv, "--speed", "max") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Headrace replays ")
        address, _, conversation = process.stdout.readline().strip().partition("/#/c/")
        try:
            told = json.loads(_fetched(f"{address}/api/conversations/{conversation}"))
            assert sum(one["role"] == "user" for one in told["messages"]) == questions
            (live,) = told["live"]
            frames = _fetched(f"{address}/api/chat/{live['event_id']}/stream").decode()
            assert '"type":"message_final"' in frames
            again = json.loads(_fetched(f"{address}/api/conversations/{conversation}"))
            event = next(one["event"] for one in again["messages"] if one["id"] == live["event_id"])
            assert event["segments"][-1]["text"] == answer
            assert again["live"] == []
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 0


def test_a_port_that_is_taken_is_said(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "a.sse").write_bytes(HELLO)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["replay", "--page", "--port", port, str(tmp_path / "a.sse")]) == 1
    assert "cannot listen on" in capsys.readouterr().err


# --- recorded_reads streams ------------------------------------------------------------------


@pytest.mark.shared("corpus/streams")
def test_recorded_streams_can_be_played(capsys: Capture) -> None:
    files = sorted((SHARED / "corpus" / "streams").rglob("*.sse"))[::40]
    for file in files:
        status = main(["replay", "--speed", "max", str(file)])
        assert status == 0 or "no known dialect" in capsys.readouterr().err
