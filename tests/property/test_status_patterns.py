"""Patterns of status phrases that are written for speed find what their plain forms find."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.status import phrase
from headrace.status.languages import ENGLISH
from headrace.status.phrase import clean
from headrace.status.sentence import SentenceReader

LEADS = (
    "okay ok so now well hmm hmmm wait alright right but and however first firstly second secondly"
    " third thirdly next then finally lastly also actually again instead therefore thus hence"
    " alternatively oh yes here"
).split()
LONGER_LEADS = (
    *("no wait", "let's see", "to start", "to begin", "to begin with", "for now", "in this case"),
    *("after that", "after this", "step 12"),
)
OPENINGS = (
    *("let me", "let's", "lets", "let us", "time to", "need to", "must", "gotta", "i'd like to"),
    *("should", "i'll", "we will", "i shall", "we need to", "i have to", "we should", "i must"),
    *("i want to", "i'm going to", "we are going to", "i'm", "i am", "we're now", "we are still"),
    *("analyzing", "looking at", "breaking it down", "checking whether", "the key point is"),
    *("one more important thing here is", "main issue lies in", "another key step here"),
)
REST = (
    "check",
    "compare",
    "the",
    "gauge",
    "it",
    "is",
    "if",
    "not",
    "reading the log",
    "3.14",
    "cm",
)
GAPS = (
    *(
        " ",
        " ",
        " ",
        " ",
        "  ",
        ", ",
        ",",
        "; ",
        ": ",
        ":",
        "://",
        ". ",
        ".",
        "...",
        "! ",
        "? ",
        "?",
    ),
    *(
        " - ",
        "- ",
        "-",
        "--",
        " -- ",
        " – ",
        "–",
        " — ",
        "—",
        "… ",
        "…",
        "\n",
        "\t",
        "\u00a0",
        "\u3000",
    ),
    *(
        "(",
        ")",
        "[",
        "<",
        "|",
        '"',
        "“",
        "=",
        "$",
        "→",
        "*",
        "**",
        "* ",
        "'",
        "`",
        "#",
        "~",
        "_",
        "é",
        "",
    ),
)
WORDS = st.sampled_from((*LEADS, *LONGER_LEADS)) | st.sampled_from(OPENINGS) | st.sampled_from(REST)
SENTENCES = st.lists(st.tuples(WORDS, st.just(" ") | st.sampled_from(GAPS)), max_size=10).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)

ANNOUNCEMENTS = [ENGLISH.opening, ENGLISH.inner, ENGLISH.joined]
PLAIN_STOP = re.compile(
    r"[,;()\[\]{}<>|\"“”=$\\→—…]|:(?!//)|(?<=\s)[-–]+\s|[!?](?=\s|$)|\.(?=\.|\s*$)"
)
PLAIN_QUOTED = re.compile(
    r"`[^`]*`?"
    r'|"[^"]*"?'
    r"|“[^”]*”?|「[^」]*」?|『[^』]*』?|«[^»]*»?"
    r"|(?<!\w)['‘][^'’\n]*(?:['’]\w[^'’\n]*)*['’](?!\w)"
)


def make_greedy(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """Return the pattern with greedy quantifiers instead of possessive ones, which never give back
    what they have matched."""
    greedy, count = re.subn(r"(?<=[\])sW ])([*+?])\+|(?<=\})\+", r"\1", pattern.pattern)
    assert count > 3
    return re.compile(greedy)


PAIRS = [(one, make_greedy(one)) for one in ANNOUNCEMENTS if one is not None]


@settings(max_examples=500)
@given(SENTENCES)
def test_possessive_quantifiers_change_no_announcement(text: str) -> None:
    for pattern, greedy in PAIRS:
        for start in range(len(text) + 1):
            found, expected = pattern.match(text, start), greedy.match(text, start)
            assert (found and found.regs) == (expected and expected.regs)


@settings(max_examples=500)
@given(SENTENCES)
def test_a_phrase_stops_where_the_plain_pattern_does(text: str) -> None:
    assert ENGLISH.stop.findall(text) == PLAIN_STOP.findall(text)
    found = [match.span() for match in ENGLISH.stop.finditer(text)]
    assert found == [match.span() for match in PLAIN_STOP.finditer(text)]


@settings(max_examples=500)
@given(st.text(alphabet="ab é\n.`\"“”「」『』«»'‘’"))
def test_quotations_are_those_of_the_plain_pattern(text: str) -> None:
    found = [match.span() for match in phrase._QUOTED.finditer(text)]
    assert found == [match.span() for match in PLAIN_QUOTED.finditer(text)]


@given(SENTENCES)
def test_markup_is_removed_from_a_phrase(text: str) -> None:
    assert clean(text) == clean("".join(char for char in text if char not in "*`#~"))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "See e.g. the log",
            "See i.e. the log",
            "One vs. two",
            "The U.S. gauge",
            "It is cf. here",
        ),
        *("Dr. Low", "Mr. Low", "Ms. Low", "St. Low", "It is approx. three"),
        *("1. Low", "12. Low", "**1. Low", "**12. Low", "# 1. Low"),
    ],
)
def test_a_stop_that_ends_no_sentence(text: str) -> None:
    reader = SentenceReader()
    assert reader.feed(f"{text} ") == []
    assert [one.text for one in reader.feed("water. ")] == [f"{text} water."]


@pytest.mark.parametrize("word", ["ae.g.", "xvs.", "aDr.", "1.", "x1.", "*1.", "approxi.", "US."])
def test_a_stop_after_a_similar_word_ends_one(word: str) -> None:
    assert [one.text for one in SentenceReader().feed(f"a {word} ")] == [f"a {word}"]
