"""`OpenTurn`: decodes the byte stream of one turn into lists of events, with exactly one end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

import msgspec

from headrace.errors import RequestFailed
from headrace.events import TurnEvent
from headrace.events.turn import FrameSkipped, TurnFailed, TurnFinished, TurnStarted
from headrace.log import get_logger
from headrace.outcome import ErrorInfo
from headrace.prices import TurnUsage
from headrace.secrets.scrub import scrub
from headrace.transport.call_secrets import keys_of, secrets_of
from headrace.transport.process_pause import PauseAwareTimeout
from headrace.transport.retry import DEFAULT_POLICY, RetryPolicy, Sleep, retry
from headrace.transport.stream_error import StreamBroken, stream_broken
from headrace.transport.transport import (
    ByteStream,
    HTTPCall,
    PushStream,
    Transport,
    sign_call,
)
from headrace.turn.key_mask import KeyMask, list_events
from headrace.usage import Usage
from headrace.wire.decoder import Decoder, ReadResult

_logger = get_logger("turn")
# Logged here, because decoding itself is pure.
_wire_logger = get_logger("wire")
_ENDS = frozenset({TurnFinished, TurnFailed})
# A turn that has only these events has not begun to answer.
_WITHOUT_CONTENT = frozenset({TurnStarted, FrameSkipped, TurnFailed})


async def read_turn(stream: ByteStream, decoder: Decoder) -> AsyncGenerator[list[TurnEvent], None]:
    """Iterate over the events of a stream, a list for each read that completes some. The last
    event is terminal.

    Errors of the network or the provider become events. The stream is closed at the end, and
    when the generator is closed: call `aclose()` to stop early.
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
    turn_usage: TurnUsage | None = None,
    sleep: Sleep = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> OpenTurn:
    """Send the request and wait for the first events. Until then an error is raised as
    `RequestFailed`, after retries if it is retryable; later errors become the last event.

    A stream whose only event is a retryable error counts as refused: several providers accept a
    request and then send nothing but "overloaded". `turn_usage` completes
    the usage at the end.
    """

    async def attempt() -> OpenTurn:
        signed = await sign_call(call)
        clean, keys = secrets_of(signed).clean, keys_of(signed)
        stream = await transport.open(signed)
        turn = OpenTurn(stream, new_decoder(), clean=clean, keys=keys, turn_usage=turn_usage)
        return await _wait_for_first(turn)

    return await retry(attempt, policy, sleep=sleep, chance=chance)


