"""The trace has every record as a line, a summary at the end, and says when it cannot."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.engine import Agent, JSONLinesTrace, Run, RunSummary, RunView
from headrace.events import Record, decode_record
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.script import ScriptedTurn, call, refuse, say, think, turn, usage, wait
from headrace.rehearsal.transport import ScriptedTransport
from headrace.transport.retry import NEVER
from tests.engine.play import MODELS, check_run, clock


async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def thoughtful() -> list[ScriptedTurn]:
    return [
        turn(wait(1), think("Let me see."), wait(2), call("add", a=1, b=2), usage(10, 5)),
        turn(wait(1), say("It is 3."), usage(20, 5)),
    ]


def played(target: Any, turns: list[ScriptedTurn], runs: int = 1) -> list[Run]:
    trace = JSONLinesTrace(target)

    async def main() -> list[Run]:
        made: list[Run] = []
        for number in range(runs):
            agent = Agent(
                MODELS["chat"],
                transport=ScriptedTransport(turns),
                api_key="k",
                policy=NEVER,
                tools=[add],
                middleware=[trace],
            )
            async with agent.run("Go.", clock=clock(), run_id=f'"run" {number}') as run:
                await run.wait()
            made.append(run)
        return made

    made = run_virtual(main())
    for run in made:
        check_run(run, "chat")
    return made


def test_every_record_is_a_line_and_the_summary_is_the_last(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    first, second = played(path, thoughtful(), runs=2)
    lines = path.read_bytes().splitlines()
    assert path.stat().st_mode & 0o777 == 0o600
    for run in (first, second):
        mine = [line for line in lines if json.loads(line)["run_id"] == run.run_id]
        assert [decode_record(line) for line in mine[:-1]] == run.records_so_far
        summary = msgspec.convert(json.loads(mine[-1])["summary"], RunSummary)
        assert (summary.steps, summary.tool_calls) == (2, 1)
        assert (summary.first_reasoning_ms, summary.first_text_ms) == (1000, 4000)
        assert summary.duration_ms == 4000
        assert summary.records == len(run.records_so_far)
        assert summary.finish == "end_turn"
        assert (summary.usage.input_tokens, summary.usage.output_tokens) == (30, 10)


@pytest.mark.parametrize("kind", [io.BytesIO, io.StringIO])
def test_an_open_file_stays_open(kind: Any) -> None:
    target = kind()
    (run,) = played(target, thoughtful())
    value = target.getvalue()
    assert len(value.splitlines()) == len(run.records_so_far) + 1
    assert not target.closed


def test_an_open_text_file_takes_lines(tmp_path: Path) -> None:
    with (tmp_path / "trace").open("w", encoding="utf-8") as target:
        (run,) = played(target, thoughtful())
    assert len((tmp_path / "trace").read_text("utf-8").splitlines()) == len(run.records_so_far) + 1


class Counting(io.BytesIO):
    flushes = 0

    def flush(self) -> None:
        self.flushes += 1


def test_lines_are_written_in_batches() -> None:
    target = Counting()
    (run,) = played(target, [turn(say("word " * 2_000))])
    assert len(run.records_so_far) > 2_000
    assert target.flushes < 20


def test_a_line_is_written_when_the_batch_is_a_second_old() -> None:
    target, view = io.BytesIO(), RunView("r", "m")
    trace = JSONLinesTrace(target)
    lines: list[int] = []
    for seq, at_ms in enumerate([7_000, 7_999, 8_000, 8_001, 8_999, 9_000], 1):
        trace.on_event(view, Record(seq, at_ms, ev.TextDelta(0, "a")))
        lines.append(len(target.getvalue().splitlines()))
    assert lines == [0, 0, 3, 3, 3, 6]


def test_a_run_that_fails_has_its_summary_too(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    played(path, [turn(refuse(400, "No."))])
    summary = json.loads(path.read_bytes().splitlines()[-1])["summary"]
    assert summary["error"].startswith("invalid_request:")


def test_a_disk_that_fails_fails_the_run_and_says_so(tmp_path: Path) -> None:
    (run,) = played(tmp_path / "nowhere" / "trace.jsonl", thoughtful())
    assert run.result.error is not None
    assert "JSONLinesTrace.on_event raised FileNotFoundError" in run.result.error.message


def test_a_long_answer_is_written_before_the_run_ends(tmp_path: Path) -> None:
    """A batch is written when it has 64 kB, although all records have the same time."""
    sizes: list[int] = []

    class Target(io.BytesIO):
        def write(self, data: Any) -> int:
            sizes.append(len(data))
            return super().write(data)

    played(Target(), [turn(say("word " * 4_000), pace_s=0.0)])
    assert len(sizes) > 2
    assert sizes[0] < 70_000 < sum(sizes)
