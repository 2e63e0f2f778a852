"""Callbacks for phase changes: calls your functions with the notices of a `PhaseTracker`, and with
the raw chunks of a stream."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from inspect import isawaitable
from typing import Any, TypeAlias

import msgspec

from headrace.errors import UsageError, WireError
from headrace.events import CitationAdded, PhaseChanged, Record, ToolCallFinished, ToolCallMalformed
from headrace.phases.tracker import CompletionMode, Notice, OutputContext, PhaseTracker
from headrace.shield import run_shielded
from headrace.usage import Usage
from headrace.wire.decode import decode, decode_async
from headrace.wire.framing import create_framing
from headrace.wire.framing.frame import Frame

Result: TypeAlias = Awaitable[object] | object
Plain: TypeAlias = Callable[[OutputContext], Result]
WithText: TypeAlias = Callable[[OutputContext, str], Result]
WithCall: TypeAlias = Callable[[OutputContext, ToolCallFinished | ToolCallMalformed], Result]


class Consumer(msgspec.Struct, kw_only=True, frozen=True):
    """The callbacks to call. Each is optional and may be async.

    Every callback but `on_chunk` gets the `OutputContext` first. Within one record they are called
    in the order that `PhaseTracker` defines, one after the other.
    """

    on_chunk: Callable[[bytes], Result] | None = None
    """Called with each raw chunk of the provider, as it came, before the callbacks that it causes.
    It gets the payload alone, and only from `consume_reads()` and `consume_reads_async()`."""
    on_phase_change: Callable[[OutputContext, PhaseChanged], Result] | None = None
    """Called with the `PhaseChanged` event."""
    on_reasoning_start: Plain | None = None
    """Called before the first delta of reasoning."""
    on_reasoning_delta: WithText | None = None
    """Called with the text of each delta."""
    on_reasoning_complete: Plain | None = None
    """Called once per output, if it had reasoning."""
    on_content_start: Plain | None = None
    """Called before the first delta of text."""
    on_content_delta: WithText | None = None
    """Called with the text of each delta."""
    on_content_complete: Plain | None = None
    """Called once per output, if it had text."""
    on_client_call: WithCall | None = None
    """Called with a call that the caller has to run; it may be malformed."""
    on_provider_call: WithCall | None = None
    """Called with a call that the provider runs itself."""
    on_citation: Callable[[OutputContext, CitationAdded], Result] | None = None
    """Called with the `CitationAdded` event."""
    on_usage: Callable[[OutputContext, Usage], Result] | None = None
    """Called with the usage of the turn."""


def consume(
    records: Iterable[Record], consumer: Consumer, *, mode: CompletionMode = "transition"
) -> None:
    """Read all records and call the callbacks.

    The complete callbacks are also called if `records` ends early or raises, but not after a
    callback has raised. Raises `UsageError` if a callback is async; use `consume_async()` for
    those.
    """
    tracker = PhaseTracker(mode)
    is_calling = False
    try:
        for record in records:
            for notice in tracker.feed(record):
                is_calling = True
                _notify(consumer, notice)
                is_calling = False
    finally:
        for notice in [] if is_calling else tracker.close():
            _notify(consumer, notice)


async def consume_async(
    records: AsyncIterable[Record], consumer: Consumer, *, mode: CompletionMode = "transition"
) -> None:
    """Read all records and call the callbacks, which may be plain or async functions.

    The complete callbacks are awaited even if the caller is cancelled.
    """
    tracker = PhaseTracker(mode)
    is_calling = False
    try:
        async for record in records:
            for notice in tracker.feed(record):
                is_calling = True
                await _notify_async(consumer, notice)
                is_calling = False
    finally:
        if not is_calling:
            await run_shielded(_notify_all(consumer, tracker.close()))


def consume_reads(
    reads: Iterable[bytes],
    consumer: Consumer,
    dialect: str | None = None,
    *,
    mode: CompletionMode = "transition",
    framing: str = "sse",
    **options: Any,
) -> None:
    """Decode the reads of one turn and call the callbacks, `on_chunk` included.

    The arguments beside `consumer` and `mode` are those of `headrace.decode()`. The chunks of one
    read come before the other callbacks of that read.
    """
    chunks = _ChunkReader(framing)

    def watch() -> Iterable[bytes]:
        for read in reads:
            for chunk in chunks.feed(read):
                _notify_chunk(consumer, chunk)
            yield read
        for chunk in chunks.close():
            _notify_chunk(consumer, chunk)

    watched = watch() if consumer.on_chunk is not None else reads
    consume(decode(watched, dialect, framing=framing, **options), consumer, mode=mode)


async def consume_reads_async(
    reads: AsyncIterable[bytes],
    consumer: Consumer,
    dialect: str | None = None,
    *,
    mode: CompletionMode = "transition",
    framing: str = "sse",
    **options: Any,
) -> None:
    """Asynchronous version of `consume_reads()`; the callbacks may be plain or async functions."""
    chunks = _ChunkReader(framing)

    async def watch() -> AsyncIterator[bytes]:
        async for read in reads:
            for chunk in chunks.feed(read):
                await _notify_chunk_async(consumer, chunk)
            yield read
        for chunk in chunks.close():
            await _notify_chunk_async(consumer, chunk)

    watched = watch() if consumer.on_chunk is not None else reads
    records = decode_async(watched, dialect, framing=framing, **options)
    await consume_async(records, consumer, mode=mode)


class _ChunkReader:
    """Cuts reads into chunks beside the decoder, which reports bytes that break the format."""

    def __init__(self, framing: str) -> None:
        self._framing = create_framing(framing)
        self._is_broken = False

    def feed(self, read: bytes) -> list[bytes]:
        return self._read(lambda: self._framing.feed(read))

    def close(self) -> list[bytes]:
        return self._read(self._framing.close)

    def _read(self, take: Callable[[], list[Frame]]) -> list[bytes]:
        if self._is_broken:
            return []
        try:
            return [frame.data for frame in take()]
        except WireError:
            self._is_broken = True
            return []


def _notify_chunk(consumer: Consumer, chunk: bytes) -> None:
    result = None if consumer.on_chunk is None else consumer.on_chunk(chunk)
    if isawaitable(result):
        _close_unawaited(result)
        raise UsageError("on_chunk is async: use consume_reads_async")


async def _notify_chunk_async(consumer: Consumer, chunk: bytes) -> None:
    result = None if consumer.on_chunk is None else consumer.on_chunk(chunk)
    if isawaitable(result):
        await result


async def _notify_all(consumer: Consumer, notices: list[Notice]) -> None:
    for notice in notices:
        await _notify_async(consumer, notice)


def _call_back(consumer: Consumer, notice: Notice) -> object:
    callback: Callable[..., object] | None = getattr(consumer, f"on_{notice.name}")
    if callback is None:
        return None
    if notice.value is None:
        return callback(notice.context)
    return callback(notice.context, notice.value)


def _notify(consumer: Consumer, notice: Notice) -> None:
    result = _call_back(consumer, notice)
    if isawaitable(result):
        _close_unawaited(result)
        raise UsageError(f"on_{notice.name} is async: use consume_async")


def _close_unawaited(result: object) -> None:
    """Close a coroutine that nobody awaits, so that Python does not warn about it."""
    close = getattr(result, "close", None)
    if close is not None:
        close()


async def _notify_async(consumer: Consumer, notice: Notice) -> None:
    result = _call_back(consumer, notice)
    if isawaitable(result):
        await result
