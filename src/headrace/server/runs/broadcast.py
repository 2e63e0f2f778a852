"""The live frames of one run in one protocol: encoded once, read by any number of subscriptions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Self

from headrace.events import Record
from headrace.server.runs.log_replay import Replay
from headrace.server.sse import START, FrameEncoder, FrameId, frame_id_of

MAX_BUFFER_BYTES = 262_144
"""Most bytes kept for slow subscriptions, all of them together."""
MAX_BATCH_BYTES = 65_536
"""Most bytes that a subscription takes at once, unless a frame is larger."""
_SPARE_BYTES = 512
"""Bytes kept after everybody has read them, for clients that reconnect at once."""


class Broadcast:
    """A buffer of frames that grows with the run and is trimmed when all have read.

    A slow subscription delays nobody: frames that were trimmed before it has read them are made
    again from the log. Without an `encoder`, encoding begins with the first subscription that has
    replayed the log up to the present.
    """

    __slots__ = (
        "_encoder", "_first", "_frames", "_readers", "_subscriptions", "_trimmed",
        "buffered_bytes", "is_closed", "open_replay",
    )  # fmt: skip

    def __init__(
        self, open_replay: Callable[[FrameId], Replay], encoder: FrameEncoder | None = None
    ) -> None:
        self.open_replay = open_replay
        """Returns the frames after a given one, made from the log."""
        self.is_closed = False
        self._encoder = encoder
        self._frames: list[bytes] = []
        self.buffered_bytes = 0
        self._first = 0
        """Position of the first buffered frame."""
        self._trimmed: bytes | None = None
        """The last frame before those that are buffered."""
        self._subscriptions: list[Subscription] = []
        self._readers = 0

    def feed(self, records: Sequence[Record]) -> None:
        """Encode records that have been logged, and wake the subscriptions."""
        if self._encoder is None:
            return
        encode = self._encoder.feed
        for record in records:
            for frame in encode(record):
                self._frames.append(frame)
                self.buffered_bytes += len(frame)
        self._wake()
        # After those that write at once have read.
        if self.buffered_bytes > 2 * _SPARE_BYTES:
            self._trim()

    def close(self) -> None:
        """End the subscriptions after the frames that are there."""
        self.is_closed = True
        self._wake()

    def subscribe(self, after: FrameId) -> Subscription:
        """Return the frames after this one: the existing ones at once, the others as they come."""
        self._readers += 1
        return Subscription(self, after)

    def leave(self) -> None:
        """Note that a subscription has ended."""
        self._readers -= 1

    @property
    def is_idle(self) -> bool:
        """Whether no subscription is open, not even one that still reads the log."""
        return self._readers == 0

    def position_after(self, after: FrameId) -> int | None:
        """Return the position after a frame, or None if the next frame is not buffered."""
        if self._encoder is None or after < self._last_trimmed:
            return None
        return self.end - sum(frame_id_of(frame) > after for frame in self._frames)

    def join_after(self, replay: Replay) -> int:
        """Return the position after a replay that has reached the present."""
        if self._encoder is None:
            self._encoder, self._trimmed = replay.encoder, replay.newest
        return self.end

    @property
    def end(self) -> int:
        """Position after the newest frame."""
        return self._first + len(self._frames)

    @property
    def _last_trimmed(self) -> FrameId:
        return START if self._trimmed is None else frame_id_of(self._trimmed)

    def read(self, position: int) -> list[bytes] | None:
        """Return the next frames from a position on, or None if some of them were trimmed."""
        if position < self._first:
            return None
        frames = self._frames[position - self._first :]
        return frames if self.buffered_bytes <= MAX_BATCH_BYTES else _cut(frames)

    def add(self, subscription: Subscription) -> None:
        """Buffer frames for this subscription."""
        self._subscriptions.append(subscription)

    def remove(self, subscription: Subscription) -> None:
        """Buffer nothing more for this subscription."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def _trim(self) -> None:
        """Drop frames that all have read, and more if a subscription is too far behind."""
        positions = (subscription.position for subscription in self._subscriptions)
        read = min(positions, default=self.end) - self._first
        dropped, left = 0, self.buffered_bytes
        for number, frame in enumerate(self._frames):
            if left <= (_SPARE_BYTES if number < read else MAX_BUFFER_BYTES):
                break
            dropped, left = number + 1, left - len(frame)
        if dropped:
            self._trimmed, self.buffered_bytes = self._frames[dropped - 1], left
            self._first += dropped
            del self._frames[:dropped]

    def _wake(self) -> None:
        for subscription in self._subscriptions:
            subscription.wake()


