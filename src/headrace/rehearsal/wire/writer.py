"""What the writers of all dialects share: the order of lines, and the counting of words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, zip_longest
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec

from headrace.errors import UsageError
from headrace.rehearsal import script as sc
from headrace.rehearsal.script import Call, Line, ScriptedTurn, Think
from headrace.usage import Usage

T = TypeVar("T")
_SPOKEN = (Think, sc.Say, Call, sc.ProviderCall, sc.Approval, sc.Redacted, sc.Finish)
Step: TypeAlias = bytes | sc.Wait | sc.Cut | sc.Stall
"""One step of a turn; bytes are one event."""


class Occasion(msgspec.Struct, frozen=True, kw_only=True):
    """The request that a turn answers."""

    name: str = "1"
    """Basis of all ids; it differs between two turns of one conversation."""
    model: str = "scripted"
    input_tokens: int = 0


class Writer(Protocol):
    """Writes one dialect.

    What a line opens stays open until another kind of line closes it, so that a stream can break
    off in the middle.
    """

    def begin(self) -> Iterable[bytes]: ...

    def think(self, line: Think) -> Iterable[bytes]: ...

    def say(self, line: sc.Say) -> Iterable[bytes]: ...

    def call(self, lines: Sequence[Call]) -> Iterable[bytes]:
        """Write one call, or several with interleaved arguments."""
        ...

    def redact(self, line: sc.Redacted) -> Iterable[bytes]: ...

    def run(self, line: sc.ProviderCall | sc.Approval) -> Iterable[bytes]:
        """Write a tool of the provider, or raise `UsageError` if the dialect has none."""
        ...

    def fail(self, line: sc.Error) -> Iterable[bytes]: ...

    def finish(self, word: str) -> Iterable[bytes]:
        """Write the finish reason; only the end follows."""
        ...

    def end(self) -> Iterable[bytes]: ...


def play(turn: ScriptedTurn, writer: Writer) -> Iterator[Step]:
    """Yield the steps of a turn."""
    for step in _steps(turn, writer):
        if turn.pace_s and isinstance(step, bytes):
            yield sc.Wait(seconds=turn.pace_s)
        yield step


def _steps(turn: ScriptedTurn, writer: Writer) -> Iterator[Step]:
    begun = False
    finished = False
    for group in _groups(turn):
        line = group[0]
        # What precedes the text precedes the first byte: an error is then the only event, as sent
        # by overloaded providers.
        if not begun and isinstance(line, _SPOKEN):
            begun = True
            yield from writer.begin()
        yield from _line(line, group, writer)
        finished = finished or isinstance(line, sc.Finish)
        if isinstance(line, sc.Cut | sc.Stall | sc.Error | sc.NoFinish):
            return
    if not begun:
        yield from writer.begin()
    if not finished:
        has_calls = any(isinstance(line, Call) for line in turn.lines)
        yield from writer.finish("tool_use" if has_calls else "end_turn")
    yield from writer.end()


def _line(line: Line, group: Sequence[Line], writer: Writer) -> Iterable[Step]:
    match line:
        case sc.Say():
            return writer.say(line)
        case Think():
            return writer.think(line)
        case Call():
            return writer.call([entry for entry in group if isinstance(entry, Call)])
        case sc.ProviderCall() | sc.Approval():
            return writer.run(line)
        case sc.Redacted():
            return writer.redact(line)
        case sc.Raw():
            return (line.data,)
        case sc.Wait() | sc.Cut() | sc.Stall():
            return (line,)
        case sc.Error():
            return writer.fail(line)
        case sc.Finish():
            return writer.finish(line.word)
        case sc.Tokens() | sc.NoFinish() | sc.Refuse():
            return ()


def _groups(turn: ScriptedTurn) -> Iterator[list[Line]]:
    """Group the lines: interleaved calls together, every other line alone."""
    if not turn.is_interleaved:
        yield from ([line] for line in turn.lines)
        return
    for is_call, group in groupby(turn.lines, lambda line: isinstance(line, Call)):
        lines = list(group)
        yield from [lines] if is_call else ([line] for line in lines)


def refuse_to_run(dialect: str) -> UsageError:
    """Return the error of a dialect that cannot play tools of the provider."""
    return UsageError(f"tools that the provider runs are played in responses, not in {dialect}")


def in_turns(queues: Sequence[Sequence[T]]) -> Iterator[T]:
    """Yield the first of each, then the second of each, and so on."""
    for step in chain.from_iterable(zip_longest(*queues)):
        if step is not None:
            yield step


def usage_of(turn: ScriptedTurn, occasion: Occasion) -> Usage:
    """Return the usage to report: counted words, unless the script sets it."""
    told = next((line.usage for line in turn.lines if isinstance(line, sc.Tokens)), Usage())
    thought = sum(len(line.pieces) for line in turn.lines if isinstance(line, Think))
    spoken = sum(len(line.pieces) for line in turn.lines if isinstance(line, sc.Say | Call))
    counted = Usage(
        input_tokens=occasion.input_tokens,
        output_tokens=thought + spoken,
        reasoning_tokens=thought,
        cached_input_tokens=0,
    )
    given = {n: getattr(told, n) for n in told.__struct_fields__ if getattr(told, n) is not None}
    return msgspec.structs.replace(counted, **given)


def sse(payload: dict[str, Any], *, is_named: bool = False) -> bytes:
    """Write one event. Its name is the payload's type, if the dialect names events."""
    name = f"event: {payload['type']}\n".encode() if is_named else b""
    return name + b"data: " + msgspec.json.encode(payload) + b"\n\n"
