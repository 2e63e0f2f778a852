"""The lines of a script: what a scripted model says and does in one turn.

Nothing here depends on a dialect. Write a turn with the functions at the end of this file:
turn(think("Let me see."), call("add", a=1, b=2))
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from headrace.errors import UsageError
from headrace.outcome import ErrorCategory
from headrace.usage import Usage

# A word with the spaces after it; roughly a JSON token with its comma or colon.
_WORD = re.compile(r"\s*\S+\s*|\s+")
_TOKEN = re.compile(r"[^\s,:]*[\s,:]+|[^\s,:]+")


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all lines."""


class _Prose(_Line, frozen=True, kw_only=True):
    pieces: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.pieces)


class Think(_Prose, frozen=True, kw_only=True):
    """A part of the reasoning."""

    signed: bool | None = None
    """Whether to send a seal; None means as the dialect does by default."""
    encrypted: bool = False
    """Whether only the seal is sent, because the provider hides the text."""


class Say(_Prose, frozen=True, kw_only=True):
    """Text. Consecutive lines are one text."""


class Call(_Line, frozen=True, kw_only=True):
    """A tool call."""

    name: str
    pieces: tuple[str, ...]
    """The arguments as they are streamed."""
    call_id: str | None = None

    @property
    def raw(self) -> str:
        """The arguments, joined."""
        return "".join(self.pieces)


ProviderTool: TypeAlias = Literal["web_search", "code_interpreter", "file_search"]


class ProviderCall(_Line, frozen=True, kw_only=True):
    """A tool that the provider runs itself. Only the Responses dialect can play it."""

    tool: ProviderTool
    asked: str
    """The query, or the code."""
    found: tuple[str, ...] = ()
    """Addresses that a web search finds, texts that a file search finds, or lines of output."""


class Approval(_Line, frozen=True, kw_only=True):
    """The provider asks whether it may call a tool of an MCP server. Only the Responses dialect
    can play it."""

    name: str
    server: str
    raw: str
    """The arguments as JSON."""


class Redacted(_Line, frozen=True, kw_only=True):
    """Reasoning that only the provider can read."""

    data: str


class Wait(_Line, frozen=True, kw_only=True):
    """A pause between two events."""

    seconds: float


class Cut(_Line, frozen=True, kw_only=True):
    """The connection breaks."""


class Stall(_Line, frozen=True, kw_only=True):
    """Nothing more arrives, and the connection stays open."""


class Refuse(_Line, frozen=True, kw_only=True):
    """The request is refused; no stream begins."""

    status: int | None
    """The HTTP status; None for no response at all."""
    category: ErrorCategory | None
    message: str
    retry_after_s: float | None = None


class Error(_Line, frozen=True, kw_only=True):
    """The provider's own error event, which ends the stream."""

    category: ErrorCategory
    message: str


class Finish(_Line, frozen=True, kw_only=True):
    """The finish reason of the turn."""

    word: str


class NoFinish(_Line, frozen=True, kw_only=True):
    """The bytes end here, without a finish reason."""


class Tokens(_Line, frozen=True, kw_only=True):
    """The token counts to report, instead of a count of the words."""

    usage: Usage


class Raw(_Line, frozen=True, kw_only=True):
    """Raw bytes."""

    data: bytes


