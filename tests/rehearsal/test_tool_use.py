"""The rehearsal model calls any tool that a message names, if it can fill its arguments."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Agent, tool
from headrace.rehearsal.reading import read
from headrace.rehearsal.request_reader import HeardTool
from headrace.rehearsal.tool_use import arguments_from


def schema(**types: Any) -> dict[str, Any]:
    properties = {name: {"type": kind} for name, kind in types.items()}
    return {"type": "object", "properties": properties, "required": list(types)}


@pytest.mark.parametrize(
    ("message", "name", "types", "arguments"),
    [
        ("What is the depth of the Weser?", "depth", {"river": "string"}, {"river": "Weser"}),
        ("Look up weather for New York", "weather", {"city": "string"}, {"city": "New York"}),
        ('Please search "red pandas"', "web_search", {"q": "string"}, {"q": "red pandas"}),
        ("roll dice: 3 with 20", "rollDice", {"n": "integer", "m": "integer"}, {"n": 3, "m": 20}),
        ("convert 2.5 miles", "convert", {"value": "number"}, {"value": 2.5}),
        ("status", "status", {}, {}),
        ("What is the depth?", "depth", {"river": "string"}, None),
        ("How are you?", "depth", {"river": "string"}, None),
        ("depth of the Weser", "depth", {"river": "array"}, None),
    ],
)
def test_arguments_come_from_the_message(message, name, types, arguments):
    found = arguments_from(HeardTool(name, schema=schema(**types)), read(message))
    assert found == arguments


def test_a_choice_must_be_in_the_message():
    unit = HeardTool(
        "convert", schema={"properties": {"unit": {"enum": ["km", "mi"]}}, "required": ["unit"]}
    )
    assert arguments_from(unit, read("convert it to MI")) == {"unit": "mi"}
    assert arguments_from(unit, read("convert it")) is None


def test_an_agent_of_the_rehearsal_model_runs_a_tool_of_its_own():
    rivers: list[str] = []

    @tool
    def depth(river: str) -> str:
        """Look up how deep a river is."""
        rivers.append(river)
        return f"The {river} is 5 m deep."

    agent = Agent("rehearsal:demo", tools=[depth])
    result = agent.complete("What is the depth of the Weser?")
    assert rivers == ["Weser"]
    assert "The Weser is 5 m deep." in result.text
