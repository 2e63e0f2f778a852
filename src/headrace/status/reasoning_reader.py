"""Reads one reasoning part: its text without markers, and the status phrases in it."""

from __future__ import annotations

import re
from collections.abc import Container

from headrace.events import StatusChanged
from headrace.status.marker import MarkerReader
from headrace.status.phrase import clean, find_phrase
from headrace.status.sentence import MAX_CHARS, Sentence, SentenceReader

RANKS = {"tool": 3, "title": 2, "marker": 1, "natural": 0}
"""Rank of each status source; a higher rank wins."""
_MAX_TITLE_CHARS = 80
_TITLE = re.compile(
    r"\s*(?:\d{1,2}[.)、]\s*|[-*+]\s+)?\*\*(?P<bold>[^*\n]{3,160})\*\*\s*(?::\s*)?$"
    r"|\s*\d{1,2}[.)、]\s*\*\*(?P<step>[^*\n]{3,160}?)[:：]\s*\*\*"
    r"|\s*\d{1,2}[.)、]\s*\*\*(?P<named>[^*\n]{3,160}?)\*\*\s*[:：]"
    r"|\s*#{1,6}\s+(?P<heading>[^\n]{3,160}?)[\s#]*$"
)
_NUMBER = re.compile(r"^\d{1,2}[.)、]\s*")
_TITLE_MARKS = re.compile(r"[()\[\]{}<>（）【】《》「」『』]+")
_FENCE = re.compile(r"\s*(?:```|~~~)(?!.*(?:```|~~~))")
# Matches a line of code, a quotation or a table. List items may be indented too.
_FOREIGN = re.compile(r"\s*(?:```|~~~|>|\|)|(?:\t| {4})(?!\s*(?:[-*+•]|\d+[.)])\s)")
find_mark = re.compile(r"[\[`.!?\n。！？]").search
"""Finds the first character that may end a sentence, or begin a marker or code."""
_DOUBLE_QUOTES = re.compile(r'["“”「」『』]')


class ReasoningReader:
    """Reads the deltas of one reasoning part.

    Returns the text that is certain, and the best status in it if there is one. Phrases in `said`
    are not returned again.
    """

    __slots__ = ("_is_foreign", "_is_in_code", "_is_quoted", "_markers", "_said", "_sentences")

    def __init__(self, said: Container[str]) -> None:
        self._said = said
        self._markers = MarkerReader()
        self._sentences = SentenceReader()
        self._is_in_code = False
        self._is_foreign = False
        self._is_quoted = False

    @property
    def takes_plain(self) -> bool:
        """Whether the next deltas may be fed together, up to one with a mark that is not a stop at
        its end. Until then `feed()` would return their text, and no status."""
        return not self._markers.is_busy and not self._sentences.ends_if_space

    def feed(self, text: str, start: int = 0) -> tuple[str, StatusChanged | None]:
        """Read a delta; return its text without markers, and the best status or None.

        `text[:start]` has no mark: it is of earlier deltas, collected while `takes_plain`.
        """
        markers = self._markers
        if not markers.is_busy and "[" not in text and "`" not in text:
            if text.isspace():
                markers.pass_on(text)
            else:
                markers.last = text
            sentences = self._sentences.feed(text, start)
            return text, self._best(sentences) if sentences else None
        text, marked = markers.feed(text)
        status = self._best(self._sentences.feed(text)) if text else None
        return text, _choose(status, marked, self._said)

    def rest(self) -> str:
        """Return held-back text that turned out not to be a marker."""
        return self._markers.close()

    def close(self) -> StatusChanged | None:
        """End the part, which completes its last phrase; return that status or None."""
        return self._best(self._sentences.close())

    def read_all(self, text: str) -> list[StatusChanged]:
        """Read a whole part at once; return all its phrases and titles in order."""
        text = self._markers.feed(text)[0] + self._markers.close()
        sentences = [*self._sentences.feed(text), *self._sentences.close()]
        return [found for one in sentences if (found := self._find_status(one)) is not None]

    def _best(self, sentences: list[Sentence]) -> StatusChanged | None:
        """Return the status of the highest source; of equal ones, the latest."""
        best: StatusChanged | None = None
        for sentence in sentences:
            found = self._find_status(sentence)
            if found is None or found.text in self._said:
                continue
            if best is None or RANKS[found.source] >= RANKS[best.source]:
                best = found
        return best

    def _find_status(self, sentence: Sentence) -> StatusChanged | None:
        text = sentence.text
        if sentence.begins_line:
            self._is_in_code ^= _FENCE.match(text) is not None
            self._is_foreign = _FOREIGN.match(text) is not None
        if self._is_in_code or self._is_foreign:
            return None
        found = _title(sentence) if "**" in text or "#" in text else None
        if found is None:
            if not sentence.is_whole or len(text) > MAX_CHARS:
                text = text[:MAX_CHARS].rpartition(" ")[0]
            phrase = find_phrase(text, is_quoted=self._is_quoted)
            found = None if phrase is None else StatusChanged(phrase, "natural")
        self._follow_quotes(sentence)
        return found

    def _follow_quotes(self, sentence: Sentence) -> None:
        """Track open quotations, which may span sentences but not lines."""
        if sentence.ends_line:
            self._is_quoted = False
            return
        text = sentence.text
        if '"' not in text and text.isascii():
            return
        for mark in _DOUBLE_QUOTES.findall(text):
            self._is_quoted = not self._is_quoted if mark == '"' else mark in "“「『"


def _choose(
    status: StatusChanged | None, marked: list[str], said: Container[str]
) -> StatusChanged | None:
    """Choose between a phrase and the markers: a title, then the last marker, then the rest."""
    wanted = [text for text in marked if text and text not in said]
    if not wanted or (status is not None and status.source == "title"):
        return status
    return StatusChanged(wanted[-1], "marker")


def _title(sentence: Sentence) -> StatusChanged | None:
    if not sentence.begins_line or not sentence.is_whole:
        return None
    match = _TITLE.match(sentence.text)
    if match is None or (match.lastgroup in ("bold", "heading") and not sentence.ends_line):
        return None
    text = clean(_TITLE_MARKS.sub(" ", match[match.lastgroup or 0]))
    text = _NUMBER.sub("", text).rstrip(":：")
    return StatusChanged(text, "title") if 3 <= len(text) <= _MAX_TITLE_CHARS else None
