"""One turn over a stream: reads in, lists of events out, and one end whatever happens."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable

import msgspec

from headrace.errors import RequestFailed
from headrace.events import TurnEvent
from headrace.events.turn import TurnFailed, TurnStarted
from headrace.outcome import ErrorInfo
from headrace.secrets.scrub import scrub
from headrace.transport.call_secrets import secrets_of
from headrace.transport.retry import DEFAULT_POLICY, RetryPolicy, Sleep, retry
from headrace.transport.stream_error import StreamBroken, stream_broken
from headrace.transport.transport import ByteStream, HTTPCall, Transport
from headrace.wire.decoder import Decoder


async def read_turn(stream: ByteStream, decoder: Decoder) -> AsyncGenerator[list[TurnEvent], None]:
    """The events of a stream, a list for each read that made some known; the last is terminal.

    Nothing raises for what the network or the provider does. The stream is closed at the
    end, and when the generator is closed: whoever stops early calls `aclose()`.
    """
    turn = OpenTurn(stream, decoder)
    try:
        while events := await turn.next():
            yield events
    finally:
        await turn.aclose()


async def open_turn(
    transport: Transport,
    call: HTTPCall,
    new_decoder: Callable[[], Decoder],
    policy: RetryPolicy = DEFAULT_POLICY,
    *,
    sleep: Sleep = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> OpenTurn:
    """A turn whose first events have come. Up to there a failure is a `RequestFailed`, and
    retryable ones are tried again; after it, a failure is the last event.

    A stream that says nothing but that it failed, and may be asked again, has not begun:
    several providers accept a request and then send "overloaded" as its only event.
    """

    clean = secrets_of(call).clean

    async def attempt() -> OpenTurn:
        stream = await transport.open(call)
        return await _begun(OpenTurn(stream, new_decoder(), clean=clean))

    return await retry(attempt, policy, sleep=sleep, chance=chance)


class OpenTurn:
    """A turn that is being read. Iterate over it, or ask for `next()`, and close it."""

    def __init__(
        self, stream: ByteStream, decoder: Decoder, *, clean: Callable[[str], str] = scrub
    ) -> None:
        self.clean = clean
        self.request_id = stream.request_id
        self.decoder = decoder
        self._stream = stream
        self._reads: AsyncIterator[bytes] = aiter(stream)
        self._has_begun = False
        self._is_closed = False
        self._waiting: list[TurnEvent] = []

    def __aiter__(self) -> OpenTurn:
        return self

    async def __anext__(self) -> list[TurnEvent]:
        events = await self.next()
        if not events:
            raise StopAsyncIteration
        return events

    async def begin(self) -> None:
        """Wait for the first events. Raises `StreamBroken` where none come in time."""
        self._waiting = await self._first()
        self._has_begun = True

    async def next(self) -> list[TurnEvent]:
        """The next events; none after the last. Waits for a read that makes some known."""
        if not self._has_begun or self._waiting or self._is_closed:
            return await self._unusual()
        decoder = self.decoder
        feed = decoder.feed
        try:
            async for read in self._reads:
                events = feed(read)
                if events:
                    return await self._last(events) if decoder.is_finished else events
            events = self._ended()
        except StreamBroken as error:
            events = self._broken_off(error.error)
        return await self._last(events)

    async def drain(self, take: Callable[[list[TurnEvent]], bool]) -> bool:
        """Hand over events as they come, until there are no more, or `take` asks for a pause
        by returning true; then this does too. For those to whom a wait for each read is too
        much."""
        if not self._has_begun or self._waiting or self._is_closed:
            events = await self._unusual()
            if not events or take(events):
                return bool(events)
        decoder, feed = self.decoder, self.decoder.feed
        try:
            async for read in self._reads:
                events = feed(read)
                if events and decoder.is_finished:
                    break
                if events and take(events):
                    return True
            else:
                events = self._ended()
        except StreamBroken as error:
            events = self._broken_off(error.error)
        events = await self._last(events)
        if events:
            take(events)
        return False

    def _ended(self) -> list[TurnEvent]:
        """The reads are over; where somebody closed the turn meanwhile, nothing is made of it."""
        return [] if self._is_closed else self.decoder.close()

    async def _unusual(self) -> list[TurnEvent]:
        """The first events, those that wait, and none after the end."""
        if self._is_closed and not self._waiting:
            return []
        try:
            if not self._has_begun:
                await self.begin()
            events, self._waiting = self._waiting, []
        except StreamBroken as error:
            events = self._broken_off(error.error)
        return await self._last(events) if self.decoder.is_finished else events

    async def _last(self, events: list[TurnEvent]) -> list[TurnEvent]:
        """The turn is over: the connection is not kept for what nobody reads."""
        await self.aclose()
        return self._without_secrets(events)

    def _without_secrets(self, events: list[TurnEvent]) -> list[TurnEvent]:
        """A provider may quote the key that it refuses."""
        last = events[-1] if events else None
        if not isinstance(last, TurnFailed):
            return events
        code = None if last.code is None else self.clean(last.code)
        told = msgspec.structs.replace(last, message=self.clean(last.message), code=code)
        return [*events[:-1], told]

    def _broken_off(self, failure: ErrorInfo) -> list[TurnEvent]:
        """After the finish reason a connection that breaks is an end like any other."""
        if self.decoder.is_end_known and failure.category != "protocol":
            return self.decoder.close()
        return self.decoder.fail(failure)

    async def aclose(self) -> None:
        """Close the connection, whatever is still to come. What has not been read by then is
        nobody's: no events come any more, and no failure is made of it."""
        self._is_closed = True
        await self._stream.aclose()

    @property
    def refusal(self) -> ErrorInfo | None:
        """What the provider said instead of a first event, where it may be asked again."""
        failure = self.decoder.error
        if failure is None or not failure.retryable:
            return None
        is_all = all(isinstance(event, TurnStarted | TurnFailed) for event in self._waiting)
        return failure if is_all else None

    async def _first(self) -> list[TurnEvent]:
        try:
            async with asyncio.timeout_at(self._stream.first_event_by_s):
                return await self._more()
        except TimeoutError:
            pass
        raise stream_broken(
            "timeout",
            "the provider accepted the request, but no event came within first_event_s",
        )

    async def _more(self) -> list[TurnEvent]:
        feed = self.decoder.feed
        async for read in self._reads:
            if events := feed(read):
                return events
        return self._ended()


async def _begun(turn: OpenTurn) -> OpenTurn:
    try:
        await turn.begin()
        failure = turn.refusal
    except StreamBroken as error:
        failure = error.error
    except BaseException:
        await turn.aclose()
        raise
    if failure is None:
        return turn
    await turn.aclose()
    raise RequestFailed(
        turn.clean(failure.message),
        category=failure.category,
        code=None if failure.code is None else turn.clean(failure.code),
        retryable=failure.retryable,
        retry_after_s=failure.retry_after_s,
        request_id=turn.request_id,
    )
