"""`RecordStream`: the base of turns and runs, for use with `with` and `for`, or with `async`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from operator import length_hint
from typing import Any, Generic, Self, TypeVar

from headrace.errors import UsageError
from headrace.events import Record
from headrace.transport.loop_thread import LoopThread, shared_loop
from headrace.typed.growing_value import GrowingCalls, GrowingOutput
from headrace.typed.partial_json import NOTHING
from headrace.typed.plan import OutputPlan

E = TypeVar("E")


class Records:
    """The records of a turn or run as they arrive. Iterate with `for` inside a `with` block,
    and with `async for` inside an `async with` block."""

    __slots__ = ("_iterate", "_iterate_async")

    def __init__(
        self,
        iterate: Callable[[], Iterator[Record]],
        iterate_async: Callable[[], AsyncIterator[Record]],
    ) -> None:
        self._iterate = iterate
        self._iterate_async = iterate_async

    def __iter__(self) -> Iterator[Record]:
        return self._iterate()

    def __aiter__(self) -> AsyncIterator[Record]:
        return self._iterate_async()


class GrowingValues:
    """Values that grow as records arrive. Iterate with `for` inside a `with` block, and with
    `async for` inside an `async with` block."""

    __slots__ = ("_feed", "_records")

    def __init__(self, records: Records, feed: Callable[[Record], Any]) -> None:
        self._records = records
        self._feed = feed

    def __iter__(self) -> Iterator[Any]:
        for record in self._records:
            value = self._feed(record)
            if value is not NOTHING:
                yield value

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for record in self._records:
            value = self._feed(record)
            if value is not NOTHING:
                yield value


class RecordStream(Generic[E]):
    """A context manager that yields events when it is iterated over. A second loop continues
    where the first one stopped.

    Subclasses define `__aenter__`, `__aexit__` and `_next_batch`. Synchronous use runs them on
    an event loop in another thread.
    """

    _noun = "stream"

    def __init__(self, output_plan: OutputPlan | None = None) -> None:
        self._output_plan = output_plan
        # The records that have arrived and have not been read. It is an iterator, so that every
        # loop continues where the one before stopped.
        self._rest: Iterator[Record] = iter(())
        self._thread: LoopThread | None = None
        self._sync_records: Iterator[Record] | None = None

    async def _next_batch(self) -> list[Record]:
        """Wait for the next records. Returns an empty list at the end."""
        raise NotImplementedError

    async def next_records(self) -> list[Record]:
        """Wait for the next records, and return all that have arrived. Returns an empty list at the
        end."""
        await self._fill_rest()
        return list(self._rest)

    def _receive(self, batch: list[Record]) -> None:
        """Note records that the reader gets next."""

    def _not_entered(self) -> UsageError:
        noun = self._noun
        return UsageError(f"enter the {noun} before you read it: (async) with … as {noun}")

    def records(self) -> Records:
        """Iterate over records instead of events: each has the event, its number, its time and,
        in a run, its step."""
        return Records(self._iterate, self._iterate_async)

    def partial(self) -> GrowingValues:
        """Iterate over the typed answer while it grows: the JSON value so far, after every piece.

        Lists and dicts are changed in place, so copy what you keep. Strings grow; numbers appear
        when they are complete. Raises `UsageError` without an `output_type`.
        """
        if self._output_plan is None:
            raise UsageError("partial() needs an output_type: give it to stream() or Agent()")
        return GrowingValues(self.records(), GrowingOutput(self._find_plan).feed)

    def _find_plan(self, provider: str | None) -> OutputPlan:
        """Return how the typed answer is asked for from a provider."""
        assert self._output_plan is not None
        return self._output_plan

    def partial_calls(self) -> GrowingValues:
        """Iterate over the calls of client tools while their arguments grow: a `PartialCall`, after
        every piece."""
        return GrowingValues(self.records(), GrowingCalls().feed)

    # -- asynchronous use

    async def __aenter__(self) -> Self:
        raise NotImplementedError

    async def __aexit__(self, *error: Any) -> None:
        raise NotImplementedError

    async def __aiter__(self) -> AsyncIterator[E]:
        """Iterate over the events."""
        while await self._fill_rest():
            record: Any
            for record in self._rest:
                yield record.event

    async def _iterate_async(self) -> AsyncIterator[Record]:
        while await self._fill_rest():
            for record in self._rest:
                yield record

    async def _fill_rest(self) -> bool:
        """Wait for records if all have been read. Returns False at the end."""
        if not self._unread_count:
            batch = await self._next_batch()
            self._receive(batch)
            self._rest = iter(batch)
        return bool(self._unread_count)

    @property
    def _unread_count(self) -> int:
        """Number of records that have arrived and have not been read."""
        return length_hint(self._rest)

    # -- synchronous use

    def __enter__(self) -> Self:
        self._thread = shared_loop()
        self._thread.run(self.__aenter__())
        return self

    def __exit__(self, *error: Any) -> None:
        if self._thread is not None:
            self._thread.run(self.__aexit__(*error))

    def __iter__(self) -> Iterator[E]:
        """Iterate over the events."""
        records: Iterator[Any] = self._iterate()
        return (record.event for record in records)

    def _iterate(self) -> Iterator[Record]:
        if self._thread is None:
            raise self._not_entered()
        if self._sync_records is None:
            self._sync_records = self._read_batches(self._thread)
        return self._sync_records

    def _read_batches(self, thread: LoopThread) -> Iterator[Record]:
        for batch in thread.iterate(self._batches()):
            self._receive(batch)
            self._rest = iter(batch)
            yield from self._rest

    async def _batches(self) -> AsyncIterator[list[Record]]:
        while batch := await self._next_batch():
            yield batch
