"""Markers are taken out of the stream, whatever way it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.status.marker import MAX_MARKER_CHARS, MarkerReader

PIECES = st.sampled_from(
    ["[STATUS: reading]", "[STATUS:", "[", "]", " ", "\n", "[S", "TATUS: x]", "word",
     "[STATUS: a [b]", "x" * 99, "`", "```", "```\n", "  "]
)  # fmt: skip


def removed(*texts: str) -> str:
    reader = MarkerReader()
    return "".join([*(reader.feed(text)[0] for text in texts), reader.close()])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[STATUS: reading] Now", "Now"),
        ("So. [STATUS: reading] Now", "So. Now"),
        ("So.[STATUS: reading] Now", "So. Now"),
        ("a\n[STATUS: reading]\nb", "a\nb"),
        ("a [STATUS: b", "a [STATUS: b"),
        ("a [status: b] c", "a [status: b] c"),
        ("[1] and [2]", "[1] and [2]"),
        ("[STATUS: a [b] c]", "[STATUS: a [b] c]"),
        ("[[STATUS: a]]", "[]"),
        ("[STATUS: a\nb]", "[STATUS: a\nb]"),
        ("[STATUS: one][STATUS: two] x", "x"),
    ],
)
def test_what_is_left(text: str, wanted: str) -> None:
    assert removed(text) == wanted
    assert removed(*text) == wanted


@given(st.lists(PIECES, max_size=12), st.data())
def test_any_slicing_leaves_the_same(pieces: list[str], data: st.DataObject) -> None:
    text = "".join(pieces)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert removed(*parts) == removed(text)


def test_a_line_has_begun_also_where_blanks_are_cut_off() -> None:
    text = "a ```\n[STATUS: x]"
    assert removed(text) == removed("a", " ", "```\n[STATUS: x]") == "a ```\n"


def test_little_is_held_back() -> None:
    reader = MarkerReader()
    said, _ = reader.feed("[STATUS: " + "x" * (MAX_MARKER_CHARS - 12))
    assert said == ""
    assert reader.feed("yyyyyyyyyy")[0].startswith("[STATUS: x")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[STATUS: one] a [STATUS:two ] b", ["one", "two"]),
        ("`[STATUS: x]` and [STATUS: y]", ["y"]),
        ("```\n[STATUS: x]\n```\n[STATUS: y]", ["y"]),
        ("```x``` [STATUS: y]\n[STATUS: z]", ["y", "z"]),
        ("    * [STATUS: reading the file] b", ["reading the file"]),
        ("> [STATUS: quoted]", ["quoted"]),
        ("[STATUS:]", [""]),
    ],
)
def test_what_is_marked_is_what_is_removed(text: str, wanted: list[str]) -> None:
    for pieces in ([text], list(text)):
        reader = MarkerReader()
        read = [reader.feed(piece) for piece in pieces]
        assert [marker for _, markers in read for marker in markers] == wanted
        left = "".join(said for said, _ in read) + reader.close()
        assert len(left) <= len(text) - sum(len(marker) for marker in wanted)
