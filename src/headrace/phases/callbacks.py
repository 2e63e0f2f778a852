"""Callbacks for phase changes: calls your functions with the notices of a `PhaseTracker`."""

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

Result: TypeAlias = Awaitable[object] | object
Plain: TypeAlias = Callable[[OutputContext], Result]
WithText: TypeAlias = Callable[[OutputContext, str], Result]
WithCall: TypeAlias = Callable[[OutputContext, ToolCallFinished | ToolCallMalformed], Result]


class Consumer(msgspec.Struct, kw_only=True, frozen=True):
    """The callbacks to call. Each is optional and may be async.

    Every callback gets the `OutputContext` first. Within one record they are called in the order
    that `PhaseTracker` defines, one after the other.
    """

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
        close = getattr(result, "close", None)
        if close is not None:
            close()
        raise UsageError(f"on_{notice.name} is async: use consume_async")


async def _notify_async(consumer: Consumer, notice: Notice) -> None:
    result = _call_back(consumer, notice)
    if isawaitable(result):
        await result
