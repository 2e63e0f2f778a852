"""Writes scripted turns as bytes, one file per dialect. The same turn always gives the same
bytes."""

from headrace.rehearsal.wire.dialect import DIALECTS, steps_of
from headrace.rehearsal.wire.step import Break, Occasion, Pause, Silence, Step

__all__ = ["DIALECTS", "Break", "Occasion", "Pause", "Silence", "Step", "steps_of"]
