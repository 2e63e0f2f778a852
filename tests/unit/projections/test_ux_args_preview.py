"""The preview of arguments: one line, bounded, of anything that JSON holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.projections.ux.args_preview import MAX_CHARS, preview_args

_SCALARS = st.none() | st.booleans() | st.integers() | st.text()
_JSON = st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@pytest.mark.parametrize(
    ("args", "preview"),
    [
        ({"city": "Oslo", "days": 3}, "city: Oslo, days: 3"),
        ({"path": ["a", {"b": None}]}, 'path: ["a",{"b":null}]'),
        ({}, ""),
        (None, ""),
        ("ls\n  -l", "ls -l"),
        ({"code": "x" * 10**6}, "code: " + "x" * (MAX_CHARS - 7) + "…"),
    ],
)
def test_a_preview_names_the_arguments_and_their_values(args: Any, preview: str) -> None:
    assert preview_args(args) == preview


@given(_JSON)
def test_a_preview_is_one_line_and_never_too_long(args: Any) -> None:
    preview = preview_args(args)
    assert len(preview) <= MAX_CHARS
    assert len(preview.splitlines()) <= 1


@given(st.text("abc ", max_size=MAX_CHARS))
def test_what_fits_is_shown_whole(text: str) -> None:
    line = " ".join(text.split())
    assert preview_args(text) == line
    exact = line.ljust(MAX_CHARS, "x")
    assert preview_args(exact) == exact
    assert preview_args(exact + "y") == exact[:-1] + "…"
