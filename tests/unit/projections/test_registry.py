"""The table of protocols: their options, and which frames carry which content."""

from __future__ import annotations

import pytest

from headrace.projections.registry import (
    DEFAULT_PROTOCOL,
    MAX_OPTION,
    PROTOCOLS,
    ProtocolOption,
    protocol_names,
)

NUMBER = ProtocolOption("limit", "How many.")
WORD = ProtocolOption("form", "Which form.", ("short", "long"))


@pytest.mark.parametrize("text", ["0", "7", str(MAX_OPTION)])
def test_a_number_is_read(text: str) -> None:
    assert NUMBER.parse(text) == int(text)


@pytest.mark.parametrize("text", ["", "-1", "1.5", "x", "٣", str(MAX_OPTION + 1), "9" * 5_000])
def test_another_number_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match=f"limit must be a number from 0 to {MAX_OPTION}"):
        NUMBER.parse(text)


def test_a_choice_is_one_of_its_words() -> None:
    assert WORD.parse("long") == "long"
    with pytest.raises(ValueError, match="form must be short or long"):
        WORD.parse("wide")


def test_the_schema_says_what_is_read() -> None:
    assert NUMBER.schema == {"type": "integer", "minimum": 0, "maximum": MAX_OPTION}
    assert WORD.schema == {"type": "string", "enum": ["short", "long"]}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_knows_its_frames(name: str) -> None:
    protocol = PROTOCOLS[name]
    for end in protocol.ends:
        assert protocol.carries("end", end) is True
        assert protocol.carries("text", end) is False
    assert protocol.carries("text", "text_delta") is True
    assert protocol.carries("end", "text_delta") is False
    assert protocol.load().__name__ == protocol.package  # type: ignore[attr-defined]


def test_the_names_are_listed_and_the_first_is_the_default() -> None:
    assert protocol_names() == ", ".join(PROTOCOLS)
    assert protocol_names().startswith(DEFAULT_PROTOCOL)
