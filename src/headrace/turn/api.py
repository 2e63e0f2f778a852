"""`stream()` and `complete()`: ask a model for one turn, as events or as a whole message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from headrace.content import Content
from headrace.encoders import OptionArguments, Request, ToolSpec, parse_options
from headrace.encoders.text_content import drop_empty_texts
from headrace.errors import UsageError
from headrace.messages import Message, MessageLike, read_messages
from headrace.recording.recorder import RecordingTransport
from headrace.tools import Tool, spec_of
from headrace.transport.retry import DEFAULT_POLICY, RetryPolicy
from headrace.transport.transport import Transport
from headrace.turn.model import model_for
from headrace.turn.result import Result
from headrace.turn.turn_stream import TurnStream
from headrace.wire.dialects.chat import ChatQuirks
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

Input: TypeAlias = str | Content | MessageLike | Sequence[str | Content] | Sequence[MessageLike]
"""A question, its parts, or a whole conversation with the newest message last."""


class TurnArguments(OptionArguments, total=False):
    """The keyword arguments of `stream()`, for the functions that pass them on."""

    instructions: str | None
    tools: Sequence[Tool | ToolSpec | Callable[..., Any]]
    base_url: str | None
    api_key: str | None
    transport: Transport | None
    policy: RetryPolicy
    record: str | Path | None
    wire_limits: WireLimits
    quirks: ChatQuirks | None
    strict: bool


def stream(
    model: str,
    input: Input,
    *,
    instructions: str | None = None,
    tools: Sequence[Tool | ToolSpec | Callable[..., Any]] = (),
    base_url: str | None = None,
    api_key: str | None = None,
    transport: Transport | None = None,
    policy: RetryPolicy = DEFAULT_POLICY,
    record: str | Path | None = None,
    wire_limits: WireLimits = DEFAULT_WIRE_LIMITS,
    quirks: ChatQuirks | None = None,
    strict: bool = False,
    **options: Unpack[OptionArguments],
) -> TurnStream:
    """Ask a model for one turn. Returns a stream to enter and iterate over.

    `model` is `provider:model`. The model may call `tools`, but nothing is run: use an `Agent`
    for that. `options` are the fields of `Options`, such as `effort="high"` or
    `max_tokens=500`. `policy` says how often a refused request is sent again, before the first
    event only. `record` is a file for the raw bytes; their times go into a file beside it.
    `quirks` replace those of the catalog, for a server whose chat streams differ, such as
    `ChatQuirks(starts_inside_thinking=True)` for one without a reasoning parser.
    Frames that cannot be read are reported and skipped; with `strict`, the first one fails the
    turn. Raises `UsageError` for a request that cannot be made.
    """
    target = model_for(
        model, base_url=base_url, api_key=api_key, transport=transport, quirks=quirks
    )
    request = Request(
        model=target.endpoint.model,
        provider=target.endpoint.provider.name,
        messages=tuple(to_messages(input)),
        instructions=instructions,
        tools=tuple(map(spec_of, tools)),
        options=parse_options(options),
    )
    keeps_logprobs = request.options.wants_logprobs
    return TurnStream(
        target.call(request),
        lambda: target.decoder(wire_limits, strict=strict, keeps_logprobs=keeps_logprobs),
        target.transport if record is None else RecordingTransport(target.transport, record),
        policy=policy,
        owns_transport=transport is None,
    )


def complete(model: str, input: Input, **arguments: Unpack[TurnArguments]) -> Result:
    """Ask a model for one turn and wait for the whole answer. Takes the arguments of
    `stream()`.

    If the turn breaks off, the result has an `error` and the part of the message that arrived.
    Raises `RequestFailed` if the provider refuses the request.
    """
    with stream(model, input, **arguments) as turn:
        for _ in turn:
            pass
    return turn.result


async def complete_async(model: str, input: Input, **arguments: Unpack[TurnArguments]) -> Result:
    """Asynchronous version of `complete()`."""
    async with stream(model, input, **arguments) as turn:
        async for _ in turn:
            pass
    return turn.result


def to_messages(input: Input) -> list[Message]:
    """Convert the input of a user to messages. Raises `UsageError` for any other type, and for
    input that says nothing."""
    entries: list[Any] = [input]
    if isinstance(input, Sequence) and not isinstance(input, str):
        entries = list(input)
    if entries and all(isinstance(entry, Message | Mapping) for entry in entries):
        return _require_content(read_messages(entries))
    if not entries or not all(isinstance(entry, str | Content) for entry in entries):
        raise UsageError(
            "expected a text, content, or messages with the newest last as the input of a turn;"
            f" got {input!r:.200}"
        )
    return _require_content([Message.user(*entries)])


def _require_content(messages: list[Message]) -> list[Message]:
    """Return the messages, unless all of them are empty: providers refuse a request without a
    message."""
    if not any(message.turns or drop_empty_texts(message.content) for message in messages):
        raise UsageError("the input is empty: expected a text or other content")
    return messages
