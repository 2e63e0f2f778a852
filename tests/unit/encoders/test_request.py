"""Options by name, tools to choose from, and what a model's name tells."""

from __future__ import annotations

import pytest

from headrace.encoders import (
    ENDPOINT_ENCODERS,
    REQUEST_ENCODERS,
    Options,
    OutputSchema,
    ToolSpec,
    parse_options,
)
from headrace.encoders.model_family import is_generation_at_least, parse_family, parse_generation
from headrace.errors import UsageError
from headrace.providers import CATALOG
from headrace.wire.dialects import DIALECT_NAMES
from tests.unit.encoders.conversation import request

LOOK = ToolSpec(name="look")


def test_options_are_read_by_name() -> None:
    given = {"effort": "high", "stop": ["x"], "output": {"schema": {"type": "object"}}}
    expected = Options(effort="high", stop=("x",), output=OutputSchema(schema={"type": "object"}))
    assert parse_options(given) == expected


def test_an_unknown_option_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(
        UsageError, match=r"no option .efort.: did you mean .effort.\? The options are max_tokens"
    ):
        parse_options({"efort": "high"})


def test_a_wrong_value_is_an_error() -> None:
    with pytest.raises(UsageError, match="a wrong value"):
        parse_options({"effort": "enormous"})


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_without_tools_there_is_no_choice_to_send(choice: str) -> None:
    assert request(tool_choice=choice).tool_choice is None
    assert request(parallel_calls=True).parallel_calls is None


def test_a_choice_of_a_tool_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UsageError, match="no tool 'see' to choose: there are look"):
        _ = request(tool_choice="see", tools=(LOOK,)).tool_choice
    with pytest.raises(UsageError, match="'required' needs a tool"):
        _ = request(tool_choice="required").tool_choice


@pytest.mark.parametrize("choice", ["auto", "none", "required", "look"])
def test_a_choice_among_tools_stands(choice: str) -> None:
    assert request(tool_choice=choice, tools=(LOOK,)).tool_choice == choice


@pytest.mark.parametrize(
    ("model", "of", "number"),
    [
        ("anthropic/claude-sonnet-4-6", "claude", (4, 6)),
        ("claude-sonnet-4-20250514", "claude", (4, 0)),
        ("claude-opus-4-1-20250805", "claude", (4, 1)),
        ("claude-3-7-sonnet-20250219", "claude", (3, 7)),
        ("claude-mythos-preview", "claude", None),
        ("gemini-2.5-flash-preview-09-2025", "gemini", (2, 5)),
        ("gemini-3-pro", "gemini", (3, 0)),
        ("gemini-flash-latest", "gemini", None),
        ("gpt-5", "gpt", (5, 0)),
        ("qwen3:8b", "qwen", None),
        ("", "", None),
    ],
)
def test_a_name_tells_family_and_generation(
    model: str, of: str, number: tuple[int, int] | None
) -> None:
    assert (parse_family(model), parse_generation(model)) == (of, number)
    assert is_generation_at_least(model, (4, 6)) == (number is None or number >= (4, 6))


def test_every_dialect_has_a_request_encoder() -> None:
    # These are only decoded.
    assert set(DIALECT_NAMES) - set(REQUEST_ENCODERS) == {"text", "bedrock-agent"}
    assert set(REQUEST_ENCODERS) <= set(DIALECT_NAMES)


def test_every_endpoint_encoder_has_a_provider() -> None:
    used = {row.request_encoder for row in CATALOG.values()} - {None}
    assert used == set(ENDPOINT_ENCODERS)