class OpenTurn:
    """A turn that is being read. Iterate over it or call `next()`, and close it at the end."""

    __slots__ = (
        "_end_usage", "_feed", "_first_events", "_has_begun", "_is_closed", "_key_mask",
        "_push_reads", "_reads", "_stream", "_turn_usage", "clean", "decoder", "request_id",
    )  # fmt: skip

    def __init__(
        self,
        stream: ByteStream,
        decoder: Decoder,
        *,
        clean: Callable[[str], str] = scrub,
        keys: Sequence[str] = (),
        turn_usage: TurnUsage | None = None,
    ) -> None:
        self.clean = clean
        self._turn_usage = turn_usage
        self._end_usage: Usage | None = None
        self._key_mask = KeyMask(keys) if keys else None
        self._feed: Callable[[bytes], ReadResult] = decoder.feed_single
        if self._key_mask is not None:
            self._feed = self._key_mask.wrap(decoder.feed_single)
        self.request_id = stream.request_id
        self.decoder = decoder
        decoder.clean_with(clean)
        self._stream = stream
        self._reads: AsyncIterator[bytes] = aiter(stream)
        # Looked up once: the check takes as long as several events.
        self._push_reads = self._reads if isinstance(self._reads, PushStream) else None
        self._has_begun = False
        self._is_closed = False
        self._first_events: list[TurnEvent] = []

    def __aiter__(self) -> OpenTurn:
        return self

    async def __anext__(self) -> list[TurnEvent]:
        events = await self.next()
        if not events:
            raise StopAsyncIteration
        return events

    async def begin(self) -> None:
        """Wait for the first events. Raises `StreamBroken` if none arrive in time."""
        self._first_events = await self._read_first()
        self._has_begun = True
        first = self._first_events[0] if self._first_events else None
        if self._turn_usage is not None and isinstance(first, TurnStarted):
            self._turn_usage.model = first.model

    async def next(self) -> list[TurnEvent]:
        """Wait for the next events. Returns an empty list after the last ones."""
        if not self._has_begun or self._first_events or self._is_closed:
            return await self._next_special()
        decoder, feed = self.decoder, self._feed
        try:
            async for read in self._reads:
                events = feed(read)
                if events:
                    listed = list_events(events)
                    return await self._finish(listed) if decoder.is_finished else listed
            last = self._close_decoder()
        except StreamBroken as error:
            last = self._fail(error.error)
        return await self._finish(last)

    async def drain(self, take: Callable[[ReadResult], bool]) -> bool:
        """Pass events to `take` as they arrive, until the end (returns False) or until `take`
        returns True to ask for a pause (returns True). Faster than `next()` for each read. Most
        reads are one more delta of an open part, which is passed without a list."""
        if not self._has_begun or self._first_events or self._is_closed:
            events = await self._next_special()
            if not events or take(events):
                return bool(events)
        last: list[TurnEvent] = []
        try:
            if await self._drain_reads(take, last):
                if not last:
                    return True
                events = last
            else:
                events = self._close_decoder()
        except StreamBroken as error:
            events = self._fail(error.error)
        events = await self._finish(events)
        if events:
            take(events)
        return False

    async def _drain_reads(self, take: Callable[[ReadResult], bool], last: list[TurnEvent]) -> bool:
        """Pass events to `take` until it returns True, or until the end of the turn, whose events
        are added to `last` instead. Returns False if the reads end before either."""
        feed = self._feed

        def take_read(read: bytes) -> bool:
            events = feed(read)
            if type(events) is list:
                if not events:
                    return False
                if type(events[-1]) in _ENDS:
                    last.extend(events)
                    return True
            return take(events)

        if self._push_reads is not None:
            return await self._push_reads.drain(take_read)
        async for read in self._reads:
            # What `take_read` does, without a call for each read.
            events = feed(read)
            if type(events) is list:
                if not events:
                    continue
                if type(events[-1]) in _ENDS:
                    last.extend(events)
                    return True
            if take(events):
                return True
        return False

    def _close_decoder(self) -> list[TurnEvent]:
        """End the turn after the last read. A turn that was closed meanwhile gets no events."""
        return [] if self._is_closed else self._mask(self.decoder.close())

    async def _next_special(self) -> list[TurnEvent]:
        """Return the first events, or nothing after the turn was closed."""
        if self._is_closed and not self._first_events:
            return []
        try:
            if not self._has_begun:
                await self.begin()
            events, self._first_events = self._first_events, []
        except StreamBroken as error:
            events = self._fail(error.error)
        return await self._finish(events) if self.decoder.is_finished else events

    async def _finish(self, events: list[TurnEvent]) -> list[TurnEvent]:
        """Close the connection. An error message may quote the API key, which is removed."""
        await self.aclose()
        events = self._complete_usage(events)
        last = events[-1] if events else None
        if not isinstance(last, TurnFailed):
            return events
        code = None if last.code is None else self.clean(last.code)
        return [
            *events[:-1],
            msgspec.structs.replace(last, message=self.clean(last.message), code=code),
        ]

    def _fail(self, error: ErrorInfo) -> list[TurnEvent]:
        """End the turn after an error. Once the finish reason is known, a connection that breaks
        is a normal end."""
        if self.decoder.is_end_known and error.category != "protocol":
            return self._mask(self.decoder.close())
        return self.fail(error)

    def fail(self, error: ErrorInfo) -> list[TurnEvent]:
        """End the turn with an error that is not in the bytes; see `Decoder.fail()`."""
        return self._complete_usage(self._mask(self.decoder.fail(error)))

    def _complete_usage(self, events: list[TurnEvent]) -> list[TurnEvent]:
        """Add the cost, and estimates if the turn broke off, to the usage of the last event."""
        last = events[-1] if events else None
        if self._turn_usage is None or self._end_usage is not None:
            return events
        if not isinstance(last, TurnFinished | TurnFailed):
            return events
        end = self._turn_usage.complete(last, self.decoder.output_chars)
        self._end_usage = end.usage
        _log_end(end, self.request_id)
        return [*events[:-1], end]

    @property
    def usage(self) -> Usage:
        """The usage so far, and the complete usage after the end. For a turn that was closed before
        its end, the counts that are missing are estimated."""
        if self._end_usage is None and self._is_closed and self._turn_usage is not None:
            decoder = self.decoder
            self._end_usage = self._turn_usage.estimate(decoder.usage, decoder.output_chars)
        return self.decoder.usage if self._end_usage is None else self._end_usage

    def _mask(self, events: list[TurnEvent]) -> list[TurnEvent]:
        """Return the events without the API key, which a provider may send back."""
        return events if self._key_mask is None or not events else self._key_mask.feed(events)

    async def aclose(self) -> None:
        """Close the connection. No events follow, not even an error for what was not read."""
        if not self._is_closed and self.decoder.skipped_frames:
            _log_skipped(self.decoder, self.request_id)
        self._is_closed = True
        await self._stream.aclose()

    @property
    def refusal(self) -> ErrorInfo | None:
        """The retryable error that came in place of the first events, or None."""
        error = self.decoder.error
        if error is None or not error.retryable:
            return None
        has_content = any(type(event) not in _WITHOUT_CONTENT for event in self._first_events)
        return None if has_content else error

    async def _read_first(self) -> list[TurnEvent]:
        try:
            async with PauseAwareTimeout(self._stream.first_event_by_s):
                return await self._read_events()
        except TimeoutError:
            pass
        raise stream_broken(
            "timeout", "the provider accepted the request, but no event came within first_event_s"
        )

    async def _read_events(self) -> list[TurnEvent]:
        feed = self._feed
        async for read in self._reads:
            if events := feed(read):
                return list_events(events)
        return self._close_decoder()