Line: TypeAlias = (
    Think
    | Say
    | Call
    | ProviderCall
    | Approval
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
    """What the model sends and does, in order."""
    pace_s: float = 0.0
    """Pause before each event, in seconds."""
    is_interleaved: bool = False
    """Whether the arguments of consecutive calls are interleaved, if the dialect allows it (chat
    and responses)."""

    @property
    def refusal(self) -> Refuse | None:
        """The refusal, if the turn is one."""
        return next((line for line in self.lines if isinstance(line, Refuse)), None)


# --- functions to write a script with ---------------------------------------------


def turn(*lines: Line | str, pace_s: float = 0.0, is_interleaved: bool = False) -> ScriptedTurn:
    """Create a turn from lines; a string is text.

    Raises `UsageError` for a refusal that does not come first.
    """
    said = tuple(say(line) if isinstance(line, str) else line for line in lines)
    has_begun = False
    for line in said:
        if isinstance(line, Refuse) and has_begun:
            raise UsageError("refuse() must come first in a turn")
        has_begun = has_begun or not isinstance(line, Wait)
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
    """A part of the reasoning, with an optional title in bold.

    It is streamed word by word; `deltas` cuts it every so many characters, and `pieces` gives the
    exact pieces. `signed=False` leaves out the seal that the dialect would send; `signed=True`
    sends one where the dialect has it as an extra (chat, as `reasoning_details`).
    """
    head = f"**{title}**\n\n" if title else ""
    cut = _pieces(text, pieces, deltas, _WORD)
    cut = (*_pieces(head, None, None, _WORD), *cut) if head else cut
    return Think(pieces=cut, signed=signed, encrypted=encrypted)


def say(text: str = "", *, pieces: Sequence[str] | None = None, deltas: int | None = None) -> Say:
    """Text, streamed word by word; `deltas` and `pieces` work as in `think()`."""
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
    """A tool call: `call("add", a=1, b=2)`, or with a dict if a name is taken.

    `raw` is the exact text of the arguments, which may be malformed.
    """
    if sum(given is not None for given in (args, raw, kwargs or None)) > 1:
        raise UsageError("a call's arguments are a dict, names, or raw=; not several of them")
    written = msgspec.json.encode(args or kwargs).decode() if raw is None else raw
    if pieces is not None and raw is None and not (args or kwargs):
        written = "".join(pieces)
    return Call(name=name, pieces=_pieces(written, pieces, deltas, _TOKEN), call_id=call_id)


def provider_call(tool: ProviderTool, asked: str, *found: str) -> ProviderCall:
    """A tool that the provider runs: `provider_call("web_search", "tides", "https://…")`.

    `found` are the addresses of a web search, the texts of a file search, or the output of code.
    """
    return ProviderCall(tool=tool, asked=asked, found=found)


def approval(name: str, /, *, server: str = "files", **args: Any) -> Approval:
    """A request for approval: `approval("delete_file", path="a.txt")`. The turn ends with it."""
    return Approval(name=name, server=server, raw=msgspec.json.encode(args).decode())


def redacted(data: str = "redacted") -> Redacted:
    """Reasoning as an opaque block."""
    return Redacted(data=data)


def wait(seconds: float) -> Wait:
    """A pause."""
    return Wait(seconds=seconds)


def cut() -> Cut:
    """The connection breaks here; open parts stay open."""
    return Cut()


def stall() -> Stall:
    """Nothing more arrives until the stream is closed."""
    return Stall()


def refuse(
    status: int | None = 429,
    message: str = "Too many requests.",
    *,
    category: ErrorCategory | None = None,
    retry_after_s: float | None = None,
) -> Refuse:
    """The request is refused with this status.

    `category` says more than the status, such as `context_overflow`. With status None there is no
    response at all.
    """
    return Refuse(status=status, category=category, message=message, retry_after_s=retry_after_s)


def error(category: ErrorCategory = "overloaded", message: str = "Overloaded.") -> Error:
    """An error event in the middle of the stream, in the dialect's own form."""
    return Error(category=category, message=message)


def finish(word: str) -> Finish:
    """The finish reason. The default is `tool_use` if there are calls, else `end_turn`.

    It is a word of `headrace.outcome.FinishWord`, or any other, which is sent as it is.
    """
    return Finish(word=word)


def no_finish() -> NoFinish:
    """The bytes end here without a finish reason: a stream that was cut silently."""
    return NoFinish()


def usage(
    input: int | None = None,
    output: int | None = None,
    *,
    reasoning: int | None = None,
    cached: int | None = None,
) -> Tokens:
    """The token counts to report, instead of a count of the words."""
    return Tokens(
        usage=Usage(
            input_tokens=input,
            output_tokens=output,
            reasoning_tokens=reasoning,
            cached_input_tokens=cached,
        )
    )


def raw(data: bytes) -> Raw:
    """Raw bytes between two events."""
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
