"""Random scripts, and what each dialect must make of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

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
from headrace.rehearsal.wire import Occasion, steps_of
from tests.authored import NAMES, OBJECTS, WORDS

DIALECTS = ("chat", "anthropic", "responses")
MODELS = {"chat": "vllm:m", "anthropic": "anthropic:claude-x", "responses": "openai:gpt-5"}
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
def scripts(draw: st.DrawFn) -> ScriptedTurn:
    lines: list[Line] = draw(st.lists(LINES, max_size=8))
    if draw(st.booleans()):
        lines.append(finish(draw(st.sampled_from(REASONS))))
    return turn(*lines, is_interleaved=draw(st.booleans()))


def bytes_of(script: ScriptedTurn, dialect: str, **facts: Any) -> list[bytes]:
    """The events, without the waits between them."""
    steps = steps_of(script, dialect, Occasion(**facts))
    return [step for step in steps if isinstance(step, bytes)]


def text_of(lines: Sequence[Line]) -> str:
    return "".join(line.text for line in lines if isinstance(line, Say))


def reasoning_of(lines: Sequence[Line], dialect: str) -> str:
    """Chat has no parts: a blank line stands between two thoughts there."""
    written, is_thinking = "", False
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
