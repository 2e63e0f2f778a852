"""Types of answers: their schemas, and what is made of the text of an answer."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated, Any, Literal, TypedDict

import jsonschema
import msgspec
import pydantic
import pytest

from headrace.encoders.claude.schema import adapt_schema
from headrace.errors import UsageError
from headrace.typed import Mismatch, OutputType
from headrace.typed.json_schema import is_recursive


class City(msgspec.Struct):
    """A city."""

    name: str
    population: int = 0


@dataclasses.dataclass
class Country:
    name: str
    capital: City


class Point(TypedDict):
    x: float
    y: float


class Person(pydantic.BaseModel):
    name: str
    age: int = pydantic.Field(ge=0, le=150)
    friends: list[Person] = []


class Circle(msgspec.Struct, tag="circle"):
    radius: float


class Square(msgspec.Struct, tag="square"):
    side: float


SCHEMA = {
    "type": "object",
    "properties": {
        "lat": {"type": "number"},
        "names": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["lat"],
    "additionalProperties": False,
}  # fmt: skip

KINDS: list[tuple[Any, Any, Any]] = [
    (City, {"name": "Oslo", "population": 7}, City("Oslo", 7)),
    (City, {"name": "Oslo"}, City("Oslo")),
    (Country, {"name": "N", "capital": {"name": "Oslo"}}, Country("N", City("Oslo"))),
    (Point, {"x": 1.5, "y": 2}, {"x": 1.5, "y": 2}),
    (Person, {"name": "A", "age": 3}, Person(name="A", age=3)),
    (list[City], [{"name": "Oslo"}], [City("Oslo")]),
    (list[Person], [{"name": "A", "age": 3}], [Person(name="A", age=3)]),
    (City | Country, {"name": "N", "capital": {"name": "O"}}, Country("N", City("O"))),
    (City | Person, {"name": "A", "age": 3}, Person(name="A", age=3)),
    (Circle | Square, {"type": "square", "side": 2}, Square(2)),
    (City | None, None, None),
    (Literal["yes", "no"], "no", "no"),
    (Annotated[int, msgspec.Meta(ge=1)], 3, 3),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (tuple[int, str], [1, "a"], (1, "a")),
    (bool, True, True),
    (SCHEMA, {"lat": 1.5, "names": ["a"]}, {"lat": 1.5, "names": ["a"]}),
    ({"type": "array", "items": {"type": "integer"}}, [1, 2], [1, 2]),
]
IDS = [f"{number}-{getattr(kind, '__name__', 'schema')}" for number, (kind, *_) in enumerate(KINDS)]


@pytest.mark.parametrize(("kind", "value", "meant"), KINDS, ids=IDS)
def test_an_answer_becomes_a_value_of_the_type(kind: Any, value: Any, meant: Any) -> None:
    output = OutputType(kind)
    sent = {"value": value} if output.is_wrapped else value
    jsonschema.validate(sent, output.schema)
    assert output.schema["type"] == "object"
    text = json.dumps(sent)
    for answer in (text, f"Sure!\n```json\n{text}\n```\nDone.", f"It is {text} as far as I know."):
        assert output.convert(output.unwrap(output.parse(answer))) == meant


@pytest.mark.parametrize(("kind", "value", "meant"), KINDS, ids=IDS)
def test_a_strict_schema_requires_every_field_and_no_other(
    kind: Any, value: Any, meant: Any
) -> None:
    strict = OutputType(kind).strict_schema
    open_types = (dict[str, int], tuple[int, str])
    assert (strict is None) == (kind in open_types)
    pending: list[Any] = [strict]
    while pending:
        schema = pending.pop()
        if isinstance(schema, dict):
            assert not {"default", "oneOf", "discriminator"} & schema.keys()
            if "properties" in schema:
                assert schema["required"] == list(schema["properties"])
                assert schema["additionalProperties"] is False
                pending += schema["properties"].values()
            pending += [v for k, v in schema.items() if k != "properties"]
        elif isinstance(schema, list):
            pending += schema


def test_a_list_that_comes_without_its_object_is_taken_too() -> None:
    output = OutputType(list[City])
    assert output.convert(output.unwrap(output.parse('[{"name": "Oslo"}]'))) == [City("Oslo")]


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        (City, '{"name": 3}', "answer.name: expected str, got int"),
        (City, '{"name": "x", "size": 3}', "unknown: answer.size"),
        (City, "", "the answer is empty"),
        (City, "I cannot say.", "not valid JSON"),
        (City, '{"name": "Os', "not valid JSON"),
        (Person, '{"name": "A", "age": 200}', "age: Input should be less than or equal to 150"),
        (City | Country, '{"title": "x"}', " — or — "),
        (SCHEMA, '{"lat": "north"}', "answer.lat: 'north' is not of type 'number'"),
        (Literal["yes", "no"], '{"value": "maybe"}', 'expected one of "no", "yes"'),
        (City, "[" * 2_000, "max_depth"),
    ],
)
def test_a_wrong_answer_is_explained_to_the_model(kind: Any, text: str, problem: str) -> None:
    output = OutputType(kind)
    with pytest.raises(Mismatch) as raised:
        output.convert(output.unwrap(output.parse(text)))
    assert problem in str(raised.value)


def test_types_without_a_schema_are_refused() -> None:
    with pytest.raises(UsageError, match="cannot be an output_type"):
        OutputType(object())
    with pytest.raises(UsageError, match=r"read `Result.text`"):
        OutputType(str)
    with pytest.raises(UsageError, match="no valid JSON schema"):
        OutputType({"type": "nothing"})


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ([City], r"write list\[City\]"),
        ((City, int), r"write them as a union, City \| int"),
        ("City", "the text 'City': give the type itself"),
        (City("Oslo", 1), "an object of City: give the type itself"),
        (print, "^print cannot be an output_type: <built-in function print> has no JSON schema"),
    ],
)
def test_what_is_no_type_is_refused_with_advice(kind: Any, advice: str) -> None:
    with pytest.raises(UsageError, match=advice):
        OutputType(kind)


def test_definitions_that_nothing_refers_to_are_left_out() -> None:
    assert "$defs" not in OutputType(City).schema
    assert list(OutputType(Country).schema["$defs"]) == ["City"]
    assert list(OutputType(Person).schema["$defs"]) == ["Person"]


def test_a_recursive_schema_is_recognized() -> None:
    assert is_recursive(OutputType(Person).schema)
    assert not is_recursive(OutputType(Country).schema)


def test_limits_that_anthropic_refuses_become_part_of_the_description() -> None:
    schema = {
        "type": "object",
        "properties": {
            "age": {"type": "integer", "minimum": 0, "description": "In years."},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 9}, "minItems": 1},
            "place": {"type": "string", "format": "geo"},
        },
    }
    adapted = adapt_schema(schema)["properties"]
    assert adapted["age"] == {"type": "integer", "description": "In years. (minimum: 0)"}
    assert adapted["tags"]["items"] == {"type": "string", "description": "maxLength: 9"}
    assert adapted["tags"]["minItems"] == 1
    assert adapted["place"] == {"type": "string", "description": 'format: "geo"'}
