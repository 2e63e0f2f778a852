"""What all dialects share: line after line, and the words of a turn counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, zip_longest
from typing import Any, Protocol, TypeVar

import msgspec

from headrace.rehearsal.script import (
    Call,
    Cut,
    Error,
    Finish,
    Line,
    NoFinish,
    Raw,
    Redacted,
    Refuse,
    Say,
    ScriptedTurn,
    Stall,
    Think,
    Tokens,
    Wait,
)
from headrace.rehearsal.wire.step import Break, Occasion, Pause, Silence, Step
from headrace.usage import Usage

T = TypeVar("T")
_SPOKEN = (Think, Say, Call, Redacted, Finish)


class Writer(Protocol):
    """One dialect. What a line opens stays open until another kind of line closes it, so
    that a stream can break off in the middle of it."""

    def begin(self) -> Iterable[bytes]: ...

    def think(self, line: Think) -> Iterable[bytes]: ...

    def say(self, line: Say) -> Iterable[bytes]: ...

    def call(self, lines: Sequence[Call]) -> Iterable[bytes]:
        """Calls whose arguments come in turns, or just one."""
        ...

    def redact(self, line: Redacted) -> Iterable[bytes]: ...

    def fail(self, line: Error) -> Iterable[bytes]: ...

    def finish(self, word: str) -> Iterable[bytes]:
        """The reason; after it nothing comes but the end."""
        ...

    def end(self) -> Iterable[bytes]: ...


def played(turn: ScriptedTurn, writer: Writer) -> Iterator[Step]:
    """The steps of a turn."""
    for step in _steps(turn, writer):
        if turn.pace_s and isinstance(step, bytes):
            yield Pause(turn.pace_s)
        yield step


def _steps(turn: ScriptedTurn, writer: Writer) -> Iterator[Step]:
    begun = False
    finished = False
    for group in _groups(turn):
        line = group[0]
        # What comes before anything is said comes before the first byte: an error is then
        # the only event, as providers do it that are overloaded.
        if not begun and isinstance(line, _SPOKEN):
            begun = True
            yield from writer.begin()
        yield from _line(line, group, writer)
        finished = finished or isinstance(line, Finish)
        if isinstance(line, Cut | Stall | Error | NoFinish):
            return
    if not begun:
        yield from writer.begin()
    if not finished:
        has_calls = any(isinstance(line, Call) for line in turn.lines)
        yield from writer.finish("tool_use" if has_calls else "end_turn")
    yield from writer.end()


def _line(line: Line, group: Sequence[Line], writer: Writer) -> Iterable[Step]:  # noqa: PLR0911
    match line:
        case Say():
            return writer.say(line)
        case Think():
            return writer.think(line)
        case Call():
            return writer.call([entry for entry in group if isinstance(entry, Call)])
        case Redacted():
            return writer.redact(line)
        case Raw():
            return (line.data,)
        case Wait():
            return (Pause(line.seconds),)
        case Cut():
            return (Break(),)
        case Stall():
            return (Silence(),)
        case Error():
            return writer.fail(line)
        case Finish():
            return writer.finish(line.word)
        case Tokens() | NoFinish() | Refuse():
            return ()


def _groups(turn: ScriptedTurn) -> Iterator[list[Line]]:
    """One line each; calls that come in turns are together."""
    if not turn.is_interleaved:
        yield from ([line] for line in turn.lines)
        return
    for is_call, group in groupby(turn.lines, lambda line: isinstance(line, Call)):
        lines = list(group)
        yield from [lines] if is_call else ([line] for line in lines)


def in_turns(queues: Sequence[Sequence[T]]) -> Iterator[T]:
    """One of each, then the next of each."""
    for step in chain.from_iterable(zip_longest(*queues)):
        if step is not None:
            yield step


def usage_of(turn: ScriptedTurn, occasion: Occasion) -> Usage:
    """What the turn says it cost: words, as far as nothing else is written."""
    told = next((line.usage for line in turn.lines if isinstance(line, Tokens)), Usage())
    thought = sum(len(line.pieces) for line in turn.lines if isinstance(line, Think))
    spoken = sum(len(line.pieces) for line in turn.lines if isinstance(line, Say | Call))
    counted = Usage(
        input_tokens=occasion.input_tokens,
        output_tokens=thought + spoken,
        reasoning_tokens=thought,
        cached_input_tokens=0,
    )
    given = {n: getattr(told, n) for n in told.__struct_fields__ if getattr(told, n) is not None}
    return msgspec.structs.replace(counted, **given)


def sse(payload: dict[str, Any], *, is_named: bool = False) -> bytes:
    """One event; its name is the payload's type, where the dialect names them."""
    name = f"event: {payload['type']}\n".encode() if is_named else b""
    return name + b"data: " + msgspec.json.encode(payload) + b"\n\n"
