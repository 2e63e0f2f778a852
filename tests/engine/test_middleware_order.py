"""Middleware is called in the order of the list, by every hook."""

from __future__ import annotations

from typing import Any

from headrace import events as ev
from headrace.content import TextContent
from headrace.encoders import Request
from headrace.engine import Agent, Allow, Deny, Middleware, RunView, ToolCall, ToolReturn
from headrace.events import Event, Record
from headrace.messages import Turn
from headrace.testing import ScriptedTransport, call, run_virtual, turn
from tests.engine.play import MODELS


class Named(Middleware):
    """Notes each call of a hook under its own name, and leaves its name on what it may change."""

    def __init__(self, name: str, log: list[tuple[str, str]]) -> None:
        self.name = name
        self.log = log

    def on_run_start(self, run: RunView) -> None:
        self.log.append(("on_run_start", self.name))

    def on_request(self, run: RunView, request: Request) -> Request:
        self.log.append(("on_request", self.name))
        return request

    def rewrite_event(self, run: RunView, event: Event) -> Event:
        if isinstance(event, ev.TextDelta):
            self.log.append(("rewrite_event", self.name))
            return ev.TextDelta(event.part, event.text + self.name)
        return event

    def on_event(self, run: RunView, record: Record) -> None:
        if isinstance(record.event, ev.TextDelta):
            self.log.append(("on_event", self.name))

    def before_tool(self, run: RunView, call: ToolCall) -> Allow:
        self.log.append(("before_tool", self.name))
        return Allow({**call.args, "text": call.args["text"] + self.name})

    def after_tool(self, run: RunView, call: ToolCall, result: ToolReturn) -> ToolReturn:
        self.log.append(("after_tool", self.name))
        (said,) = result.content
        assert isinstance(said, TextContent)
        return ToolReturn(content=(TextContent(said.text + self.name),))

    def on_turn_end(self, run: RunView, turn: Turn) -> None:
        self.log.append(("on_turn_end", self.name))

    def on_run_end(self, run: RunView, event: Any) -> None:
        self.log.append(("on_run_end", self.name))


class AsyncNamed(Named):
    """The same with an observer that is async, which takes another path."""

    async def on_event(self, run: RunView, record: Record) -> None:  # type: ignore[override]
        Named.on_event(self, run, record)


async def echo(text: str) -> str:
    """Return the text."""
    return text


HOOKS = (
    "on_run_start", "on_request", "rewrite_event", "on_event", "before_tool", "after_tool",
    "on_turn_end", "on_run_end",
)  # fmt: skip


def play(middleware: list[Middleware]) -> Any:
    transport = ScriptedTransport([turn(call("echo", text="")), turn("x")])
    agent = Agent(
        MODELS["chat"], transport=transport, api_key="k", tools=[echo], middleware=middleware
    )
    return run_virtual(agent.complete_async("Go."))


def test_every_hook_is_called_in_the_order_of_the_list() -> None:
    for kind in (Named, AsyncNamed):
        log: list[tuple[str, str]] = []
        play([kind(name, log) for name in "abc"])
        for hook in HOOKS:
            names = "".join(name for called, name in log if called == hook)
            assert names
            assert names == "abc" * (len(names) // 3), hook


def test_each_gets_what_the_one_before_it_has_left() -> None:
    result = play([Named(name, []) for name in "abc"])
    assert result.text == "xabc"
    (answer,) = result.message.turns[0].results
    assert answer.content[0].text == "abcabc"  # the arguments first, then the result


def test_the_first_denial_counts() -> None:
    asked: list[str] = []

    class No(Middleware):
        def __init__(self, name: str) -> None:
            self.name = name

        def before_tool(self, run: RunView, call: ToolCall) -> Deny:
            asked.append(self.name)
            return Deny(f"{self.name} says no")

    result = play([No("first"), No("second")])
    assert asked == ["first"]
    (answer,) = result.message.turns[0].results
    assert "first says no" in str(answer.content)


def test_the_first_nudge_counts() -> None:
    class Nudge(Middleware):
        def __init__(self, text: str) -> None:
            self.text = text

        def on_turn_end(self, run: RunView, turn: Turn) -> str | None:
            return self.text if run.step == 0 else None

    transport = ScriptedTransport(["One.", "Two."])
    agent = Agent(
        MODELS["chat"],
        transport=transport,
        api_key="k",
        middleware=[Nudge("Go on."), Nudge("Stop it.")],
    )
    run_virtual(agent.complete_async("Go."))
    assert "Go on." in str(transport.requests[1])
    assert "Stop it." not in str(transport.requests[1])
