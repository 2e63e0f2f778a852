"""Turns in a few words."""

from __future__ import annotations

import pytest

from headrace.errors import UsageError
from headrace.rehearsal.script import call, refuse, say, think, turn, wait


def test_text_is_cut_into_words_that_join_to_it() -> None:
    text = "  Let me\nsee:  a b "
    assert say(text).pieces == ("  Let ", "me\n", "see:  ", "a ", "b ")
    assert say(text).text == text


def test_deltas_and_pieces_cut_elsewhere() -> None:
    assert say("abcde", deltas=2).pieces == ("ab", "cd", "e")
    assert think(pieces=["a", "", "b"]).pieces == ("a", "b")
    with pytest.raises(UsageError, match="join"):
        say("abc", pieces=["ab"])
    with pytest.raises(UsageError, match="1 character"):
        say("abc", deltas=0)


def test_a_title_stands_in_bold_above_the_thought() -> None:
    assert think("Hm.", title="Reading the question").text == "**Reading the question**\n\nHm."


def test_arguments_are_names_a_dict_or_raw() -> None:
    assert call("f", a=1, b=[2]).raw == '{"a":1,"b":[2]}'
    assert call("f", {"call_id": 1}, call_id="x").raw == '{"call_id":1}'
    assert call("f", raw='{"a').raw == '{"a'
    assert call("f").raw == "{}"
    with pytest.raises(UsageError, match="several"):
        call("f", {"a": 1}, b=2)


def test_a_text_is_a_line_that_is_said() -> None:
    assert turn("Hi").lines == (say("Hi"),)


def test_nothing_comes_before_a_refusal_but_a_wait() -> None:
    assert turn(wait(1), refuse(503)).refusal == refuse(503)
    with pytest.raises(UsageError, match="first"):
        turn("Hi", refuse())
