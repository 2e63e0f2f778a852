"""Callbacks over phases: the tracker's notices, handed to whoever wants them."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from inspect import isawaitable
from typing import TypeAlias

import msgspec

from headrace.errors import UsageError
from headrace.events import CitationAdded, PhaseChanged, Record, ToolCallFinished, ToolCallMalformed
from headrace.phases.tracker import CompletionMode, Notice, OutputContext, PhaseTracker
from headrace.shield import run_shielded
from headrace.usage import Usage

Told: TypeAlias = Awaitable[object] | object
Plain: TypeAlias = Callable[[OutputContext], Told]
WithText: TypeAlias = Callable[[OutputContext, str], Told]
WithCall: TypeAlias = Callable[[OutputContext, ToolCallFinished | ToolCallMalformed], Told]


class Consumer(msgspec.Struct, kw_only=True, frozen=True):
    """What to call, and with what; each may be left out, and each may be async.

    Every callback gets the `OutputContext` first. The order within a record is that of
    `PhaseTracker`; a callback has returned before the next one is called.
    """

    on_phase_change: Callable[[OutputContext, PhaseChanged], Told] | None = None
    on_reasoning_start: Plain | None = None
    on_reasoning_delta: WithText | None = None
    on_reasoning_complete: Plain | None = None
    on_content_start: Plain | None = None
    on_content_delta: WithText | None = None
    on_content_complete: Plain | None = None
    on_client_call: WithCall | None = None
    """A call that the caller must run: whole, or malformed."""
    on_provider_call: WithCall | None = None
    """A call that the provider runs itself."""
    on_citation: Callable[[OutputContext, CitationAdded], Told] | None = None
    on_usage: Callable[[OutputContext, Usage], Told] | None = None


def consume(
    records: Iterable[Record], consumer: Consumer, *, mode: CompletionMode = "transition"
) -> None:
    """Read the records and call back. Completes are called also where the records break
    off, but not after a callback that raised. Raises `UsageError` for an async callback:
    `consume_async` is for those."""
    tracker = PhaseTracker(mode)
    is_calling = False
    try:
        for record in records:
            for notice in tracker.feed(record):
                is_calling = True
                _tell(consumer, notice)
                is_calling = False
    finally:
        for notice in [] if is_calling else tracker.close():
            _tell(consumer, notice)


async def consume_async(
    records: AsyncIterable[Record], consumer: Consumer, *, mode: CompletionMode = "transition"
) -> None:
    """The same for code that waits; callbacks may be plain or async. Completes are waited
    for also while the caller is cancelled."""
    tracker = PhaseTracker(mode)
    is_calling = False
    try:
        async for record in records:
            for notice in tracker.feed(record):
                is_calling = True
                await _tell_async(consumer, notice)
                is_calling = False
    finally:
        if not is_calling:
            await run_shielded(_tell_all(consumer, tracker.close()))


async def _tell_all(consumer: Consumer, notices: list[Notice]) -> None:
    for notice in notices:
        await _tell_async(consumer, notice)


def _called(consumer: Consumer, notice: Notice) -> object:
    callback: Callable[..., object] | None = getattr(consumer, f"on_{notice.name}")
    if callback is None:
        return None
    if notice.value is None:
        return callback(notice.context)
    return callback(notice.context, notice.value)


def _tell(consumer: Consumer, notice: Notice) -> None:
    told = _called(consumer, notice)
    if isawaitable(told):
        close = getattr(told, "close", None)
        if close is not None:
            close()
        raise UsageError(f"on_{notice.name} is async: use consume_async")


async def _tell_async(consumer: Consumer, notice: Notice) -> None:
    told = _called(consumer, notice)
    if isawaitable(told):
        await told
