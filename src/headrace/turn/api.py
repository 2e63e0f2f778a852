"""`stream` and `complete`: from a model string and a question to events or a message."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from headrace.content import Content, TextContent
from headrace.encoders import Request, ToolSpec, parse_options
from headrace.errors import UsageError
from headrace.messages import Message
from headrace.recording.recorder import RecordingTransport
from headrace.transport.retry import DEFAULT_POLICY, RetryPolicy
from headrace.transport.transport import Transport
from headrace.turn.model import model_for
from headrace.turn.turn_stream import TurnStream
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

Input: TypeAlias = str | Content | Message | Sequence[str | Content] | Sequence[Message]
"""A question, its parts, or a whole conversation."""


def stream(
    model: str,
    input: Input,
    *,
    instructions: str | None = None,
    tools: Sequence[ToolSpec] = (),
    base_url: str | None = None,
    api_key: str | None = None,
    transport: Transport | None = None,
    policy: RetryPolicy = DEFAULT_POLICY,
    record: str | Path | None = None,
    wire_limits: WireLimits = DEFAULT_WIRE_LIMITS,
    **options: Any,
) -> TurnStream:
    """One turn of a model, as a stream of events to enter and iterate.

    `model` is `provider:model`; `options` are those of `headrace.encoders.Options`, such
    as `effort="high"` or `max_tokens=500`. `policy` says how often a refusal is tried
    again, before the first event only; `record` is a file to keep the raw bytes in, with
    their times beside it. Raises `UsageError` for what cannot be asked.
    """
    asked = model_for(model, base_url=base_url, api_key=api_key, transport=transport)
    request = Request(
        model=asked.endpoint.model,
        provider=asked.endpoint.provider.name,
        messages=tuple(messages_of(input)),
        instructions=instructions,
        tools=tuple(tools),
        options=parse_options(options),
    )
    return TurnStream(
        asked.call(request),
        lambda: asked.decoder(wire_limits),
        asked.transport if record is None else RecordingTransport(asked.transport, record),
        policy=policy,
        owns_transport=transport is None,
    )


def complete(model: str, input: Input, **arguments: Any) -> Message:
    """The whole message of one turn. Where the turn broke, its `error` says so and what
    came before it is there."""
    with stream(model, input, **arguments) as turn:
        for _ in turn:
            pass
    return turn.message


async def complete_async(model: str, input: Input, **arguments: Any) -> Message:
    """`complete` for code that waits."""
    async with stream(model, input, **arguments) as turn:
        async for _ in turn:
            pass
    return turn.message


def messages_of(input: Input) -> list[Message]:
    """What a user gave, as messages. Raises `UsageError` for what is none."""
    if isinstance(input, Message):
        return [input]
    if isinstance(input, str) or not isinstance(input, Sequence):
        return [_asked([input])]
    entries: list[Any] = list(input)
    if entries and all(isinstance(entry, Message) for entry in entries):
        return entries
    return [_asked(entries)]


def _asked(entries: list[Any]) -> Message:
    content = tuple(TextContent(entry) if isinstance(entry, str) else entry for entry in entries)
    if not content or not all(isinstance(entry, Content) for entry in content):
        raise UsageError(
            "a turn is asked with a text, with content, or with messages (the last is the newest)"
        )
    return Message(role="user", content=content)
