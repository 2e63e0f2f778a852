"""One turn as it streams: entered, iterated and left, waiting or not."""

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
from headrace.usage import Usage
from headrace.wire.decoder import Decoder


class TurnStream:
    """The events of one turn.

    `async with … as stream: async for event in stream`, or the same without `async`. The
    last event is terminal: `TurnFinished` or `TurnFailed`. Entering raises
    `RequestFailed` where the provider refuses; leaving early closes the connection.
    `message`, `usage`, `finish` and `failure` can be read at any time.
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
        self._handed = 0
        self._loop: LoopThread | None = None
        self._rest: Iterator[TurnEvent] = iter(())
        self._read: Iterator[TurnEvent] | None = None

    # -- waiting

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

    def __aiter__(self) -> AsyncIterator[TurnEvent]:
        """The events; a second loop goes on where the first was left, also by a timeout."""
        return self._wait()

    async def _wait(self) -> AsyncIterator[TurnEvent]:
        while True:
            for event in self._rest:
                yield event
            if self._turn is None:
                raise UsageError("enter the stream before you read it: (async) with … as stream")
            events = await self._turn.next()
            if not events:
                return
            self._rest = self._handed_over(self._stamp.feed(events))

    async def _batches(self) -> AsyncIterator[list[Record]]:
        if self._turn is None:
            raise UsageError("enter the stream before you read it: (async) with … as stream")
        async for events in self._turn:
            yield self._stamp.feed(events)

    def _handed_over(self, records: list[Record]) -> Iterator[TurnEvent]:
        """Only what the caller has seen counts as known: the reader may be ahead."""
        for record in records:
            self._records.append(record)
            yield cast("TurnEvent", record.event)

    async def _close(self) -> None:
        if self._turn is not None:
            await self._turn.aclose()
        if self._owns_transport:
            await self._transport.aclose()

    # -- not waiting: the same, on a loop of its own thread

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
        """The events; a second loop goes on where the first was left."""
        if self._loop is None:
            raise UsageError("enter the stream before you read it: with … as stream")
        if self._read is None:
            self._read = self._read_on(self._loop)
        return self._read

    def _read_on(self, loop: LoopThread) -> Iterator[TurnEvent]:
        for records in loop.iterate(self._batches()):
            yield from self._handed_over(records)

    # -- what is known, at any time

    @property
    def message(self) -> Message:
        """The message as far as it is told."""
        return fold(self._records)

    @property
    def records(self) -> list[Record]:
        """The events so far, with their times."""
        return list(self._records)

    def new_records(self) -> list[Record]:
        """The records since the last call, for those who pass them on."""
        fresh = self._records[self._handed :]
        self._handed = len(self._records)
        return fresh

    @property
    def usage(self) -> Usage:
        """The usage so far; a running report may be ahead of the events."""
        return Usage() if self._turn is None else self._turn.decoder.usage

    @property
    def finish(self) -> FinishReason | None:
        """How the turn finished; None while it goes on, and where it failed."""
        last = self._last()
        return last.reason if isinstance(last, TurnFinished) else None

    @property
    def failure(self) -> ErrorInfo | None:
        """What broke the turn, if something did."""
        return self.message.error if isinstance(self._last(), TurnFailed) else None

    def _last(self) -> object:
        return self._records[-1].event if self._records else None

    @property
    def request_id(self) -> str | None:
        """The provider's own id of the request, for its support."""
        return None if self._turn is None else self._turn.request_id
