"""A shorter history is one that the provider takes, with all that must stay in it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import events as ev
from headrace.content import FileContent, ImageContent, JSONContent, TextContent
from headrace.engine import Agent, Run, Summarize, Truncate
from headrace.engine.conversation.summarizer import HEAD, _format_message
from headrace.engine.history.history_window import estimate_tokens
from headrace.engine.run_broken import RunBroken
from headrace.errors import UsageError
from headrace.messages import (
    CallPart,
    CallResult,
    Message,
    Part,
    ReasoningPart,
    Seal,
    TextPart,
    Turn,
)
from headrace.outcome import END_TURN, TOOL_USE
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import call, error, refuse, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.transport.retry import NEVER
from headrace.usage import UNKNOWN_USAGE, Usage
from tests.engine.play import MODELS, check_next_request, check_run, clock

NUMBERS: dict[str, Any] = {"part": 0, "output": 0, "item": 0, "started_ms": 0, "ended_ms": 1}


def said(text: str, role: Any = "user") -> Message:
    return Message(role=role, content=(TextContent(text),))


def answered(*turns: Turn) -> Message:
    return Message(role="assistant", turns=turns, finish=END_TURN)


def spoken(text: str, usage: Usage = UNKNOWN_USAGE) -> Turn:
    return Turn(parts=(TextPart(**NUMBERS, text=text),), finish=END_TURN, usage=usage)


@st.composite
def turns(draw: st.DrawFn, dialect: str) -> Turn:
    names: dict[str, Any] = {"dialect": dialect, "provider": None, "model": None}
    size = draw(st.integers(1, 200))
    parts: list[Part] = []
    if draw(st.booleans()):
        seals = (Seal("signature", "c2lnbmVk"),) if draw(st.booleans()) else ()
        parts.append(ReasoningPart(**NUMBERS, text="r" * size, seals=seals))
    if draw(st.booleans()):
        parts.append(TextPart(**NUMBERS | {"part": 1, "item": 1}, text="t" * size))
    calls = draw(st.integers(0, 3))
    for number in range(calls):
        fields = NUMBERS | {"part": 2 + number, "item": 2 + number}
        parts.append(CallPart(**fields, call_id=f"c{number}", name="f", raw="{}", args={}))
    # Some are left without an answer, as after a crash.
    results = tuple(
        CallResult(call_id=f"c{number}", content=(TextContent("x" * size),))
        for number in range(draw(st.integers(0, calls)))
    )
    usage = Usage(output_tokens=draw(st.none() | st.integers(0, 300)))
    finish = draw(st.sampled_from([END_TURN, TOOL_USE, None]))
    return Turn(parts=tuple(parts), results=results, finish=finish, usage=usage, **names)


@st.composite
def histories(draw: st.DrawFn, dialect: str) -> list[Message]:
    """Any order of roles after a first question; the newest message is a question."""
    messages = [said("s", "system")] if draw(st.booleans()) else []
    messages.append(said("first " * draw(st.integers(1, 50))))
    for role in draw(st.lists(st.sampled_from(["user", "assistant", "assistant", "developer"]))):
        if role == "assistant":
            messages.append(answered(*draw(st.lists(turns(dialect), max_size=4))))
        else:
            messages.append(said("q" * draw(st.integers(1, 400)), role))
    return [*messages, said("newest")]


def compacted(compactor: Any, messages: list[Message], *, is_forced: bool = False) -> Any:
    return asyncio.run(compactor.compact(messages, is_forced=is_forced))


def summarizer(player: Any = None, **options: Any) -> Summarize:
    transport = ScriptedTransport(player or (lambda heard: "They talked."))
    agent = Agent(MODELS["chat"], transport=transport, api_key="k", policy=NEVER)
    return Summarize(agent, **options)


@pytest.mark.parametrize("dialect", MODELS)
@pytest.mark.parametrize("strategy", [Truncate, summarizer])
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_next_request_is_accepted_and_what_must_stay_stays(
    dialect: str, strategy: Any, data: st.DataObject
) -> None:
    messages = data.draw(histories(dialect))
    pinned = data.draw(st.sets(st.integers(0, len(messages) - 1), max_size=2))
    pins = [messages[at] for at in pinned]
    compactor = strategy(
        max_messages=data.draw(st.none() | st.integers(1, 10)),
        max_tokens=data.draw(st.none() | st.integers(1, 1000)),
        keep_first=data.draw(st.integers(0, 3)),
        is_pinned=lambda message: any(message is pin for pin in pins),
    )
    is_forced = data.draw(st.booleans())
    made = compacted(compactor, messages, is_forced=is_forced)
    if made is None:
        return
    check_next_request(list(made), dialect)
    conversation = [message for message in made if message.role in ("user", "assistant")]
    assert conversation[0].role == "user"
    assert made[-1] is messages[-1]
    above = [message for message in messages if message.role in ("system", "developer")]
    for kept in [*pins, *above]:
        assert any(message is kept for message in made)
    # In the order in which they were.
    places = [at for message in made for at, old in enumerate(messages) if old is message]
    assert places == sorted(places)
    if not is_forced:
        assert compacted(compactor, list(made)) is None


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_nothing_is_done_where_nothing_is_to_do(data: st.DataObject) -> None:
    messages = data.draw(histories("chat"))
    size = sum(map(estimate_tokens, messages))
    for compactor in (Truncate(), Truncate(max_messages=len(messages), max_tokens=size or 1)):
        assert compacted(compactor, messages) is None


# --- truncate -------------------------------------------------------------------------


def test_the_oldest_exchanges_go_first() -> None:
    messages = [said("be kind", "system")]
    for number in range(4):
        messages += [said(f"q{number}"), answered(spoken(f"a{number}"))]
    messages.append(said("newest"))
    made = compacted(Truncate(max_messages=6), messages)
    assert made == (messages[0], *messages[5:])
    made = compacted(Truncate(max_messages=6, keep_first=3), messages)
    assert made == (*messages[:3], *messages[7:])


def test_the_last_that_goes_may_lose_only_its_first_turns() -> None:
    steps = [spoken("x" * 400) for _ in range(5)]
    messages = [said("do it"), answered(*steps), said("newest")]
    made = compacted(Truncate(max_tokens=250), messages)
    assert [message.role for message in made] == ["user", "assistant", "user"]
    assert len(made[1].turns) == 2


def test_a_refused_history_loses_half_at_least() -> None:
    messages = [said("a" * 400), answered(spoken("b" * 400)), said("c" * 40), said("newest")]
    made = compacted(Truncate(), messages, is_forced=True)
    assert sum(map(estimate_tokens, made)) * 2 <= sum(map(estimate_tokens, messages))
    assert compacted(Truncate(), messages[-1:], is_forced=True) is None


def test_tokens_are_those_that_were_reported() -> None:
    assert estimate_tokens(said("12345")) == 2
    assert estimate_tokens(answered(spoken("12345", Usage(output_tokens=70)))) == 70
    thought = (ReasoningPart(**NUMBERS, text="rrrr"),)
    usage = Usage(output_tokens=70, reasoning_tokens=50)
    assert estimate_tokens(answered(Turn(parts=thought, usage=usage))) == 20
    sealed = (ReasoningPart(**NUMBERS, text="rrrr", seals=(Seal("signature", "s"),)),)
    assert estimate_tokens(answered(Turn(parts=sealed, usage=usage))) == 70
    image = ImageContent(media_type="image/png", url="https://x")
    file = FileContent(media_type="text/plain", data="YWJjZA==")
    content = (image, file, JSONContent([1, 2]))
    assert estimate_tokens(Message(role="user", content=content)) == 1000 + 2 + 2


def test_a_limit_that_nothing_can_meet_is_refused() -> None:
    with pytest.raises(UsageError, match="1 or more"):
        Truncate(max_tokens=0)


# --- summarize ------------------------------------------------------------------------


def test_the_older_part_becomes_one_message() -> None:
    heard: list[str] = []

    def player(asked: Heard) -> str:
        heard.append(asked.user)
        return "Tides were discussed."

    part = CallPart(**NUMBERS, call_id="c", name="tide", raw='{"at": "noon"}', args={"at": "noon"})
    result = CallResult(call_id="c", content=(TextContent("high" * 1000),))
    worked = Turn(parts=(part,), results=(result,), finish=TOOL_USE)
    messages = [said("be kind", "system"), said("tides?"), answered(worked, spoken("High."))]
    messages += [said("and now?"), answered(spoken("Low.")), said("newest")]
    compactor = summarizer(player, max_messages=4, keep_messages=3)
    made = compacted(compactor, messages)
    assert [m.role for m in made] == ["system", "user", "user", "assistant", "user"]
    assert made[1].content == (TextContent(f"{HEAD}Tides were discussed."),)
    assert "user: tides?" in heard[0]
    assert 'assistant calls tide({"at": "noon"})' in heard[0]
    assert "assistant: High." in heard[0]
    assert len(heard[0]) < 3000
    assert compactor.usage.output_tokens


def test_a_summary_that_fails_fails_the_run() -> None:
    compactor = summarizer(lambda heard: turn(refuse(401, "No.")), max_messages=2)
    transport = ScriptedTransport(["never"])
    agent = Agent(MODELS["chat"], transport=transport, api_key="k", compactor=compactor)
    history = [said("a"), answered(spoken("b")), said("c"), answered(spoken("d"))] * 3
    result = asyncio.run(agent.complete_async("newest", history))
    assert result.error is not None
    assert result.error.category == "auth"
    assert "could not be summarized" in result.error.message
    assert transport.requests == []


@pytest.mark.parametrize("answer", ["", "  \n "])
def test_an_empty_summary_fails_the_run(answer: str) -> None:
    """Old messages are not replaced by nothing."""
    compactor = summarizer(lambda heard: answer, max_messages=2)
    with pytest.raises(RunBroken, match="could not be summarized"):
        compacted(compactor, [said("a"), answered(spoken("b"))] * 4 + [said("newest")])


def test_a_summary_that_was_cut_fails_the_run() -> None:
    compactor = summarizer(lambda heard: turn("Tides", error("network", "gone")), max_messages=2)
    with pytest.raises(RunBroken, match="could not be summarized"):
        compacted(compactor, [said("a"), answered(spoken("b"))] * 4 + [said("newest")])


@given(st.lists(st.integers(1, 4), min_size=2, max_size=8), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_as_many_of_the_newest_exchanges_are_kept_as_allowed(
    answers: list[int], keep_messages: int
) -> None:
    """The kept messages are whole exchanges, no more than allowed, and one exchange more would
    be too many."""
    exchanges = [[said("q"), *[answered(spoken("a"))] * count] for count in answers]
    exchanges.append([said("newest")])
    messages = [message for exchange in exchanges for message in exchange]
    made = compacted(summarizer(max_messages=1, keep_messages=keep_messages), messages)
    sizes = [len(exchange) for exchange in exchanges]
    suffixes = [sum(sizes[at:]) for at in range(len(sizes))]
    most = max((size for size in suffixes if size <= keep_messages), default=1)
    if made is None:
        # A single message is not replaced by a summary.
        assert len(messages) - most <= 1
    else:
        assert list(made[1:]) == messages[-most:]


# --- in a run -------------------------------------------------------------------------

HISTORY = [said("old " * 50), answered(spoken("older " * 50))] * 3


def played(turns: list[Any], dialect: str, compactor: Any) -> tuple[Run, ScriptedTransport]:
    transport = ScriptedTransport(turns, dialect=dialect)

    async def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    agent = Agent(
        MODELS[dialect], transport=transport, api_key="k", tools=[add], policy=NEVER,
        compactor=compactor,
    )  # fmt: skip

    async def main() -> Run:
        async with agent.run("newest", HISTORY, clock=clock()) as run:
            await run.wait()
        return run

    run = run_virtual(main())
    check_run(run, dialect)
    return run, transport


@pytest.mark.parametrize("dialect", MODELS)
def test_history_is_compacted_after_the_start_and_that_is_said(dialect: str) -> None:
    run, transport = played(["Yes."], dialect, Truncate(max_messages=3))
    assert isinstance(run.records_so_far[0].event, ev.RunStarted)
    assert run.records_so_far[1].event == ev.HistoryCompacted(7, 3, "truncate", (4, 5, 6))
    assert str(transport.requests[0]).count("older") == 50


OVERFLOW = turn(refuse(400, "prompt is too long", category="context_overflow"))


@pytest.mark.parametrize("dialect", MODELS)
@pytest.mark.parametrize("is_late", [False, True])
def test_an_overflow_compacts_and_tries_once_more(dialect: str, is_late: bool) -> None:
    first = [turn(call("add", a=1, b=2))] if is_late else []
    run, transport = played([*first, OVERFLOW, turn("Yes.")], dialect, Truncate())
    assert run.result.text == "Yes."
    compacted = [r.event for r in run.records_so_far if isinstance(r.event, ev.HistoryCompacted)]
    assert [event.before for event in compacted] == [7]
    assert len(str(transport.requests[-1])) < len(str(transport.requests[-2]))


LATE = error("context_overflow", "prompt is too long")


@pytest.mark.parametrize("dialect", MODELS)
def test_an_overflow_inside_the_stream_compacts_and_tries_once_more(dialect: str) -> None:
    run, transport = played([turn(LATE), turn("Yes.")], dialect, Truncate())
    assert run.result.text == "Yes."
    assert transport.opened == 2
    assert len(str(transport.requests[1])) < len(str(transport.requests[0]))
    (compacted,) = (r.event for r in run.records_so_far if isinstance(r.event, ev.HistoryCompacted))
    assert compacted.before == 7


@pytest.mark.parametrize("dialect", MODELS)
def test_an_overflow_after_output_ends_the_run(dialect: str) -> None:
    """What was shown is not taken back to compact the history."""
    run, transport = played([turn("Half", LATE), turn("never")], dialect, Truncate())
    assert run.result.error is not None
    assert run.result.error.category == "context_overflow"
    assert transport.opened == 1


def test_a_summary_is_made_of_calls_and_results_and_long_results_are_cut() -> None:
    part = CallPart(**NUMBERS, call_id="c", name="add", raw='{"a":1}', args={"a": 1})
    long = "x" * 10_000
    results = tuple(
        CallResult(call_id="c", content=(TextContent(text),)) for text in ("short", long)
    )
    message = Message(role="assistant", turns=(Turn(parts=(part,), results=results),))
    calls, short, cut = _format_message(message).splitlines()
    assert calls == 'assistant calls add({"a":1})'
    assert short == "result: short"
    assert cut.endswith("x …")
    assert len(cut) < len(long)


@pytest.mark.parametrize("dialect", MODELS)
@pytest.mark.parametrize("compactor", [None, Truncate()])
def test_a_second_overflow_ends_the_run(dialect: str, compactor: Any) -> None:
    run, _ = played([OVERFLOW, OVERFLOW, turn("never")], dialect, compactor)
    assert run.result.error is not None
    assert run.result.error.category == "context_overflow"


def test_a_summary_is_not_summarized_again_with_the_question_after_it() -> None:
    compactor = summarizer(max_tokens=6)
    messages = [Message.user(text) for text in ("first ", "qqqqq")]
    messages += [Message.assistant("a"), Message.user("q"), Message.user("newest")]
    made = compacted(compactor, messages)
    assert made is not None
    assert [message.text for message in made[1:]] == ["q", "newest"]
    assert compacted(compactor, list(made)) is None
