"""A watcher: nothing but a place among the frames of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, Self

from headrace.server.runs.stored_frames import Past
from headrace.server.sse import FrameId, number_of


class Watched(Protocol):
    """What is watched; see `Broadcast`."""

    is_closed: bool
    past: Callable[[FrameId, FrameId], Past]

    @property
    def end(self) -> int: ...

    @property
    def last(self) -> FrameId: ...

    def behind(self, after: FrameId) -> int | None: ...

    def taken(self, place: int) -> list[bytes] | None: ...

    def leave(self, watch: Watch) -> None: ...


class Watch:
    """Iterate over it once, for batches of frames; `aclose()` where that ends early."""

    __slots__ = ("_after", "_has_joined", "_news", "_past", "_watched", "place")

    def __init__(self, watched: Watched, after: FrameId) -> None:
        self._watched = watched
        self._after: FrameId | bytes = after
        self._has_joined = False
        self._news: asyncio.Future[None] | None = None
        self._past: Past | None = None
        self.place = watched.end
        """What is before it may be let go."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[bytes]:
        watched = self._watched
        while True:
            if not self._has_joined and (missed := await self._missed()):
                self._after = missed[-1]
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
        if self._past is not None:
            await self._past.aclose()

    def wake(self) -> None:
        """There is something new."""
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def _missed(self) -> list[bytes]:
        """What comes from the log, a page at a time, up to what was here when it began: from
        then on nothing is let go that was not taken. Nothing where the place is found."""
        watched = self._watched
        if self._past is None:
            after = self._after if isinstance(self._after, FrameId) else number_of(self._after)
            place = watched.behind(after)
            if place is not None:
                self.place, self._has_joined = place, True
                return []
            self.place = watched.end
            self._past = watched.past(after, watched.last)
        if frames := await anext(self._past, None):
            return frames
        self._past, self._has_joined = None, True
        return []
