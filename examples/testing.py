"""Test your agent without a model: a script plays the model's part, in real wire bytes.

Run it with `pytest examples/testing.py`, or as it is.
"""

from headrace.engine import Agent
from headrace.testing import ScriptedTransport, call, cut, say, think, turn


def forecast(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}."


def agent_with(script: ScriptedTransport) -> Agent:
    return Agent("anthropic:claude-test", tools=[forecast], transport=script, api_key="none")


def test_the_agent_looks_and_then_answers() -> None:
    script = ScriptedTransport(
        [
            turn(think("I should look it up."), call("forecast", city="Oslo")),
            turn(say("Take an umbrella.")),
        ],
        dialect="anthropic",
    )
    result = agent_with(script).complete("Do I need an umbrella?")
    assert result.text == "Take an umbrella."
    # What the model was sent the second time: its own call, and our answer.
    assert "Rain in Oslo." in str(script.requests[1]["messages"])


def test_a_broken_connection_is_told_and_what_came_is_kept() -> None:
    script = ScriptedTransport([turn(say("Take an"), cut())], dialect="anthropic")
    result = agent_with(script).complete("Do I need an umbrella?")
    assert result.error is not None
    assert result.error.category == "network"
    assert result.text == "Take an"


if __name__ == "__main__":
    test_the_agent_looks_and_then_answers()
    test_a_broken_connection_is_told_and_what_came_is_kept()
    print("2 passed")
