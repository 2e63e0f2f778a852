"""How typed answers are asked for, by provider and model."""

from __future__ import annotations

import pytest

from headrace.encoders import Request, ToolSpec
from headrace.messages import Message
from headrace.providers import CATALOG
from headrace.typed.plan import plan_output


@pytest.mark.parametrize("provider", ["gemini", "gemini-interactions"])
@pytest.mark.parametrize(("model", "mode"), [("gemini-2.5-flash", "tool"), ("gemini-3", "native")])
def test_gemini_takes_a_schema_beside_tools_since_3(provider: str, model: str, mode: str) -> None:
    tools = (ToolSpec(name="look"),)
    asked = Request(model=model, messages=(Message.user("?"),), tools=tools)
    assert plan_output(dict[str, int], CATALOG[provider], asked).mode == mode