def _cut(frames: list[bytes]) -> list[bytes]:
    """Return the first frames, at least one, up to the size of a batch."""
    size = 0
    for count, frame in enumerate(frames):
        size += len(frame)
        if count and size > MAX_BATCH_BYTES:
            return frames[:count]
    return frames


class Subscription:
    """Iterates once over batches of frames of a broadcast; `aclose()` ends it early.

    Frames that are not buffered come from the log, until the present is reached.
    """

    __slots__ = ("_after", "_broadcast", "_is_open", "_news", "_replay", "_write", "position")

    def __init__(self, broadcast: Broadcast, after: FrameId) -> None:
        self._broadcast = broadcast
        self._is_open = True
        self._after: FrameId | bytes = after
        self._news: asyncio.Future[None] | None = None
        self._replay: Replay | None = None
        self._write: Callable[[list[bytes]], bool] | None = None
        self.position = 0
        """Position of the next frame; earlier ones are not needed any more."""
        self._find_position(after)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[bytes]:
        broadcast = self._broadcast
        while True:
            if self._replay is not None:
                if frames := await anext(self._replay, None):
                    self._after = frames[-1]
                    return frames
                self._join(broadcast.join_after(self._replay))
                self._replay = None
            frames = broadcast.read(self.position)
            if frames:
                self.position += len(frames)
                self._after = frames[-1]
                return frames
            if frames is None:
                broadcast.remove(self)
                after = self._after
                self._find_position(after if isinstance(after, FrameId) else frame_id_of(after))
            elif broadcast.is_closed:
                broadcast.remove(self)
                raise StopAsyncIteration
            else:
                self._news = asyncio.get_running_loop().create_future()
                await self._news

    async def aclose(self) -> None:
        """Leave the broadcast."""
        if self._is_open:
            self._is_open = False
            self._broadcast.leave()
        self._broadcast.remove(self)
        if self._replay is not None:
            await self._replay.aclose()

    async def push_to(self, write: Callable[[list[bytes]], bool]) -> None:
        """Pass batches to `write` at the moment they come, without a task that is woken for each.
        Returns when iteration has to go on: `write` has returned False, which means that it did not
        take the batch, the batch is not buffered any more, or the broadcast was closed."""
        if self._replay is not None:
            return
        self._news = asyncio.get_running_loop().create_future()
        self._write = write
        try:
            self._push()
            await self._news
        finally:
            self._write = None

    def wake(self) -> None:
        """Read on: there are new frames, or the broadcast was closed."""
        if self._write is not None:
            self._push()
        elif self._news is not None and not self._news.done():
            self._news.set_result(None)

    def _push(self) -> None:
        """Write the new frames; end `push_to()` if that is not possible."""
        write, news, broadcast = self._write, self._news, self._broadcast
        assert write is not None
        assert news is not None
        try:
            while frames := broadcast.read(self.position):
                if not write(frames):
                    break
                self.position += len(frames)
                self._after = frames[-1]
            if frames or frames is None or broadcast.is_closed:
                self._write = None
                if not news.done():
                    news.set_result(None)
        except Exception as error:  # noqa: BLE001 (raised where the frames are sent)
            # A client that fails must not disturb the others.
            self._write = None
            if not news.done():
                news.set_exception(error)

    def _find_position(self, after: FrameId) -> None:
        position = self._broadcast.position_after(after)
        if position is None:
            self._replay = self._broadcast.open_replay(after)
        else:
            self._join(position)

    def _join(self, position: int) -> None:
        self.position = position
        self._broadcast.add(self)
