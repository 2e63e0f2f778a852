"""A `ToolSpec` among the tools of an agent: the model sees it, and only middleware can answer."""

from __future__ import annotations

import pytest

from headrace import Agent, Deny, Middleware, RunView, TextContent, ToolCall, ToolReturn, ToolSpec
from headrace.testing import ScriptedTransport, call, say, turn

FORECAST = ToolSpec(name="forecast", description="Tell the weather.")


class Answer(Middleware):
    """Answers every call in place of a function."""

    def before_tool(self, run: RunView, call: ToolCall) -> Deny:
        return Deny(ToolReturn(content=(TextContent("rain"),)))


@pytest.mark.parametrize(
    ("middleware", "text", "is_error"),
    [([], "forecast has no function, so the call was not run.", True), ([Answer()], "rain", False)],
)
def test_a_call_of_a_spec_is_answered(
    middleware: list[Middleware], text: str, is_error: bool
) -> None:
    transport = ScriptedTransport([turn(call("forecast", city="Oslo")), turn(say("Done."))])
    agent = Agent("vllm:any", tools=[FORECAST], middleware=middleware, transport=transport)
    result = agent.complete("Will it rain?")
    (answer,) = result.message.turns[0].results
    assert (answer.content, answer.is_error) == ((TextContent(text),), is_error)
    assert result.text == "Done."
    assert transport.requests[0]["tools"][0]["function"]["name"] == "forecast"
