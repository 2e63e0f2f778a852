"""Runs whose streams lost frames: what is run, what is told, and what middleware sees of it."""

from __future__ import annotations

from typing import Any

import pytest

import headrace
from headrace import events as ev
from headrace.engine import Agent, Middleware, Redaction, Run, RunView
from headrace.engine.middleware.guard.guard import Guard
from headrace.events import Event, encode_record
from headrace.messages import fold
from headrace.recording import ReplayTransport
from headrace.transport.transport import HTTPCall
from tests.engine.play import check_run
from tests.wire import chunk, events_of, sse

GARBAGE = b"data: {broken\n\n"
SECRET = "hunter2-secret-word"


class Streams:
    """A transport that answers the calls with these streams, one after the other."""

    def __init__(self, *streams: bytes) -> None:
        self._streams = list(streams)
        self.bodies: list[bytes] = []

    async def open(self, call: HTTPCall) -> Any:
        self.bodies.append(call.body)
        return await ReplayTransport([self._streams.pop(0)], speed=None).open(call)

    async def aclose(self) -> None:
        pass


def restored(*pieces: str, whole: str) -> bytes:
    """A response whose text came with a gap, and then as a whole."""
    deltas = [
        {"type": "response.output_text.delta", "output_index": 0, "delta": piece}
        for piece in pieces
    ]
    item = {"type": "message", "content": [{"type": "output_text", "text": whole}]}
    return sse(
        *deltas[:1],
        GARBAGE,
        *deltas[1:],
        {"type": "response.output_text.done", "output_index": 0, "text": whole},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"output": [item]}},
        done=False,
    )


def played(model: str, *streams: bytes, **options: Any) -> tuple[Run, Streams]:
    transport = Streams(*streams)
    agent = Agent(model, transport=transport, api_key="k", **options)
    with agent.run("Hi") as run:
        for _ in run:
            pass
    check_run(run, "responses" if model.startswith("openai:") else "chat", is_rewritten=True)
    return run, transport


def test_a_call_that_may_have_lost_a_frame_is_not_run() -> None:
    amounts: list[int] = []

    def pay(amount: int) -> str:
        """Pay."""
        amounts.append(amount)
        return "paid"

    def piece(arguments: str, **fields: Any) -> dict[str, Any]:
        function = {"arguments": arguments, **fields}
        return chunk({"tool_calls": [{"index": 0, "id": "c", "function": function}]})

    first = sse(piece('{"amount": 10', name="pay"), GARBAGE, piece("}"), chunk(finish="tool_calls"))
    second = sse(chunk({"content": "Sorry."}), chunk(finish="stop"))
    run, transport = played("llamacpp:m", first, second, tools=[pay])
    assert amounts == []
    assert b"could not be read" in transport.bodies[1]
    assert run.result.text == "Sorry."
    assert not run.result.is_complete
    assert run.result.warning is not None


def test_a_strict_agent_fails_the_run() -> None:
    data = sse(chunk({"content": "a"}), GARBAGE, chunk({"content": "b"}), chunk(finish="stop"))
    run, _ = played("llamacpp:m", data, strict=True)
    assert run.result.error is not None
    assert run.result.error.category == "protocol"


def test_complete_tells_that_something_is_missing() -> None:
    data = sse(chunk({"content": "a"}), GARBAGE, chunk({"content": "b"}), chunk(finish="stop"))
    result = headrace.complete("llamacpp:m", "Hi", transport=Streams(data))
    assert (result.text, result.is_complete) == ("ab", False)
    strict = headrace.complete("llamacpp:m", "Hi", transport=Streams(data), strict=True)
    assert strict.error is not None


def test_restored_text_is_the_text_of_the_run() -> None:
    run, _ = played("openai:gpt-5", restored("one ", "three", whole="one two three"))
    assert (run.result.text, run.result.is_complete) == ("one two three", True)
    assert fold(run.records_so_far).text == "one two three"


@pytest.mark.parametrize("cut", range(len(SECRET) + 1))
def test_a_secret_is_redacted_in_restored_text_and_skipped_frames(cut: int) -> None:
    whole = f"It is {SECRET}."
    data = restored(f"It is {SECRET[:cut]}", f"{SECRET[cut:]}.", whole=whole)
    data = data.replace(GARBAGE, b'data: {"delta": "' + SECRET[:cut].encode() + b"\n\n")
    run, _ = played("openai:gpt-5", data, middleware=[Redaction([SECRET])])
    assert run.result.text == "It is [redacted]."
    log = b"".join(map(encode_record, run.records_so_far))
    assert SECRET.encode() not in log
    [skipped] = [r.event for r in run.records_so_far if isinstance(r.event, ev.FrameSkipped)]
    assert skipped.data == "[redacted]"


class Keep(Middleware):
    """Returns every event as it is."""

    def rewrite_event(self, run: RunView, event: Event) -> Event:
        return event


def test_restored_text_is_kept_by_middleware_that_changes_nothing() -> None:
    data = restored("one ", "three", whole="one two three")
    run, _ = played("openai:gpt-5", data, middleware=[Keep()])
    assert (run.result.text, run.result.is_complete) == ("one two three", True)


class Shout(Middleware):
    """Rewrites the deltas, and nothing else."""

    def rewrite_event(self, run: RunView, event: Event) -> Event | list[Event] | None:
        if isinstance(event, ev.TextDelta):
            return ev.TextDelta(event.part, event.text.upper())
        return event


def test_restored_text_does_not_undo_what_middleware_did() -> None:
    data = restored("one ", "three", whole="one two three")
    run, _ = played("openai:gpt-5", data, middleware=[Shout()])
    assert run.result.text == "ONE THREE"
    assert not run.result.is_complete


def test_the_next_turn_is_complete_although_one_was_not() -> None:
    guard = Guard()
    events = events_of(restored("one ", "three", whole="one two three"), "responses")
    for is_rewritten in (True, False):
        written: list[Event] = []
        for event in events:
            shout = isinstance(event, ev.TextDelta) and is_rewritten
            written += guard.feed(event, [ev.TextDelta(0, "X")] if shout else [event])
        [end] = [event for event in written if isinstance(event, ev.TurnFinished)]
        assert end.is_complete is not is_rewritten


def test_middleware_cannot_report_a_skipped_frame() -> None:
    class Liar(Middleware):
        def rewrite_event(self, run: RunView, event: Event) -> Event | list[Event] | None:
            if isinstance(event, ev.TextDelta):
                return [event, ev.FrameSkipped(reason="", data="", size=0)]
            return event

    data = sse(chunk({"content": "a"}), chunk(finish="stop"))
    run, _ = played("llamacpp:m", data, middleware=[Liar()])
    assert not any(isinstance(r.event, ev.FrameSkipped) for r in run.records_so_far)


def test_the_api_key_is_removed_from_skipped_frames() -> None:
    echo = b'data: {"authorization": "Bearer ' + b"x" * 900 + b"my-own-key-0123456789" + b"\n\n"
    data = sse(echo, chunk({"content": "a"}), chunk(finish="stop"))
    agent = Agent("llamacpp:m", transport=Streams(data), api_key="my-own-key-0123456789")
    with agent.run("Hi") as run:
        log = [encode_record(record) for record in run.records()]
    assert any(b"frame_skipped" in record for record in log)
    assert not any(b"my-own" in record for record in log)
