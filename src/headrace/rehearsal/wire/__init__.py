"""Scripted turns as bytes, one file a dialect. Pure: the same turn is always the same bytes."""

from headrace.rehearsal.wire.dialect import DIALECTS, steps_of
from headrace.rehearsal.wire.step import Break, Occasion, Pause, Silence, Step

__all__ = ["DIALECTS", "Break", "Occasion", "Pause", "Silence", "Step", "steps_of"]
