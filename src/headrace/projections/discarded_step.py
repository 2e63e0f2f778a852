"""Removes what a run has discarded, for answers that are sent as a whole."""

from __future__ import annotations

from collections.abc import Iterable

from headrace import events as ev
from headrace.events import Record


def drop_discarded(records: Iterable[Record]) -> list[Record]:
    """Return the records without the turns that were discarded and tried again."""
    kept: list[Record] = []
    turn_at = 0
    for record in records:
        if not record.path:
            match record.event:
                case ev.TurnStarted():
                    turn_at = len(kept)
                case ev.StepDiscarded():
                    del kept[turn_at:]
                    continue
                case _:
                    pass
        kept.append(record)
    return kept
