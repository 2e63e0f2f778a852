"""What a run promises, one promise a test. `tests/seeds/test_002_engine.py` says which sentence
of the source document each of them shows."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.content import TextContent
from headrace.engine import (
    Agent,
    Allow,
    CancelToken,
    Deny,
    Middleware,
    Run,
    RunLimits,
    RunView,
    Terminate,
    ToolCall,
    ToolContext,
    ToolReturn,
)
from headrace.errors import UsageError
from headrace.events import Record
from headrace.messages import CallPart, Message, ReasoningPart, RedactedPart, fold
from headrace.outcome import (
    CONTENT_FILTER,
    END_TURN,
    MAX_TOKENS,
    STOP_SEQUENCE,
    TOOL_USE,
    abort_reason,
)
from headrace.testing import (
    ScriptedTransport,
    call,
    cut,
    error,
    finish,
    no_finish,
    raw,
    redacted,
    refuse,
    run_virtual,
    say,
    stall,
    think,
    turn,
    usage,
    wait,
)
from tests.engine.play import MODELS, Bench, agent_for, check_run

SLOW = RunLimits(turn_attempts=1)


def played(
    *turns: Any,
    dialect: str = "chat",
    tools: Any = None,
    limits: RunLimits = SLOW,
    input: str = "Go.",
    history: list[Message] | None = None,
    **options: Any,
) -> tuple[Run, ScriptedTransport]:
    """A whole run; the promises of all runs are checked on the way."""
    transport = ScriptedTransport(turns, dialect=dialect)
    if tools is None:
        agent = agent_for(dialect, transport, Bench(), limits, **options)
    else:
        agent = Agent(
            MODELS[dialect], transport=transport, api_key="k", tools=tools, limits=limits, **options
        )

    async def main() -> Run:
        async with agent.run(input, history or []) as run:
            await run.wait()
        return run

    run = run_virtual(main())
    check_run(run, dialect, is_rewritten="middleware" in options)
    assert transport.open_streams == 0
    return run, transport


def kinds(run: Run) -> list[str]:
    return [type(record.event).__name__ for record in run.records_so_far]


def events(run: Run, *wanted: type[Any]) -> list[Any]:
    return [record.event for record in run.records_so_far if isinstance(record.event, wanted)]


ADD = call("add", a=1, b=2)


# --- the order of a run ----------------------------------------------------------------


def test_lifecycle_events_stand_around_the_provider_stream() -> None:
    run, _ = played(turn(ADD), turn("It is 3."))
    assert kinds(run) == [
        "RunStarted", "StepStarted", "TurnStarted", "OutputStarted", "ToolCallStarted",
        *["ToolCallArgsDelta"] * 4, "ToolCallFinished", "OutputFinished", "TurnFinished",
        "ToolStarted", "ToolResult", "StepFinished",
        "StepStarted", "TurnStarted", "OutputStarted", "TextStarted", *["TextDelta"] * 3,
        "TextFinished", "OutputFinished", "TurnFinished", "StepFinished", "RunFinished",
    ]  # fmt: skip


@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_calls_nest_also_when_the_provider_interleaves_them(dialect: str) -> None:
    run, _ = played(turn(ADD, call("add", a=3, b=4), is_interleaved=True), "ok", dialect=dialect)
    order = events(run, ev.ToolCallStarted, ev.ToolCallFinished)
    assert [type(e).__name__[8:] for e in order] == ["Started", "Finished"] * 2


def test_run_started_comes_once_and_before_the_first_request() -> None:
    seen: list[int] = []

    class Watch(Middleware):
        def on_event(self, run: RunView, record: Record) -> None:
            if isinstance(record.event, ev.RunStarted):
                seen.append(transport.opened)

    transport = ScriptedTransport([turn("Hi.")])
    run_virtual(agent_for("chat", transport, Bench(), middleware=[Watch()]).complete_async("Go."))
    assert seen == [0]


def test_run_started_comes_also_when_a_hook_stops_the_run_at_once() -> None:
    class Stop(Middleware):
        def on_run_start(self, run: RunView) -> None:
            raise Terminate("closed today")

    run, transport = played(middleware=[Stop()])
    assert kinds(run) == ["RunStarted", "RunFinished"]
    assert run.result.finish == abort_reason("terminated", "closed today")
    assert transport.opened == 0


def test_steps_are_counted_from_0() -> None:
    run, _ = played(turn(ADD), turn(ADD), "Done.")
    assert [e.step for e in events(run, ev.StepStarted)] == [0, 1, 2]
    assert {r.step for r in run.records_so_far if isinstance(r.event, ev.TextDelta)} == {2}


def test_max_iterations_is_an_abort() -> None:
    run, transport = played(turn(ADD), turn(ADD), turn(ADD), limits=RunLimits(max_iterations=2))
    assert run.result.finish == abort_reason("max_iterations", "max_iterations=2")
    assert transport.opened == 2


def test_a_turn_finishes_for_everyone() -> None:
    """The source's own project kept `TurnFinished` from its middleware."""
    seen: list[str] = []

    class Watch(Middleware):
        def on_event(self, run: RunView, record: Record) -> None:
            seen.append(type(record.event).__name__)

    run, _ = played(turn(ADD), "Done.", middleware=[Watch(), Watch()])
    assert seen[::2] == seen[1::2] == kinds(run)
    assert seen.count("TurnFinished") == 4


