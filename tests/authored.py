"""Strategies for whole streams: what a provider means, and one of the many ways in which
it may put that on the wire."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from tests.aws import aws_events
from tests.wire import sse

WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="<"), min_size=1, max_size=12
).filter(lambda text: bool(text.strip()))
NAMES = st.sampled_from(["search", "get_weather", "f"])
ARGS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=6), ARGS, max_size=4)
SPELLINGS = ["reasoning_content", "reasoning", "reasoning_text", "details", "mirrored"]


@dataclass
class Meant:
    """What one output says, as a reader would tell it."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[tuple[str, Any]] = field(default_factory=list)
    finish: str = "end_turn"
    has_blocks: bool = False


@dataclass
class Stream:
    data: bytes
    outputs: dict[int, Meant]
    framing: str = "sse"


@st.composite
def chat_streams(draw: st.DrawFn) -> Stream:
    """A chat stream of one or two choices, with everything interleaved."""
    choices = draw(st.integers(1, 2))
    outputs = {index: Meant() for index in range(choices)}
    queues: list[list[dict[str, Any]]] = []
    for index, meant in outputs.items():
        queues += _choice(draw, index, meant)
    chunks = [_chunk({"role": "assistant", "content": ""}, index) for index in outputs]
    chunks += _interleaved(draw, queues)
    chunks += [_end(draw, index, meant) for index, meant in outputs.items()]
    if draw(st.booleans()):
        chunks.append({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}})
    return Stream(sse(*chunks, done=draw(st.booleans())), outputs)


def _choice(draw: st.DrawFn, index: int, meant: Meant) -> list[list[dict[str, Any]]]:
    """Queues of chunks: inside one the order stays, between them anything goes."""
    spelling = draw(st.sampled_from(SPELLINGS))
    prose = []
    for is_reasoning, text in draw(st.lists(st.tuples(st.booleans(), WORDS), max_size=6)):
        if is_reasoning:
            meant.reasoning.append(text)
            prose.append(_chunk(_thought(spelling, text), index))
        else:
            meant.text.append(text)
            prose.append(_chunk({"content": text}, index))
    queues = [prose]
    has_ids = draw(st.booleans())
    for number in range(draw(st.integers(0, 3))):
        name, args = draw(NAMES), draw(OBJECTS)
        meant.calls.append((name, args))
        queues.append(_call(draw, index, number, name, args, has_ids))
    return queues


def _call(
    draw: st.DrawFn, index: int, number: int, name: str, args: Any, has_ids: bool
) -> list[dict[str, Any]]:
    written = json.dumps(args, ensure_ascii=draw(st.booleans()))
    pieces = _pieces(draw, written)
    first: dict[str, Any] = {"index": number, "function": {"name": name, "arguments": pieces[0]}}
    if has_ids:
        first |= {"id": f"id-{index}-{number}", "type": "function"}
    entries = [first]
    entries += [{"index": number, "function": {"arguments": piece}} for piece in pieces[1:]]
    return [_chunk({"tool_calls": [entry]}, index) for entry in entries]


def _thought(spelling: str, text: str) -> dict[str, Any]:
    detail = [{"type": "reasoning.text", "text": text, "index": 0}]
    if spelling == "details":
        return {"reasoning_details": detail}
    if spelling == "mirrored":
        return {"reasoning": text, "reasoning_details": detail, "reasoning_content": text}
    return {spelling: text}


