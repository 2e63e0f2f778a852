"""The tools that come along: right, and bounded whatever they are asked (T12)."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.tools import Tool
from headrace.tools.builtin import NotePad, calculator, clock_tool, default_tools
from headrace.tools.builtin.page import Page
from tests.engine.tools.calls import called, complaint, told, value


def test_the_default_tools_are_three_and_none_of_them_reaches_out():
    assert [one.name for one in default_tools()] == ["calculator", "clock", "notepad"]


# --- calculator ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("0.1 + 0.2", "0.3"),
        ("6 / 2", "3"),
        ("7 / 2", "3.5"),
        ("1 / 3", "0.333333333333333"),
        ("7 // 2", "3"),
        ("-7 % 3", "2"),
        ("2 ** 10", "1024"),
        ("2 ^ 10", "1024"),
        ("-2 ** 2", "-4"),
        ("2 ** -1", "0.5"),
        ("2 ** 3 ** 2", "512"),
        ("--3", "3"),
        ("1e3 + .5", "1000.5"),
        ("1_000 * 3", "3000"),
        ("sqrt(16) + abs(-3)", "7"),
        ("max(1, 2, 3) - min(4, 5)", "-1"),
        ("round(2.567, 2)", "2.57"),
        ("floor(2.9) + ceil(2.1)", "5"),
        ("sin(pi / 2) + cos(0) + tan(0)", "2"),
        ("log(e) + log(8, 2) + log10(100)", "6"),
        ("exp(0)", "1"),
        ("factorial(20)", "2432902008176640000"),
        ("2 ** 200 / 2 ** 199", "2"),
        ("10 ** 30 + 1", "1" + "0" * 29 + "1"),
        ("3 × 4 ÷ 2 − 1", "5"),
        ("sin(pi)", "1.22464679914735e-16"),
        ("2 ** 4000", str(2**4000)),
        ("1.0", "1"),
        ("1e20", "1e+20"),
    ],
)
def test_sums_are_worked_out(expression: str, result: str):
    assert value(called(calculator, expression=expression)) == result


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("", "missing at the end"),
        ("1 +", "missing at the end"),
        ("* 2", "missing before '*'"),
        ("(1", "not closed"),
        ("1 2", "in place of an operator or the end"),
        ("1)", "in place of an operator or the end"),
        ("1 / 0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("0 ** -1", "division by zero"),
        ("sqrt(-1)", "not defined"),
        ("(-8) ** 0.5", "not a real number"),
        ("log(0)", "not defined"),
        ("sqrt()", "missing before ')'"),
        ("sqrt(1, 2)", "takes 1 numbers"),
        ("__import__('os')", "has no meaning"),
        ("os.system(1)", "has no meaning"),
        ("eval(1)", "not a function"),
        ("abs.__class__", "has no meaning"),
        ("x + 1", "not known"),
        ("9 ** 9 ** 9", "too large"),
        ("9 ** 9 ** 9 ** 9 ** 9", "too large"),
        ("(2 ** 4000) ** 4000", "too large"),
        ("2 ** 4095 * 2 ** 4095", "too large"),
        ("factorial(10 ** 6)", "0 to 500"),
        ("factorial(factorial(100))", "0 to 500"),
        ("factorial(2.5)", "whole numbers"),
        ("1e308 * 10", "too large"),
        ("1e999", "too large"),
        ("2.0 ** 10000", "too large"),
        ("10 ** 1000 * 1.5", "too large"),
        ("exp(1000)", "too large"),
        ("round(1.5, 10 ** 9)", "at most 100"),
        ("(" * 400 + "1" + ")" * 400, "nested deeper"),
        ("-" * 900 + "1", "nested deeper"),
        ("2" + "**1" * 300, "nested deeper"),
        ("1+" * 600 + "1", "longer than"),
        ("9" * 1000 + " ** 2", "longer than"),
    ],
)  # fmt: skip
def test_what_cannot_be_worked_out_is_said_at_once(expression: str, words: str):
    began = time.monotonic()
    assert words in complaint(called(calculator, expression=expression))
    assert time.monotonic() - began < 20


@settings(max_examples=300)
@given(st.text("0123456789.+-*/%^() epiqrtsfacol,", max_size=60))
def test_no_expression_breaks_it(expression: str):
    result = called(calculator, expression=expression)
    assert "failed" not in told(result)
    assert len(told(result)) < 3_000


NUMBERS = st.recursive(
    st.integers(0, 999).map(str),
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({' '.join(t)})"),
    max_leaves=8,
)


@given(NUMBERS)
def test_integers_are_what_python_makes_of_them(expression: str):
    assert value(called(calculator, expression=expression)) == str(eval(expression))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_that_is_shown_is_the_number(number: float):
    said = value(called(calculator, expression=repr(number)))
    assert math.isclose(float(said), number, rel_tol=1e-14)


# --- clock --------------------------------------------------------------------------

MOMENT = datetime(2024, 2, 29, 23, 30, tzinfo=UTC)


def test_the_clock_tells_the_time_of_a_place():
    clock = clock_tool(lambda: MOMENT)
    assert value(called(clock)) == {
        "iso": "2024-02-29T23:30:00+00:00",
        "date": "2024-02-29",
        "time": "23:30:00",
        "weekday": "Thursday",
        "timezone": "UTC",
    }
    oslo = value(called(clock, timezone="Europe/Oslo"))
    assert (oslo["iso"], oslo["weekday"]) == ("2024-03-01T00:30:00+01:00", "Friday")


@pytest.mark.parametrize(
    "name",
    ["", "Oslo", "../../etc/passwd", "/etc/passwd", "America", "a\0b", "x" * 10**6,
      "C:\\", "ö\ud800"],
)  # fmt: skip
def test_a_place_that_is_none_is_said(name: str):
    said = complaint(called(clock_tool(lambda: MOMENT), timezone=name))
    assert said.startswith("No time zone")
    assert len(said) < 300


def test_a_near_name_is_offered():
    assert "Europe/Oslo" in complaint(called(clock_tool(), timezone="Europe/Olso"))


# --- note pad -----------------------------------------------------------------------


def test_a_note_is_an_artifact():
    result = called(NotePad().tool, title=" Plan ", content="# Plan")
    assert result.kind == "artifact"
    assert value(result) == {"title": "Plan", "type": "markdown", "content": "# Plan"}
    program = called(NotePad().tool, title="P", content="x = 1", type="code", language="python")
    assert value(program) == {"title": "P", "type": "code", "language": "python", "code": "x = 1"}


def test_notes_can_be_read_and_listed_by_who_is_allowed_to():
    pad = NotePad()
    write, read, listing = pad.tools
    called(write, title="A", content="one")
    called(write, title="B", content="two")
    called(write, title="A", content="three")
    assert value(called(read, title="A"))["content"] == "three"
    assert [note["title"] for note in value(called(listing))] == ["B", "A"]
    assert "No note" in complaint(called(read, title="C"))
    assert [note.content for note in pad.notes] == ["two", "three"]


def test_a_pad_is_bounded():
    pad = NotePad(max_notes=3, max_chars=10)
    for n in range(10):
        called(pad.tool, title=str(n), content="x")
    assert [note.title for note in pad.notes] == ["7", "8", "9"]
    assert "too long" in complaint(called(pad.tool, title="A", content="x" * 11))
    assert "title" in complaint(called(pad.tool, title=" ", content="x"))
    assert "title" in complaint(called(pad.tool, title="x" * 201, content="x"))
    assert "one of" in complaint(called(pad.tool, title="A", content="x", type="exe"))


# --- pages --------------------------------------------------------------------------

SOURCE = """<!DOCTYPE html><html><head><title>A &amp; B
 </title><style>p { color: red }</style><script>alert("<p>no</p>")</script></head>
