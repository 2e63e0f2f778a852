"""When arguments are whole, found without parsing, however they are cut."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.wire.call_arguments import MalformedArguments, parse_arguments
from headrace.wire.json_extent import JSONExtent


@given(
    value=st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.lists(st.integers())),
    cuts=st.lists(st.integers(0, 200), max_size=5),
    is_ascii=st.booleans(),
)
def test_the_extent_closes_exactly_at_the_end(
    value: dict[str, object], cuts: list[int], is_ascii: bool
) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii)
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    extent = JSONExtent()
    for start, end in pairwise(edges):
        assert not extent.is_closed
        extent.feed(text[start:end])
    assert extent.is_closed


@pytest.mark.parametrize(
    ("text", "is_closed"),
    [
        ("", False),
        ("12", False),
        ("{", False),
        ('{"a\\', False),
        ('"a\\""', True),
        ("}", True),
        ('{"a":"}"', False),
        ("{} ", True),
    ],
)
def test_the_extent_of_odd_texts(text: str, is_closed: bool) -> None:
    extent = JSONExtent()
    for character in text:
        extent.feed(character)
    assert extent.is_closed == is_closed


def test_depth_and_syntax_are_told_apart() -> None:
    with pytest.raises(MalformedArguments, match="max_depth=4"):
        parse_arguments("[" * 5 + "]" * 5, 4)
    with pytest.raises(MalformedArguments):
        parse_arguments("{'a': 1}", 4)
