"""`headrace inspect`: where the time went."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from xml.etree import ElementTree

import pytest

from headrace.cli.main import main
from headrace.recording.file import READS_ENDING
from headrace.rehearsal.script import call, say, think, turn
from tests.server.serving import scripted, served
from tests.unit.cli.folder import change, kept, run_of, weather
from tests.unit.cli.stream import HELLO, THINK

Capture = pytest.CaptureFixture[str]
SLOW = (
    turn(think("Oslo, so I look."), call("weather", city="Oslo"), pace_s=0.01),
    turn(say("Take an umbrella, it rains."), pace_s=0.01),
)


@pytest.fixture(scope="module", name="data")
def _data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    kept(folder, "What is it like in Oslo?", turns=SLOW)
    return folder


def copied(data: Path, folder: Path, *statements: str) -> Path:
    """The same data, changed."""
    shutil.copytree(data, folder / "copy")
    change(folder / "copy", *statements)
    return folder / "copy"


@pytest.mark.parametrize("columns", [200, 80, 40, 20])
def test_a_run_is_drawn_in_any_width(
    columns: int, data: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["inspect", "last", "--data", str(data)]) == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[0].startswith("run_")
    assert "“What is it" in shown
    for label in ("reasoning", "weather", "text", "first", "usage", "speed", "end"):
        assert any(line.startswith(label[:5]) for line in lines), label
    assert "\x1b" not in shown


def test_a_run_is_found_by_its_id_and_by_that_of_its_message(
    data: Path, capsys: Capture, tmp_path: Path
) -> None:
    assert main(["inspect", "last", "--data", str(data)]) == 0
    drawn = capsys.readouterr().out
    run_id = drawn.splitlines()[0]
    assert main(["inspect", run_id[:16], "--data", str(data)]) == 0
    assert capsys.readouterr().out == drawn


def test_expired_records_leave_what_the_message_keeps(
    data: Path, capsys: Capture, tmp_path: Path
) -> None:
    assert main(["inspect", "--json", "last", "--data", str(data)]) == 0
    whole = json.loads(capsys.readouterr().out)
    old = copied(data, tmp_path, "DELETE FROM record_batches", "DELETE FROM record_chunks")
    assert main(["inspect", "last", "--data", str(old)]) == 0
    assert "its records have expired" in capsys.readouterr().out
    assert main(["inspect", "--json", "last", "--data", str(old)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (whole["has_records"], told["has_records"]) == (True, False)
    for name in ("first_reasoning_ms", "first_text_ms", "usage", "finish", "model"):
        assert told["timeline"].get(name) == whole["timeline"].get(name), name
    kinds = [[span["kind"] for span in row["timeline"]["spans"]] for row in (whole, told)]
    assert kinds[0] == kinds[1] == ["reasoning", "call", "tool", "text"]


def test_a_run_of_which_nothing_is_left_is_said(
    data: Path, capsys: Capture, tmp_path: Path
) -> None:
    old = copied(
        data,
        tmp_path,
        "DELETE FROM record_batches",
        "DELETE FROM record_chunks",
        "DELETE FROM messages",
    )
    assert main(["inspect", "last", "--data", str(old)]) == 1
    assert "neither records nor a message" in capsys.readouterr().err


def test_records_that_make_no_sense_are_said(data: Path, capsys: Capture, tmp_path: Path) -> None:
    odd = copied(data, tmp_path, "UPDATE record_chunks SET body = x'78'")
    assert main(["inspect", "last", "--data", str(odd)]) == 1
    assert "cannot decode the stored run" in capsys.readouterr().err


def test_a_picture_is_a_picture(data: Path, capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "run.svg"
    assert main(["inspect", "--svg", str(file), "last", "--data", str(data)]) == 0
    words = "".join(ElementTree.parse(file).getroot().itertext())
    for word in ("weather", "reasoning", "tokens/s", "time"):
        assert word in words
    old = copied(data, tmp_path, "DELETE FROM record_batches", "DELETE FROM record_chunks")
    assert main(["inspect", "--svg", str(file), "last", "--data", str(old)]) == 0
    assert "deltas" not in "".join(ElementTree.parse(file).getroot().itertext())


def test_a_picture_that_cannot_be_written_is_said(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "a.sse").write_bytes(HELLO)
    target = tmp_path / "nowhere" / "a.svg"
    assert main(["inspect", "--svg", str(target), str(tmp_path / "a.sse")]) == 1
    assert f"cannot write {target}" in capsys.readouterr().err


def test_a_stream_is_drawn_with_the_wait_before_it(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "a.sse"
    file.write_bytes(THINK)
    assert main(["inspect", str(file)]) == 0
    plain = capsys.readouterr().out
    assert "first read" not in plain
    reads = {"lens": [10, len(THINK) - 10], "ms": [1500, 20]}
    (tmp_path / f"a.sse{READS_ENDING}").write_text(json.dumps(reads))
    assert main(["inspect", str(file)]) == 0
    assert capsys.readouterr().out.startswith("the first read came after 1.5 s\n")


def test_a_pipe_without_signs_gets_plain_ones(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = TextIOWrapper(BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    assert main(["inspect", "last", "--data", str(data)]) == 0
    drawn = out.buffer.getvalue().decode("ascii")
    assert "====" in drawn


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("nowhere", "no such file or run; a run is named by its id"),
        ("run_unknown0", "no such run in"),
        ("msg_", "at least 8 characters"),
    ],
)
def test_what_is_not_there_is_said(what: str, said: str, data: Path, capsys: Capture) -> None:
    assert main(["inspect", what, "--data", str(data)]) == 1
    assert said in capsys.readouterr().err


def test_two_runs_that_begin_alike_are_said(data: Path, capsys: Capture, tmp_path: Path) -> None:
    twice = copied(
        data,
        tmp_path,
        "INSERT INTO runs (id, owner, conversation_id, parent_id, message_id, model, created_ms,"
        " fingerprint) SELECT id || 'x', owner, conversation_id, parent_id, 'msg_other', model,"
        " created_ms, '' FROM runs",
    )
    assert main(["inspect", "last", "--data", str(data)]) == 0
    run_id = capsys.readouterr().out.splitlines()[0]
    assert main(["inspect", run_id, "--data", str(twice)]) == 1
    assert "several runs have an id that begins like this" in capsys.readouterr().err


def test_a_live_run_is_shown_without_a_word_to_its_server(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = (turn(think("hm " * 30), pace_s=0.05), turn(say("Done.")))

    async def watched() -> tuple[str, str]:
        async with served(scripted(*turns, tools=[weather]), tmp_path) as server:
            async with server.open("Slowly.") as response:
                await response.content.readuntil(b"thinking_delta")
                before = {name: os.stat(tmp_path / name).st_mtime_ns for name in ("server.lock",)}
                assert (
                    await asyncio.to_thread(main, ["inspect", "last", "--data", str(tmp_path)]) == 0
                )
                assert before == {"server.lock": os.stat(tmp_path / "server.lock").st_mtime_ns}
                event_id = response.headers["x-event-id"]
            server.service.runs.cancel(event_id)
            await server.idle()
            return event_id, run_of(tmp_path, event_id)

    _, run_id = asyncio.run(watched())
    shown = capsys.readouterr().out
    assert shown.startswith(run_id)
    assert "the run is not finished" in shown


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to_is_read(
    data: Path, capsys: Capture, tmp_path: Path
) -> None:
    folder = copied(data, tmp_path)
    for path in folder.iterdir():
        if path.name.endswith(("-wal", "-shm")):
            path.unlink()
    folder.chmod(0o500)
    try:
        assert main(["inspect", "last", "--data", str(folder)]) == 0
    finally:
        folder.chmod(0o700)
