"""Streams that use every field we read, once each. What they say are words `w1`, `w2` …,
none twice, so that a test can tell which of them a damaged stream has lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from headrace.wire.dialects.anthropic import event as anthropic_wire
from headrace.wire.dialects.chat import chunk as chat_wire
from headrace.wire.dialects.chat.quirks import FAILURE_WORDS, FINISH_WORDS
from tests.wire import sse

_HEAD = {
    "id": "r1",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "m1",
    "provider": "p1",
    "service_tier": "default",
    "system_fingerprint": "fp",
}


def _chat(delta: dict[str, Any], **beside: Any) -> dict[str, Any]:
    return {**_HEAD, "choices": [{"index": 0, "delta": delta, **beside}]}


CHAT: list[dict[str, Any]] = [
    _chat({"role": "assistant", "content": ""}, logprobs={"content": []}, finish_reason=None),
    _chat({"reasoning_content": "w1 "}),
    _chat(
        {
            "reasoning": "w2 ",
            "reasoning_details": [
                {
                    "type": "reasoning.text",
                    "text": "w2 ",
                    "signature": "s1",
                    "id": "d1",
                    "index": 0,
                    "format": "f1",
                },
                {"type": "reasoning.summary", "summary": "w3 ", "index": 1},
                {"type": "reasoning.encrypted", "data": "e1", "index": 2},
            ],
        }
    ),
    _chat(
        {
            "reasoning_text": "w4 ",
            "reasoning_opaque": "o1",
            "thinking_blocks": [
                {"type": "thinking", "thinking": "w4 ", "signature": "s2"},
                {"type": "redacted_thinking", "data": "e2"},
            ],
        }
    ),
    _chat({"content": "w5 ", "channel": "final"}),
    _chat(
        {
            "content": [
                {"type": "text", "text": "w6 "},
                {"type": "thinking", "thinking": [{"type": "text", "text": "w7 "}]},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
                {"type": "reference", "reference_ids": [1, 2]},
                {"type": "odd", "value": "w8 "},
            ],
        }
    ),
    _chat(
        {
            "content": "w9 ",
            "annotations": [
                {
                    "type": "url_citation",
                    "url_citation": {
                        "url": "u1",
                        "title": "t1",
                        "content": "c1",
                        "start_index": 0,
                        "end_index": 2,
                    },
                },
                {"type": "file", "file": {"hash": "h1", "name": "n1"}},
            ],
            "images": [{"type": "image_url", "image_url": {"url": "https://i"}}],
            "audio": {"id": "a1", "transcript": "w10 ", "data": "AAAA", "expires_at": 1},
        }
    ),
    _chat({"refusal": "w11 "}),
    _chat(
        {
            "tool_calls": [
                {
                    "index": 0,
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "f1", "arguments": '{"a": "w12 '},
                    "extra_content": {"google": {"thought_signature": "s3"}},
                }
            ]
        }
    ),
    _chat({"tool_calls": [{"index": 0, "function": {"arguments": 'w13 "}'}}]}),
    _chat(
        {
            "tool_calls": [
                {"index": 1, "id": "c2", "type": "custom", "custom": {"name": "f2", "input": "w14"}}
            ]
        }
    ),
    _chat(
        {"tool_calls": [{"index": 2, "function": {"name": "f3", "arguments": {"a": "w15 "}}}]},
    ),
    _chat({"function_call": {"name": "f4", "arguments": '{"a": "w16 "}'}}),
    {
        **_HEAD,
        "choices": [
            {"index": 1, "message": {"role": "assistant", "content": "w17 "}},
            {"index": 0, "delta": {"content": "w18 "}},
        ],
    },
    {
        **_HEAD,
        "choices": [
            {
                "index": 0,
                "delta": {},
                "finish_reason": "tool_calls",
                "stop_reason": "x",
                "usage": {"prompt_tokens": 1},
                "logprobs": {"content": [{"token": "t", "logprob": -1.5}]},
            },
            {"index": 1, "delta": {"content": "w19 "}, "finish_reason": "stop"},
        ],
        "citations": ["u2"],
        "search_results": [{"url": "u3", "title": "t3"}],
        "x_groq": {"id": "g1", "usage": {"prompt_tokens": 2}, "error": None},
        "error": None,
    },
    {
        **_HEAD,
        "choices": [],
        "usage": {
            "prompt_tokens": 30,
            "completion_tokens": 12,
            "total_tokens": 42,
            "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 1},
            "completion_tokens_details": {"reasoning_tokens": 4},
            "prompt_cache_hit_tokens": 5,
            "cache_creation_input_tokens": 1,
            "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 0},
            "cost": {"total_cost": 0.01},
        },
        "odd": {"kept": True},
    },
]


def _start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, type: str, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": type, **delta}}


def _stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


_CITED = {
    "type": "web_search_result_location",
    "url": "u1",
    "source": "s1",
    "title": "t1",
    "document_title": "t2",
    "cited_text": "q1",
}

ANTHROPIC: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "model": "c1",
            "provider": "p1",
            "content": [{"type": "text", "text": "w1 "}],
            "stop_reason": None,
            "usage": {
                "input_tokens": 9,
                "output_tokens": 1,
                "cache_read_input_tokens": 3,
                "cache_creation_input_tokens": 2,
                "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 1},
                "service_tier": "standard",
                "cost": 0.5,
            },
        },
    },
    {"type": "ping"},
    _start(0, type="thinking", thinking="w2 ", signature="s0"),
    _delta(0, "thinking_delta", thinking="w3 "),
    _delta(0, "signature_delta", signature="s1"),
    _stop(0),
    _start(1, type="redacted_thinking", data="e1"),
    _stop(1),
    _start(2, type="text", text="w4 ", citations=[_CITED]),
    _delta(2, "text_delta", text="w5 "),
    _delta(2, "citations_delta", citation=_CITED),
    _stop(2),
    _start(3, type="tool_use", id="c1", name="f1", input={}, caller={"type": "direct"}),
    _delta(3, "input_json_delta", partial_json='{"a": "w6 '),
    _delta(3, "input_json_delta", partial_json='w7 "}'),
    _stop(3),
    _start(4, type="tool_use", id="c2", name="f2", input={"a": "w8 "}),
    _stop(4),
    _start(5, type="server_tool_use", id="c3", name="web_search", input={}),
    _delta(5, "input_json_delta", partial_json='{"q": "w9 "}'),
    _stop(5),
    _start(6, type="web_search_tool_result", tool_use_id="c3", content=[{"title": "w10 "}]),
    _stop(6),
    _start(7, type="mcp_tool_result", tool_use_id="c3", is_error=True, content={"type": "x_error"}),
    _stop(7),
    _start(8, type="odd", id="i1", words="w11 ", list=["w12 "]),
    _delta(8, "odd_delta", words="w13 ", list=["w14 "], more=1),
    _stop(8),
    _start(9, type="text", text=""),
    _delta(9, "text_delta", text="w15 "),
    _stop(9),
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None, "container": {"id": "k1"}},
        "usage": {
            "output_tokens": 20,
            "output_tokens_details": {"thinking_tokens": 4},
            "server_tool_use": {"web_search_requests": 1},
        },
        "context_management": {"applied_edits": []},
    },
    {"type": "message_stop", "odd": 1},
]

STREAMS = {"chat": CHAT, "anthropic": ANTHROPIC}

_STRANGE = [
    b'data: {"error": {"code": 429, "type": "rate_limit", "message": "slow down"}}\n\n',
    b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n\n',
    b'error: {"message": "boom"}\n\n',
    b'data: {"choices": [{"delta": {"content": "<think>a</thi"}}]}\n\ndata: [DONE]\n\n',
    b'data: {"choices": [{"delta": {"content": "\\ud800", "reasoning": 1e400}}]}\n\n',
    b'[{"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}\n, {"a": "]"}]',
    b": comment\r\nid: 7\rretry: 10\r\n\r\ndata: [DONE]\r\n\r\n",
    b"\xef\xbb\xbfdata\n\ndata:\xff\xfe\n\n",
]


def streams() -> Iterator[bytes]:
    """The seeds as bytes on the wire, whole and payload by payload."""
    for payloads in STREAMS.values():
        yield sse(*payloads)
        yield b"".join(msgspec.json.encode(payload) + b"\n" for payload in payloads)
        yield msgspec.json.encode(payloads)
        for payload in payloads:
            yield sse(payload)
    yield from _STRANGE


def words() -> list[str]:
    """What the decoder looks for: the field names and the words of its tables."""
    kinds = [
        kind
        for module in (chat_wire, anthropic_wire)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    ]
    names = {field.encode_name for kind in kinds for field in msgspec.structs.fields(kind)}
    types = {payload["type"] for payload in ANTHROPIC} | {
        payload[key]["type"]
        for payload in ANTHROPIC
        for key in ("content_block", "delta")
        if "type" in payload.get(key, {})
    }
    other = {"data: ", "event: ", "id: ", "error: ", "[DONE]", "<think>", "</think>", "\\ud800"}
    return sorted(names | types | other | set(FINISH_WORDS) | FAILURE_WORDS)