<body><!-- <p>not this</p> --><h1>Head</h1><p>One <b>bold</b>
 line &lt;here&gt; &eacute;.</p><ul><li>first<li>second</ul><br/>3 < 4<SCRIPT>x</SCRIPT >
<table><tr><td>a</td><td>b</td></tr></table><svg/>end</body></html>"""


def test_a_page_is_what_a_reader_sees():
    page = Page(SOURCE)
    assert page.title == "A & B"
    assert page.text == (
        "# Head\n\nOne bold line <here> é.\n\n- first\n- second\n\n3 < 4\n\na | b |\n\nend"
    )


@pytest.mark.parametrize(
    "piece",
    ["<", "<!--", "<a ", "</", "<script>", "<title>", "<![CDATA[", "<?", '<a b="', "&#", "&a", "<!",
     "&#" + "9" * 5_000 + ";", "</script", "<p", "\n\n\n "],
)  # fmt: skip
def test_a_hostile_page_takes_no_longer_than_any(piece: str):
    began = time.monotonic()
    Page(piece * (1_000_000 // len(piece)))
    assert time.monotonic() - began < 60


@given(st.text("<>!-/ apscriptle=\"'&;#x\n"))
def test_any_text_is_a_page(source: str):
    Page(source)


def test_the_built_in_tools_tell_all_their_arguments():
    for one in (*default_tools(), *NotePad().tools, Tool(calculator)):
        assert one.description
        for argument in one.parameters["properties"].values():
            assert argument["description"]
