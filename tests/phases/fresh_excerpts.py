"""Sentences of reasoning that no pattern was written for, with the statuses a person would show.

They were labelled, and divided into two halves, before any pattern was changed: patterns may be
adjusted to the tuning half, and are judged by the judging half. The rules of `excerpts` hold.

The English ones are recorded: `fresh_excerpts.jsonl` has the stream of `../shared/corpus`, the part
and the place of the sentence in it, and the text is read from there. No recorded stream has
reasoning in Chinese, so the Chinese ones were written for this file.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from headrace.events import ReasoningDelta
from headrace.wire.decode import decode
from tests.corpus.recorded import FRAMINGS, read, rows
from tests.phases.excerpts import Excerpt, Status

Half = Literal["tuning", "judging"]


class _Row(msgspec.Struct):
    """A line of the file: a text, or where to find it."""

    name: str
    language: Literal["en", "zh"]
    half: Half
    statuses: tuple[Status, ...]
    text: str | None = None
    stream: str = ""
    part: int = 0
    start: int = 0
    end: int = 0


@cache
def _rows() -> tuple[_Row, ...]:
    lines = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").split("\n")
    return tuple(msgspec.json.decode(line, type=_Row) for line in lines if line)


@cache
def _reasoning(stream: str) -> dict[int, str]:
    """The reasoning of a recorded stream, part by part."""
    row = next(row for row in rows() if row["file"] == stream)
    parts: dict[int, str] = {}
    for record in decode([read(row)], framing=FRAMINGS[row["framing"]]):
        if isinstance(record.event, ReasoningDelta):
            parts[record.event.part] = parts.get(record.event.part, "") + record.event.text
    return parts


def fresh_excerpts(half: Half, language: str) -> list[Excerpt]:
    """The excerpts of one half; the recorded ones only where the corpus is."""
    return [
        Excerpt(row.name, row.language, "fresh", _text(row), row.statuses)
        for row in _rows()
        if row.half == half and row.language == language and (row.text is not None or rows())
    ]


def _text(row: _Row) -> str:
    return (
        row.text if row.text is not None else _reasoning(row.stream)[row.part][row.start : row.end]
    )


def count() -> int:
    """How many there are, readable here or not."""
    return len(_rows())
