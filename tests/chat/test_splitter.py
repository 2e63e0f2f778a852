"""Blocks settle once, whatever the slicing."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.commands.chat.display.markdown_splitter import Block, Splitter
from tests.chat.stage import ANSWER

_PIECES = st.sampled_from(
    ["\n", "\n\n", "a word ", "- item", "1. one", "  nested", "```", "~~~", "# Title", "| a | b |",
     "|---|---|", "> quote", "    code", "---", "x" * 900, "A sentence. ", "`", "水"]
)  # fmt: skip
_TEXTS = st.lists(_PIECES, max_size=40).map("".join)


def _blocks(*pieces: str) -> list[Block]:
    splitter = Splitter()
    fed = [block for piece in pieces for block in splitter.feed(piece)]
    return [*fed, *splitter.close()]


@given(_TEXTS, st.lists(st.integers(0, 2_000), max_size=8))
def test_any_slicing_gives_the_same_blocks_and_loses_nothing(text: str, cuts: list[int]) -> None:
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    slices = [text[start:end] for start, end in pairwise(places)]
    assert _blocks(*slices) == _blocks(text) == _blocks(*text)
    assert "".join(block.source for block in _blocks(text)) == text


@given(_TEXTS)
def test_what_is_open_and_what_is_settled_are_all_there_is(text: str) -> None:
    splitter, settled = Splitter(), ""
    for at, char in enumerate(text, 1):
        settled += "".join(block.source for block in splitter.feed(char))
        assert settled + splitter.open.source == text[:at]


def test_each_block_settles_as_soon_as_nothing_can_belong_to_it() -> None:
    splitter = Splitter()
    assert splitter.feed("# Title") == []
    assert [one.source for one in splitter.feed("\n")] == ["# Title\n"]
    assert splitter.feed("A paragraph\nof two lines.\n") == []
    assert [one.source for one in splitter.feed("\n")] == ["A paragraph\nof two lines.\n\n"]
    assert splitter.feed("```python\n\n# no title\n\nprint()\n") == []
    assert [one.is_code for one in splitter.feed("```\n")] == [True]
    assert splitter.feed("1. one\n\n   more of it\n\n2. two\n\n") == []
    assert len(splitter.feed("The end.\n")) == 1


def test_the_blocks_of_an_answer_are_its_paragraphs() -> None:
    firsts = [block.text.split("\n")[0] for block in _blocks(ANSWER)]
    assert [first[:8] for first in firsts] == [
        "About **", "| Measur", "1. Open ", "```pytho", "", "> Water ",
    ]  # fmt: skip


def test_a_long_list_is_cut_between_items_and_its_numbers_go_on() -> None:
    text = "".join(f"1. item {number} {'x' * 60}\n" for number in range(1, 101))
    blocks = _blocks(text)
    assert len(blocks) > 1
    seen = 0
    for block in blocks:
        assert block.text.startswith(f"{seen + 1}. item {seen + 1} ")
        seen += block.text.count("item")
    assert seen == 100


def test_long_code_is_cut_and_goes_on_as_code() -> None:
    text = "```python\n" + "value = 1\n" * 2_000 + "```\n"
    first, *more = _blocks(text)
    assert first.is_code
    assert more
    assert all(block.is_code and block.text.startswith("```python\n") for block in more)


@pytest.mark.parametrize("text", ["word " * 20_000, "x" * 100_000, "A sentence. " * 9_000])
def test_what_is_open_stays_small(text: str) -> None:
    splitter = Splitter()
    for start in range(0, len(text), 50):
        splitter.feed(text[start : start + 50])
        assert len(splitter.open.source) < 10_000
