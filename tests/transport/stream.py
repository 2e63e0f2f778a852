"""One authored stream for each of the five dialects, and how far the finish reason is in."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from tests.wire import chunk, sse


class Authored(NamedTuple):
    dialect: str
    framing: str
    data: bytes
    told: bytes
    """The end of the stream is told once this is in."""


def _ndjson(*objects: Any) -> bytes:
    return b"".join(msgspec.json.encode(entry) + b"\n" for entry in objects)


_CHAT = sse(
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning_content": "hm "}),
    chunk({"content": "Grüße, "}),
    chunk({"content": "world"}),
    chunk({}, finish="stop"),
    {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
)
_ANTHROPIC = sse(
    {"type": "message_start", "message": {"id": "m", "model": "c", "usage": {"input_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Grüße"},
    },
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
    done=False,
    names=True,
)
_MESSAGE = {"type": "message", "id": "msg", "role": "assistant"}
_RESPONSES = sse(
    {"type": "response.created", "response": {"id": "r", "model": "m", "status": "in_progress"}},
    {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {**_MESSAGE, "status": "in_progress", "content": []},
    },
    {
        "type": "response.content_part.added",
        "item_id": "msg",
        "output_index": 0,
        "content_index": 0,
        "part": {"type": "output_text", "text": ""},
    },
    {
        "type": "response.output_text.delta",
        "item_id": "msg",
        "output_index": 0,
        "content_index": 0,
        "delta": "Grüße",
    },
    {
        "type": "response.output_item.done",
        "output_index": 0,
        "item": {
            **_MESSAGE,
            "status": "completed",
            "content": [{"type": "output_text", "text": "Grüße"}],
        },
    },
    {
        "type": "response.completed",
        "response": {
            "id": "r",
            "model": "m",
            "status": "completed",
            "output": [],
            "usage": {"input_tokens": 1, "output_tokens": 2},
        },
    },
    done=False,
    names=True,
)


def _candidate(text: str, **more: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": text}]}
    return {"candidates": [{"index": 0, "content": content, **more}], "modelVersion": "g"}


_GEMINI = sse(
    _candidate("Grüße, "), _candidate("world"), _candidate("!", finishReason="STOP"), done=False
)
_OLLAMA = _ndjson(
    {"model": "q", "message": {"role": "assistant", "content": "Grüße"}, "done": False},
    {"model": "q", "message": {"role": "assistant", "content": "!"}, "done": False},
    {
        "model": "q",
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": "stop",
        "eval_count": 3,
    },
)

STREAMS = {
    "chat": Authored("chat", "sse", _CHAT, b'"finish_reason":"stop"}'),
    "anthropic": Authored("anthropic", "sse", _ANTHROPIC, b'"end_turn"}'),
    "responses": Authored("responses", "sse", _RESPONSES, b'"type":"response.completed"'),
    "gemini": Authored("gemini", "sse", _GEMINI, b'"finishReason":"STOP"}'),
    "ollama": Authored("ollama", "ndjson", _OLLAMA, b'"done_reason":"stop"'),
}
