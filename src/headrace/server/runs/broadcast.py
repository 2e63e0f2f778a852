"""The frames of one run in one protocol, made once and read by any number of watchers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from headrace.events import Record
from headrace.server.runs.stored_frames import Past
from headrace.server.runs.subscription import Watch
from headrace.server.sse import START, Encoding, FrameId, number_of

PastOf: TypeAlias = Callable[[FrameId, FrameId], Past]
"""The frames between two of a run, the latter included, made again from its log."""

MAX_KEPT_BYTES = 262_144
"""What is kept for watchers that are slow, all of them together."""
_SPARE_BYTES = 1_024
"""What is kept when everybody has it, for those who lost their connection just now."""


class Broadcast:
    """Grows at one end while the run goes on, and at the other lets go of what every watcher
    has taken. One that is slow holds up nobody: what is gone when it comes, it gets from the
    log."""

    def __init__(self, encoding: Encoding, past: PastOf, gone: bytes | None = None) -> None:
        self.past = past
        self.is_closed = False
        self._encoding = encoding
        self._frames: list[bytes] = []
        self.kept_bytes = 0
        """Of the frames that are here."""
        self._first = 0
        """The place of the first frame that is kept."""
        self._gone = gone
        """The last frame that is not."""
        self._watches: list[Watch] = []

    def feed(self, records: Sequence[Record]) -> None:
        """Records have been logged."""
        for record in records:
            for frame in self._encoding.feed(record):
                self._frames.append(frame)
                self.kept_bytes += len(frame)
        if self.kept_bytes > 2 * _SPARE_BYTES:
            self._trim()
        self._wake()

    def close(self) -> None:
        """Nothing comes any more."""
        self.is_closed = True
        self._wake()

    def watch(self, after: FrameId) -> Watch:
        """The frames behind this one: those that are there at once, the others as they come."""
        watch = Watch(self, after)
        self._watches.append(watch)
        return watch

    def leave(self, watch: Watch) -> None:
        """It takes nothing any more."""
        if watch in self._watches:
            self._watches.remove(watch)

    # -- places

    @property
    def end(self) -> int:
        """The place behind the newest frame."""
        return self._first + len(self._frames)

    @property
    def last(self) -> FrameId:
        """The newest frame."""
        newest = self._frames[-1] if self._frames else self._gone
        return START if newest is None else number_of(newest)

    def behind(self, after: FrameId) -> int | None:
        """The place behind a frame; None where frames behind it are gone."""
        if self._gone is not None and after < number_of(self._gone):
            return None
        return self.end - sum(number_of(frame) > after for frame in self._frames)

    def taken(self, place: int) -> list[bytes] | None:
        """The frames from there on; None where some of them are gone."""
        return None if place < self._first else self._frames[place - self._first :]

    def _trim(self) -> None:
        """Let go of what all have taken, and of more where one is too far behind."""
        taken = min((watch.place for watch in self._watches), default=self.end) - self._first
        gone, left = 0, self.kept_bytes
        for number, frame in enumerate(self._frames):
            if left <= (_SPARE_BYTES if number < taken else MAX_KEPT_BYTES):
                break
            gone, left = number + 1, left - len(frame)
        if gone:
            self._gone, self.kept_bytes = self._frames[gone - 1], left
            self._first += gone
            del self._frames[:gone]

    def _wake(self) -> None:
        for watch in self._watches:
            watch.wake()
