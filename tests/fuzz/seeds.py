"""Streams that use every field we read, once each. What they say are words `w1`, `w2` …,
none twice, so that a test can tell which of them a damaged stream has lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from headrace.wire.dialects.anthropic import event as anthropic_wire
from headrace.wire.dialects.bedrock import event as bedrock_wire
from headrace.wire.dialects.bedrock_agent import dialect as bedrock_agent_wire
from headrace.wire.dialects.chat import chunk as chat_wire
from headrace.wire.dialects.chat.quirks import ERROR_WORDS, FINISH_WORDS
from headrace.wire.dialects.cohere import event as cohere_wire
from headrace.wire.dialects.gemini import response as gemini_wire
from headrace.wire.dialects.interactions import event as interactions_wire
from headrace.wire.dialects.ollama import dialect as ollama_wire
from headrace.wire.dialects.responses import event as responses_wire
from headrace.wire.dialects.text import dialect as text_wire
from headrace.wire.dialects.xai import chunk as xai_wire
from headrace.wire.dialects.xai.enums import CALL_TYPE, REASON, ROLE, STATUS
from headrace.wire.framing.grpc import add_prefix
from tests.aws import aws_chunks, aws_events, aws_exception, aws_headers, aws_message
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
    _chat({"content": "w5 ", "channel": "final", "token_id": 1, "token_ids": [1]}),
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
            "executed_tools": [
                {
                    "index": 0,
                    "id": "x1",
                    "type": "search",
                    "name": "f5",
                    "arguments": '{"q": "w20 "}',
                    "output": "w21 ",
                },
                {"index": 1, "name": "f6", "search_results": {"results": [{"title": "w22 "}]}},
            ],
            "extra_content": {"google": {"thought_signature": "s4"}},
        }
    ),
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
    _chat({"executed_tools": [{"index": 0, "type": "search", "arguments": "{}", "output": "o1"}]}),
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
        "web_search": [{"link": "u4", "url": "u4", "title": "t4"}],
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


def _typed(type: str, output_index: int | None = None, **fields: Any) -> dict[str, Any]:
    where = {} if output_index is None else {"output_index": output_index}
    return {"type": f"response.{type}", **where, **fields}


def _added(output_index: int, **item: Any) -> dict[str, Any]:
    return _typed("output_item.added", output_index, item=item)


def _done(output_index: int, **item: Any) -> dict[str, Any]:
    return _typed("output_item.done", output_index, item=item)


_LINKED = {
    "type": "url_citation",
    "url": "u1",
    "title": "t1",
    "start_index": 0,
    "end_index": 2,
}
_RESPONSE = {"id": "r1", "object": "response", "model": "m1", "created_at": 1}

RESPONSES: list[dict[str, Any]] = [
    _typed("created", response={**_RESPONSE, "status": "in_progress", "output": []}),
    _added(0, id="rs1", type="reasoning", summary=[]),
    _typed("reasoning_summary_part.added", 0, item_id="rs1", summary_index=0, part={"text": ""}),
    _typed("reasoning_summary_text.delta", 0, item_id="rs1", summary_index=0, delta="w1 "),
    _typed("reasoning_summary_text.done", 0, item_id="rs1", summary_index=0, text="w1 "),
    _typed("reasoning_summary_part.done", 0, item_id="rs1", summary_index=1, part={"text": "w2 "}),
    _typed("reasoning_text.delta", 0, item_id="rs1", content_index=0, delta="w3 "),
    _done(
        0,
        id="rs1",
        type="reasoning",
        summary=[{"type": "summary_text", "text": "w1 "}],
        content=[{"type": "reasoning_text", "text": "w3 "}],
        encrypted_content="e1",
    ),
    _added(1, id="m1", type="message", role="assistant", phase="final_answer", content=[]),
    _typed("content_part.added", 1, item_id="m1", content_index=0, part={"type": "output_text"}),
    _typed("output_text.delta", 1, item_id="m1", content_index=0, delta="w4 ", logprobs=[]),
    _typed(
        "output_text.annotation.added",
        1,
        item_id="m1",
        content_index=0,
        annotation_index=0,
        annotation=_LINKED,
    ),
    _typed("output_text.done", 1, item_id="m1", content_index=0, text="w4 "),
    _typed("output_text.done", 1, item_id="m1", content_index=1, text="w5 "),
    _typed(
        "content_part.done",
        1,
        item_id="m1",
        content_index=2,
        part={"type": "output_text", "text": "w6 ", "annotations": [_LINKED]},
    ),
    _typed("refusal.delta", 1, item_id="m1", content_index=3, delta="w7 "),
    _typed("refusal.done", 1, item_id="m1", content_index=4, refusal="w8 "),
    _done(1, id="m1", type="message", role="assistant", content=[{"text": "w4 "}]),
    _added(2, id="fc1", type="function_call", call_id="c1", name="f1", arguments=""),
    _typed("function_call_arguments.delta", 2, item_id="fc1", delta='{"a": "w9 '),
    _typed("function_call_arguments.delta", 2, item_id="fc1", delta='w10 "}'),
    _typed("function_call_arguments.done", 2, item_id="fc1", arguments='{"a": "w9 w10 "}'),
    _done(2, id="fc1", type="function_call", call_id="c1", name="f1", arguments='{"a": "w9 w10 "}'),
    _added(3, id="fc2", type="function_call", call_id="c2", name="f2", arguments=""),
    _typed("function_call_arguments.done", 3, item_id="fc2", arguments='{"a": "w11 "}'),
    _done(3, id="fc2", type="function_call", call_id="c2", name="f2"),
    _added(4, id="ct1", type="custom_tool_call", call_id="c3", name="f3", input=""),
    _typed("custom_tool_call_input.done", 4, item_id="ct1", input="w12 "),
    _done(4, id="ct1", type="custom_tool_call", call_id="c3", name="f3"),
    _added(5, id="ci1", type="code_interpreter_call", status="in_progress", code=""),
    _typed("code_interpreter_call.interpreting", 5, item_id="ci1"),
    _typed("code_interpreter_call_code.done", 5, item_id="ci1", code="w13 "),
    _done(
        5,
        id="ci1",
        type="code_interpreter_call",
        status="completed",
        code="w13 ",
        outputs=[{"type": "logs", "logs": "w14 "}],
    ),
    _added(6, id="ig1", type="image_generation_call", status="in_progress"),
    _typed(
        "image_generation_call.partial_image",
        6,
        item_id="ig1",
        partial_image_index=0,
        partial_image_b64="w15",
    ),
    _done(6, id="ig1", type="image_generation_call", result="w16", output_format="png"),
    _added(7, id="sh1", type="shell_call", call_id="c4", action={"commands": ["w17 "]}),
    _done(7, id="sh1", type="shell_call", call_id="c4", action={"commands": ["w17 "]}),
    _done(8, id="so1", type="shell_call_output", call_id="c4", output=[{"stdout": "w18 "}]),
    _done(9, id="o1", type="odd", value="w19 "),
    _done(10, id="fs1", type="file_search_call", queries=["w20 "], results=[{"text": "w21 "}]),
    _done(
        11,
        id="mc1",
        type="mcp_call",
        name="f4",
        server_label="s1",
        arguments='{"a": "w22 "}',
        output="w23 ",
        error=None,
    ),
    _typed(
        "completed",
        response={
            **_RESPONSE,
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "service_tier": "default",
            "metadata": {"k": "v"},
            "output": [],
            "usage": {
                "input_tokens": 9,
                "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 1},
                "output_tokens": 8,
                "output_tokens_details": {"reasoning_tokens": 4},
                "total_tokens": 17,
                "cost": 0.5,
            },
        },
    ),
]


def _chunk(*parts: dict[str, Any], **beside: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"index": 0, "content": content, **beside}]}


_PAGE = {"web": {"uri": "u1", "title": "t1"}}

GEMINI: list[dict[str, Any]] = [
    {
        **_chunk({"text": "w1 ", "thought": True}),
        "modelVersion": "m1",
        "responseId": "r1",
        "usageMetadata": {
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 3}],
            "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 1}],
            "candidatesTokensDetails": [{"modality": "TEXT", "tokenCount": 2}],
            "toolUsePromptTokensDetails": [{"modality": "TEXT", "tokenCount": 1}],
            "promptTokenCount": 9,
        },
    },
    _chunk({"text": "w2 ", "thought": True, "thoughtSignature": "s1"}),
    _chunk({"text": "w3 "}, {"text": "w4 ", "thoughtSignature": "s2"}),
    _chunk(
        {"functionCall": {"id": "c1", "name": "f1", "args": {"a": "w5 "}}, "thoughtSignature": "s3"}
    ),
    _chunk({"functionCall": {"name": "f2", "willContinue": True}}),
    _chunk(
        {
            "functionCall": {
                "partialArgs": [
                    {"jsonPath": "$.a", "stringValue": "w6 "},
                    {"jsonPath": "$.list[0].b", "stringValue": "w7 "},
                    {"jsonPath": "$['n']", "numberValue": 3},
                    {"jsonPath": "$.t", "boolValue": True},
                    {"jsonPath": "$.z", "nullValue": "NULL_VALUE"},
                ],
                "willContinue": True,
            }
        }
    ),
    _chunk({"functionCall": {}}),
    _chunk({"executableCode": {"id": "e1", "language": "PYTHON", "code": "w8 "}}),
    _chunk({"codeExecutionResult": {"id": "e1", "outcome": "OUTCOME_OK", "output": "w9 "}}),
    _chunk(
        {
            "toolCall": {"id": "t1", "toolType": "SEARCH", "args": {"q": "w10 "}},
            "thoughtSignature": "s4",
        }
    ),
    _chunk({"toolResponse": {"id": "t1", "response": {"a": "w11 "}}, "thoughtSignature": "s5"}),
    _chunk({"inlineData": {"mimeType": "image/png", "data": "w12"}, "thoughtSignature": "s6"}),
    _chunk({"fileData": {"mimeType": "image/png", "fileUri": "w13"}}),
    _chunk({"odd": {"value": "w14 "}}, {"text": "w15 "}),
    _chunk({"odd": {"value": "w16 "}, "thought": True}),
    _chunk({"odd": {"value": "w19 "}, "thoughtSignature": "s7"}, {"thoughtSignature": "s8"}),
    {
        "candidates": [
            {"index": 1, "content": {"parts": [{"text": "w17 "}]}, "finishReason": "STOP"},
            {
                "index": 0,
                "content": {"parts": [{"text": "w18 "}], "role": "model"},
                "citationMetadata": {
                    "citationSources": [{"startIndex": 0, "endIndex": 2, "uri": "u2"}]
                },
            },
        ]
    },
    {
        **_chunk(
            {"text": ""},
            finishReason="STOP",
            finishMessage="fine",
            groundingMetadata={
                "groundingChunks": [_PAGE, {"retrievedContext": {"uri": "u3"}}],
                "groundingSupports": [
                    {
                        "segment": {"startIndex": 0, "endIndex": 2, "text": "q1"},
                        "groundingChunkIndices": [0, 1],
                    }
                ],
            },
            urlContextMetadata={"urlMetadata": [{"retrievedUrl": "u4"}]},
        ),
        "createTime": "2026-11-15T00:00:00Z",
        "promptFeedback": {"safetyRatings": []},
        "usageMetadata": {
            "promptTokenCount": 9,
            "candidatesTokenCount": 8,
            "thoughtsTokenCount": 4,
            "totalTokenCount": 21,
            "cachedContentTokenCount": 3,
            "toolUsePromptTokenCount": 1,
            "trafficType": "ON_DEMAND",
            "serviceTier": "standard",
        },
    },
]


def _line(**message: Any) -> dict[str, Any]:
    said = {"role": "assistant", **message}
    return {"model": "m1", "created_at": "2026-11-15T00:00:00Z", "message": said, "done": False}


OLLAMA: list[dict[str, Any]] = [
    _line(content="", thinking="w1 "),
    _line(content="", thinking="w2 "),
    _line(content="w3 "),
    _line(content="w4 ", images=["w5"]),
    _line(
        content="",
        tool_calls=[
            {"id": "c1", "function": {"name": "f1", "arguments": {"a": "w6 "}}},
            {"function": {"name": "f2", "arguments": '{"a": "w7 "}'}},
        ],
    ),
    _line(content="w8 ", thinking="w9 "),
    {"model": "m1", "response": "w11 ", "thinking": "w12 ", "done": False},
    {
        **_line(content="w10 "),
        "done": True,
        "done_reason": "stop",
        "total_duration": 5,
        "prompt_eval_count": 9,
        "eval_count": 8,
    },
]


def _step(index: int, **fields: Any) -> dict[str, Any]:
    """A chunk of xAI with one output."""
    delta = {name: fields.pop(name) for name in list(fields) if name not in _OF_OUTPUT}
    return {"id": "r1", "model": "m1", "outputs": [{"index": index, "delta": delta, **fields}]}


_OF_OUTPUT = ("finish_reason", "logprobs")
_SEARCH = {"id": "c1", "type": "TOOL_CALL_TYPE_WEB_SEARCH_TOOL"}

XAI: list[dict[str, Any]] = [
    {
        **_step(0, role="ROLE_ASSISTANT", reasoning_content="w1 ", encrypted_content="e1"),
        "system_fingerprint": "fp",
        "service_tier": "SERVICE_TIER_DEFAULT",
        "created": {"seconds": 1_765_000_000, "nanos": 5},
        "debug_output": {
            "attempts": 1,
            "request": "r",
            "prompt": "p",
            "responses": ["r"],
            "cache_read_count": 1,
            "cache_read_input_bytes": 2,
            "cache_write_count": 3,
            "cache_write_input_bytes": 4,
            "engine_request": "e",
            "lb_address": "a",
            "sampler_tag": "t",
            "chunks": ["c"],
        },
    },
    _step(0, tool_calls=[{**_SEARCH, "function": {"name": "f1", "arguments": '{"a": "w2 '}}]),
    _step(0, tool_calls=[{**_SEARCH, "function": {"arguments": '{"a": "w2 w3 "}'}}]),
    _step(0, finish_reason="REASON_TOOL_CALLS", content="w4 "),
    _step(
        1,
        role="ROLE_TOOL",
        content="w5 ",
        encrypted_content="e2",
        tool_calls=[{**_SEARCH, "status": "TOOL_CALL_STATUS_FAILED", "error_message": "w6 "}],
    ),
    _step(2, role="ROLE_ASSISTANT", content="w7 ", logprobs={"content": [{"token": "t"}]}),
    {
        "outputs": [
            {
                "index": 2,
                "delta": {
                    "content": "w8 ",
                    "citations": [
                        {
                            "id": "1",
                            "start_index": 0,
                            "end_index": 2,
                            "web_citation": {"url": "u1"},
                        },
                        {"id": "2", "start_index": 3, "x_citation": {"url": "u2"}},
                        {
                            "id": "3",
                            "collections_citation": {
                                "file_id": "f1",
                                "chunk_id": "k1",
                                "chunk_content": "w9 ",
                                "score": 0.5,
                                "collection_ids": ["o1"],
                            },
                        },
                    ],
                },
            }
        ]
    },
    _step(
        2,
        tool_calls=[
            {
                "id": "c2",
                "type": "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL",
                "function": {"name": "f2", "arguments": '{"a": "w10 "}'},
            }
        ],
    ),
    {
        **_step(
            2,
            finish_reason="REASON_TOOL_CALLS",
            logprobs={
                "content": [
                    {
                        "token": "t",
                        "logprob": -1.5,
                        "top_logprobs": [{"token": "t", "logprob": -1.5}],
                    }
                ]
            },
        ),
        "usage": {
            "completion_tokens": 1,
            "reasoning_tokens": 2,
            "prompt_tokens": 3,
            "total_tokens": 6,
            "cached_prompt_text_tokens": 1,
            "cost_in_usd_ticks": "10",
            "prompt_image_tokens": 1,
            "num_sources_used": 1,
            "server_side_tools_used": ["SERVER_SIDE_TOOL_WEB_SEARCH"],
        },
        "citations": ["u1", "u3"],
        "output_files": [{"file_id": "f1", "name": "n1"}],
    },
]

BEDROCK: list[dict[str, Any]] = [
    {"messageStart": {"role": "assistant", "p": "abc"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "w1 "}}}},
    {
        "contentBlockDelta": {
            "contentBlockIndex": 0,
            "delta": {"reasoningContent": {"signature": "s1"}},
        }
    },
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {
        "contentBlockDelta": {
            "contentBlockIndex": 1,
            "delta": {"reasoningContent": {"redactedContent": "QUJD"}},
        }
    },
    {"contentBlockStop": {"contentBlockIndex": 1}},
    {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"text": "w2 "}}},
    {
        "contentBlockDelta": {
            "contentBlockIndex": 2,
            "delta": {
                "citation": {
                    "title": "t1",
                    "source": "u1",
                    "sourceContent": [{"text": "q1"}],
                    "location": {"web": {"url": "u2", "domain": "d1"}},
                }
            },
        }
    },
    {"contentBlockStop": {"contentBlockIndex": 2}},
    {
        "contentBlockStart": {
            "contentBlockIndex": 3,
            "start": {"toolUse": {"toolUseId": "c1", "name": "f1"}},
        }
    },
    {
        "contentBlockDelta": {
            "contentBlockIndex": 3,
            "delta": {"toolUse": {"input": '{"a": "w3 "}'}},
        }
    },
    {"contentBlockStop": {"contentBlockIndex": 3}},
    {
        "contentBlockStart": {
            "contentBlockIndex": 4,
            "start": {"toolUse": {"toolUseId": "c2", "name": "f2", "type": "server_tool_use"}},
        }
    },
    {
        "contentBlockDelta": {
            "contentBlockIndex": 4,
            "delta": {"toolUse": {"input": '{"a": "w4 "}'}},
        }
    },
    {"contentBlockStop": {"contentBlockIndex": 4}},
    {
        "contentBlockStart": {
            "contentBlockIndex": 5,
            "start": {"toolResult": {"toolUseId": "c2", "type": "r1", "status": "error"}},
        }
    },
    {
        "contentBlockDelta": {
            "contentBlockIndex": 5,
            "delta": {"toolResult": [{"text": "w5 "}, {"json": {"a": "w6 "}}]},
        }
    },
    {"contentBlockStop": {"contentBlockIndex": 5}},
    {"contentBlockStart": {"contentBlockIndex": 6, "start": {"image": {"format": "png"}}}},
    {
        "contentBlockDelta": {
            "contentBlockIndex": 6,
            "delta": {"image": {"source": {"bytes": "QUJD", "s3Location": {"uri": "s3://b"}}}},
        }
    },
    {"contentBlockStop": {"contentBlockIndex": 6}},
    {"contentBlockDelta": {"contentBlockIndex": 7, "delta": {"odd": {"value": "w7 "}}}},
    {"messageStop": {"stopReason": "tool_use", "additionalModelResponseFields": {"a": 1}}},
    {
        "metadata": {
            "usage": {
                "inputTokens": 1,
                "outputTokens": 2,
                "totalTokens": 6,
                "cacheReadInputTokens": 1,
                "cacheWriteInputTokens": 2,
                "cacheDetails": [{"ttl": "5m", "inputTokens": 2}],
            },
            "metrics": {"latencyMs": 5},
            "serviceTier": {"type": "default"},
            "trace": {"guardrail": {}},
        }
    },
]

TEXT: list[dict[str, Any]] = [
    {"type": "completion", "id": "r1", "model": "m1", "completion": "w1 ", "stop_reason": None},
    {"generation": "w2 ", "prompt_token_count": 1, "generation_token_count": 2},
    {"outputText": "w3 ", "index": 0, "totalOutputTextTokenCount": 3, "inputTextTokenCount": 1},
    {"outputs": [{"text": "w4 ", "stop_reason": None}]},
    {"generations": [{"id": "g1", "text": "w5 "}], "prompt": "p1"},
    {
        "model_id": "m1",
        "results": [
            {
                "generated_text": "w7 ",
                "generated_token_count": 3,
                "input_token_count": 4,
                "stop_reason": "not_finished",
            }
        ],
    },
    {"index": 1, "token": {"id": 1, "text": "w8 ", "special": False}, "generated_text": None},
    {"text": ["w10 "]},
    {"text": ["w10 w11 "]},
    {
        "completion": "w9 ",
        "stop_reason": "stop_sequence",
        "stop": "x",
        "amazon-bedrock-invocationMetrics": {"inputTokenCount": 4, "outputTokenCount": 5},
    },
]

COHERE: list[dict[str, Any]] = [
    {
        "type": "message-start",
        "id": "r1",
        "delta": {"message": {"role": "assistant", "content": [], "tool_calls": []}},
    },
    {
        "type": "content-start",
        "index": 0,
        "delta": {"message": {"content": {"type": "thinking", "thinking": "w1 "}}},
    },
    {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"thinking": "w2 "}}}},
    {"type": "content-end", "index": 0},
    {"type": "content-delta", "index": 1, "delta": {"message": {"content": {"text": "w3 "}}}},
    {
        "type": "citation-start",
        "index": 0,
        "delta": {
            "message": {
                "citations": {
                    "start": 0,
                    "end": 2,
                    "text": "t1",
                    "sources": [
                        {"type": "document", "id": "d1", "document": {"url": "u1", "title": "t2"}}
                    ],
                    "document_ids": ["d2"],
                }
            }
        },
    },
    {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "w4 "}}},
    {
        "type": "tool-call-start",
        "index": 0,
        "delta": {
            "message": {
                "tool_calls": {"id": "c1", "function": {"name": "f1", "arguments": '{"a": "'}}
            }
        },
    },
    {
        "type": "tool-call-delta",
        "index": 0,
        "delta": {"message": {"tool_calls": {"function": {"arguments": 'w5 "}'}}}},
    },
    {"type": "tool-call-end", "index": 0},
    {"event_type": "stream-start", "generation_id": "r2"},
    {"event_type": "search-results", "documents": [{"id": "w6 "}]},
    {"event_type": "text-generation", "text": "w7 "},
    {
        "event_type": "citation-generation",
        "citations": [{"start": 0, "end": 1, "text": "x", "document_ids": ["d1"]}],
    },
    {"event_type": "tool-calls-chunk", "text": "w8 ", "tool_call_delta": {"index": 0}},
    {
        "event_type": "tool-calls-generation",
        "tool_calls": [{"name": "f2", "parameters": {"a": "w9 "}}],
    },
    {
        "type": "message-end",
        "delta": {
            "finish_reason": "TOOL_CALL",
            "usage": {
                "billed_units": {"input_tokens": 1, "output_tokens": 2},
                "tokens": {"input_tokens": 3, "output_tokens": 4},
                "cached_tokens": 1,
            },
        },
    },
    {"event_type": "stream-end", "finish_reason": "COMPLETE", "response": {"meta": {}}},
]

INTERACTIONS: list[dict[str, Any]] = [
    {"event_type": "interaction.created", "interaction": {"id": "r1", "model": "m1"}},
    {
        "event_type": "step.start",
        "index": 0,
        "step": {"type": "thought", "summary": [{"type": "text", "text": "w1 "}]},
    },
    {
        "event_type": "step.delta",
        "index": 0,
        "delta": {"type": "thought_summary", "content": {"type": "text", "text": "w2 "}},
    },
    {
        "event_type": "step.delta",
        "index": 0,
        "delta": {"type": "thought_signature", "signature": "s1"},
    },
    {"event_type": "step.stop", "index": 0},
    {
        "event_type": "step.start",
        "index": 1,
        "step": {"type": "model_output", "content": [{"type": "text", "text": "w3 "}]},
    },
    {"event_type": "step.delta", "index": 1, "delta": {"type": "text", "text": "w4 "}},
    {"event_type": "step.stop", "index": 1},
    {
        "event_type": "step.start",
        "index": 2,
        "step": {"type": "function_call", "id": "c1", "name": "f1", "arguments": {}},
    },
    {
        "event_type": "step.delta",
        "index": 2,
        "delta": {"type": "arguments_delta", "arguments": '{"a": "w5 "}'},
    },
    {"event_type": "step.stop", "index": 2},
    {"event_type": "step.start", "index": 3, "step": {"type": "odd", "value": "w6 "}},
    {
        "event_type": "interaction.completed",
        "interaction": {
            "status": "requires_action",
            "usage": {"total_input_tokens": 1, "total_output_tokens": 2, "total_thought_tokens": 3},
        },
    },
]

BEDROCK_AGENT: list[dict[str, Any]] = [
    {
        "trace": {
            "sessionId": "s1",
            "trace": {
                "orchestrationTrace": {
                    "modelInvocationInput": {"foundationModel": "m1", "text": "w1 "},
                }
            },
        }
    },
    {
        "trace": {
            "sessionId": "s1",
            "trace": {
                "orchestrationTrace": {
                    "modelInvocationOutput": {
                        "metadata": {"usage": {"inputTokens": 1, "outputTokens": 2}},
                        "rawResponse": {"content": "w2 "},
                    }
                }
            },
        }
    },
    {"chunk": {"bytes": "SGVsbG8="}},
    {
        "chunk": {
            "bytes": "IQ==",
            "attribution": {
                "citations": [
                    {
                        "generatedResponsePart": {
                            "textResponsePart": {"text": "Hello", "span": {"start": 0, "end": 4}}
                        },
                        "retrievedReferences": [
                            {
                                "content": {"text": "w3 "},
                                "location": {"type": "S3", "s3Location": {"uri": "w4"}},
                            }
                        ],
                    }
                ]
            },
        }
    },
    {
        "files": {
            "files": [
                {"name": "a.png", "type": "image/png", "bytes": "QUJD"},
                {"name": "w6", "type": "text/csv", "bytes": "QUJD"},
            ]
        }
    },
    {
        "returnControl": {
            "invocationId": "c1",
            "invocationInputs": [
                {
                    "functionInvocationInput": {
                        "actionGroup": "g1",
                        "function": "f1",
                        "parameters": [{"name": "a", "type": "string", "value": "w7 "}],
                    }
                },
                {
                    "apiInvocationInput": {
                        "httpMethod": "GET",
                        "apiPath": "/w8",
                        "parameters": [{"name": "b", "type": "integer", "value": "1"}],
                        "requestBody": {
                            "content": {
                                "application/json": {
                                    "properties": [{"name": "c", "type": "array", "value": "[1]"}]
                                }
                            }
                        },
                    }
                },
            ],
        }
    },
]

STREAMS = {
    "chat": CHAT,
    "anthropic": ANTHROPIC,
    "responses": RESPONSES,
    "gemini": GEMINI,
    "ollama": OLLAMA,
    "xai": XAI,
    "bedrock": BEDROCK,
    "text": TEXT,
    "cohere": COHERE,
    "interactions": INTERACTIONS,
    "bedrock-agent": BEDROCK_AGENT,
}
WIRE_MODULES = {
    "chat": chat_wire,
    "anthropic": anthropic_wire,
    "responses": responses_wire,
    "gemini": gemini_wire,
    "ollama": ollama_wire,
    "xai": xai_wire,
    "bedrock": bedrock_wire,
    "text": text_wire,
    "cohere": cohere_wire,
    "interactions": interactions_wire,
    "bedrock-agent": bedrock_agent_wire,
}
"""Where each dialect has its wire structs."""

_STRANGE = [
    b'data: {"error": {"code": 429, "type": "rate_limit", "message": "slow down"}}\n\n',
    b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n\n',
    b'error: {"message": "boom"}\n\n',
    b'data: {"choices": [{"delta": {"content": "<think>a</thi"}}]}\n\ndata: [DONE]\n\n',
    b'data: {"choices": [{"delta": {"content": "\\ud800", "reasoning": 1e400}}]}\n\n',
    b'[{"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}\n, {"a": "]"}]',
    b": comment\r\nid: 7\rretry: 10\r\n\r\ndata: [DONE]\r\n\r\n",
    b"\xef\xbb\xbfdata\n\ndata:\xff\xfe\n\n",
    b'data: {"type": "response.failed", "response": {"error": {"code": "server_error"}}}\n\n',
    b'data: {"type":"response.incomplete","response": {"incomplete_details": {"reason": 1}}}\n\n',
    b'data: {"type": "response.output_text.delta", "delta": "an orphan"}\n\n',
    b'data: {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}}\n\n',
    b'{"message": {"content": "<think>a</th"}, "done": false}\n{"error": "boom"}\n',
    # As protocol buffers: a step with words and its end, and a call that the provider ran.
    add_prefix(b"\n\2r1\x12\x0b\n\7\n\1a\x10\2\x22\0\x18\3\x22\2m1"),
    add_prefix(b"\x12\x14\n\x10\x1a\x0e\n\2c1\x10\3\x18\1R\4\n\2f1\x20\1")
    + add_prefix(b"2\6\x08\1\x10\2\x18\3:\2u1"),
    b"\0\0\0\0\2{}\0\0\0\0\1\x0b\1",
    aws_exception("throttlingException", b'{"message": "slow down"}'),
    aws_message(b"", aws_headers(message_type="error", error_code="e")) + aws_message(b"{}")[:-1],
]


def streams() -> Iterator[bytes]:
    """The seeds as bytes on the wire, whole and payload by payload."""
    for payloads in STREAMS.values():
        yield sse(*payloads)
        yield b"".join(msgspec.json.encode(payload) + b"\n" for payload in payloads)
        yield msgspec.json.encode(payloads)
        yield b"".join(add_prefix(msgspec.json.encode(payload)) for payload in payloads)
        yield aws_chunks(*payloads)
        yield b"".join(msgspec.json.encode(payload) + b"\0" for payload in payloads)
        for payload in payloads:
            yield sse(payload)
    yield aws_events(*BEDROCK)
    yield aws_events(*BEDROCK_AGENT)
    yield from _STRANGE


def wire_structs(dialect: str) -> list[type[msgspec.Struct]]:
    """The structs that a dialect reads its payloads into."""
    module = WIRE_MODULES[dialect]
    return [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, msgspec.Struct)
        and kind.__module__ == module.__name__
    ]


def words() -> list[str]:
    """What the decoder looks for: the field names and the words of its tables."""
    kinds = [kind for dialect in WIRE_MODULES for kind in wire_structs(dialect)]
    names = {field.encode_name for kind in kinds for field in msgspec.structs.fields(kind)}
    types = {
        inner["type"]
        for payload in [*ANTHROPIC, *RESPONSES]
        for inner in (payload, *payload.values())
        if isinstance(inner, dict) and "type" in inner
    }
    other = {"data: ", "event: ", "id: ", "error: ", "[DONE]", "<think>", "</think>", "\\ud800"}
    enums = {word for enum in (CALL_TYPE, REASON, ROLE, STATUS) for word in enum.words.values()}
    return sorted(names | types | other | enums | set(FINISH_WORDS) | set(ERROR_WORDS))
