"""A watcher: nothing but a place among the frames of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, Self

from headrace.server.frame import FrameId, number_of


class Watched(Protocol):
    """What is watched; see `Broadcast`."""

    is_closed: bool
    past: Callable[[], Awaitable[list[bytes]]]

    @property
    def end(self) -> int: ...

    @property
    def last(self) -> FrameId: ...

    def behind(self, after: FrameId) -> int | None: ...

    def taken(self, place: int) -> list[bytes] | None: ...

    def leave(self, watch: Watch) -> None: ...


class Watch:
    """Iterate over it once, for batches of frames; `aclose()` where that ends early."""

    __slots__ = ("_after", "_has_joined", "_news", "_watched", "place")

    def __init__(self, watched: Watched, after: FrameId) -> None:
        self._watched = watched
        self._after: FrameId | bytes = after
        self._has_joined = False
        self._news: asyncio.Future[None] | None = None
        self.place = watched.end
        """What is before it may be let go."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[bytes]:
        watched = self._watched
        while True:
            if not self._has_joined and (missed := await self._join()):
                return missed
            frames = watched.taken(self.place)
            if frames:
                self.place += len(frames)
                self._after = frames[-1]
                return frames
            if frames is None:
                self._has_joined = False
            elif watched.is_closed:
                watched.leave(self)
                raise StopAsyncIteration
            else:
                self._news = asyncio.get_running_loop().create_future()
                await self._news

    async def aclose(self) -> None:
        """Let go of the place."""
        self._watched.leave(self)

    def wake(self) -> None:
        """There is something new."""
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def _join(self) -> list[bytes]:
        """Find the place. Frames that are gone come from the log, up to what is here now: from
        then on nothing is let go that was not taken."""
        watched = self._watched
        after = self._after if isinstance(self._after, FrameId) else number_of(self._after)
        place = watched.behind(after)
        if place is not None:
            self.place, self._has_joined = place, True
            return []
        self.place, last = watched.end, watched.last
        missed = [frame for frame in await watched.past() if after < number_of(frame) <= last]
        self._after, self._has_joined = last, True
        return missed
