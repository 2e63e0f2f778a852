"""How good the status line is: what it shows for the excerpts, against their labels."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from headrace.events import (
    Event,
    OutputFinished,
    OutputStarted,
    ReasoningDelta,
    ReasoningFinished,
    ReasoningStarted,
    Record,
    StatusChanged,
    TextStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from headrace.outcome import END_TURN
from headrace.status import StatusReader
from tests.phases.excerpts import Excerpt, Status

# From here on a phrase may be cut at a word; see the rules in `excerpts`.
_LONG = {"en": 40, "zh": 20}
_TOKEN = re.compile(r"\s*[A-Za-z']+|\s*.", re.DOTALL)


def reasoning(text: str, *, is_cut: bool = False, pause_ms: int = 3_000) -> list[Record]:
    """A turn that thinks this text, a word a delta. The pauses are longer than the cooldown."""
    events: list[Event] = [
        TurnStarted(dialect="chat"),
        OutputStarted(0),
        ReasoningStarted(part=0, output=0, item=0),
        *(ReasoningDelta(0, piece) for piece in _TOKEN.findall(text)),
        ReasoningFinished(0),
    ]
    if is_cut:
        events += [OutputFinished(0), TurnFailed(category="incomplete", message="cut")]
    else:
        events += [
            TextStarted(part=1, output=0, item=1),
            OutputFinished(0, END_TURN),
            TurnFinished(reason=END_TURN),
        ]
    return [Record(seq, seq * pause_ms, event) for seq, event in enumerate(events, 1)]


def shown(excerpt: Excerpt) -> list[StatusChanged]:
    """What the status line shows while this is thought."""
    reader = StatusReader()
    records = reasoning(excerpt.text, is_cut=excerpt.is_cut)
    return [status for record in records for status in reader.feed(record)]


@dataclass
class Score:
    """Counts over many excerpts, and what went wrong."""

    right: int = 0
    wrong: list[str] = field(default_factory=list[str])
    missed: list[str] = field(default_factory=list[str])

    @property
    def precision(self) -> float:
        return self.right / (self.right + len(self.wrong))

    @property
    def recall(self) -> float:
        return self.right / (self.right + len(self.missed))

    def add(self, excerpt: Excerpt) -> None:
        expected = list(excerpt.statuses)
        for status in shown(excerpt):
            label = next((one for one in expected if _fits(status, one, excerpt)), None)
            if label is None:
                self.wrong.append(f"{excerpt.name}: {status.source} {status.text!r}")
            else:
                expected.remove(label)
                self.right += 1
        self.missed += [f"{excerpt.name}: {source} {phrase!r}" for source, phrase in expected]


def _fits(status: StatusChanged, label: Status, excerpt: Excerpt) -> bool:
    if status.source != label.source:
        return False
    text = status.text.casefold()
    wanted = [phrase.casefold() for phrase in label.alternatives]
    is_long = len(text) >= _LONG[excerpt.language]
    return text in wanted or (is_long and any(phrase.startswith(text) for phrase in wanted))
