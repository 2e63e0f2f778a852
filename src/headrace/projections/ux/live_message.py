"""The message that the projection is sending: where it is, and what it has sent so far."""

from __future__ import annotations

from headrace.projections.ux.live_segment import LiveSegment


class LiveMessage:
    """State that all parts of the projection share. It keeps numbers, but no text.

    `at_ms` and `step` are those of the current record.
    """

    __slots__ = ("_active_ms", "at_ms", "created_at_ms", "effort", "event_id", "segments", "step")

    def __init__(self, event_id: str) -> None:
        self.event_id = event_id
        self.effort: str | None = None
        self.at_ms = 0
        self.step = 0
        self.created_at_ms = 0
        self.segments: list[LiveSegment] = []
        # The latest activity of each output of a step, and of its tools (output None).
        self._active_ms: dict[tuple[int, int | None], int] = {}

    def note_activity(self, output: int | None) -> None:
        """Remember that a part of this output, or a tool, began or ended just now."""
        self._active_ms[self.step, output] = self.at_ms

    def quiet_since_ms(self, output: int) -> int:
        """Return the time since which nothing has arrived for this output."""
        own = self._active_ms.get((self.step, output))
        if own is not None:
            return own
        earlier = (ms for (step, _), ms in self._active_ms.items() if step < self.step)
        return max(earlier, default=self.created_at_ms)

    def discard(self, step: int) -> tuple[str, ...]:
        """Forget a step. Return the ids of its segments."""
        gone = tuple(one.id for one in self.segments if one.step == step)
        self.segments = [one for one in self.segments if one.step != step]
        self._active_ms = {key: ms for key, ms in self._active_ms.items() if key[0] != step}
        return gone
