"""`RecordedIds`: span ids that depend on the records of a run."""

from __future__ import annotations

import random
from contextvars import ContextVar

from headrace.events import TraceIds

WANTED_IDS: ContextVar[TraceIds | None] = ContextVar("wanted_ids", default=None)
"""The ids that the next span gets, or None for random ones."""


class RecordedIds:
    """An id generator for the `TracerProvider` of the SDK: `TracerProvider(id_generator=…)`.

    With it, the spans of a run have ids that can be computed from its records. Spans that a killed
    process may or may not have exported are then the same spans when another process makes them
    from the records. All other spans get random ids.
    """

    def generate_span_id(self) -> int:
        """Return the wanted id, or a random one."""
        wanted = WANTED_IDS.get()
        return _create_id(64) if wanted is None else int(wanted.span_id, 16)

    def generate_trace_id(self) -> int:
        """Return the wanted id, or a random one."""
        wanted = WANTED_IDS.get()
        return _create_id(128) if wanted is None else int(wanted.trace_id, 16)

    def is_trace_id_random(self) -> bool:
        """Return True: trace ids are random, or were when they were recorded."""
        return True


def _create_id(bits: int) -> int:
    number = 0
    while not number:
        number = random.getrandbits(bits)
    return number
