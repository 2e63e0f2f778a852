"""Little streams for the tests of the command line, written by hand."""

from __future__ import annotations

import json
from typing import Any


def sse(*payloads: Any, end: str = "") -> bytes:
    """The payloads as server-sent events; a text stands as it is."""
    lines = [p if isinstance(p, str) else json.dumps(p) for p in payloads]
    return ("".join(f"data: {line}\n\n" for line in lines) + end).encode()


def chunk(finish: str | None = None, *, index: int = 0, **delta: Any) -> dict[str, Any]:
    """One chat chunk."""
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "model": "m-1",
        "choices": [choice],
    }


def call(args: str, *, name: str = "weather", call_id: str = "call_1") -> dict[str, Any]:
    """A chat chunk with a whole tool call."""
    function = {"name": name, "arguments": args}
    return chunk(tool_calls=[{"index": 0, "id": call_id, "function": function}])


USAGE = {
    "choices": [],
    "usage": {
        "prompt_tokens": 1200,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 1000},
    },
}
HELLO = sse(chunk(role="assistant", content="Hel"), chunk(content="lo"), chunk("stop"), "[DONE]")
THINK = sse(
    chunk(reasoning_content="hm\nyes"),
    call('{"city": "Oslo"}'),
    chunk("tool_calls"),
    USAGE,
    "[DONE]",
)
FAILED = sse({"error": {"message": "too many", "type": "rate_limit_error"}})
FOREIGN_STREAM = sse({"object": "thread.message.delta", "delta": {"text": "hi"}})
ANTHROPIC = sse(
    {"type": "ping"},
    {"type": "message_start", "message": {"id": "m", "model": "claude", "content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hei"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
)
