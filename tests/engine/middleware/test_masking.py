"""Secrets leave a text however it is cut, and no more of it waits than must."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import UsageError
from headrace.secrets import API_KEYS, EMAIL, MARK, Mask, SecretPattern
from headrace.secrets.mask import MaskedText

SECRETS = st.lists(st.text("ab", min_size=4, max_size=7), min_size=1, max_size=4)
SIZES = st.lists(st.integers(1, 9), max_size=40)
PATTERNS = (
    SecretPattern(r"(?<!b)a[ab]{3,}", max_chars=6, alphabet="ab"),
    SecretPattern(r"cb{2,4}c", max_chars=6),
    SecretPattern(r"a{1,2} ?b\b", max_chars=5),
)


def cut(text: str, sizes: list[int]) -> list[str]:
    pieces: list[str] = []
    for size in sizes:
        pieces.append(text[:size])
        text = text[size:]
    return [*pieces, text]


def told(masked: MaskedText, pieces: list[str]) -> str:
    return "".join(masked.feed(piece) for piece in pieces) + masked.close()


def hidden_by_hand(text: str, secrets: list[str]) -> str:
    """Every occurrence, and every stretch of them once."""
    is_hidden = [False] * (len(text) + 1)
    for secret in secrets:
        at = text.find(secret)
        while at >= 0:
            is_hidden[at : at + len(secret)] = [True] * len(secret)
            at = text.find(secret, at + 1)
    marks = [MARK if not is_hidden[at - 1] else "" for at in range(len(text))]
    return "".join(marks[at] if is_hidden[at] else text[at] for at in range(len(text)))


@given(st.text("abc", max_size=40), SECRETS, SIZES)
def test_any_cut_hides_every_occurrence(text: str, secrets: list[str], sizes: list[int]) -> None:
    assert told(Mask(secrets).text(), cut(text, sizes)) == hidden_by_hand(text, secrets)


@given(st.text("abc", max_size=40), SECRETS, SIZES, st.data())
def test_an_escape_hides_nothing_from_us(
    text: str, secrets: list[str], sizes: list[int], data: st.DataObject
) -> None:
    kinds = data.draw(st.lists(st.sampled_from("pue"), min_size=len(text), max_size=len(text)))
    forms: dict[str, Callable[[str], str]] = {
        "p": str,
        "u": lambda char: f"\\u{ord(char):04x}",
        "e": lambda char: f"{char}\\\\",
    }
    written = "".join(forms[kind](char) for kind, char in zip(kinds, text, strict=True))
    masked = told(Mask(secrets).json_text(), cut(written, sizes))
    expected = hidden_by_hand(json.loads(f'"{written}"'), secrets)
    assert json.loads(f'"{masked}"') == expected


def test_a_pair_of_surrogates_is_one_character() -> None:
    written = r"x\ud83d\ude00key\ud83dz"
    for at in range(len(written)):
        made = told(Mask(["\U0001f600key"]).json_text(), [written[:at], written[at:]])
        assert made == rf"x{MARK}\ud83dz"


@given(st.text("abc ", max_size=40), st.sets(st.sampled_from(range(3)), min_size=1), SIZES)
def test_any_cut_finds_the_same_matches(text: str, chosen: set[int], sizes: list[int]) -> None:
    mask = Mask(["abca"], [PATTERNS[at] for at in sorted(chosen)])
    assert told(mask.text(), cut(text, sizes)) == mask.hide(text)


@given(st.text("abc", max_size=30), SECRETS, SIZES)
def test_only_what_could_become_a_secret_waits(
    text: str, secrets: list[str], sizes: list[int]
) -> None:
    masked = Mask(secrets).text()
    seen = ""
    for piece in cut(text, sizes):
        masked.feed(piece)
        seen += piece
        prefixes = {secret[:size] for secret in secrets for size in range(1, len(secret) + 1)}
        waiting = max((len(p) for p in prefixes if seen.endswith(p)), default=0)
        assert len(seen) - masked.decided <= waiting


def test_a_word_that_could_be_a_key_waits_for_its_end_and_no_longer() -> None:
    masked = Mask([], API_KEYS).text()
    assert masked.feed("Hello wor") == "Hello "
    assert masked.feed("ld, and") == "world, "
    assert masked.close() == "and"


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-" + "a1B2" * 12,
        "sk-ant-api03-" + "x" * 400,
        "gsk_" + "Q" * 40,
        "ghp_" + "0aZ9" * 9,
        "AIza" + "b" * 35,
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    ],
)
def test_keys_of_the_usual_shapes_are_hidden(key: str) -> None:
    text = f"Use {key}, please; not task-force or ask_me_anything_at_all."
    expected = text.replace(key, MARK)
    for at in range(len(text)):
        assert told(Mask([], API_KEYS).text(), [text[:at], text[at:]]) == expected


def test_mail_is_hidden_where_that_is_asked_for() -> None:
    assert Mask([], [EMAIL]).hide("Ask ann.lee+x@mail.example.org now") == f"Ask {MARK} now"
    assert Mask([], API_KEYS).hide("ann@example.org") == "ann@example.org"


def test_the_written_forms_of_a_value_are_hidden_too() -> None:
    mask = Mask(['pa"ss/wörd'])
    assert mask.hide('a pa"ss/wörd b') == f"a {MARK} b"
    assert mask.hide('{"key": "pa\\"ss/wörd"}') == f'{{"key": "{MARK}"}}'
    assert mask.hide("?key=pa%22ss%2Fw%C3%B6rd&x") == f"?key={MARK}&x"


@pytest.mark.parametrize("secret", ["", "abc", "redact"])
def test_what_would_hide_ordinary_words_is_refused(secret: str) -> None:
    with pytest.raises(UsageError, match="a secret of"):
        Mask([secret])


def test_a_pattern_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="1 character or more"):
        SecretPattern("x*", max_chars=3)


@given(st.text("abc", max_size=30), SECRETS, SIZES)
def test_a_place_in_the_text_is_found_again(
    text: str, secrets: list[str], sizes: list[int]
) -> None:
    masked = Mask(secrets).text()
    made = told(masked, cut(text, sizes))
    for at in range(len(text) + 1):
        assert made != text or masked.map_position(at) == at
    assert masked.map_position(len(text)) == len(made)
    assert [masked.map_position(at) for at in range(len(text) + 1)] == sorted(
        masked.map_position(at) for at in range(len(text) + 1)
    )


def test_what_stands_behind_a_secret_moves_with_it() -> None:
    masked = Mask(["secret"]).text()
    made = told(masked, ["my sec", "ret is out"])
    assert made[masked.map_position(10) : masked.map_position(12)] == "is"
    assert made[masked.map_position(3) : masked.map_position(9)] == MARK
    assert made[masked.map_position(5) :] == " is out"


# --- linear ---------------------------------------------------------------------------


class Lines:
    """Counts the lines of ours that run."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.count += event == "line"
        return self


def work(mask: Mask, pieces: list[str]) -> int:
    lines = Lines()
    before = sys.gettrace()
    sys.settrace(lines)
    try:
        told(mask.json_text(), pieces)
        told(mask.text(), pieces)
    finally:
        sys.settrace(before)
    return lines.count


TEXTS = {
    "words": "some words here ",
    "nearly a secret": "abababab",
    "one long word": "eyJhbGciOi",
    "secrets": "ababababc ",
    "escapes": "\\u0061\\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("is_whole", [True, False])
def test_twice_the_text_is_twice_the_work(text: str, is_whole: bool) -> None:
    mask = Mask(["ababababc", "abab" * 50], [*API_KEYS, EMAIL])
    short, long = text * 100, text * 200
    cuts = [[short], [long]] if is_whole else [list(short), list(long)]
    assert work(mask, cuts[1]) < 2.2 * work(mask, cuts[0])


def test_no_more_is_kept_than_could_be_a_match() -> None:
    masked = Mask(["abab" * 50], [*API_KEYS, EMAIL]).text()
    most = 0
    for seen in range(1, 20_000):
        masked.feed("x")
        most = max(most, seen - masked.decided)
    assert most < max(pattern.max_chars for pattern in [*API_KEYS, EMAIL])
