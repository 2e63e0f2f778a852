"""Arguments and results are checked against schemas of servers that nobody trusts."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.tools.schema_arguments import MAX_VALUES, find_mismatch

SLOW = "^(a+)+$"
WORD = "a" * 60 + "!"


def _schema(**fields: Any) -> dict[str, Any]:
    return {"type": "object", **fields}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (_schema(patternProperties={SLOW: {}}, additionalProperties=False), {WORD: 1}),
        (_schema(patternProperties={SLOW: {}}, unevaluatedProperties=False), {WORD: 1}),
        (
            _schema(
                properties={
                    "p": {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": SLOW}
                }
            ),
            {"p": WORD},
        ),
        (
            _schema(properties={"p": {"uniqueItems": True}}),
            {"p": [{"a": n} for n in range(90_000)]},
        ),
    ],
    ids=["additional", "unevaluated", "another dialect", "unique"],
)
def test_a_schema_cannot_make_a_check_slow(schema: dict[str, Any], value: Any):
    # The time limit of the test would end it.
    assert find_mismatch(schema, value) is None


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (
            _schema(properties={"p": {"items": {"allOf": [{"minimum": 0}] * 5_000}}}),
            {"p": list(range(100_000))},
        ),
        (
            _schema(properties={"p": {"anyOf": [{"type": "string"}] * 5_000}}),
            {"p": ["x" * 100] * 100_000},
        ),
    ],
    ids=["many rules for many values", "many long errors"],
)
def test_a_check_that_takes_too_long_is_given_up(schema: dict[str, Any], value: Any):
    assert find_mismatch(schema, value) == "the schema is too complicated to check"


def test_a_value_that_is_too_large_is_not_checked():
    problem = find_mismatch(_schema(), {"p": [0] * MAX_VALUES})
    assert problem is not None
    assert "too much to check" in problem


@pytest.mark.parametrize("rule", [{"type": 7}, {"$ref": 7}, {"multipleOf": 0}, {"minimum": "a"}])
def test_a_schema_that_is_not_valid_is_a_mismatch_and_no_exception(rule: dict[str, Any]):
    assert find_mismatch(_schema(properties={"p": rule}), {"p": 1})


def test_what_does_not_fit_is_found():
    unique = _schema(properties={"p": {"uniqueItems": True}})
    assert find_mismatch(unique, {"p": [{"a": 1, "b": 2}, {"b": 2, "a": 1}]})
    assert find_mismatch(unique, {"p": [1, 2]}) is None
    assert find_mismatch(_schema(additionalProperties=False), {"p": 1})
    other = _schema(properties={"p": {"$schema": "x", "type": "string"}})
    assert find_mismatch(other, {"p": 1})
