"""Random scripts, and what each dialect must make of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from headrace.events import TurnEvent
from headrace.providers import CATALOG
from headrace.rehearsal.script import (
    Call,
    Line,
    Redacted,
    Say,
    ScriptedTurn,
    Think,
    call,
    finish,
    redacted,
    say,
    think,
    turn,
    wait,
)
from headrace.rehearsal.wire import DIALECTS, Occasion, steps_of
from tests.authored import NAMES, OBJECTS, WORDS
from tests.wire import events_of

REHEARSED = ("chat", "anthropic", "responses")
"""The dialects of the rehearsal model, which reads requests too."""
MODELS = {
    **{row.dialect: f"{name}:m" for name, row in reversed(CATALOG.items())},
    **{"chat": "vllm:m", "anthropic": "anthropic:claude-x", "responses": "openai:gpt-5"},
}
"""A model for every dialect that has requests."""
FRAMINGS = {
    "ollama": "ndjson",
    "xai": "grpc",
    "bedrock": "aws-event-stream",
    "bedrock-agent": "aws-event-stream",
}
"""The framings of dialects that are not sent as SSE."""


class Traits(NamedTuple):
    """What a dialect cannot express."""

    has_reasoning: bool = True
    has_calls: bool = True
    has_raw_arguments: bool = True
    """Whether arguments are text, which can be malformed."""
    has_reasons: bool = True
    has_error_codes: bool = True
    counts: frozenset[str] = frozenset({"reasoning_tokens", "cached_input_tokens"})
    """Which counts are reported besides those of input and output."""


NO_COUNTS = frozenset[str]()
CACHED = frozenset({"cached_input_tokens"})
TRAITS = {
    "gemini": Traits(has_raw_arguments=False),
    "ollama": Traits(has_raw_arguments=False, has_error_codes=False, counts=NO_COUNTS),
    "bedrock": Traits(counts=CACHED),
    "cohere": Traits(counts=CACHED),
    "text": Traits(has_reasoning=False, has_calls=False, counts=NO_COUNTS),
    "bedrock-agent": Traits(
        has_reasoning=False, has_raw_arguments=False, has_reasons=False, counts=NO_COUNTS
    ),
}


def traits_of(dialect: str) -> Traits:
    return TRAITS.get(dialect, Traits())


PIECES = st.lists(WORDS, max_size=4)
THOUGHTS = st.builds(
    lambda pieces, signed, encrypted: think(pieces=pieces, signed=signed, encrypted=encrypted),
    PIECES,
    st.sampled_from([None, True, False]),
    st.sampled_from([False, False, True]),
)
LINES = st.one_of(
    THOUGHTS,
    st.builds(lambda pieces: say(pieces=pieces), PIECES),
    st.builds(
        lambda name, args, size: call(name, args, deltas=size), NAMES, OBJECTS, st.integers(1, 9)
    ),
    st.builds(lambda name: call(name, raw='{"a": '), NAMES),
    st.builds(redacted, WORDS),
    st.just(wait(1.0)),
)
REASONS = ["end_turn", "tool_use", "max_tokens", "content_filter", "odd"]


@st.composite
def scripts(draw: st.DrawFn, dialect: str = "chat") -> ScriptedTurn:
    """A script with what the dialect can express."""
    drawn: list[Line] = draw(st.lists(LINES, max_size=8))
    lines = [line for line in drawn if can_write(line, dialect)]
    if draw(st.booleans()):
        lines.append(finish(draw(st.sampled_from(REASONS))))
    return turn(*lines, is_interleaved=draw(st.booleans()))


def can_write(line: Line, dialect: str) -> bool:
    """Whether a dialect can express a line at all."""
    traits = traits_of(dialect)
    if isinstance(line, Call):
        return traits.has_calls and (traits.has_raw_arguments or line.raw != '{"a": ')
    return True


def decode(reads: list[bytes], dialect: str, *, detects: bool = False) -> list[TurnEvent]:
    """The events of a script that was written in a dialect."""
    framing = FRAMINGS.get(dialect, "sse")
    return events_of(reads, None if detects else dialect, framing=framing)


def bytes_of(script: ScriptedTurn, dialect: str, **facts: Any) -> list[bytes]:
    """The events, without the waits between them."""
    steps = steps_of(script, dialect, Occasion(**facts))
    return [step for step in steps if isinstance(step, bytes)]


def text_of(lines: Sequence[Line]) -> str:
    return "".join(line.text for line in lines if isinstance(line, Say))


def reasoning_of(lines: Sequence[Line], dialect: str) -> str:
    """Chat has no parts: a blank line stands between two thoughts there."""
    written, is_thinking = "", False
    if not traits_of(dialect).has_reasoning:
        return ""
    for line in lines:
        if isinstance(line, Think):
            is_plain = not (line.encrypted or line.signed)
            if dialect == "chat" and is_plain and is_thinking and line.pieces:
                written += "\n\n"
            written += "" if line.encrypted else line.text
            is_thinking = is_plain and (is_thinking or bool(line.pieces))
        elif isinstance(line, Call | Redacted) or (isinstance(line, Say) and line.pieces):
            is_thinking = False
    return written


def calls_of(lines: Sequence[Line]) -> list[tuple[str, str]]:
    return [(line.name, line.raw) for line in lines if isinstance(line, Call)]


def redacted_of(lines: Sequence[Line]) -> list[str]:
    return [line.data for line in lines if isinstance(line, Redacted)]


def signed_of(lines: Sequence[Line]) -> int:
    """How many signatures Anthropic sends."""
    return sum(isinstance(line, Think) and line.signed is not False for line in lines)


__all__ = ["DIALECTS", "FRAMINGS", "MODELS", "REHEARSED"]
