"""The face: one turn of any provider's model, in one line."""

from headrace.turn.api import complete, complete_async, stream
from headrace.turn.turn_stream import TurnStream

__all__ = ["TurnStream", "complete", "complete_async", "stream"]