# --- what the model says -----------------------------------------------------------------


def test_deltas_join_to_the_text() -> None:
    run, _ = played("The tide is high.")
    assert "".join(e.text for e in events(run, ev.TextDelta)) == "The tide is high."
    assert run.result.text == "The tide is high."


def test_a_call_keeps_its_id_from_start_to_result() -> None:
    run, _ = played(turn(call("add", a=1, b=2, call_id="mine")), "Done.")
    ids = [e.call_id for e in events(run, ev.ToolCallStarted, ev.ToolCallFinished, ev.ToolResult)]
    assert ids == ["mine"] * 3


def test_argument_deltas_join_to_what_was_written() -> None:
    run, _ = played(turn(ADD), "Done.")
    (finished,) = events(run, ev.ToolCallFinished)
    assert "".join(e.text for e in events(run, ev.ToolCallArgsDelta)) == finished.raw
    assert finished.args == {"a": 1, "b": 2}


def test_a_tool_runs_after_its_call_is_whole_and_before_the_next_turn() -> None:
    run, _ = played(turn(ADD), "Done.")
    names = kinds(run)
    second = names.index("TurnStarted", names.index("TurnStarted") + 1)
    assert names.index("ToolCallFinished") < names.index("ToolResult") < second


@pytest.mark.parametrize("dialect", MODELS)
def test_signed_reasoning_goes_back_word_for_word_when_tools_are_involved(dialect: str) -> None:
    run, transport = played(turn(think("Let me see.", signed=True), ADD), "Done.", dialect=dialect)
    (part,) = [p for p in run.message.turns[0].parts if isinstance(p, ReasoningPart)]
    sent = msgspec.json.decode(msgspec.json.encode(transport.requests[1]))
    assert part.text == "Let me see."
    match dialect:
        case "anthropic":
            block = sent["messages"][1]["content"][0]
            assert block == {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case "responses":
            item = sent["input"][1]
            assert item["summary"] == [{"type": "summary_text", "text": part.text}]
            assert [item["encrypted_content"]] == [seal.value for seal in part.seals]
        case _:
            # OpenAI takes no reasoning back; `test_next_request.py` has a server that does.
            assert part.text not in str(sent)
            assert sent["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"a":1,"b":2}'


def test_redacted_reasoning_is_one_block_and_goes_back() -> None:
    run, transport = played(turn(redacted("opaque-7"), ADD), "Done.", dialect="anthropic")
    (block,) = events(run, ev.ReasoningRedacted)
    assert block.data == "opaque-7"
    assert [p for p in run.message.turns[0].parts if isinstance(p, RedactedPart)]
    assert "opaque-7" in str(transport.requests[1])


def test_reasoning_without_an_end_is_kept() -> None:
    run, _ = played(turn(think("Half a thou"), cut()), dialect="anthropic")
    assert run.message.reasoning == "Half a thou"
    assert run.result.error is not None


def test_a_missing_finish_reason_is_no_end_of_turn() -> None:
    run, _ = played(turn(say("Half"), no_finish()))
    assert run.result.finish is None
    assert run.result.error is not None
    assert run.result.error.category == "incomplete"


# --- tools -------------------------------------------------------------------------------


def test_malformed_arguments_never_run() -> None:
    bench = Bench()
    transport = ScriptedTransport([turn(call("add", raw='{"a": 1, ')), "Sorry."])
    result = run_virtual(agent_for("chat", transport, bench).complete_async("Go."))
    assert bench.calls == 0
    (answer,) = result.message.turns[0].results
    assert answer.is_error
    assert "malformed" in str(answer.content)
    assert result.finish == END_TURN


def test_arguments_that_do_not_fit_go_back_to_the_model() -> None:
    run, transport = played(turn(call("add", a="one", b=2)), "Sorry.")
    (answer,) = events(run, ev.ToolResult)
    assert answer.is_error
    assert "a: expected int, got str" in str(answer.content)
    assert "expected int" in str(transport.requests[1])


def test_a_tool_that_breaks_is_an_error_result_and_the_run_goes_on() -> None:
    def broken() -> None:
        raise ValueError("no tide")

    run, _ = played(turn(call("broken")), "Sorry.", tools=[broken])
    (answer,) = events(run, ev.ToolResult)
    assert answer.is_error
    assert "ValueError: no tide" in str(answer.content)
    assert run.result.finish == END_TURN


def test_an_unknown_tool_is_an_error_result() -> None:
    run, _ = played(turn(call("fly")), "Sorry.")
    (answer,) = events(run, ev.ToolResult)
    assert "there are add, slow" in str(answer.content)


def test_parallel_calls_run_side_by_side_and_end_when_they_end() -> None:
    bench = Bench()
    lines = [call("slow", n=3), call("slow", n=1), ADD]
    transport = ScriptedTransport([turn(*lines), "Done."])
    agent = agent_for("chat", transport, bench)

    async def main() -> tuple[Run, float]:
        async with agent.run("Go.") as run:
            await run.wait()
        return run, asyncio.get_running_loop().time()

    run, took_s = run_virtual(main())
    assert bench.most == 2
    assert took_s == pytest.approx(3.0, abs=0.5)
    slow, quick, add = [e.call_id for e in events(run, ev.ToolCallStarted)]
    assert [e.call_id for e in events(run, ev.ToolResult)] == [add, quick, slow]
    results = run.message.turns[0].results
    assert [result.call_id for result in results] == [slow, quick, add]
    ends = [result.ended_ms or 0 for result in results]
    assert ends == sorted(ends, reverse=True)


def test_progress_streams_while_a_tool_runs() -> None:
    run, _ = played(turn(call("slow", n=3)), "Done.")
    names = kinds(run)
    assert names.count("ToolProgress") == 3
    assert names.index("ToolStarted") < names.index("ToolProgress") < names.index("ToolResult")


def test_a_tool_has_its_time() -> None:
    run, _ = played(turn(call("slow", n=100)), "Sorry.", limits=RunLimits(tool_timeout_s=5))
    (answer,) = events(run, ev.ToolResult)
    assert answer.is_error
    assert "took longer than 5 s" in str(answer.content)


def test_a_result_has_its_size() -> None:
    def much() -> str:
        return "x" * 1000

    run, _ = played(turn(call("much")), "ok", tools=[much], limits=RunLimits(max_result_chars=100))
    (answer,) = events(run, ev.ToolResult)
    assert str(answer.content).count("x") < 120
    assert "900 more characters" in str(answer.content)


def test_a_tool_can_end_the_run() -> None:
    def submit() -> ToolReturn:
        return ToolReturn(content=(TextContent("sent"),), ends_run=True)

    run, transport = played(turn(call("submit")), "never", tools=[submit])
    assert run.result.finish == abort_reason("terminated", "ended by the tool submit")
    assert transport.opened == 1


def test_the_context_is_no_argument() -> None:
    seen: list[tuple[str, int]] = []

    def look(context: ToolContext) -> str:
        seen.append((context.run_id, context.step))
        return "ok"

    run, transport = played(turn(call("look")), "ok", tools=[look])
    assert seen == [(run.run_id, 0)]
    assert "context" not in str(transport.requests[0]["tools"])


# --- middleware --------------------------------------------------------------------------


class Hooks(Middleware):
    """One hook, given as a function."""

    def __init__(self, **hooks: Callable[..., Any]) -> None:
        for name, hook in hooks.items():
            setattr(self, name, hook)


def test_what_is_rewritten_is_what_is_logged_shown_and_kept() -> None:
    def shout(run: RunView, event: Any) -> Any:
        if isinstance(event, ev.TextDelta):
            return ev.TextDelta(event.part, event.text.upper())
        return event

    run, _ = played("High tide.", middleware=[Hooks(rewrite_event=shout)])
    assert run.result.text == "HIGH TIDE."
    assert "".join(e.text for e in events(run, ev.TextDelta)) == "HIGH TIDE."


def test_a_rewritten_argument_is_what_runs() -> None:
    def change(run: RunView, event: Any) -> Any:
        if isinstance(event, ev.ToolCallFinished):
            return msgspec.structs.replace(event, args={"a": 5, "b": 6})
        return event

    run, transport = played(turn(ADD), "ok", middleware=[Hooks(rewrite_event=change)])
    (answer,) = events(run, ev.ToolResult)
    assert answer.content[0].value == 11
    assert '{"a":5,"b":6}' in str(transport.requests[1])


def test_before_tool_allows_other_arguments_and_denies() -> None:
    def other(run: RunView, call: ToolCall) -> Allow:
        return Allow({"a": 10, "b": 10})

    run, _ = played(turn(ADD), "ok", middleware=[Hooks(before_tool=other)])
    assert events(run, ev.ToolStarted)[0].args == {"a": 10, "b": 10}
    assert events(run, ev.ToolResult)[0].content[0].value == 20

    run, _ = played(turn(ADD), "ok", middleware=[Hooks(before_tool=lambda *_: Deny("not now"))])
    assert events(run, ev.ToolStarted) == []
    assert "not now" in str(events(run, ev.ToolResult)[0].content)


def test_a_call_may_be_denied_with_a_result() -> None:
    cached = ToolReturn(content=(TextContent("3, as before"),), kind="cached")
    run, _ = played(turn(ADD), "ok", middleware=[Hooks(before_tool=lambda *_: Deny(cached))])
    (answer,) = events(run, ev.ToolResult)
    assert (answer.content, answer.kind, answer.is_error) == (cached.content, "cached", False)
    assert events(run, ev.ToolStarted) == []


def test_after_tool_may_change_the_result() -> None:
    def mark(run: RunView, call: ToolCall, result: ToolReturn) -> ToolReturn:
        return ToolReturn(content=(TextContent("changed"),))

    run, _ = played(turn(ADD), "ok", middleware=[Hooks(after_tool=mark)])
    assert events(run, ev.ToolResult)[0].content == (TextContent("changed"),)


def test_on_turn_end_may_ask_to_go_on() -> None:
    asked = iter(["And then?", None])
    run, transport = played("One.", "Two.", middleware=[Hooks(on_turn_end=lambda *_: next(asked))])
    assert [one.text for one in run.message.turns] == ["One.", "Two."]
    assert "And then?" in str(transport.requests[1])


@pytest.mark.parametrize(
    "hook", ["on_run_start", "on_request", "on_event", "rewrite_event", "before_tool", "after_tool",
             "on_turn_end"],
)  # fmt: skip
@pytest.mark.parametrize("is_async", [False, True])
def test_every_hook_may_terminate_and_its_failure_is_told(hook: str, is_async: bool) -> None:
    def hooked(error: Exception) -> Hooks:
        def plain(*_: Any) -> Any:
            raise error

        async def waiting(*_: Any) -> Any:
            await asyncio.sleep(0)
            raise error

        return Hooks(**{hook: waiting if is_async else plain})

    run, _ = played(turn(ADD), "Done.", middleware=[hooked(Terminate("enough"))])
    assert run.result.finish == abort_reason("terminated", "enough")
    run, _ = played(turn(ADD), "Done.", middleware=[hooked(ValueError("boom"))])
    assert run.result.error is not None
    assert "ValueError: boom" in run.result.error.message


def test_on_run_end_is_called_on_every_path_and_may_fail_the_run() -> None:
    ends: list[Any] = []
    hook = Hooks(on_run_end=lambda _, event: ends.append(event))
    played("ok", middleware=[hook])
    played(turn(cut()), middleware=[hook])
    played(turn(ADD), turn(ADD), limits=RunLimits(max_iterations=1), middleware=[hook])
    assert [type(e).__name__ for e in ends] == ["RunFinished", "RunFailed", "RunFinished"]

    def fail(*_: Any) -> None:
        raise ValueError("late")

    run, _ = played("ok", middleware=[Hooks(on_run_end=fail)])
    assert run.result.error is not None


def test_every_request_after_a_nudge_tells_what_was_said_once() -> None:
    asked = iter(["Go on 1.", "Go on 2.", None])
    _, transport = played(
        "one", "two", "three", middleware=[Hooks(on_turn_end=lambda *_: next(asked))]
    )
    said = [m["content"] for m in transport.requests[2]["messages"]]
    assert said == ["Go.", "one", "Go on 1.", "two", "Go on 2."]


def test_a_nudge_is_kept_and_the_next_run_knows_it() -> None:
    asked = iter(["And then?", None])
    run, _ = played("One.", "Two.", middleware=[Hooks(on_turn_end=lambda *_: next(asked))])
    assert [one.nudge for one in run.message.turns] == ["And then?", None]
    _, transport = played("Yes.", input="Sure?", history=run.messages)
    said = [m["content"] for m in transport.requests[0]["messages"]]
    assert said == ["Go.", "One.", "And then?", "Two.", "Sure?"]


@pytest.mark.parametrize("answer", [False, "no", {}, 1])
def test_what_is_no_decision_is_never_a_yes(answer: Any) -> None:
    run, _ = played(turn(ADD), "ok", middleware=[Hooks(before_tool=lambda *_: answer)])
    assert events(run, ev.ToolStarted) == []
    assert run.result.error is not None


class Odd(BaseException):
    """Neither an Exception nor the end of the process."""


@pytest.mark.parametrize("error", [Odd("odd"), asyncio.CancelledError()])
@pytest.mark.parametrize("hook", ["on_run_start", "on_request", "before_tool", "after_tool",
                                  "on_turn_end", "on_run_end"])  # fmt: skip
def test_whatever_a_hook_raises_is_its_own_failure(hook: str, error: BaseException) -> None:
    def broken(*_: Any) -> Any:
        raise error

    run, _ = played(turn(ADD), "ok", middleware=[Hooks(**{hook: broken})])
    assert run.result.error is not None
    assert type(error).__name__ in run.result.error.message


@pytest.mark.parametrize("is_async", [False, True])
def test_whatever_a_tool_raises_is_a_result(is_async: bool) -> None:
    def plain() -> None:
        raise Odd("odd")

    async def waiting() -> None:
        raise Odd("odd")

    run, _ = played(turn(call("waiting" if is_async else "plain")), "ok", tools=[plain, waiting])
    assert events(run, ev.ToolResult)[0].is_error
    assert run.result.finish == END_TURN


def test_middleware_that_is_none_is_refused() -> None:
    class Misspelt(Middleware):
        def on_events(self, *_: Any) -> None: ...

    for wrong, why in (
        (Misspelt(), "no hook on_events"),
        (Middleware, "an instance"),
        (3, "derive"),
    ):
        with pytest.raises(UsageError, match=why):
            Agent("openai:x", api_key="k", middleware=[wrong])  # type: ignore[list-item]


def test_a_cancel_from_another_thread_ends_a_stalled_run() -> None:
    agent = agent_for("chat", ScriptedTransport([turn(say("a"), stall())]), Bench())
    with agent.run("Go.") as run:
        threading.Timer(0.2, run.cancel).start()
        records = list(run.records())
    assert run.result.finish == abort_reason("cancelled", "cancelled by the caller")
    assert records == run.records_so_far


def test_a_second_loop_goes_on_where_the_first_was_left() -> None:
    agent = agent_for("chat", ScriptedTransport([turn("One two three.")]), Bench())
    with agent.run("Go.") as run:
        first = [record for record, _ in zip(run.records(), range(3), strict=False)]
        rest = list(run.records())
    assert [r.seq for r in run.records_so_far][-1] == rest[-1].seq
    assert {r.seq for r in [*first, *rest]} >= set(range(5, len(run.records_so_far) + 1))


def test_a_token_ends_all_its_runs_and_those_that_come_late() -> None:
    token = CancelToken()

    async def main() -> list[Any]:
        agents = [agent_for("chat", ScriptedTransport([turn(stall())]), Bench()) for _ in range(3)]
        asyncio.get_running_loop().call_later(2, token.cancel, "closing time")
        early = [_one(agent) for agent in agents[:2]]
        return [*await asyncio.gather(*early), await _one(agents[2])]

    async def _one(agent: Agent) -> Any:
        async with agent.run("Go.", token=token) as run:
            return (await run.wait()).finish

    assert run_virtual(main()) == [abort_reason("cancelled", "closing time")] * 3
    assert token.is_cancelled


def test_two_readers_are_refused_and_waiting_is_no_reading() -> None:
    agent = agent_for("chat", ScriptedTransport([turn(say("a"), wait(5), say("b"))]), Bench())

    async def main() -> None:
        async with agent.run("Go.") as run:
            first = asyncio.create_task(_all(run))
            await asyncio.sleep(1)
            with pytest.raises(UsageError, match="already has a reader"):
                await _all(run)
            result = await run.wait()
            assert result.text == "ab"
            assert await first == run.records_so_far

    async def _all(run: Run) -> list[Record]:
        return [record async for record in run.records()]

    run_virtual(main())


class StuckObserver(Middleware):
    async def on_event(self, run: RunView, record: Record) -> None:
        if isinstance(record.event, ev.TextDelta):
            await asyncio.sleep(1e6)


class StuckRewriter(Middleware):
    """Takes out the reasoning, and hangs at the first word."""

    async def rewrite_event(self, run: RunView, event: ev.Event) -> ev.Event | None:
        if isinstance(event, ev.TextDelta):
            await asyncio.sleep(1e6)
        return None if isinstance(event, ev.ReasoningStarted) else event


class StuckSink:
    def __init__(self) -> None:
        self.records: list[Record] = []

    async def append(self, records: Any) -> None:
        if any(isinstance(record.event, ev.TextDelta) for record in records):
            await asyncio.sleep(1e6)
        self.records += records


@pytest.mark.parametrize("stuck", [StuckObserver, StuckRewriter, StuckSink])
def test_what_never_returns_does_not_keep_a_run_from_ending(stuck: type[Any]) -> None:
    sink = stuck() if stuck is StuckSink else None
    middleware = [] if sink else [stuck()]
    transport = ScriptedTransport([turn(think("Hm."), say("a b c"), stall())])
    limits = RunLimits(run_timeout_s=5, closing_s=1)

    async def main() -> Run:
        agent = agent_for("chat", transport, Bench(), limits, middleware=middleware)
        async with agent.run("Go.", sink=sink) as run:
            await run.wait()
        return run

    run = run_virtual(main(), leftover=[])
    if sink is None:
        check_run(run, "chat", is_rewritten=True)
    else:
        assert sink.records == run.records_so_far[:-1]
    assert run.result.finish == abort_reason("timeout", "run_timeout_s=5")
    assert transport.open_streams == 0


# --- how it ends -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "wanted"),
    [("end_turn", END_TURN), ("max_tokens", MAX_TOKENS), ("stop_sequence", STOP_SEQUENCE)],
)
def test_the_run_ends_as_the_model_did(word: str, wanted: Any) -> None:
    run, _ = played(turn(say("Some text"), finish(word)), dialect="anthropic")
    assert run.result.finish == wanted


def test_an_unknown_reason_without_calls_ends_the_run() -> None:
    run, _ = played(turn(say("x"), finish("odd_word")))
    assert run.result.finish is not None
    assert (run.result.finish.word, run.result.finish.detail) == ("other", "odd_word")


def test_calls_decide_whether_it_goes_on_and_not_the_word() -> None:
    run, transport = played(turn(ADD, finish("end_turn")), "It is 3.", dialect="chat")
    assert transport.opened == 2
    assert run.message.turns[0].finish == TOOL_USE


def test_a_filter_ends_it_even_with_calls_which_are_answered() -> None:
    run, transport = played(turn(ADD, finish("content_filter")), "never")
    assert run.result.finish == CONTENT_FILTER
    assert transport.opened == 1
    assert events(run, ev.ToolStarted) == []
    assert events(run, ev.ToolResult)[0].is_error


def test_a_provider_error_is_one_failure() -> None:
    run, _ = played(turn(say("Some"), error("server", "out of order")))
    assert run.result.error is not None
    assert run.result.error.category == "server"
    assert kinds(run)[-1] == "RunFailed"


def test_a_refused_request_is_one_failure() -> None:
    run, _ = played(turn(refuse(401, "who are you")))
    assert run.result.error is not None
    assert run.result.error.category == "auth"
    assert kinds(run) == ["RunStarted", "StepStarted", "StepFinished", "RunFailed"]


EARLY = {
    "chat": turn(
        raw(b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'),
        raw(b'data: {"error":{"message":"busy","type":"overloaded_error","code":529}}\n\n'),
        no_finish(),
    ),
    "anthropic": turn(
        raw(
            b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","role":'
            b'"assistant","content":[],"model":"c","usage":{"input_tokens":1}}}\n\n'
        ),
        raw(
            b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error",'
            b'"message":"busy"}}\n\n'
        ),
        no_finish(),
    ),
}


@pytest.mark.parametrize("dialect", EARLY)
def test_a_turn_that_fails_before_its_first_delta_is_taken_back_once(dialect: str) -> None:
    limits = RunLimits(turn_attempts=2)
    run, transport = played(EARLY[dialect], "Here I am.", limits=limits, dialect=dialect)
    assert transport.opened == 2
    assert kinds(run).count("StepDiscarded") == 1
    assert run.result.text == "Here I am."
    run, transport = played(turn(say("Half"), cut()), "Here I am.", limits=limits)
    assert transport.opened == 1
    assert run.result.error is not None


def test_a_turn_is_taken_back_later_only_if_asked_for() -> None:
    limits = RunLimits(turn_attempts=2, retries_late=True)
    run, _ = played(turn(say("Half"), cut()), "Here I am.", limits=limits)
    assert "StepDiscarded" in kinds(run)
    assert run.result.text == "Here I am."
    assert run.message.text == "Here I am."


def test_cancel_wins_over_timeout() -> None:
    transport = ScriptedTransport([turn(call("slow", n=50)), "never"])
    agent = agent_for("chat", transport, Bench(), RunLimits(run_timeout_s=10))

    async def main() -> Run:
        async with agent.run("Go.") as run:
            asyncio.get_running_loop().call_later(10, run.cancel, "enough")
            await run.wait()
        return run

    assert run_virtual(main()).result.finish == abort_reason("cancelled", "enough")


def test_finished_results_are_kept_after_an_abort_and_the_others_answered() -> None:
    transport = ScriptedTransport([turn(ADD, call("slow", n=50)), "never"])
    agent = agent_for("chat", transport, Bench(), RunLimits(run_timeout_s=10))

    async def main() -> Run:
        async with agent.run("Go.") as run:
            await run.wait()
        return run

    run = run_virtual(main())
    first, second = run.message.turns[0].results
    assert not first.is_error
    assert second.is_error
    assert run.result.finish == abort_reason("timeout", "run_timeout_s=10")


def test_a_turn_has_its_time() -> None:
    run, _ = played(turn(say("a"), stall()), limits=RunLimits(turn_timeout_s=3))
    assert run.result.finish == abort_reason("timeout", "turn_timeout_s=3")
    assert run.message.text == "a"


def test_upstream_is_closed_at_once_when_it_is_cancelled() -> None:
    transport = ScriptedTransport([turn(say("a"), stall())])

    async def main() -> float:
        async with agent_for("chat", transport, Bench()).run("Go.") as run:
            async for record in run.records():
                if isinstance(record.event, ev.TextDelta):
                    break
            before = asyncio.get_running_loop().time()
            run.cancel()
            while transport.open_streams:
                await asyncio.sleep(0.01)
            took_s = asyncio.get_running_loop().time() - before
            await run.wait()
        return took_s

    assert run_virtual(main()) < 0.1


def test_a_cancelled_task_leaves_a_whole_run() -> None:
    transport = ScriptedTransport([turn(say("a"), stall())])
    runs: list[Run] = []

    async def reading() -> None:
        async with agent_for("chat", transport, Bench()).run("Go.") as run:
            runs.append(run)
            await run.wait()

    async def main() -> None:
        task = asyncio.create_task(reading())
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_virtual(main())
    check_run(runs[0], "chat")
    assert runs[0].result.finish == abort_reason("cancelled", "the caller left the run")


class BrokenSink:
    """A log whose disk fails at some write."""

    def __init__(self, at: int) -> None:
        self._left = at
        self.records: list[Record] = []

    async def append(self, records: Any) -> None:
        self._left -= 1
        if self._left <= 0:
            raise OSError("no space left on device")
        self.records += records


@pytest.mark.parametrize("at", range(1, 18))
def test_a_log_that_fails_ends_the_run_as_a_failure_of_storage(at: int) -> None:
    transport = ScriptedTransport([turn(ADD), turn("It is 3.")])
    sink = BrokenSink(at)

    async def main() -> Run:
        async with agent_for("chat", transport, Bench()).run("Go.", sink=sink) as run:
            await run.wait()
        return run

    run = run_virtual(main())
    assert run.result.error is not None
    assert run.result.error.category == "storage"
    # Nothing is shown that is not in the log, but how it ended.
    assert sink.records == run.records_so_far[:-1]
    assert run.message == fold(run.records_so_far)
    assert transport.open_streams == 0


def test_an_unexpected_failure_is_one_end_too() -> None:
    class Broken:
        name = "broken"

        async def compact(self, messages: Any, *, is_forced: bool) -> Any:
            raise KeyError("boom")

    run, _ = played("ok", compactor=Broken())
    assert kinds(run) == ["RunStarted", "RunFailed"]
    assert run.result.error is not None
    assert "KeyError" in run.result.error.message


# --- what it adds up to ------------------------------------------------------------------


def test_usage_is_the_sum_over_turns() -> None:
    run, _ = played(turn(ADD, usage(input=10, output=5)), turn(say("3"), usage(input=20, output=7)))
    assert (run.result.usage.input_tokens, run.result.usage.output_tokens) == (30, 12)
    assert [t.usage.output_tokens for t in run.message.turns] == [5, 7]


def test_messages_can_be_asked_for_at_any_moment() -> None:
    counts: list[int] = []
    transport = ScriptedTransport([turn(ADD), "It is 3."])

    async def main() -> Run:
        async with agent_for("chat", transport, Bench()).run("Go.") as run:
            counts.extend(
                [
                    len(run.messages[-1].turns)
                    async for event in run
                    if isinstance(event, ev.StepFinished)
                ]
            )
        return run

    run = run_virtual(main())
    assert counts[-1] == 2
    assert [m.role for m in run.messages] == ["user", "assistant"]


def test_an_error_result_stays_one_in_the_next_turn() -> None:
    _, transport = played(turn(call("add", a="x", b=1)), "ok", dialect="anthropic")
    assert "'is_error': True" in str(transport.requests[1])


def test_the_history_is_sent_before_the_input() -> None:
    first, _ = played("Hello.", input="Hi.")
    _, transport = played("Yes.", input="Really?", history=first.messages)
    sent = [m["content"] for m in transport.requests[0]["messages"]]
    assert [str(content) for content in sent] == ["Hi.", "Hello.", "Really?"]


def test_a_call_part_tells_which_tool_was_called() -> None:
    run, _ = played(turn(ADD), "ok")
    (part,) = [p for p in run.message.turns[0].parts if isinstance(p, CallPart)]
    assert (part.name, part.args) == ("add", {"a": 1, "b": 2})


# --- wrong uses --------------------------------------------------------------------------


def test_a_run_is_entered_once_and_read_inside() -> None:
    agent = agent_for("chat", ScriptedTransport(["a", "b"]), Bench())

    async def main() -> None:
        run = agent.run("Go.")
        with pytest.raises(UsageError, match="enter the run"):
            async for _ in run:
                pass
        async with run:
            with pytest.raises(UsageError, match="has not ended"):
                _ = run.result
            await run.wait()
        with pytest.raises(UsageError, match="entered only once"):
            async with run:
                pass

    run_virtual(main())


def test_what_cannot_be_asked_is_said_before_the_run() -> None:
    with pytest.raises(UsageError, match="no option"):
        Agent("openai:x", api_key="k", effrot="high")  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="two tools"):
        Agent("openai:x", api_key="k", tools=[_same, _same])


def _same() -> None:
    """Nothing."""
