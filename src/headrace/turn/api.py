"""`stream()` and `complete()`: ask a model for one turn, as events or as a whole message."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, TypeAlias, Unpack, cast

from headrace.content import Content, PromptContent
from headrace.encoders import OptionArguments, parse_options
from headrace.encoders.text_content import drop_empty_texts
from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.messages import Message, MessageLike, read_messages
from headrace.providers import OutputMode
from headrace.recording.recorder import RecordingTransport
from headrace.tools import AnyTool, Toolset
from headrace.transport.limits import Timeouts
from headrace.transport.retry import DEFAULT_POLICY, RetryPolicy
from headrace.transport.transport import Transport
from headrace.turn.fallback import AnyModel, Fallback
from headrace.turn.result import OutputT, Result, check_output, result_of
from headrace.turn.target import TurnInput, TurnTarget, build_targets
from headrace.turn.turn_stream import TurnStream
from headrace.turn.typed_answer import add_correction, can_correct, join_attempts
from headrace.typed.plan import DEFAULT_RETRIES
from headrace.wire.dialects.chat import ChatQuirks
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

Input: TypeAlias = (
    str | Content | MessageLike | Sequence[str | PromptContent] | Sequence[MessageLike]
)
"""A question, its parts, or a whole conversation with the newest message last."""
OutputKind: TypeAlias = UnionType | JSONObject
"""Types of answers that are no class: a union, or a JSON schema."""


class TurnArguments(OptionArguments, total=False):
    """The keyword arguments of `stream()`, for the functions that pass them on."""

    instructions: str | None
    tools: Sequence[AnyTool]
    output_mode: OutputMode | None
    base_url: str | None
    api_key: str | None
    transport: Transport | None
    policy: RetryPolicy
    record: str | Path | None
    wire_limits: WireLimits
    quirks: ChatQuirks | None
    strict: bool
    timeout: float | Timeouts | None


def stream(
    model: AnyModel,
    input: Input,
    *,
    output_type: type[OutputT] | OutputKind | None = None,
    output_retries: int = DEFAULT_RETRIES,
    **arguments: Unpack[TurnArguments],
) -> TurnStream[OutputT]:
    """Ask a model for one turn. Returns a stream to enter and iterate over.

    `model` is `provider:model`, or a `Fallback` of several. The model may call `tools`, but nothing
    is run: use an `Agent` for that. Options are the fields of `Options`, such as `effort="high"` or
    `max_tokens=500`. `policy` says how often a refused request is sent again, before the first
    event only. `record` is a file for the raw bytes; their times go into a file beside it.
    `quirks` replace those of the catalog, for a server whose chat streams differ, such as
    `ChatQuirks(starts_inside_thinking=True)` for one without a reasoning parser.
    Frames that cannot be read are reported and skipped; with `strict`, the first one fails the
    turn. `timeout` is the most seconds for the first event and for any pause after it, or a
    `Timeouts`.

    With `output_type`, the answer is a value of that type: a msgspec Struct, a dataclass, a
    TypedDict, a pydantic model, a list or union of these, or a JSON schema as a dict. Read it from
    `output` at the end, or while it grows from `partial()`. `output_mode` says how to ask for it,
    instead of the catalog. Only `complete()` asks again after a wrong answer.

    Raises `UsageError` for a request that cannot be made.
    """
    return _prepare(model, input, output_type, output_retries, arguments).open()


def complete(
    model: AnyModel,
    input: Input,
    *,
    output_type: type[OutputT] | OutputKind | None = None,
    output_retries: int = DEFAULT_RETRIES,
    **arguments: Unpack[TurnArguments],
) -> Result[OutputT]:
    """Ask a model for one turn and wait for the whole answer. Takes the arguments of
    `stream()`.

    If the turn breaks off, the result has an `error` and the part of the message that arrived.
    Raises `RequestFailed` if the provider refuses the request. With `output_type`, the model is
    told what is wrong with its answer and asked again, `output_retries` times at most; then
    `OutputInvalid` is raised.
    """
    attempts = _attempts(_prepare(model, input, output_type, output_retries, arguments))
    turn = next(attempts)
    while True:
        with turn:
            for _ in turn:
                pass
        try:
            turn = next(attempts)
        except StopIteration as end:
            return cast("Result[Any]", end.value)


async def complete_async(
    model: AnyModel,
    input: Input,
    *,
    output_type: type[OutputT] | OutputKind | None = None,
    output_retries: int = DEFAULT_RETRIES,
    **arguments: Unpack[TurnArguments],
) -> Result[OutputT]:
    """Asynchronous version of `complete()`."""
    attempts = _attempts(_prepare(model, input, output_type, output_retries, arguments))
    turn = next(attempts)
    while True:
        async with turn:
            async for _ in turn:
                pass
        try:
            turn = next(attempts)
        except StopIteration as end:
            return cast("Result[Any]", end.value)


@dataclass
class _PreparedTurn:
    """A request for each model that may answer it, and everything that is needed to send it."""

    model: AnyModel
    targets: list[TurnTarget]
    wire_limits: WireLimits
    strict: bool

    def open(self) -> TurnStream[Any]:
        """Return the stream of the first turn."""
        fallback = self.model if isinstance(self.model, Fallback) else None
        return TurnStream(self.targets, fallback, wire_limits=self.wire_limits, strict=self.strict)


def prepare_turn(model: AnyModel, input: Input, arguments: TurnArguments) -> list[TurnTarget]:
    """Return the requests that `stream()` would send, one for each model that may be asked."""
    return _prepare(model, input, None, DEFAULT_RETRIES, arguments).targets


def _prepare(
    model: AnyModel,
    input: Input,
    output_type: Any,
    output_retries: int,
    arguments: TurnArguments,
) -> _PreparedTurn:
    given: dict[str, Any] = dict(arguments)
    record = given.pop("record", None)
    names = ("base_url", "api_key", "transport", "quirks", "timeout")
    endpoint = {name: given.pop(name, None) for name in names}
    own: dict[str, Any] = {name: given.pop(name, default) for name, default in _DEFAULTS.items()}
    asked = TurnInput(
        messages=tuple(to_messages(input)),
        instructions=own["instructions"],
        tools=Toolset(own["tools"]),
        options=parse_options(given),
        output_type=output_type,
        output_mode=own["output_mode"],
        output_retries=output_retries,
    )
    targets = build_targets(model, asked, own["policy"], endpoint)
    if record is not None:
        for target in targets:
            target.transport = RecordingTransport(target.transport, record)
    return _PreparedTurn(model, targets, own["wire_limits"], own["strict"])


_DEFAULTS: Mapping[str, Any] = {
    "instructions": None,
    "tools": (),
    "output_mode": None,
    "policy": DEFAULT_POLICY,
    "wire_limits": DEFAULT_WIRE_LIMITS,
    "strict": False,
}


def _attempts(prepared: _PreparedTurn) -> Generator[TurnStream[Any], None, Result[Any]]:
    """Yield the turns to read to their end, one after the other, and return the result of all."""
    turn = prepared.open()
    yield turn
    plan = turn.output_plan
    if plan is None:
        return turn.result
    switches = turn.switches
    attempts = [turn.message]
    while can_correct(attempts[-1]) and len(attempts) <= plan.retries:
        attempts[-1] = add_correction(attempts[-1], plan)
        turn = turn.ask_again(join_attempts(attempts))
        yield turn
        attempts.append(turn.message)
    return check_output(result_of(join_attempts(attempts), plan, switches))


def to_messages(input: Input) -> list[Message]:
    """Convert the input of a user to messages. Raises `UsageError` for any other type, and for
    input that says nothing."""
    entries: list[Any] = [input]
    if isinstance(input, Sequence) and not isinstance(input, str):
        entries = list(input)
    if entries and all(isinstance(entry, Message | Mapping) for entry in entries):
        return _require_content(read_messages(entries))
    if not entries or not all(isinstance(entry, str | PromptContent) for entry in entries):
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
