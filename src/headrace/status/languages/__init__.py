"""How models announce what they do, a table per language. Adding one is a file and a row."""

from headrace.status.languages.chinese import CHINESE
from headrace.status.languages.english import ENGLISH
from headrace.status.languages.language import Language

LANGUAGES: tuple[Language, ...] = (CHINESE, ENGLISH)
"""Asked in this order; the last one takes what is of no other."""


def language_of(text: str) -> Language:
    """The language whose script a sentence is in."""
    if not text.isascii():
        for language in LANGUAGES[:-1]:
            if language.script.search(text) is not None:
                return language
    return LANGUAGES[-1]


__all__ = ["CHINESE", "ENGLISH", "LANGUAGES", "Language", "language_of"]
