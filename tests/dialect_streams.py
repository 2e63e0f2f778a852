"""Strategies for whole streams of every dialect, and of variants with a grammar of their own.

`tests.authored` has those that a provider interleaves; the others are scripts as the scripted
model writes them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from headrace.rehearsal.script import Call, Line, Say, Think, call, say, think, turn
from headrace.wire.dialects import DIALECT_NAMES
from tests.authored import (
    NAMES,
    OBJECTS,
    WORDS,
    Meant,
    Stream,
    anthropic_streams,
    bedrock_streams,
    chat_streams,
)
from tests.rehearsal.scripts import FRAMINGS, bytes_of, traits_of

PIECES = st.lists(WORDS, min_size=1, max_size=4)
LINES: st.SearchStrategy[Line] = st.one_of(
    st.builds(lambda pieces: think(pieces=pieces), PIECES),
    st.builds(lambda pieces: say(pieces=pieces), PIECES),
    st.builds(lambda name, args: call(name, args, deltas=3), NAMES, OBJECTS),
)


@st.composite
def scripted_streams(draw: st.DrawFn, dialect: str) -> Stream:
    """A stream of what the dialect can express."""
    traits = traits_of(dialect)
    kinds: list[type[Line]] = [Say]
    kinds += [Think] if traits.has_reasoning else []
    kinds += [Call] if traits.has_calls else []
    drawn = draw(st.lists(LINES, max_size=6))
    lines = [line for line in drawn if isinstance(line, tuple(kinds))]
    meant = _meaning_of(lines)
    if not traits.has_reasons and not meant.calls:
        meant.finish = "other"
    data = b"".join(bytes_of(turn(*lines), dialect))
    return Stream(data, {0: meant}, FRAMINGS.get(dialect, "sse"))


def _meaning_of(lines: Sequence[Line]) -> Meant:
    meant = Meant()
    for line in lines:
        if isinstance(line, Call):
            meant.calls.append((line.name, json.loads(line.raw or "{}")))
        elif isinstance(line, Say):
            meant.text += line.pieces
        elif isinstance(line, Think):
            meant.reasoning += line.pieces
    meant.finish = "tool_use" if meant.calls else "end_turn"
    return meant


@st.composite
def ollama_generate_streams(draw: st.DrawFn) -> Stream:
    """A stream of Ollama's older endpoint, whose text is beside `done`."""
    thoughts, texts = draw(st.lists(WORDS, max_size=3)), draw(st.lists(WORDS, max_size=4))
    lines: list[dict[str, Any]] = [
        *({"model": "m", "response": "", "thinking": text, "done": False} for text in thoughts),
        *({"model": "m", "response": text, "done": False} for text in texts),
        {"model": "m", "response": "", "done": True, "done_reason": "stop"},
    ]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return Stream(data, {0: Meant(texts, thoughts)}, "ndjson")


@st.composite
def vllm_generate_streams(draw: st.DrawFn) -> Stream:
    """A stream of vLLM's own endpoint: whole texts of one or two outputs."""
    outputs = {number: Meant([""], finish="other") for number in range(draw(st.integers(1, 2)))}
    payloads = []
    for _ in range(draw(st.integers(1, 4))):
        for meant in outputs.values():
            meant.text[0] += draw(WORDS)
        payloads.append({"text": [meant.text[0] for meant in outputs.values()]})
    end, framing = draw(st.sampled_from([(b"\0", "nul-json"), (b"\n", "ndjson")]))
    data = b"".join(json.dumps(payload).encode() + end for payload in payloads)
    return Stream(data, outputs, framing)


STRATEGIES: dict[str, st.SearchStrategy[Stream]] = {
    **{name: scripted_streams(name) for name in DIALECT_NAMES},
    "chat": chat_streams(),
    "anthropic": anthropic_streams(),
    "bedrock": st.one_of(bedrock_streams(), scripted_streams("bedrock")),
    "ollama-generate": ollama_generate_streams(),
    "vllm-generate": vllm_generate_streams(),
}
"""A strategy for every dialect, and for variants."""

ANY_STREAM = st.one_of(*STRATEGIES.values())
