"""The lines of a script: what a scripted model says and does in one turn, as values.

Nothing here knows a dialect. Write a turn with the short words at the end of this file:

    turn(think("Let me see."), call("add", a=1, b=2))
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from headrace.errors import UsageError
from headrace.outcome import ErrorCategory
from headrace.usage import Usage

# A word with the blanks behind it; a JSON token or so with its comma or colon.
_WORD = re.compile(r"\s*\S+\s*|\s+")
_TOKEN = re.compile(r"[^\s,:]*[\s,:]+|[^\s,:]+")


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    pass


class Think(_Line, frozen=True, kw_only=True):
    """A part of the reasoning."""

    pieces: tuple[str, ...]
    signed: bool | None = None
    """With a seal or without; None: as the dialect does it."""
    encrypted: bool = False
    """Nothing but the seal is sent: the provider keeps the words to itself."""

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.pieces)


class Say(_Line, frozen=True, kw_only=True):
    """Text. Lines of it that follow each other are one text."""

    pieces: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.pieces)


class Call(_Line, frozen=True, kw_only=True):
    """A call of a tool."""

    name: str
    pieces: tuple[str, ...]
    """The arguments as they are written."""
    call_id: str | None = None

    @property
    def raw(self) -> str:
        """The arguments, joined."""
        return "".join(self.pieces)


class Redacted(_Line, frozen=True, kw_only=True):
    """Reasoning that nobody but the provider can read."""

    data: str


class Wait(_Line, frozen=True, kw_only=True):
    """A pause, between two events."""

    seconds: float


class Cut(_Line, frozen=True, kw_only=True):
    """The connection breaks."""


class Stall(_Line, frozen=True, kw_only=True):
    """Nothing comes any more, and the connection stays."""


class Refuse(_Line, frozen=True, kw_only=True):
    """No stream begins."""

    status: int | None
    """None: no answer at all."""
    category: ErrorCategory | None
    message: str
    retry_after_s: float | None = None


class Error(_Line, frozen=True, kw_only=True):
    """The provider's own error event, which ends the stream."""

    category: ErrorCategory
    message: str


class Finish(_Line, frozen=True, kw_only=True):
    """The reason why the turn ends."""

    word: str


class NoFinish(_Line, frozen=True, kw_only=True):
    """The bytes end here, in good order and without a reason."""


class Tokens(_Line, frozen=True, kw_only=True):
    """What the turn is said to have cost, instead of a count of its words."""

    usage: Usage


class Raw(_Line, frozen=True, kw_only=True):
    """Bytes, as they are."""

    data: bytes


Line: TypeAlias = (
    Think
    | Say
    | Call
    | Redacted
    | Wait
    | Cut
    | Stall
    | Refuse
    | Error
    | Finish
    | NoFinish
    | Tokens
    | Raw
)


class ScriptedTurn(msgspec.Struct, frozen=True):
    """One turn of the scripted model: its lines, in order."""

    lines: tuple[Line, ...] = ()
    pace_s: float = 0.0
    """How long to wait before each event."""
    is_interleaved: bool = False
    """The arguments of calls that follow each other come in turns, where the dialect can
    do that (chat and responses)."""

    @property
    def refusal(self) -> Refuse | None:
        """The refusal, if the turn is one."""
        return next((line for line in self.lines if isinstance(line, Refuse)), None)


# --- the words to write one with ----------------------------------------------------


def turn(*lines: Line | str, pace_s: float = 0.0, is_interleaved: bool = False) -> ScriptedTurn:
    """A turn of these lines; a text is one that is said. Raises `UsageError` for a refusal
    that comes after something has been said."""
    said = tuple(say(line) if isinstance(line, str) else line for line in lines)
    for number, line in enumerate(said):
        before = said[:number]
        if isinstance(line, Refuse) and not all(isinstance(entry, Wait) for entry in before):
            raise UsageError("a request is refused before anything comes: put refuse() first")
    return ScriptedTurn(said, pace_s, is_interleaved)


