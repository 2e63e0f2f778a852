"""The status line: what the model says that it is doing, as its reasoning streams."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from headrace.events import (
    OutputFinished,
    OutputStarted,
    ReasoningDelta,
    ReasoningFinished,
    ReasoningRedacted,
    ReasoningStarted,
    Record,
    StatusChanged,
    TextStarted,
    ToolCallFinished,
    ToolCallStarted,
    ToolOutput,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from headrace.phases.marker import MARKER
from headrace.phases.phrase import clean, find_phrase
from headrace.phases.sentence import MAX_CHARS, Sentence, SentenceReader
from headrace.phases.tool_status import tool_phrase

StatusSource: TypeAlias = Literal["title", "marker", "natural", "tool"]

COOLDOWN_MS = 2_000
"""How long a phrase stands before one of a lower source may replace it."""
_RANKS = {"tool": 3, "title": 2, "marker": 1, "natural": 0}
_MAX_TITLE_CHARS = 80
_TITLE = re.compile(
    r"\s*(?:\d{1,2}[.)、]\s*|[-*+]\s+)?\*\*(?P<bold>[^*\n]{3,160})\*\*\s*(?::\s*)?$"
    r"|\s*\d{1,2}[.)、]\s*\*\*(?P<step>[^*\n]{3,160}?)[:：]\s*\*\*"
    r"|\s*\d{1,2}[.)、]\s*\*\*(?P<named>[^*\n]{3,160}?)\*\*\s*[:：]"
    r"|\s*#{1,6}\s+(?P<heading>[^\n]{3,160}?)[\s#]*$"
)
_TITLE_MARKS = re.compile(r"[()\[\]{}<>（）【】]+")
_FENCE = re.compile(r"\s*(?:```|~~~)")
# A line of code, of a quotation or of a table.
_FOREIGN = re.compile(r"\s*(?:```|~~~|>|\||\t| {4})")
_CODE = re.compile(r"`[^`]*`?")
_DOUBLE_QUOTES = re.compile(r'["“”「」『』]')


class StatusReader:
    """Feed it every record of a turn or a run; it returns the phrases to show.

    Sources by rank are a tool, a part's title, a marker and natural language; a lower one
    replaces a higher one only after `COOLDOWN_MS` of record time, a tool's replaces any at
    once. Within a thinking phase nothing is said twice. Of candidates only the first is
    listened to, and nested runs are not.
    """

    def __init__(self) -> None:
        self._sentences = SentenceReader()
        self._part = -1
        self._output: int | None = None
        self._is_successive = False
        self._is_thinking = False
        self._is_in_code = False
        self._is_foreign = False
        self._is_quoted = False
        self._pending: StatusChanged | None = None
        self._said: set[str] = set()
        self._shown_rank = -1
        self._shown_ms = 0
        self._calls: dict[int, str] = {}

    def feed(self, record: Record) -> list[StatusChanged]:
        """The phrases that this record brings: none, one, or a last one and a tool's."""
        event = record.event
        if record.path:
            return []
        if type(event) is not ReasoningDelta:
            return self._seldom(record)
        return self.read(event.text, record.at_ms) if event.part == self._part else []

    def read(self, text: str, at_ms: int) -> list[StatusChanged]:
        """The short way for the text of a delta whose part is known to be listened to."""
        sentences = self._sentences.feed(text)
        if not sentences:
            return []
        best = self._best(sentences)
        return [] if best is None else self._shown(best, at_ms)

    def _seldom(self, record: Record) -> list[StatusChanged]:
        event, at_ms = record.event, record.at_ms
        match event:
            case ReasoningStarted():
                return self._reasoning_started(event, at_ms)
            case ReasoningFinished():
                self._reasoning_finished(event)
            case ToolOutput() | ReasoningRedacted():
                return self._released(at_ms)
            case TextStarted() if self._is_ours(event.output):
                self._is_thinking = False
                return self._released(at_ms)
            case ToolCallStarted() if self._is_ours(event.output):
                return self._tool_called(event, at_ms)
            case ToolCallFinished() if event.part in self._calls:
                return self._tool_asked(event, at_ms)
            case OutputFinished() if event.output == self._output:
                is_cut = event.reason is None or event.reason.word == "max_tokens"
                self._pending = None if is_cut else self._pending
                return self._released(at_ms)
            case OutputStarted() if self._output is None:
                self._output = event.output
            case TurnStarted():
                self._output = None
                self._is_successive = event.outputs == "successive"
            case TurnFinished() | TurnFailed():
                self._pending = None
                self._is_thinking = False
            case _:
                pass
        return []

    def _is_ours(self, output: int) -> bool:
        return self._is_successive or self._output is None or output == self._output

    # -- reasoning

    def _reasoning_started(self, event: ReasoningStarted, at_ms: int) -> list[StatusChanged]:
        if not self._is_ours(event.output):
            return []
        released = self._released(at_ms)
        if not self._is_thinking:
            self._is_thinking = True
            self._said.clear()
            self._shown_rank = -1
        self._part = event.part
        self._sentences = SentenceReader()
        self._is_in_code = self._is_quoted = False
        return released

    def _reasoning_finished(self, event: ReasoningFinished) -> None:
        """The end of the part finishes a phrase, unless the part was cut: what comes next
        will tell."""
        if event.part == self._part:
            self._part = -1
            self._pending = self._best(self._sentences.close())

    def _released(self, at_ms: int) -> list[StatusChanged]:
        pending, self._pending = self._pending, None
        return [] if pending is None else self._shown(pending, at_ms)

    def _best(self, sentences: list[Sentence]) -> StatusChanged | None:
        """Of several the highest source; of one source the latest."""
        best: StatusChanged | None = None
        for sentence in sentences:
            found = self._found(sentence)
            if found is None or found.text in self._said:
                continue
            if best is None or _RANKS[found.source] >= _RANKS[best.source]:
                best = found
        return best

    def _found(self, sentence: Sentence) -> StatusChanged | None:
        text = sentence.text
        if sentence.begins_line:
            self._is_in_code ^= _FENCE.match(text) is not None
            self._is_foreign = _FOREIGN.match(text) is not None
        if self._is_in_code or self._is_foreign:
            return None
        found = _title(sentence) if "**" in text or "#" in text else None
        if found is None and "[STATUS:" in text:
            found = _marker(_CODE.sub(" ", text))
        if found is None:
            found = self._natural(sentence)
        self._follow_quotes(sentence)
        return found

    def _natural(self, sentence: Sentence) -> StatusChanged | None:
        text = sentence.text
        if not sentence.is_whole or len(text) > MAX_CHARS:
            text = text[:MAX_CHARS].rpartition(" ")[0]
        phrase = find_phrase(text, is_quoted=self._is_quoted)
        return None if phrase is None else StatusChanged(phrase, "natural")

    def _follow_quotes(self, sentence: Sentence) -> None:
        """A quotation may go on over sentences, but not over lines."""
        if sentence.ends_line:
            self._is_quoted = False
            return
        text = sentence.text
        if '"' not in text and text.isascii():
            return
        for mark in _DOUBLE_QUOTES.findall(text):
            self._is_quoted = not self._is_quoted if mark == '"' else mark in "“「『"

    # -- tools

    def _tool_called(self, event: ToolCallStarted, at_ms: int) -> list[StatusChanged]:
        released = self._released(at_ms)
        self._is_thinking = False
        self._said.clear()
        self._calls[event.part] = event.name
        if event.executor == "client":
            return released
        return released + self._shown(StatusChanged(tool_phrase(event.name), "tool"), at_ms)

    def _tool_asked(self, event: ToolCallFinished, at_ms: int) -> list[StatusChanged]:
        name = self._calls.pop(event.part)
        return self._shown(StatusChanged(tool_phrase(name, event.args), "tool"), at_ms)

    # -- what is shown

    def _shown(self, status: StatusChanged, at_ms: int) -> list[StatusChanged]:
        rank = _RANKS[status.source]
        is_early = rank < self._shown_rank and at_ms - self._shown_ms < COOLDOWN_MS
        if is_early or status.text in self._said:
            return []
        self._said.add(status.text)
        self._shown_rank, self._shown_ms = rank, at_ms
        return [status]


def _title(sentence: Sentence) -> StatusChanged | None:
    if not sentence.begins_line or not sentence.is_whole:
        return None
    match = _TITLE.match(sentence.text)
    if match is None or (match.lastgroup in ("bold", "heading") and not sentence.ends_line):
        return None
    text = clean(_TITLE_MARKS.sub(" ", match[match.lastgroup or 0])).rstrip(":：")
    return StatusChanged(text, "title") if 3 <= len(text) <= _MAX_TITLE_CHARS else None


def _marker(text: str) -> StatusChanged | None:
    """The last of them, verbatim."""
    found = MARKER.findall(text[-MAX_CHARS:])
    return StatusChanged(found[-1], "marker") if found and found[-1] else None
