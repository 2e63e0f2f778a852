"""Signatures become schemas that providers take, and arguments that fit are what arrives."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import keyword
import subprocess
import sys
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, TypedDict

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from headrace.errors import UsageError
from headrace.tools import Tool, ToolContext, tool
from tests.engine.tools.calls import called, complaint, told, value


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Place(msgspec.Struct):
    """Where."""

    city: str
    near: Place | None = None


@dataclasses.dataclass
class Size:
    width: int
    height: int = 1


class Range(TypedDict):
    first: int
    last: NotRequired[int]


class Point(NamedTuple):
    x: int
    y: int = 0


class Person(BaseModel):
    name: str
    age: Annotated[int, Field(ge=0)] = 1
    friends: list[Person] = []


UserId = NewType("UserId", int)


def parameters(function: Any, **options: Any) -> dict[str, Any]:
    schema = Tool(function, **options).parameters
    Draft202012Validator.check_schema(schema)
    return schema


def of(kind: Any) -> Any:
    """A function that gives back what it got."""

    def echo(x: Any) -> Any:
        echo.got = x  # type: ignore[attr-defined]
        return "ok"

    echo.__annotations__["x"] = kind
    return echo


# --- what a schema says -------------------------------------------------------------


def test_a_signature_becomes_a_closed_object_with_words_and_defaults():
    def find(name: str, limit: Annotated[int, "At most ten."] = 3, exact: bool = False):
        """Find a place.

        Args:
            name: What it is called.
            limit: Not this.
        """

    made = Tool(find)
    assert (made.name, made.description) == ("find", "Find a place.")
    assert parameters(find) == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "What it is called."},
            "limit": {"type": "integer", "description": "At most ten.", "default": 3},
            "exact": {"type": "boolean", "default": False},
        },
        "required": ["name"],
        "additionalProperties": False,
    }


def test_bounds_and_words_of_msgspec_and_pydantic_are_told():
    def f(
        a: Annotated[int, msgspec.Meta(ge=1, description="ours")],
        b: Annotated[int, Field(ge=2, description="theirs")],
        c: int = Field(default=4, le=9, description="also theirs"),
        d: str = Field(description="required"),
    ):
        pass

    schema = parameters(f)
    assert schema["required"] == ["a", "b", "d"]
    told_of = schema["properties"]
    assert told_of["a"] == {"type": "integer", "minimum": 1, "description": "ours"}
    assert (told_of["b"]["minimum"], told_of["b"]["description"]) == (2, "theirs")
    assert (told_of["c"]["maximum"], told_of["c"]["default"]) == (9, 4)
    assert "2" in complaint(called(f, a=1, b=1, d="x"))


def test_a_struct_stays_a_nested_argument_with_its_definition_along():
    def go(place: Place):
        assert isinstance(place, Place)
        return place.near.city if place.near else ""

    schema = parameters(go)
    assert list(schema["properties"]) == ["place"]
    assert schema["$defs"]["Place"]["additionalProperties"] is False
    assert value(called(go, place={"city": "Oslo", "near": {"city": "Ski"}})) == "Ski"


def test_two_types_of_one_name_are_two_definitions():
    class Place(msgspec.Struct):  # another
        street: str

    class Other(BaseModel):
        street: int

    Other.__name__ = Other.__qualname__ = "Place"

    def go(a, b, c):
        return f"{a.city} {b.street}"

    class Holder(BaseModel):
        inner: Other

    go.__annotations__ = {"a": globals()["Place"], "b": Place, "c": list[Holder]}
    schema = parameters(go)
    given = {"a": {"city": "Oslo"}, "b": {"street": "S"}, "c": [{"inner": {"street": 3}}]}
    Draft202012Validator(schema).validate(given)
    assert len(schema["$defs"]) >= 4
    assert value(called(go, given)) == "Oslo S"


def test_a_strict_schema_requires_everything_and_has_no_defaults():
    def go(place: Place, kind: Colour = Colour.RED, limit: int = 3):
        """Go.

        Args:
            place: Where.
        """

    schema = parameters(go, is_strict=True)
    assert schema["required"] == ["place", "kind", "limit"]
    assert schema["$defs"]["Place"]["required"] == ["city", "near"]
    assert schema["properties"]["place"] == {
        "description": "Where.",
        "anyOf": [{"$ref": "#/$defs/Place"}],
    }
    assert "default" not in str(schema)
    with pytest.raises(UsageError, match="name its fields"):
        Tool(of(dict[str, int]), is_strict=True)


def test_pydantic_is_not_imported_for_types_of_others():
    code = (
        "import sys; from headrace.tools import Tool\n"
        "def f(a: int, b: list[str] | None = None): pass\n"
        "Tool(f); assert 'pydantic' not in sys.modules and 'aiohttp' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- what can be a tool -------------------------------------------------------------


class Shop:
    """Sells."""

    def buy(self, what: str) -> str:
        """Buy it."""
        return f"bought {what}"

    @staticmethod
    def open(day: str) -> str:
        return day

    @classmethod
    def named(cls, name: str) -> str:
        return cls.__name__ + name

    async def __call__(self, what: str) -> str:
        return f"called for {what}"


def test_methods_objects_and_partials_are_tools():
    shop = Shop()
    assert value(called(shop.buy, what="milk")) == "bought milk"
    assert value(called(Shop.open, day="Monday")) == "Monday"
    assert value(called(Shop.named, name="!")) == "Shop!"
    assert (Tool(shop).name, Tool(shop).description) == ("shop", "Sells.")
    assert Tool(shop).is_async
    assert value(called(shop, what="tea")) == "called for tea"


def test_what_a_partial_has_filled_in_is_no_argument_and_not_told():
    def send(text: str, key: str = "", times: int = 1) -> str:
        """Send it."""
        return f"{text} {key} {times}"

    made = Tool(functools.partial(functools.partial(send, key="SECRET"), times=2))
    assert (made.name, made.description) == ("send", "Send it.")
    assert list(made.parameters["properties"]) == ["text"]
    assert "SECRET" not in str(made.spec)
    assert value(called(made, text="hi")) == "hi SECRET 2"
    assert "unknown: key" in complaint(called(made, text="hi", key="mine"))
    assert list(Tool(functools.partial(send, "hi")).parameters["properties"]) == ["key", "times"]


def test_a_wrapped_function_is_what_it_wraps():
    def loud(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)

        return wrapper

    @loud
    async def later(n: int) -> int:
        return n + 1

    @tool(name="sooner", kind="number")
    @loud
    def now(n: int) -> int:
        return n

    assert value(called(later, n=1)) == 2
    assert isinstance(now, Tool)
    assert (now.name, called(now, n=1).kind) == ("sooner", "number")


def yields(n: int):
    yield n


async def yields_later(n: int):
    yield n


def annotated_in_vain(n: Missing):  # type: ignore[name-defined]  # noqa: F821
    pass


def returns_in_vain(n: int) -> Missing:  # type: ignore[name-defined]  # noqa: F821
    return n


def starred(*names: str):
    pass


def keywords(**names: str):
    pass


def positional(n: int, /):
    pass


def umlaut(größe: int):  # noqa: PLC2401 (that is the point)
    pass


def torn(both: Place | Size):
    pass


def strange(n: complex):
    pass


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda n: n, "lambda"),
        (starred, "has no name"),
        (keywords, "has no name"),
        (positional, "has no name"),
        (umlaut, "größe"),
        (yields, "yields"),
        (yields_later, "yields"),
        (annotated_in_vain, "Missing"),
        (torn, "both"),
        (strange, "complex"),
        (Shop, "class"),
        (Shop.buy, "without its object"),
        (3, "expected a function"),
    ],
)
def test_what_cannot_be_a_tool_is_said(function: Any, why: str):
    with pytest.raises(UsageError, match=why):
        Tool(function)


def test_the_annotation_of_the_result_does_not_matter():
    assert value(called(returns_in_vain, n=1)) == 1


@pytest.mark.parametrize("name", ["", "a b", "ä", "a.b", "x" * 65, "a\n"])
def test_a_name_that_a_provider_refuses_is_refused(name: str):
    def good():
        pass

    if name:
        with pytest.raises(UsageError, match="cannot be called"):
            Tool(good, name=name)
    assert Tool(good, name="a-b_C9").name == "a-b_C9"


@pytest.mark.parametrize("bound", ["timeout_s", "max_concurrent", "max_result_chars"])
def test_a_bound_that_is_none_is_refused(bound: str):
    with pytest.raises(UsageError, match=bound):
        Tool(yields.__class__ and returns_in_vain, **{bound: 0})  # type: ignore[arg-type]


def test_a_context_is_no_argument_of_the_model():
    def work(n: int, context: ToolContext, maybe: ToolContext | None = None) -> str:
        return f"{n} {context is maybe}"

    assert list(Tool(work).parameters["properties"]) == ["n"]
    assert value(called(work, n=1)) == "1 True"
    assert "unknown: context" in complaint(called(work, n=1, context={}))


# --- what fits ----------------------------------------------------------------------

FITS: list[tuple[Any, Any, Any]] = [
    (int, 3, 3),
    (int, 3.0, 3),
    (int | str, 3.0, 3),
    (list[int], [1.0, 2], [1, 2]),
    (float, 3, 3.0),
    (int | None, None, None),
    (Any, {"a": [1.5]}, {"a": [1.5]}),
    (object, "x", "x"),
    (Literal["a", 1], 1, 1),
    (Colour, "red", Colour.RED),
    (Level, 2, Level.HIGH),
    (tuple[int, str], [1, "a"], (1, "a")),
    (tuple[int, ...], [1, 2], (1, 2)),
    (set[str], ["a"], {"a"}),
    (frozenset[int], [1], frozenset({1})),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (dict[int, str], {"1": "a"}, {1: "a"}),
    (Size, {"width": 2}, Size(2, 1)),
    (Range, {"first": 1}, {"first": 1}),
    (Point, [1], Point(1, 0)),
    (Place, {"city": "O"}, Place("O")),
    (list[Size] | Size, [{"width": 1}], [Size(1)]),
    (UserId, 4, 4),
    (datetime.date, "2024-02-29", datetime.date(2024, 2, 29)),
    (Person, {"name": "Ada", "age": 36}, Person(name="Ada", age=36)),
    (list[Person], [{"name": "Ada"}], [Person(name="Ada")]),
    (Person | None, None, None),
    (Annotated[int, Field(ge=0)], 3, 3),
    (int, 2**70, 2**70),
]


@pytest.mark.parametrize(("kind", "given_value", "wanted"), FITS, ids=str)
def test_what_fits_the_schema_arrives_as_its_type(kind: Any, given_value: Any, wanted: Any):
    function = of(kind)
    Draft202012Validator(parameters(function)).validate({"x": given_value})
    assert value(called(function, x=given_value)) == "ok"
    assert function.got == wanted
    assert type(function.got) is type(wanted)


REFUSED: list[tuple[Any, Any, str]] = [
    (int, "3", "x: expected int, got str"),
    (int, True, "x: expected int, got bool"),
    (int, 3.5, "x: expected int, got float"),
    (int, None, "x: expected int, got null"),
    (str, 3, "x: expected str, got int"),
    (bool, 1, "x: expected bool, got int"),
    (Literal["a", "b"], "c", 'expected one of "a", "b"'),
    (Colour, "green", 'expected one of "blue", "red"'),
    (
        list[Colour],
        ["red", "pink"],
        'x[1]: invalid enum value \'pink\', expected one of "blue", "red"',
    ),
    (list[Size], [{"width": 1}, {"width": "2"}], "x[1].width: expected int, got str"),
    (Size, {}, "x: object missing required field width"),
    (Size, {"width": 1, "depth": 2}, "unknown: x.depth"),
    (Range, {"first": 1, "step": 2}, "unknown: x.step"),
    (Place, {"city": "O", "near": {"city": "S", "zip": 1}}, "unknown: x.near.zip"),
    (dict[str, Size], {"a": {"width": 1, "b": 1}}, "unknown: x.a.b"),
    (dict[int, str], {"a": "b"}, "a key of x: expected int, got str"),
    (tuple[int, str], [1], "x: expected array of length 2, got 1"),
    (Person, {"name": 3}, "x: name: "),
    (Annotated[int, msgspec.Meta(le=3)], 4, "x: expected int <= 3"),
]


@pytest.mark.parametrize(("kind", "given_value", "words"), REFUSED, ids=str)
def test_what_does_not_fit_goes_back_in_words_and_nothing_runs(
    kind: Any, given_value: Any, words: str
):
    function = of(kind)
    assert words in complaint(called(function, x=given_value))
    assert not hasattr(function, "got")


def test_everything_that_is_wrong_is_said_at_once():
    def f(a: int, b: int, c: str = ""):
        pass

    said = complaint(called(f, b="x", d=1))
    assert said.startswith("The arguments do not fit f: missing: a; unknown: d;")
    assert "the arguments are: a, b, c" in said
    assert "b: expected int, got str" in said


@pytest.mark.parametrize("args", [[], "{}", 3, True, float("nan")])
def test_arguments_that_are_no_object_are_refused(args: Any):
    assert "expected a JSON object" in complaint(called(of(Any), args))


def test_hostile_arguments_make_short_complaints():
    many = {f"{'k' * 5_000}{n}": n for n in range(1_000)}
    said = complaint(called(of(int), many | {"x": "y" * 100_000}))
    assert len(said) < 3_000
    assert "and 990 more" in said
    deep: Any = "end"
    for _ in range(100_000):
        deep = [deep]
    assert called(of(Any), x=deep).is_error
    assert called(of(Place), x={"city": "\ud800"}).is_error is False
    assert len(complaint(called(of(Colour), x="z" * 100_000))) < 3_000


def test_type_tags_in_arguments_mean_nothing():
    """T12: they are data, and come out as they went in."""
    for tag in ({"lc": 1}, {"__type__": "os.system"}, {"$ref": "#/x"}, {"py/object": "x"}):
        function = of(Any)
        called(function, x=tag)
        assert function.got == tag
        function = of(dict[str, Any])
        called(function, x={"inner": tag})
        assert function.got == {"inner": tag}


def test_a_tool_that_changes_its_arguments_changes_no_record():
    def f(a: Any, b: list[Any]):
        a["x"] = 1
        b.append(1)

    args: dict[str, Any] = {"a": {}, "b": []}
    called(f, args)
    assert args == {"a": {}, "b": []}


def test_defaults_are_applied_also_those_that_are_no_json():
    marker = object()

    def f(a: int = 3, b: Any = marker):
        return a == 3 and b is marker

    assert "default" not in parameters(f)["properties"]["b"]
    assert value(called(f)) is True


# --- any signature, any value -------------------------------------------------------

# A type, and JSON that is of it.
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.sampled_from(
    [
        (int, st.one_of(st.integers(), st.integers(-9, 9).map(float))),
        (float, st.one_of(FLOATS, st.integers(-9, 9))),
        (bool, st.booleans()),
        (str, st.text(st.characters(exclude_categories=["Cs"]))),
        (type(None), st.none()),
        (Any, st.integers()),
        (Colour, st.sampled_from(["red", "blue"])),
        (Level, st.sampled_from([1, 2])),
        (Literal["a", "b"], st.sampled_from(["a", "b"])),
        (Size, st.fixed_dictionaries({"width": st.integers()}, optional={"height": st.just(2)})),
        (Place, st.just({"city": "O", "near": {"city": "S", "near": None}})),
        (Range, st.fixed_dictionaries({"first": st.integers()}, optional={"last": st.just(2)})),
    ]
)


def _listed(one: Any) -> Any:
    return list[one[0]], st.lists(one[1], max_size=3)


def _keyed(one: Any) -> Any:
    return dict[str, one[0]], st.dictionaries(st.sampled_from("abc"), one[1], max_size=3)


def _paired(two: Any) -> Any:
    (first, one), (second, other) = two
    pair = tuple[first, second]  # type: ignore[valid-type]
    return pair, st.tuples(one, other).map(list)


def _optional(one: Any) -> Any:
    kind, values = one
    return (kind if kind in (Any, type(None)) else kind | None), st.one_of(st.none(), values)


TYPES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(_listed),
        inner.map(_keyed),
        st.tuples(inner, inner).map(_paired),
        inner.map(_optional),
    ),
    max_leaves=4,
)
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53), 2**53),
        # A whole number above 2**53 is not exact as a float, and is no integer for a tool.
        st.floats(allow_nan=False, allow_infinity=False).filter(
            lambda number: not number.is_integer() or abs(number) <= 2**53
        ),
        st.sampled_from(["a", "red", "x", ""]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["city", "near", "width", "height", "first", "last", "z"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=300)
@given(st.data())
def test_what_the_schema_allows_is_what_the_tool_takes(data: st.DataObject):
    kind, values = data.draw(TYPES)
    function = of(kind)
    given_value = data.draw(st.one_of(values, JSON))
    fits = Draft202012Validator(parameters(function)).is_valid({"x": given_value})
    result = called(function, x=given_value)
    assert fits == (not result.is_error), (kind, given_value, told(result))


@settings(max_examples=200)
@given(st.data())
def test_what_is_of_the_type_arrives_and_says_the_same(data: st.DataObject):
    kind, values = data.draw(TYPES)
    function = of(kind)
    given_value = data.draw(values)
    assert value(called(function, x=given_value)) == "ok"
    again = msgspec.to_builtins(function.got)
    function_again = of(kind)
    called(function_again, x=again)
    assert function_again.got == function.got


NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(
    lambda name: name not in sys.stdlib_module_names and name.isidentifier()
)


@settings(max_examples=100)
@given(st.dictionaries(NAMES, st.tuples(TYPES, st.booleans()), max_size=5))
def test_any_signature_has_a_valid_schema_of_its_own(signature: dict[str, Any]):
    signature = {n: s for n, s in signature.items() if not keyword.iskeyword(n) and n != "self"}
    names: dict[str, Any] = {}
    head = ", ".join(f"{n}=None" if optional else n for n, (_, optional) in signature.items())
    exec(f"def f({'*, ' if head else ''}{head}): return 'ran'", names)
    function = names["f"]
    function.__annotations__ = {n: kind[0] for n, (kind, _) in signature.items()}
    schema = parameters(function)
    assert list(schema["properties"]) == list(signature)
    assert schema["required"] == [n for n, (_, optional) in signature.items() if not optional]
    refs = msgspec.json.encode(schema).decode().count('"$ref"')
    assert not refs or schema["$defs"]
    Draft202012Validator(schema)
