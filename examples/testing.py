"""Test an agent without a model: a scripted transport sends real wire bytes in its place.

Run it with `pytest examples/testing.py` or `python examples/testing.py`.
"""

from headrace import Agent, RunLimits
from headrace.testing import ScriptedTransport, call, cut, run_virtual, say, stall, think, turn


def forecast(city: str) -> str:
    """Tell the weather in a city."""
    return f"Rain in {city}."


def agent_with(script: ScriptedTransport) -> Agent:
    limits = RunLimits(turn_timeout_s=3600)
    return Agent("anthropic:test", tools=[forecast], limits=limits, transport=script, api_key="-")


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
    # The second request contains the call and its result.
    assert "Rain in Oslo." in str(script.requests[1]["messages"])


def test_a_broken_connection_is_an_error_and_the_text_so_far_is_kept() -> None:
    script = ScriptedTransport([turn(say("Take an"), cut())], dialect="anthropic")
    result = agent_with(script).complete("Do I need an umbrella?")
    assert result.error is not None
    assert result.error.category == "network"
    assert result.text == "Take an"


def test_a_silent_model_times_out_after_an_hour_of_virtual_time() -> None:
    script = ScriptedTransport([turn(say("Take an"), stall())], dialect="anthropic")
    result = run_virtual(agent_with(script).complete_async("Do I need an umbrella?"))
    assert str(result.finish) == "aborted(timeout: turn_timeout_s=3600)"


if __name__ == "__main__":
    for test in [value for name, value in list(globals().items()) if name.startswith("test_")]:
        test()
        print(f"passed: {test.__name__.removeprefix('test_').replace('_', ' ')}")
