"""The streams that are mutated: recorded ones of every dialect, and authored ones, which a clone
without the recorded ones has too."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import msgspec

from headrace import events as ev
from headrace.rehearsal.script import Line, call, say, think, turn
from headrace.wire.dialects import DIALECT_NAMES
from headrace.wire.framing import create_framing
from headrace.wire.framing.frame import BYTES, Frame
from tests.corpus import recorded
from tests.fuzz import seeds
from tests.mutation.content import content_of
from tests.mutation.dialect import frames_to_end
from tests.mutation.sample import DONE, Sample, Sent
from tests.rehearsal.scripts import FRAMINGS, bytes_of, traits_of
from tests.wire import chunk

IS_LONG = bool(os.environ.get("HEADRACE_SOAK_MUTATIONS"))
"""Whether to run the long form: all streams and all places instead of a sample."""

_DIALECTS = {
    "openai-chat": "chat",
    "openai-completions": "chat",
    "anthropic": "anthropic",
    "openai-responses": "responses",
    "gemini": "gemini",
    "ollama": "ollama",
    "ollama-generate": "ollama",
    "bedrock-converse": "bedrock",
    "anthropic-text": "text",
    "hf-tgi": "text",
    "watsonx": "text",
    "vllm-generate": "text",
    "cohere-v1": "cohere",
    "cohere-v2": "cohere",
    "gemini-interactions": "interactions",
}
_PER_DIALECT = dict.fromkeys(_DIALECTS.values(), 6) | {
    "chat": 16,
    "anthropic": 10,
    "responses": 10,
    "gemini": 10,
}
_MAX_BYTES = 12_000
_MAX_LONG_BYTES = 30_000


@cache
def recorded_samples() -> list[Sample]:
    """Recorded streams of every dialect, none where the recordings are not there."""
    samples: dict[str, list[Sample]] = {name: [] for name in _PER_DIALECT}
    for row in recorded.rows(*_DIALECTS):
        if row["malformed"] or recorded.expected()[row["file"]]["ambiguous"]:
            continue
        if row["bytes"] > (_MAX_LONG_BYTES if IS_LONG else _MAX_BYTES):
            continue
        sample = _read(row)
        if sample is not None:
            samples[sample.dialect].append(sample)
    return [
        sample
        for dialect, found in samples.items()
        for sample in (found if IS_LONG else _spread(found, _PER_DIALECT[dialect]))
    ]


def _spread(samples: list[Sample], count: int) -> list[Sample]:
    """Return `count` samples from all over the list, so that most providers are among them."""
    step = max(1.0, len(samples) / count)
    return [samples[int(number * step)] for number in range(min(count, len(samples)))]


def _read(row: dict[str, Any]) -> Sample | None:
    """Read a recorded stream; None if it is not a complete turn."""
    framing = create_framing(recorded.FRAMINGS[row["framing"]])
    frames = framing.feed(recorded.read(row)) + framing.close()
    if framing.unfinished is not None:
        frames.append(framing.unfinished)
    dialect = _DIALECTS[row["api"]]
    written = "ndjson" if dialect == "ollama" or row["framing"] == "ndjson" else "sse"
    if row["framing"] == "json-array":
        written = "json-array"
    frames = [frame for frame in frames if frame.field in ("data", BYTES)]
    sent = tuple(map(_wrap if row["framing"] == "eventstream" else _keep, frames))
    sample = Sample(row["file"][8:], dialect, written, sent)
    return sample if _is_usable(sample) else None


def _is_usable(sample: Sample) -> bool:
    """Whether the stream is a complete turn that says something."""
    payloads = [frame.payload for frame in sample.frames if frame.data.strip() != DONE]
    if len(payloads) < 2 or None in payloads:
        return False
    if not isinstance(sample.events[-1], ev.TurnFinished) or not sample.content:
        return False
    # Some recordings repeat the finish reason with every frame; they have no certain end.
    head = sample.write(sample.frames[: frames_to_end(sample)])
    return content_of(sample.decode(head)) == sample.content


def _authored(
    name: str,
    dialect: str,
    payloads: Iterable[dict[str, Any]],
    *,
    framing: str = "sse",
    names: bool = False,
    done: bool = False,
    encode: Callable[[Any], bytes] = msgspec.json.encode,
) -> Sample:
    frames = [Sent(encode(payload), payload["type"] if names else "") for payload in payloads]
    if done:
        frames.append(Sent(DONE))
    return Sample(name, dialect, framing, tuple(frames))


def _dump(payload: Any) -> bytes:
    """Write JSON as Python does: with spaces and escapes."""
    return json.dumps(payload).encode()


_TEXTS = ["The dose ", "is ", "NOT ", "10 mg. ", "Grüße, 世界 ", "😀 end."]
_ARGS = ['{"city": "Zü', 'rich", "days"', ": [1, 2", "]}"]


def _chat() -> list[dict[str, Any]]:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}
    return [
        chunk({"role": "assistant", "content": ""}),
        *(chunk({"reasoning_content": text}) for text in ("Let me ", "think.")),
        *(chunk({"content": text}) for text in _TEXTS),
        chunk({"tool_calls": [call]}),
        *(
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
            for piece in _ARGS
        ),
        chunk({}, finish="tool_calls"),
        {"id": "r1", "model": "m1", "choices": [], "usage": {"prompt_tokens": 3}},
    ]


def _anthropic() -> list[dict[str, Any]]:
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        (
            {"type": "thinking", "thinking": ""},
            [{"type": "thinking_delta", "thinking": text} for text in ("Let me ", "think.")]
            + [{"type": "signature_delta", "signature": "s"}],
        ),
        (
            {"type": "text", "text": ""},
            [{"type": "text_delta", "text": text} for text in _TEXTS],
        ),
        (
            {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
            [{"type": "input_json_delta", "partial_json": piece} for piece in _ARGS],
        ),
    ]
    body: list[dict[str, Any]] = []
    for index, (block, deltas) in enumerate(blocks):
        body.append({"type": "content_block_start", "index": index, "content_block": block})
        body += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
        body.append({"type": "content_block_stop", "index": index})
    message = {"id": "m", "role": "assistant", "model": "c", "usage": {"input_tokens": 3}}
    return [
        {"type": "message_start", "message": message},
        *body,
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    ]


def _responses(*, has_snapshots: bool) -> list[dict[str, Any]]:
    """A Responses stream, with or without the whole texts that follow the deltas."""
    text, args = "".join(_TEXTS), "".join(_ARGS)
    where = {"output_index": 0, "item_id": "m1", "content_index": 0}
    message = {"id": "m1", "type": "message", "role": "assistant"}
    call = {"id": "fc1", "type": "function_call", "call_id": "c1", "name": "f"}
    call_at = {"output_index": 1, "item_id": "fc1"}
    content = [{"type": "output_text", "text": text, "annotations": []}]
    full_call, full_message = {**call, "arguments": args}, {**message, "content": content}
    payloads: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r1", "model": "m1", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": message},
        *({"type": "response.output_text.delta", **where, "delta": piece} for piece in _TEXTS),
        {"type": "response.output_text.done", **where, "text": text},
        {"type": "response.output_item.done", "output_index": 0, "item": full_message},
        {
            "type": "response.output_item.added",
            "output_index": 1,
            "item": {**call, "arguments": ""},
        },
        *(
            {"type": "response.function_call_arguments.delta", **call_at, "delta": piece}
            for piece in _ARGS
        ),
        {"type": "response.function_call_arguments.done", **call_at, "arguments": args},
        {"type": "response.output_item.done", "output_index": 1, "item": full_call},
    ]
    if not has_snapshots:
        payloads = [payload for payload in payloads if not payload["type"].endswith("done")]
    output = [full_message, full_call] if has_snapshots else []
    response = {"id": "r1", "model": "m1", "status": "completed", "output": output}
    return [*payloads, {"type": "response.completed", "response": response}]


def _gemini() -> list[dict[str, Any]]:
    def said(*parts: dict[str, Any], **beside: Any) -> dict[str, Any]:
        content = {"role": "model", "parts": list(parts)}
        candidate = {"index": 0, "content": content, **beside}
        return {"candidates": [candidate], "modelVersion": "m1", "responseId": "r1"}

    return [
        said({"text": "Let me think.", "thought": True}),
        *(said({"text": text}) for text in _TEXTS),
        said({"functionCall": {"name": "f", "args": {"city": "Zürich"}}}),
        {**said({"text": ""}, finishReason="STOP"), "usageMetadata": {"promptTokenCount": 3}},
    ]


def _ollama() -> list[dict[str, Any]]:
    def line(**message: Any) -> dict[str, Any]:
        said = {"role": "assistant", "content": "", **message}
        return {"model": "m1", "created_at": "2026", "message": said, "done": False}

    call = {"function": {"name": "f", "arguments": {"city": "Zürich"}}}
    return [
        *(line(thinking=text) for text in ("Let me ", "think.")),
        *(line(content=text) for text in _TEXTS),
        line(tool_calls=[call]),
        {**line(), "done": True, "done_reason": "stop", "eval_count": 4},
    ]


def _scripted(dialect: str) -> Sample:
    """A script in a dialect, its frames written as server-sent events."""
    traits = traits_of(dialect)
    lines: list[Line] = [say(pieces=_TEXTS)]
    if traits.has_reasoning:
        lines.insert(0, think(pieces=["Let me ", "think."]))
    if traits.has_calls:
        lines.append(call("f", raw="".join(_ARGS), deltas=4))
    framing = create_framing(FRAMINGS.get(dialect, "sse"))
    frames = framing.feed(b"".join(bytes_of(turn(*lines), dialect)))
    is_aws = FRAMINGS.get(dialect) == "aws-event-stream"
    sent = tuple(map(_wrap if is_aws else _keep, frames))
    return Sample(f"{dialect}, a script", dialect, "sse", sent)


def _keep(frame: Frame) -> Sent:
    return Sent(frame.data, frame.event)


def _wrap(frame: Frame) -> Sent:
    """The frame of an AWS message as an object with one field, the name of the event."""
    if frame.field == BYTES:
        payload: Any = {"bytes": b64encode(frame.data).decode()}
    else:
        payload = json.loads(frame.data)
    return Sent(msgspec.json.encode({frame.event: payload}))


SCRIPTED = tuple(
    name
    for name in DIALECT_NAMES
    if name not in ("chat", "anthropic", "responses", "gemini", "ollama", "xai")
)
"""The dialects that are mutated as scripts. xAI's are in `test_grpc`."""


@cache
def authored_samples() -> list[Sample]:
    """Streams written here, and those that use every field of their dialect once."""
    return [
        _authored("chat", "chat", _chat(), done=True),
        _authored("chat of Python, without [DONE]", "chat", _chat(), encode=_dump),
        _authored("anthropic", "anthropic", _anthropic(), names=True),
        _authored("anthropic without names", "anthropic", _anthropic()),
        _authored("responses", "responses", _responses(has_snapshots=True), names=True),
        _authored("responses, deltas alone", "responses", _responses(has_snapshots=False)),
        _authored("gemini", "gemini", _gemini()),
        _authored("gemini array", "gemini", _gemini(), framing="json-array"),
        _authored("ollama", "ollama", _ollama(), framing="ndjson"),
        _authored("chat, every field", "chat", seeds.CHAT, done=True),
        _authored("anthropic, every field", "anthropic", seeds.ANTHROPIC, names=True),
        _authored("responses, every field", "responses", seeds.RESPONSES, names=True),
        _authored("gemini, every field", "gemini", seeds.GEMINI),
        _authored("ollama, every field", "ollama", seeds.OLLAMA, framing="ndjson"),
        *map(_scripted, SCRIPTED),
    ]
