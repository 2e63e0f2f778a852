"""Terms of texts and searches, the same for every search index.

Terms are words without case and accents. Chinese and Japanese are written without spaces, so each
pair of neighboring characters is a term there, and a search finds any part of a sentence. Each text
also has a term for its owner, so that a search never looks at the texts of others.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from headrace.errors import HeadraceError

MAX_WORDS: Final = 16
"""Most words of one search."""
MAX_CANDIDATES: Final = 2_000
"""Most matching messages, the newest first, that one search looks at."""
MAX_INDEXED_CHARS: Final = 100_000
"""Length of the beginning of a text that can be found."""
_MAX_WORD_CHARS: Final = 64
_MAX_PAIRS: Final = 16

_CJK = (
    "\u2e80-\u2eff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN = re.compile(rf"([{_CJK}]+)|[^\W_{_CJK}]+")
# A character for private use: no word of a text or of a search contains it.
_OWNER_MARK = "\ue000"


class TooManyWords(HeadraceError):
    """A search has more than `MAX_WORDS` words."""


class SearchTerm(NamedTuple):
    """A term that a text must have to be found."""

    text: str
    is_prefix: bool = False
    """Whether a term that begins with it is enough."""


def list_terms(owner: str, text: str) -> list[str]:
    """Return the terms of a text, each once."""
    terms = {_owner_term(owner): None}
    for match in _RUN.finditer(fold_text(text[:MAX_INDEXED_CHARS])):
        run = match[0]
        if match[1] is None:
            terms[run[:_MAX_WORD_CHARS]] = None
        else:
            # The last character by itself: it begins no pair.
            terms |= dict.fromkeys([*_to_pairs(run), run[-1]])
    return list(terms)


def read_search(owner: str, words: str) -> list[SearchTerm]:
    """Return the terms of a search; none if it has no words. Raises `TooManyWords`."""
    runs = list(_RUN.finditer(fold_text(words)))
    if len(runs) > MAX_WORDS:
        raise TooManyWords(f"a search may have at most {MAX_WORDS} words")
    if not runs:
        return []
    terms = [SearchTerm(_owner_term(owner))]
    for match in runs:
        run = match[0]
        if match[1] is None or len(run) == 1:
            terms.append(SearchTerm(run[:_MAX_WORD_CHARS], is_prefix=True))
        else:
            terms += [SearchTerm(pair) for pair in _to_pairs(run)[:_MAX_PAIRS]]
    return terms


def _to_pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)]


def _owner_term(owner: str) -> str:
    return _OWNER_MARK + hashlib.sha256(owner.encode()).hexdigest()[:16]


def find_runs(text: str) -> Iterator[tuple[int, str, bool]]:
    """Return the words of a text, and its runs of Chinese and Japanese characters: where each
    begins, the run as it is written, and whether it is of the second kind."""
    for match in _RUN.finditer(text):
        yield match.start(), match[0], match[1] is not None


def fold_text(text: str) -> str:
    """Return a text without case and accents, as terms are written."""
    text = text.casefold()
    if text.isascii():
        return text
    return "".join(map(_remove_accent, unicodedata.normalize("NFKC", text)))


@lru_cache(4096)
def _remove_accent(character: str) -> str:
    """Return a Latin, Greek or Cyrillic letter without its accent, and others as they are."""
    base = unicodedata.normalize("NFD", character)[0]
    return base if base < "\u0530" else character
