"""The stream of one turn: a context manager to iterate over, synchronous or asynchronous."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Self, cast

from headrace.errors import UsageError
from headrace.events import Record, Stamp, TurnEvent, TurnFailed, TurnFinished
from headrace.events.stamp import create_wall_clock
from headrace.messages import Message, fold
from headrace.outcome import ErrorInfo, FinishReason
from headrace.transport.loop_thread import LoopThread, shared_loop
from headrace.transport.retry import DEFAULT_POLICY, RetryPolicy
from headrace.transport.transport import HTTPCall, Transport
from headrace.turn.open_turn import OpenTurn, open_turn
from headrace.turn.records import Records
from headrace.turn.result import Result, result_of
from headrace.usage import Usage
from headrace.wire.decoder import Decoder


class TurnStream:
    """The events of one turn, as they arrive.

    Use `with stream(...) as turn: for event in turn`, or `async with` and `async for`. The
    last event is `TurnFinished` or `TurnFailed`. Entering raises `RequestFailed` if the
    provider refuses the request; leaving the block early closes the connection. A second loop
    continues where the first one stopped. `message`, `usage`, `finish` and `error` can be read
    at any time.
    """

    def __init__(
        self,
        call: HTTPCall,
        new_decoder: Callable[[], Decoder],
        transport: Transport,
        *,
        policy: RetryPolicy = DEFAULT_POLICY,
        owns_transport: bool = False,
    ) -> None:
        self._call = call
        self._new_decoder = new_decoder
        self._transport = transport
        self._policy = policy
        self._owns_transport = owns_transport
        self._turn: OpenTurn | None = None
        self._stamp = Stamp(create_wall_clock())
        self._records: list[Record] = []
        self._loop: LoopThread | None = None
        self._rest: Iterator[Record] = iter(())
        self._sync_records: Iterator[Record] | None = None

    # -- asynchronous use

    async def __aenter__(self) -> Self:
        try:
            self._turn = await open_turn(
                self._transport, self._call, self._new_decoder, self._policy
            )
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._close()

    async def __aiter__(self) -> AsyncIterator[TurnEvent]:
        """Iterate over the events."""
        while True:
            for record in self._rest:
                yield cast("TurnEvent", record.event)
            if not await self._fill():
                return

    async def _iterate_async(self) -> AsyncIterator[Record]:
        while True:
            for record in self._rest:
                yield record
            if not await self._fill():
                return

    async def _fill(self) -> bool:
        """Wait for the next batch of events. Returns False at the end of the turn."""
        events = await self._entered_turn().next()
        self._rest = self._hand_over(self._stamp.feed(events))
        return bool(events)

    def _entered_turn(self) -> OpenTurn:
        if self._turn is None:
            raise UsageError("enter the stream before you read it: (async) with … as stream")
        return self._turn

    def _hand_over(self, records: list[Record]) -> Iterator[Record]:
        """Count a record as known only when the caller gets it: the reader may be ahead."""
        for record in records:
            self._records.append(record)
            yield record

    async def _close(self) -> None:
        if self._turn is not None:
            await self._turn.aclose()
        if self._owns_transport:
            await self._transport.aclose()

    # -- synchronous use: an event loop in another thread does the waiting

    def __enter__(self) -> Self:
        self._loop = shared_loop()
        self._loop.run(self.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._loop is not None:
            self._loop.run(self._close())

    def __iter__(self) -> Iterator[TurnEvent]:
        """Iterate over the events."""
        return (cast("TurnEvent", record.event) for record in self._iterate())

    def _iterate(self) -> Iterator[Record]:
        if self._loop is None:
            raise UsageError("enter the stream before you read it: with … as stream")
        if self._sync_records is None:
            self._sync_records = self._read_batches(self._loop)
        return self._sync_records

    def _read_batches(self, loop: LoopThread) -> Iterator[Record]:
        for records in loop.iterate(self._batches()):
            yield from self._hand_over(records)

    async def _batches(self) -> AsyncIterator[list[Record]]:
        async for events in self._entered_turn():
            yield self._stamp.feed(events)

    # -- what is known at any time

    def records(self) -> Records:
        """Iterate over records instead of events: each has the event, its number and its time."""
        return Records(self._iterate, self._iterate_async)

    @property
    def records_so_far(self) -> list[Record]:
        """The records that have been read so far."""
        return list(self._records)

    @property
    def message(self) -> Message:
        """The message as far as it has been read."""
        return fold(self._records)

    @property
    def result(self) -> Result:
        """The message with its finish reason, error and usage, as far as it has been read."""
        return result_of(self.message)

    @property
    def usage(self) -> Usage:
        """The usage so far. A provider's running report may be ahead of the events."""
        return Usage() if self._turn is None else self._turn.decoder.usage

    @property
    def finish(self) -> FinishReason | None:
        """Why the model stopped, or None while the turn goes on and if it failed."""
        last = self._last_event()
        return last.reason if isinstance(last, TurnFinished) else None

    @property
    def error(self) -> ErrorInfo | None:
        """What broke the turn, or None."""
        return self.message.error if isinstance(self._last_event(), TurnFailed) else None

    def _last_event(self) -> object:
        return self._records[-1].event if self._records else None

    @property
    def request_id(self) -> str | None:
        """The provider's id of the request, to quote to its support."""
        return None if self._turn is None else self._turn.request_id
