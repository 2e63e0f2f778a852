"""JSON that is read while it arrives: at every prefix it equals the prefix closed and parsed."""

from __future__ import annotations

import json
import random
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from headrace.typed.partial_json import NOTHING, PartialJSON

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=12)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
# A whole string, the quote of one that is cut, or a bracket.
TOKENS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|"|[\[\]{}]', re.DOTALL)
LONE_HALF = re.compile(r"(?<!\\)((?:\\\\)*)\\u[dD][89abAB][0-9a-fA-F]{2}$")


def close(prefix: str) -> Any:
    """Parse a prefix after closing what is open: the slow and obvious way. An open string is
    closed where it is, and a value that is not known to be complete is left out."""
    stack: list[str] = []
    at, is_open = 0, False
    for match in TOKENS.finditer(prefix):
        at, token = match.start(), match[0]
        if token == '"':
            is_open = True
            break
        if token in ("[", "{"):
            stack.append("]" if token == "[" else "}")
        elif token in ("]", "}"):
            stack.pop()
    # Only the last characters can change, and the patterns below are slow.
    start = max(0, len(prefix) - 100)
    end = prefix[start:]
    is_dict = bool(stack) and stack[-1] == "}"
    if is_open and not (is_dict and prefix[:at].rstrip()[-1] in "{,"):
        end = _cut_escape(end) + '"'
    elif is_open:
        start, end = 0, prefix[:at]
    elif stack:
        # A number or a name may go on, and a key has no value yet.
        end = re.sub(r"[-+.\w]+$", "", end).rstrip()
        if is_dict:
            end = re.sub(r'(?<=[{,])\s*"(?:[^"\\]|\\.)*"\s*:?$', "", end)
    text = (prefix[:start] + end).rstrip().rstrip(",")
    return json.loads(text + "".join(reversed(stack)))


def _cut_escape(prefix: str) -> str:
    body = prefix
    tail = re.search(r"\\*$", body)
    assert tail is not None
    if len(tail[0]) % 2:
        body = body[:-1]
    else:
        body = re.sub(r"(?<!\\)((?:\\\\)*)\\u[0-9a-fA-F]{0,3}$", r"\1", body)
    return LONE_HALF.sub(r"\1", body)


@given(VALUES, st.data())
def test_any_slicing_gives_the_value(value: Any, data: st.DataObject) -> None:
    text = json.dumps(
        value, ensure_ascii=data.draw(st.booleans()), indent=data.draw(st.none() | st.just(1))
    )
    parser = PartialJSON()
    at = 0
    while at < len(text):
        size = data.draw(st.integers(1, 7))
        parser.feed(text[at : at + size])
        at += size
    assert parser.close() == value
    assert parser.is_complete
    assert not parser.is_broken


@given(VALUES.filter(lambda value: isinstance(value, dict | list)), st.booleans())
def test_every_prefix_is_what_another_parser_makes_of_it(value: Any, is_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii)
    parser = PartialJSON()
    for at, char in enumerate(text, 1):
        shown = parser.feed(char)
        if text[at - 1] in '{[]}",' or at == len(text):
            assert shown == from_json(text[:at], allow_partial="trailing-strings")


def document(pairs: int, chars: int) -> str:
    generator = random.Random(pairs)
    entries = [
        {
            "name": 'ä\n"x\\' * generator.randrange(4),
            "n": number / 4,
            "ok": number % 2 == 0,
            "no": None,
        }
        for number in range(pairs)
    ]
    return json.dumps({"entries": entries, "text": "lorem \u2028 \U0001f30a " * chars})


def test_two_hundred_prefixes_of_a_large_result_equal_the_closed_prefix() -> None:
    text = document(4_000, 40_000)
    assert len(text) > 1_000_000
    step = len(text) // 20_000
    compared = set(random.Random(1).sample(range(0, len(text), step), 200))
    parser = PartialJSON()
    for at in range(0, len(text), step):
        if at in compared and at > 1:
            assert parser.value == close(text[:at]), text[max(0, at - 60) : at]
        parser.feed(text[at : at + step])
    assert parser.value == json.loads(text)


@pytest.mark.parametrize("shape", ["entries", "text"])
def test_the_time_is_linear(shape: str) -> None:
    def seconds(factor: int) -> float:
        text = document(500 * factor, 1) if shape == "entries" else document(1, 10_000 * factor)
        step = 40
        best = 1e9
        for _ in range(3):
            parser, start = PartialJSON(), time.process_time()
            for at in range(0, len(text), step):
                parser.feed(text[at : at + step])
            best = min(best, time.process_time() - start)
        return best

    seconds(1)
    # Eight times the text; quadratic time would be 64 times as much.
    assert seconds(8) / seconds(1) < 24


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a" 1}', {}),
        ('{"a": 1, b}', {"a": 1}),
        ("[1, 2; 3]", [1]),
        ('{"a": tru}', {}),
        ('["\\x"]', [""]),
        ("]", NOTHING),
        ('{"a": [1]]', {"a": [1]}),
    ],
)
def test_a_syntax_error_stops_the_growth(text: str, value: Any) -> None:
    parser = PartialJSON()
    parser.feed(text)
    assert parser.value == value
    assert parser.is_broken
    assert parser.feed("1, 2, 3") == value


def test_halves_of_a_pair_wait_for_each_other() -> None:
    parser = PartialJSON()
    assert parser.feed('["a\\ud83c') == ["a"]
    assert parser.feed("\\udf0a") == ["a\U0001f30a"]
    assert parser.feed("\\ud83c") == ["a\U0001f30a"]
    assert parser.feed("b") == ["a\U0001f30a\ufffdb"]
    assert parser.feed("\\ud83c\\n") == ["a\U0001f30a\ufffdb\ufffd\n"]


def test_prose_before_the_value_is_skipped() -> None:
    parser = PartialJSON(skips_prose=True)
    assert parser.feed("Here you are:\n```js") is NOTHING
    assert parser.feed('on\n{"a": "b') == {"a": "b"}
    assert parser.feed('c"}\n``` That is all {1}.') == {"a": "bc"}


def test_containers_are_changed_in_place() -> None:
    parser = PartialJSON()
    root = parser.feed('{"rows": [{"a": "x')
    rows = root["rows"]
    parser.feed('y"}, {"a')
    assert rows == [{"a": "xy"}, {}]
    assert parser.value is root