def think(
    text: str = "",
    *,
    title: str | None = None,
    signed: bool | None = None,
    encrypted: bool = False,
    pieces: Sequence[str] | None = None,
    deltas: int | None = None,
) -> Think:
    """A part of the reasoning, with a title in bold if it has one.

    It comes word by word; `deltas` cuts it every so many characters, and `pieces` says
    where. `signed` False leaves out the seal that the dialect would send; True sends one
    where the dialect has it as an extra (chat, as `reasoning_details`).
    """
    head = f"**{title}**\n\n" if title else ""
    cut = _pieces(text, pieces, deltas, _WORD)
    cut = (*_pieces(head, None, None, _WORD), *cut) if head else cut
    return Think(pieces=cut, signed=signed, encrypted=encrypted)


def say(text: str = "", *, pieces: Sequence[str] | None = None, deltas: int | None = None) -> Say:
    """Text, word by word; `deltas` and `pieces` as for `think`."""
    return Say(pieces=_pieces(text, pieces, deltas, _WORD))


def call(
    name: str,
    args: dict[str, Any] | None = None,
    /,
    *,
    call_id: str | None = None,
    raw: str | None = None,
    pieces: Sequence[str] | None = None,
    deltas: int | None = None,
    **kwargs: Any,
) -> Call:
    """A call: `call("add", a=1, b=2)`, or with a dict where a name is taken. `raw` is the
    text of the arguments, as malformed as you like."""
    if sum(given is not None for given in (args, raw, kwargs or None)) > 1:
        raise UsageError("a call's arguments are a dict, names, or raw=; not several of them")
    written = msgspec.json.encode(args or kwargs).decode() if raw is None else raw
    if pieces is not None and raw is None and not (args or kwargs):
        written = "".join(pieces)
    return Call(name=name, pieces=_pieces(written, pieces, deltas, _TOKEN), call_id=call_id)


def redacted(data: str = "redacted") -> Redacted:
    """Reasoning as an opaque block."""
    return Redacted(data=data)


def wait(seconds: float) -> Wait:
    """A pause."""
    return Wait(seconds=seconds)


def cut() -> Cut:
    """The connection breaks here; what was open stays open."""
    return Cut()


def stall() -> Stall:
    """Nothing comes any more until somebody closes the stream."""
    return Stall()


def refuse(
    status: int | None = 429,
    message: str = "Too many requests.",
    *,
    category: ErrorCategory | None = None,
    retry_after_s: float | None = None,
) -> Refuse:
    """The request is refused with this status. `category` says more than the status does,
    such as `context_overflow`; with status None nobody answers at all."""
    return Refuse(status=status, category=category, message=message, retry_after_s=retry_after_s)


def error(category: ErrorCategory = "overloaded", message: str = "Overloaded.") -> Error:
    """An error event in the middle of the stream, in the dialect's own words."""
    return Error(category=category, message=message)


def finish(word: str) -> Finish:
    """The reason, instead of `tool_use` where there are calls and `end_turn` where not: a
    word of `headrace.content.FinishWord`, or any other, which goes out as it is."""
    return Finish(word=word)


def no_finish() -> NoFinish:
    """The bytes end here without a reason: a stream that was cut, and nobody says so."""
    return NoFinish()


def usage(
    input: int | None = None,
    output: int | None = None,
    *,
    reasoning: int | None = None,
    cached: int | None = None,
) -> Tokens:
    """The token counts, instead of a count of the words."""
    return Tokens(
        usage=Usage(
            input_tokens=input,
            output_tokens=output,
            reasoning_tokens=reasoning,
            cached_input_tokens=cached,
        )
    )


def raw(data: bytes) -> Raw:
    """Bytes between two events."""
    return Raw(data=data)


def _pieces(
    text: str, given: Sequence[str] | None, size: int | None, unit: re.Pattern[str]
) -> tuple[str, ...]:
    if given is not None:
        if text and "".join(given) != text:
            raise UsageError("pieces= must join to the text: leave one of them out")
        return tuple(piece for piece in given if piece)
    if size is None:
        return tuple(unit.findall(text))
    if size < 1:
        raise UsageError(f"expected deltas of 1 character or more; got {size}")
    return tuple(text[at : at + size] for at in range(0, len(text), size))
