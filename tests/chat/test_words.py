"""The words of the terminal are those of the page; and Ctrl-C, commands, drafts by themselves."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from headrace.cli.commands.chat.advice import ABORTS, ENDS, FAILURES, advice_of
from headrace.cli.commands.chat.slash_command import (
    SLASHES,
    Order,
    completions,
    order_from,
)
from headrace.cli.commands.chat.step import Step, Thought, Tool
from headrace.cli.commands.chat.transcript import format_list
from headrace.cli.commands.chat.watcher import Interrupts
from headrace.cli.commands.chat.wording import (
    count,
    duration,
    format_brief,
    format_elapsed,
    format_value,
    summary,
)
from headrace.cli.option import EFFORTS
from headrace.encoders.chat.quirks import EFFORTS as KNOWN_EFFORTS
from headrace.outcome import ErrorInfo, FinishReason
from headrace.projections.ux import MessageEvent
from headrace.server.storage.store import Conversation

_PAGE = Path(__file__).parents[2] / "web" / "src" / "languages" / "en.ts"


def _event(error: ErrorInfo | None = None, finish: FinishReason | None = None) -> MessageEvent:
    return MessageEvent(
        id="m", role="assistant", run_id=None, created_at=0, segments=(), usage=None,
        error=error, finish=finish,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "ours"), [("failures", FAILURES), ("ends", ENDS), ("aborts", ABORTS)]
)
def test_what_happened_is_said_in_the_words_of_the_page(
    name: str, ours: dict[str, tuple[str, str]]
) -> None:
    table = re.search(
        rf"^  {name}: {{\n(.*?)\n  }} as", _PAGE.read_text(), re.DOTALL | re.MULTILINE
    )
    assert table is not None
    rows = re.findall(r'^    (\w+): pair\(("[^"]*", "[^"]*")\),$', table[1], re.MULTILINE)
    assert {key: tuple(json.loads(f"[{words}]")) for key, words in rows} == ours


def test_every_end_that_is_none_of_its_own_is_told() -> None:
    failed = advice_of(_event(ErrorInfo("overloaded", "Too\x1b[31m many")), is_unsaved=False)
    assert failed is not None
    assert (failed.is_error, failed.detail, failed.command) == (True, "Too many", "/retry")
    unsaved = advice_of(_event(), is_unsaved=True)
    assert unsaved is not None
    assert unsaved.what == "The answer could not be saved."
    assert advice_of(_event(finish=FinishReason("end_turn")), is_unsaved=False) is None
    lost = advice_of(
        msgspec.structs.replace(_event(finish=FinishReason("end_turn")), warning="2 frames"),
        is_unsaved=False,
    )
    assert lost is not None
    assert (lost.is_error, lost.detail, lost.command) == (False, "2 frames", "/retry")
    assert lost.what in _PAGE.read_text()
    stopped = advice_of(_event(finish=FinishReason("aborted", "cancelled")), is_unsaved=False)
    assert stopped is not None
    assert not stopped.is_error


@pytest.mark.parametrize(
    ("ms", "words"),
    [(0, "0 ms"), (99, "99 ms"), (340, "0.3 s"), (949, "0.9 s"), (950, "1 s"), (12_400, "12 s"),
     (61_000, "1 min 1 s"), (7_500_000, "2 h 5 min")],
)  # fmt: skip
def test_durations_read_as_they_do_on_the_page(ms: int, words: str) -> None:
    assert duration(ms) == words


def test_seconds_that_count_up_never_run_ahead() -> None:
    assert [format_elapsed(ms) for ms in (0, 999, 1_999, 61_900)] == [
        "0 s",
        "0 s",
        "1 s",
        "1 min 1 s",
    ]


def test_steps_are_told_in_a_line() -> None:
    thoughts = [Thought("a"), Thought("b")]
    thoughts[0].duration_ms, thoughts[1].duration_ms = 11_000, 900
    steps: list[Step] = [*thoughts, Tool("c", "x"), Tool("d", "y")]
    assert summary(steps) == "Thought for 12 s · 2 tools"
    assert summary([Thought("a"), Tool("c", "x")]) == "Thought for a moment · 1 tool"
    assert count(1_200, "token") == "1,200 tokens"


def test_values_are_told_briefly() -> None:
    image = {"type": "image", "media_type": "image/png", "url": "data:image/png;base64,AAAA"}
    assert format_brief(image) == "[image/png, 3 bytes]"
    assert "AAAA" not in format_value([image, "x"])
    assert format_brief({"a": "x", "b": [1, 2]}) == "x, [1,2]"
    assert format_brief("a\n  b") == "a b"
    assert format_brief(None) == ""
    assert format_brief("x" * 100) == "x" * 59 + "…"


def test_ctrl_c_leaves_when_it_comes_twice_and_not_otherwise() -> None:
    now = [0.0]
    keys = Interrupts(lambda: now[0])

    def press(at_s: float, *, is_idle: bool) -> bool:
        now[0] = at_s
        return keys.press(is_idle=is_idle)

    assert not press(0.0, is_idle=False)
    assert press(2.0, is_idle=False)
    keys.reset()
    assert not press(10.0, is_idle=False)
    assert not press(13.0, is_idle=True)
    assert press(99.0, is_idle=True)
    keys.reset()
    assert not press(100.0, is_idle=True)


def test_commands_are_told_from_messages() -> None:
    assert order_from("/save  my file.md ") == Order("save", "my file.md")
    assert order_from("/etc/hosts") is None
    assert order_from("what is /help") is None
    assert EFFORTS == KNOWN_EFFORTS


def test_completion_knows_commands_and_their_words() -> None:
    assert [word for word, _ in completions("/", [])] == [f"/{one.name}" for one in SLASHES]
    assert list(completions("/reasoning o", [])) == [("on", ""), ("off", "")]
    assert list(completions("/model an", ["anthropic:", "openai:"])) == [("anthropic:", "")]
    assert list(completions("/save x", [])) == []


def test_a_list_tells_how_to_see_what_is_older() -> None:
    found = [
        Conversation(id=f"c{at}", title=f"title {at}", created_ms=0, updated_ms=0)
        for at in range(1, 43)
    ]
    first = format_list(found[:21], 1, "c2")
    assert len(first) == 21
    assert first[0].endswith("title 1")
    assert first[1].startswith("*  2")
    assert first[-1].strip() == "older: /list 21"
    last = format_list(found, 41, None)
    assert [row.split("  ")[-1] for row in last] == ["title 41", "title 42"]
