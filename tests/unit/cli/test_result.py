"""Result rows: what the comparison of many streams reads."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import decode
from headrace.cli.commands.decode.result import result_row
from headrace.messages import fold, fold_candidates
from tests.unit.cli.stream import ANTHROPIC, FAILED, HELLO, THINK, call, chunk, sse

EMPTY: dict[str, Any] = {
    "file": "f",
    "text": "",
    "reasoning": "",
    "reasoning_parts": [],
    "tool_calls": [],
    "finish": None,
    "usage": None,
    "error": None,
    "signatures": [],
    "redacted": 0,
    "refusal": None,
    "outputs": [],
}


def _row(data: bytes) -> dict[str, Any]:
    records = list(decode([data]))
    return result_row("f", fold(records), fold_candidates(records))


def test_text_and_finish() -> None:
    assert _row(HELLO) == EMPTY | {"text": "Hello", "finish": "end_turn"}


def test_reasoning_calls_and_usage() -> None:
    assert _row(THINK) == EMPTY | {
        "reasoning": "hm\nyes",
        "reasoning_parts": ["hm\nyes"],
        "tool_calls": [
            {"id": "call_1", "name": "weather", "args": {"city": "Oslo"}, "executor": "client"}
        ],
        "finish": "tool_use",
        "usage": {
            "input_tokens": 1200,
            "output_tokens": 7,
            "cached_input_tokens": 1000,
            "reasoning_tokens": None,
        },
    }


def test_a_failure_has_an_error_and_no_finish() -> None:
    row = _row(FAILED)
    assert row["finish"] is None
    assert row["error"] == {
        "category": "rate_limit",
        "message": "too many",
        "code": "rate_limit_error",
    }


def test_arguments_that_are_no_json_stay_as_written() -> None:
    row = _row(sse(call('{"city": "Os'), chunk("tool_calls"), "[DONE]"))
    assert row["tool_calls"][0]["args"] == '{"city": "Os'


def test_of_several_outputs_the_first_is_shown_and_all_are_listed() -> None:
    said = [chunk("stop", content="a"), chunk("length", index=1, content="b")]
    row = _row(sse(*said, "[DONE]"))
    assert (row["text"], row["finish"]) == ("a", "end_turn")
    assert row["outputs"] == [
        {"index": 0, "text": "a", "reasoning": ""},
        {"index": 1, "text": "b", "reasoning": ""},
    ]


def test_a_refusal_is_no_text() -> None:
    row = _row(sse(chunk(refusal="I will not"), chunk("stop"), "[DONE]"))
    assert (row["text"], row["refusal"]) == ("", "I will not")


@pytest.mark.parametrize("data", [HELLO, THINK, FAILED, ANTHROPIC])
def test_every_row_has_the_same_fields(data: bytes) -> None:
    assert list(_row(data)) == list(EMPTY)
