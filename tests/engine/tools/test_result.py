"""Whatever a tool returns is a result, or an error that names what it was."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent
from headrace.tools import ToolReturn
from headrace.tools.result import MAX_DATA_CHARS, limit_size, to_tool_return
from tests.engine.tools.calls import called, complaint, told, value

PICTURE = ImageContent(media_type="image/png", data="aGk=")
PAPER = FileContent(media_type="application/pdf", name="a.pdf", url="https://example.com/a.pdf")


class Word(enum.Enum):
    YES = "yes"


@dataclasses.dataclass
class Size:
    width: int


class Place(msgspec.Struct):
    city: str


class Person(BaseModel):
    name: str
    born: datetime.date | None = None


def returning(result: Any) -> ToolReturn:
    def give() -> Any:
        return result

    return called(give)


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (None, "Done."),
        ("hello", "hello"),
        ("", ""),
        (3, 3),
        (0.5, 0.5),
        (True, True),
        ([], []),
        ((1, 2), [1, 2]),
        ({"a": [1, None]}, {"a": [1, None]}),
        ({1: 2}, {"1": 2}),
        ({3}, [3]),
        (Word.YES, "yes"),
        (Size(2), {"width": 2}),
        ([Size(2)], [{"width": 2}]),
        (Place("Oslo"), {"city": "Oslo"}),
        (Person(name="Ada"), {"name": "Ada", "born": None}),
        (Person(name="A", born=datetime.date(1815, 12, 10)), {"name": "A", "born": "1815-12-10"}),
        (datetime.date(2024, 1, 2), "2024-01-02"),
        (2**70, 2**70),
        (float("nan"), "nan"),
        ([float("inf")], [None]),
        ("caf\udce9", "caf?"),
    ],
    ids=repr,
)  # fmt: skip
def test_plain_values_are_text_or_json(result: Any, wanted: Any):
    assert value(returning(result)) == wanted


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (PICTURE, (PICTURE,)),
        ([PICTURE, PAPER], (PICTURE, PAPER)),
        (("Look:", PICTURE, {"a": 1}), (TextContent("Look:"), PICTURE, JSONContent({"a": 1}))),
        (ToolReturn(content=(PAPER,)), (PAPER,)),
        (ToolReturn(content="text"), (TextContent("text"),)),  # type: ignore[arg-type]
        (ToolReturn(content=["a", PICTURE]), (TextContent("a"), PICTURE)),  # type: ignore[arg-type]
        (ToolReturn(), ()),
    ],
    ids=repr,
)
def test_content_is_taken_as_it_is(result: Any, wanted: tuple[Content, ...]):
    made = returning(result)
    assert not made.is_error
    assert made.content == wanted


def test_what_is_said_of_a_result_stays_said():
    given_result = ToolReturn(content=(PAPER,), kind="paper", is_error=True, ends_run=True)
    assert to_tool_return(given_result, "file") == given_result
    assert to_tool_return(ToolReturn(content=(PAPER,)), "file").kind == "file"


circle: list[Any] = []
circle.append(circle)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (b"raw", "returned bytes"),
        (bytearray(b"raw"), "returned bytearray"),
        (object(), "returned object"),
        ({"a": object()}, "returned dict that holds object, which is not JSON"),
        ((n for n in "ab"), "returned generator"),
        ({(1, 2): 3}, "returned dict that holds tuple, which is not JSON"),
        (circle, "returned list that holds itself"),
        ({"a": "\ud800"}, "returned dict with text that is not Unicode"),
        (Person, "which is not JSON"),
        (1j, "returned complex"),
        (ImageContent(media_type="image/png"), "without data or url"),
        (ImageContent(media_type=3, data="x"), "headrace.content.ImageContent that is invalid"),  # type: ignore[arg-type]
        (JSONContent(object()), "that holds object"),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
def test_what_is_no_result_is_an_error_that_names_it(result: Any, words: str):
    assert words in complaint(returning(result))


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)


@given(JSON)
def test_a_result_is_the_same_when_it_is_read_from_a_log(result: Any):
    made = returning(result)
    again = msgspec.json.decode(msgspec.json.encode(made), type=ToolReturn)
    assert again == made


@pytest.mark.parametrize(
    "tag",
    [{"lc": 1, "type": "constructor", "id": ["os"]}, {"__type__": "x"}, {"$ref": "#/x"},
     {"py/object": "os.system"}, {"type": "text", "text": "x"}, {"type": "json", "value": 1}],
)  # fmt: skip
def test_type_tags_in_a_result_mean_nothing(tag: dict[str, Any]):
    """T12: what looks like one of ours, or of anybody's, stays the data that it is."""
    for result in (tag, [tag], {"inner": tag}):
        made = returning(result)
        again = msgspec.json.decode(msgspec.json.encode(made), type=ToolReturn)
        assert value(made) == value(again) == result
        assert isinstance(again.content[0], JSONContent)


# --- size ---------------------------------------------------------------------------


def test_a_cut_is_said_and_counts():
    made = limit_size(ToolReturn(content=(TextContent("a" * 8), TextContent("b" * 8))), 10)
    assert told(made) == "a" * 8 + "\nbb\n[cut: 6 more characters]"
    assert limit_size(made, 1_000) is not None


def test_whatever_middleware_made_of_a_result_is_one():
    anything: Any = "text"
    assert told(limit_size(anything, 10)) == "text"
    broken = ToolReturn(content=(JSONContent(object()),))
    assert "object, which is not JSON" in complaint(limit_size(broken, 1_000))


def test_json_that_is_too_long_becomes_text():
    made = limit_size(ToolReturn(content=(JSONContent(list(range(100))), PICTURE)), 5)
    assert isinstance(made.content[0], TextContent)
    assert made.content[0].text.startswith("[0,1,\n[cut: ")
    assert made.content[1] == PICTURE


@given(st.lists(st.text(max_size=30), max_size=5), st.integers(1, 60))
def test_no_character_is_lost_in_silence(texts: list[str], limit: int):
    made = limit_size(ToolReturn(content=tuple(map(TextContent, texts))), limit)
    kept = missing = 0
    for entry in made.content:
        assert isinstance(entry, TextContent)
        text, cut, rest = entry.text.rpartition("\n[cut: ")
        missing += int(rest.split()[0]) if cut else 0
        kept += len(text) if cut else len(entry.text)
    assert kept + missing == sum(map(len, texts))
    assert kept <= limit or not any("[cut" in t for t in texts)


def test_an_image_that_is_too_large_is_left_out_and_that_is_said():
    large = ImageContent(media_type="image/png", data="A" * (MAX_DATA_CHARS + 1))
    assert told(limit_size(ToolReturn(content=(large,)), 10)).startswith("[left out: image/png")