def _pieces(draw: st.DrawFn, text: str) -> list[str]:
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=4)))
    edges = [0, *cuts, len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


def _interleaved(draw: st.DrawFn, queues: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """One order of all chunks. Calls of a choice begin in their own order, since that is
    the order in which they are meant."""
    merged = []
    waiting = [list(queue) for queue in queues if queue]
    while waiting:
        queue = waiting[draw(st.integers(0, len(waiting) - 1))]
        begins = _beginning(queue[0])
        if begins is not None:
            queue = next(q for q in waiting if (_beginning(q[0]) or (None,))[0] == begins[0])
        merged.append(queue.pop(0))
        waiting = [q for q in waiting if q]
    return merged


def _beginning(chunk: dict[str, Any]) -> tuple[int, int] | None:
    choice = chunk["choices"][0]
    for entry in choice["delta"].get("tool_calls", ()):
        if "name" in entry["function"]:
            return choice["index"], entry["index"]
    return None


def _chunk(delta: dict[str, Any], index: int) -> dict[str, Any]:
    return {"id": "c", "model": "m", "choices": [{"index": index, "delta": delta}]}


def _end(draw: st.DrawFn, index: int, meant: Meant) -> dict[str, Any]:
    word, meant.finish = draw(
        st.sampled_from([("stop", "end_turn"), ("length", "max_tokens"), ("odd", "other")])
    )
    if meant.calls and word == "stop":
        meant.finish = "tool_use"
    return {"choices": [{"index": index, "delta": {}, "finish_reason": word}]}


# --- Anthropic --------------------------------------------------------------------


@st.composite
def anthropic_streams(draw: st.DrawFn) -> Stream:
    """A Messages stream whose blocks may overlap, stop late, or never stop."""
    meant = Meant(has_blocks=True)
    queues = [
        _block(draw, index, kind, meant)
        for index, kind in enumerate(
            draw(st.lists(st.sampled_from(["text", "thinking", "tool_use"]), max_size=5))
        )
    ]
    if draw(st.booleans()):
        body = _interleaved_blocks(draw, queues)
    else:
        body = [event for queue in queues for event in queue]
    meant.finish = "tool_use" if meant.calls else "end_turn"
    events = [
        {
            "type": "message_start",
            "message": {"id": "m", "model": "c", "usage": {"input_tokens": 1}},
        },
        *body,
        {
            "type": "message_delta",
            "delta": {"stop_reason": meant.finish},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    ]
    return Stream(sse(*events, done=False, names=draw(st.booleans())), {0: meant})


def _block(draw: st.DrawFn, index: int, kind: str, meant: Meant) -> list[dict[str, Any]]:
    if kind == "tool_use":
        return _tool_use(draw, index, meant)
    deltas = draw(st.lists(WORDS, max_size=4))
    events = [_start(index, {"type": kind, kind: ""})]
    events += [_delta(index, {"type": f"{kind}_delta", kind: text}) for text in deltas]
    (meant.text if kind == "text" else meant.reasoning).append("".join(deltas))
    if kind == "thinking" and draw(st.booleans()):
        events.append(_delta(index, {"type": "signature_delta", "signature": f"sig{index}"}))
    events.append({"type": "content_block_stop", "index": index})
    return events


def _tool_use(draw: st.DrawFn, index: int, meant: Meant) -> list[dict[str, Any]]:
    name, args = draw(NAMES), draw(OBJECTS)
    meant.calls.append((name, args))
    block = {"type": "tool_use", "id": f"toolu{index}", "name": name, "input": {}}
    if draw(st.booleans()):
        events = [_start(index, block | {"input": args})]
    else:
        pieces = _pieces(draw, json.dumps(args))
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        events = [_start(index, block), *(_delta(index, delta) for delta in deltas)]
    return [*events, {"type": "content_block_stop", "index": index}]


def _start(index: int, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _interleaved_blocks(
    draw: st.DrawFn, queues: list[list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Blocks begin in order; what follows overlaps."""
    merged: list[dict[str, Any]] = []
    waiting = [list(queue) for queue in queues]
    while waiting:
        at = draw(st.integers(0, len(waiting) - 1))
        starting = [n for n, q in enumerate(waiting) if q[0]["type"] == "content_block_start"]
        if at in starting:
            at = starting[0]
        merged.append(waiting[at].pop(0))
        waiting = [queue for queue in waiting if queue]
    return merged


# --- Bedrock ----------------------------------------------------------------------


@st.composite
def bedrock_streams(draw: st.DrawFn) -> Stream:
    """A Converse stream, as AWS messages or as wrapped events. Some blocks never stop."""
    meant = Meant(has_blocks=True)
    queues = [
        _converse_block(draw, index, kind, meant)
        for index, kind in enumerate(
            draw(st.lists(st.sampled_from(["text", "reasoningContent", "toolUse"]), max_size=5))
        )
    ]
    body = [event for queue in queues for event in queue]
    meant.finish = "tool_use" if meant.calls else "end_turn"
    events = [
        {"messageStart": {"role": "assistant"}},
        *body,
        {"messageStop": {"stopReason": meant.finish}},
    ]
    if draw(st.booleans()):
        events.append({"metadata": {"usage": {"inputTokens": 1, "outputTokens": 2}}})
    if draw(st.booleans()):
        return Stream(sse(*events, done=False), {0: meant})
    return Stream(aws_events(*events), {0: meant}, "aws-event-stream")


def _converse_block(draw: st.DrawFn, index: int, kind: str, meant: Meant) -> list[dict[str, Any]]:
    stop = [{"contentBlockStop": {"contentBlockIndex": index}}]
    if kind == "toolUse":
        name, args = draw(NAMES), draw(OBJECTS)
        meant.calls.append((name, args))
        start = {"toolUse": {"toolUseId": f"tooluse{index}", "name": name}}
        deltas = [{"toolUse": {"input": piece}} for piece in _pieces(draw, json.dumps(args))]
        events = [{"contentBlockStart": {"contentBlockIndex": index, "start": start}}]
        return [*events, *(_converse_delta(index, delta) for delta in deltas), *stop]
    texts = draw(st.lists(WORDS, min_size=1, max_size=4))
    (meant.text if kind == "text" else meant.reasoning).append("".join(texts))
    if kind == "text":
        events = [_converse_delta(index, {"text": text}) for text in texts]
    else:
        events = [_converse_delta(index, {kind: {"text": text}}) for text in texts]
        if draw(st.booleans()):
            events.append(_converse_delta(index, {kind: {"signature": f"sig{index}"}}))
    return [*events, *(stop if draw(st.booleans()) else [])]


def _converse_delta(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}
