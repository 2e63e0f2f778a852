"""How models announce what they do, one table per language. `LANGUAGES` lists them."""

from headrace.status.languages.chinese import CHINESE
from headrace.status.languages.english import ENGLISH
from headrace.status.languages.language import Language

LANGUAGES: tuple[Language, ...] = (CHINESE, ENGLISH)
"""Languages in the order in which they are tried. The last one is the fallback."""


def language_of(text: str) -> Language:
    """Return the language whose script occurs in `text`."""
    if not text.isascii():
        for language in LANGUAGES[:-1]:
            if language.script.search(text) is not None:
                return language
    return LANGUAGES[-1]


__all__ = ["CHINESE", "ENGLISH", "LANGUAGES", "Language", "language_of"]
