"""The event loop thread under the synchronous API.

It also works where a loop is running already, as in a notebook. It hands over whole lists of items,
one per read.
"""

from __future__ import annotations

import asyncio
import atexit
import queue
import threading
from collections.abc import AsyncIterable, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, Generic, Self, TypeVar

from headrace.errors import UsageError

T = TypeVar("T")

MAX_READS_AHEAD = 64
"""How many reads may wait for a slow consumer before the provider is paused."""
_CLOSING_S = 5.0


class LoopThread:
    """An event loop in a daemon thread, started when it is first used."""

    def __init__(self, name: str = "headrace") -> None:
        self._name = name
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result. An interrupt (Ctrl-C) cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._running(work))
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine and return a future for its result; cancelling it cancels the
        coroutine. The context variables of the caller are those of the coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._running(work))

    def iterate(self, source: AsyncIterable[list[T]]) -> Reads[T]:
        """Iterate over the lists of an async iterator. Reading starts at once."""
        return Reads(source, self._running())

    def close(self) -> None:
        """Cancel what is running and end the thread. It starts again when it is used again."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is None or not thread.is_alive():
                return
            assert self._loop is not None
            assert self._stop is not None
            self._loop.call_soon_threadsafe(self._stop.set)
        thread.join(_CLOSING_S)

    def _running(self, work: Coroutine[Any, Any, Any] | None = None) -> asyncio.AbstractEventLoop:
        with self._lock:
            # A forked process does not have the thread.
            if self._thread is None or not self._thread.is_alive():
                self._start()
            if threading.current_thread() is self._thread:
                if work is not None:
                    work.close()
                raise UsageError("this was called from the loop's own thread, which would deadlock")
            assert self._loop is not None
            return self._loop

    def _start(self) -> None:
        has_started = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._live(has_started)), name=self._name, daemon=True
        )
        self._thread.start()
        has_started.wait()

    async def _live(self, has_started: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        has_started.set()
        await self._stop.wait()


class _End:
    """The last item in a queue: how the reading ended."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class _Pump(Generic[T]):
    """The reading side, in the loop. An abandoned `Reads` can stop it: it holds no reference."""

    def __init__(self, source: AsyncIterable[list[T]]) -> None:
        self.queue: queue.SimpleQueue[list[T] | _End] = queue.SimpleQueue()
        self.is_wanted = True
        self.has_ended = threading.Event()
        self._source = source
        self._room = asyncio.Semaphore(MAX_READS_AHEAD)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start reading."""
        self._task = asyncio.ensure_future(self._read())

    def cancel(self) -> None:
        """Stop reading, but not before the first step: a task that never ran closes nothing."""
        if self._task is not None:
            self._task.get_loop().call_soon(self._task.cancel)

    async def _read(self) -> None:
        """Read to the end. Any exception is passed to the caller's thread."""
        error: BaseException | None = None
        try:
            async for events in self._source:
                await self._room.acquire()
                self.queue.put(events)
        except asyncio.CancelledError:
            if self.is_wanted:
                error = UsageError("the loop was closed while a stream was being read")
        except BaseException as raised:  # noqa: BLE001 - it is raised there
            error = raised
        finally:
            await self._close(error)

    def release(self, reads: int) -> None:
        """Note that `count` items have been taken."""
        for _ in range(reads):
            self._room.release()

    async def _close(self, error: BaseException | None) -> None:
        close = getattr(self._source, "aclose", None)
        try:
            if close is not None:
                await close()
        finally:
            self.queue.put(_End(error))
            self.has_ended.set()


class Reads(Generic[T]):
    """Iterates over lists that a loop in another thread reads ahead.

    Close it, or use it with `with`: that cancels the reading and waits until the source is closed.
    """

    def __init__(self, source: AsyncIterable[list[T]], loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pump = _Pump(source)
        self._taken = 0
        loop.call_soon_threadsafe(self._pump.start)

    def __iter__(self) -> Iterator[list[T]]:
        return self

    def __next__(self) -> list[T]:
        if self._pump.has_ended.is_set() and self._pump.queue.empty():
            raise StopIteration
        try:
            got = self._pump.queue.get()
        except BaseException:
            self.close()
            raise
        if not isinstance(got, _End):
            self._make_room()
            return got
        raise StopIteration if got.error is None else got.error

    def close(self) -> None:
        """Stop reading. The source is closed when this returns."""
        self._cancel()
        self._pump.has_ended.wait(_CLOSING_S)
        while not self._pump.queue.empty():
            self._pump.queue.get()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._cancel()

    def _cancel(self) -> None:
        self._pump.is_wanted = False
        if not self._pump.has_ended.is_set() and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._pump.cancel)

    def _make_room(self) -> None:
        """Release items in batches: waking the loop for each read would cost more than the read."""
        self._taken += 1
        if self._taken >= MAX_READS_AHEAD // 2 and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._pump.release, self._taken)
            self._taken = 0


_shared = LoopThread()
atexit.register(_shared.close)


def shared_loop() -> LoopThread:
    """Return the one loop thread of this process."""
    return _shared