def _log_skipped(decoder: Decoder, request_id: str | None) -> None:
    fields = {
        "event": "frames_skipped",
        "frames": decoder.skipped_frames,
        "reason": decoder.skip_reason,
        "request_id": request_id,
    }
    text = "frames that could not be read: %d; the first: %s"
    _wire_logger.warning(text, decoder.skipped_frames, decoder.skip_reason, extra=fields)


def _log_end(end: TurnFinished | TurnFailed, request_id: str | None) -> None:
    fields: dict[str, object] = {
        "input_tokens": end.usage.input_tokens,
        "output_tokens": end.usage.output_tokens,
        "request_id": request_id,
    }
    if isinstance(end, TurnFailed):
        fields |= {"event": "turn_failed", "category": end.category}
        _logger.debug("turn failed (%s)", end.category, extra=fields)
    else:
        fields |= {"event": "turn_finished", "finish": end.reason.word}
        _logger.debug("turn finished (%s)", end.reason.word, extra=fields)


async def _wait_for_first(turn: OpenTurn) -> OpenTurn:
    try:
        await turn.begin()
        error = turn.refusal
    except StreamBroken as broken:
        error = broken.error
    except BaseException:
        await turn.aclose()
        raise
    if error is None:
        return turn
    await turn.aclose()
    raise RequestFailed(
        turn.clean(error.message),
        category=error.category,
        code=None if error.code is None else turn.clean(error.code),
        retryable=error.retryable,
        retry_after_s=error.retry_after_s,
        request_id=turn.request_id,
    )
