"""History in, history out: on every path, on a shelf and back, one run at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from headrace.content import JSONContent, TextContent
from headrace.engine import Agent, CancelToken, Conversation, Truncate
from headrace.errors import UsageError
from headrace.messages import CallPart, CallResult, Message, Turn
from headrace.outcome import abort_reason
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import call, cut, refuse, say, stall, think, turn, usage
from headrace.rehearsal.transport import ScriptedTransport
from headrace.transport.retry import NEVER
from tests.engine.play import MODELS, check_next_request


async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def agent_of(turns: Any, dialect: str = "chat", **options: Any) -> Agent:
    transport = ScriptedTransport(turns, dialect=dialect)
    agent = Agent(
        MODELS[dialect], transport=transport, api_key="k", tools=[add], policy=NEVER, **options
    )
    agent.script = transport  # type: ignore[attr-defined]
    return agent


def requests_of(agent: Agent) -> list[Any]:
    return agent.script.requests  # type: ignore[attr-defined]


def said(text: str, role: Any = "user") -> Message:
    return Message(role=role, content=(TextContent(text),))


def texts(conversation: Conversation) -> list[str]:
    return [message.text for message in conversation.messages]


@pytest.mark.parametrize("dialect", MODELS)
def test_the_next_run_knows_what_was_said(dialect: str) -> None:
    turns = [turn(think("Hm."), call("add", a=1, b=2)), turn("Three."), turn("Three again.")]
    conversation = Conversation(agent_of(turns, dialect))

    async def main() -> None:
        assert (await conversation.complete_async("1 + 2?")).text == "Three."
        async with conversation.run("Sure?") as run:
            await run.wait()

    run_virtual(main())
    assert texts(conversation) == ["1 + 2?", "Three.", "Sure?", "Three again."]
    assert "Three." in str(requests_of(conversation.agent)[-1])
    check_next_request(conversation.messages, dialect)


def test_it_works_without_waiting() -> None:
    conversation = Conversation(agent_of(["One.", "Two."]), [said("Be brief.", "system")])
    assert conversation.complete("First?").text == "One."
    with conversation.run("Second?") as run:
        assert [record.seq for record in run.records()] == list(
            range(1, len(run.records_so_far) + 1)
        )
    assert texts(conversation) == ["Be brief.", "First?", "One.", "Second?", "Two."]


@pytest.mark.parametrize(
    "broken", [turn(refuse(400, "No.")), turn(say("Par"), cut()), turn(say("Par tial"), pace_s=1)]
)
def test_the_history_grows_on_every_path(broken: Any) -> None:
    conversation = Conversation(agent_of([broken, "Better."]))

    async def main() -> None:
        async with conversation.run("Go.") as run:
            async for record in run.records():
                if type(record.event).__name__ == "TextDelta":
                    break
        assert (await conversation.complete_async("Again.")).text == "Better."

    run_virtual(main())
    roles = [message.role for message in conversation.messages]
    assert roles == ["user", "assistant"] * 2
    check_next_request(conversation.messages, "chat")


def test_an_error_in_the_block_leaves_a_history_too() -> None:
    conversation = Conversation(agent_of([turn(say("Par tial"), pace_s=1), "Better."]))

    async def main() -> None:
        with pytest.raises(ZeroDivisionError):
            async with conversation.run("Go."):
                raise ZeroDivisionError
        await conversation.complete_async("Again.")

    run_virtual(main())
    assert [m.role for m in conversation.messages] == ["user", "assistant"] * 2


def test_a_token_ends_the_run_and_the_history_stands() -> None:
    conversation = Conversation(agent_of([turn(say("Par"), stall()), "Better."]))
    token = CancelToken()

    async def main() -> None:
        asyncio.get_running_loop().call_later(2, token.cancel, "closing time")
        async with conversation.run("Go.", token=token) as run:
            result = await run.wait()
        assert result.finish == abort_reason("cancelled", "closing time")
        assert texts(conversation) == ["Go.", "Par"]
        assert (await conversation.complete_async("Again.")).text == "Better."

    run_virtual(main())
    check_next_request(conversation.messages, "chat")


def test_what_can_be_asked_of_a_conversation_is_no_business_of_its_runs() -> None:
    told = {name for name in dir(Conversation) if not name.startswith("_")}
    assert told == {
        "complete", "complete_async", "messages", "pin", "pinned", "restore", "run", "snapshot",
        "unpin",
    }  # fmt: skip


def test_there_is_one_run_at_a_time() -> None:
    conversation = Conversation(agent_of(["One.", "Two."]))

    async def main() -> None:
        waiting = conversation.run("Second?")
        async with conversation.run("First?") as run:
            with pytest.raises(UsageError, match="one run at a time"):
                await waiting.__aenter__()
            await run.wait()
        async with waiting as run:
            await run.wait()
        with pytest.raises(UsageError, match="entered only once"):
            await waiting.__aenter__()

    run_virtual(main())
    assert texts(conversation) == ["First?", "One.", "Second?", "Two."]


def test_what_cannot_be_asked_blocks_nothing() -> None:
    conversation = Conversation(agent_of(["One."]))
    with pytest.raises(UsageError):
        conversation.complete([])
    assert conversation.complete("Go.").text == "One."
    assert len(conversation.messages) == 2


def test_usage_adds_up() -> None:
    turns = [turn("One.", usage(10, 2)), turn("Two.", usage(20, 3))]
    conversation = Conversation(agent_of(turns))
    conversation.complete("a")
    conversation.complete("b")
    assert (conversation.usage.input_tokens, conversation.usage.output_tokens) == (30, 5)


# --- the shelf ------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", MODELS)
def test_the_next_request_after_a_restore_is_the_same(dialect: str) -> None:
    turns = [turn(think("Hm.", signed=True), call("add", a=1, b=2)), turn("Three."), turn("Bye.")]
    conversation = Conversation(agent_of(turns, dialect))
    conversation.complete("1 + 2?")
    conversation.pin(0)
    data = conversation.snapshot()
    other = Conversation.restore(agent_of(["Bye."], dialect), data)
    assert other.messages == conversation.messages
    assert other.pinned == [0]
    assert other.usage == conversation.usage
    assert other.snapshot() == data
    conversation.complete("Bye.")
    other.complete("Bye.")
    bodies = [requests_of(one.agent)[-1] for one in (conversation, other)]
    assert msgspec.json.encode(bodies[0]) == msgspec.json.encode(bodies[1])


TAGS: list[Any] = [
    {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {}},
    {"__type__": "Message", "role": "system"},
    {"$ref": "#/messages/0"},
    {"py/object": "os.system"},
    {"type": "text", "text": "no content of ours"},
    [{"type": "call", "version": 2}, 10**30, 1.5, None, True],
]


@pytest.mark.parametrize("value", TAGS, ids=str)
def test_no_tag_in_what_was_said_is_looked_at(value: Any) -> None:
    written = msgspec.json.encode(value).decode()
    part = CallPart(part=0, output=0, item=0, started_ms=0, ended_ms=1, call_id="c", name="f",
                    raw=written, args=value, provider_data={"extra": value})  # fmt: skip
    result = CallResult(call_id="c", content=(JSONContent(value), TextContent(written)))
    turns = (Turn(parts=(part,), results=(result,), provider_data={"extra": value}),)
    messages = [
        Message(role="user", content=(JSONContent(value), TextContent(written))),
        Message(role="assistant", turns=turns),
    ]
    data = Conversation(agent_of([]), messages).snapshot()
    restored = Conversation.restore(agent_of([]), data)
    assert restored.messages == messages
    assert restored.snapshot() == data


def test_half_a_pair_of_surrogates_survives() -> None:
    messages = [said("a \ud83d b"), said("c")]
    data = Conversation(agent_of([]), messages).snapshot()
    restored = Conversation.restore(agent_of([]), data)
    assert restored.messages == messages
    assert restored.snapshot() == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"version":2,"messages":[]}',
        b'{"version":1,"messages":[{"role":"robot"}]}',
        b'{"version":1,"messages":[],"pinned":[3]}',
        b'{"version":1,"messages":["\xc0"]}',
        b'{"version":1,"messages":' + b"[" * 100_000,
    ],
)
def test_what_is_no_snapshot_is_refused(data: bytes) -> None:
    with pytest.raises(UsageError):
        Conversation.restore(agent_of([]), data)


# --- compaction and pins --------------------------------------------------------------


def echo(heard: Heard) -> str:
    return f"You said {heard.user}"


def test_a_shorter_history_stays_short() -> None:
    agent = agent_of(echo, compactor=Truncate(max_messages=3))
    conversation = Conversation(agent)
    for number in range(5):
        conversation.complete(f"number {number}")
    assert texts(conversation) == ["number 3", "You said number 3", "number 4", "You said number 4"]
    assert len(requests_of(agent)[-1]["messages"]) == 3


def test_a_pinned_message_is_kept_with_its_exchange() -> None:
    conversation = Conversation(agent_of(echo), compactor=Truncate(max_messages=4))
    for number in range(6):
        conversation.complete(f"number {number}")
        if number == 1:
            conversation.pin(-1)
    assert texts(conversation)[:2] == ["number 1", "You said number 1"]
    assert conversation.pinned == [1]
    conversation.unpin(1)
    conversation.complete("last")
    assert "number 1" not in texts(conversation)
    with pytest.raises(UsageError, match="no message 99"):
        conversation.pin(99)


class Newest:
    """A strategy of somebody else's, which knows no pins."""

    name = "newest"

    async def compact(
        self, messages: Sequence[Message], *, is_forced: bool
    ) -> Sequence[Message] | None:
        return messages[-1:] if len(messages) > 1 else None


def test_a_pin_holds_whatever_the_strategy_is() -> None:
    conversation = Conversation(agent_of(echo), compactor=Newest())
    conversation.complete("number 0")
    conversation.pin(0)
    conversation.complete("number 1")
    conversation.complete("number 2")
    assert texts(conversation) == ["number 0", "number 2", "You said number 2"]
