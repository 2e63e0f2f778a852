"""Docstrings of three styles say the same."""

from __future__ import annotations

import inspect

import pytest

from headrace.tools.docstring import parse_docstring

GOOGLE = """Find a place.

    Asks a map.

    Args:
        name: What it is called,
            in any language.
        limit (int, optional): How many: at most ten.

    Returns:
        Places.
    """
SPHINX = """Find a place.

    Asks a map.

    :param name: What it is called,
        in any language.
    :param int limit: How many: at most ten.
    :type limit: int
    :returns: Places.
    """
NUMPY = """Find a place.

    Asks a map.

    Parameters
    ----------
    name : str
        What it is called,
        in any language.
    limit : int, optional
        How many: at most ten.

    Returns
    -------
    list
        Places.
    """


@pytest.mark.parametrize("doc", [GOOGLE, SPHINX, NUMPY], ids=["google", "sphinx", "numpy"])
def test_every_style_gives_the_description_and_each_argument(doc: str):
    read = parse_docstring(inspect.cleandoc(doc))
    assert read.description == "Find a place.\n\nAsks a map."
    assert read.arguments == {
        "name": "What it is called, in any language.",
        "limit": "How many: at most ten.",
    }


def test_text_behind_the_arguments_belongs_to_the_description():
    read = parse_docstring("One.\n\nArgs:\n    a: First.\n\nTwo: three.")
    assert read.description == "One.\n\nTwo: three."
    assert read.arguments == {"a": "First."}


def test_a_docstring_without_sections_is_all_description():
    assert (
        parse_docstring("Say: hello\n\n    code: here").description
        == "Say: hello\n\n    code: here"
    )
    assert parse_docstring("").arguments == {}
