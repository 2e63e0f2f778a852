"""Half of a surrogate pair at the end of one delta, and the other half at the start of the next:
JSON may cut a character there, and its part is told with the whole character."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from headrace import events as ev
from headrace.wire.decoder import Decoder
from headrace.wire.dialects import DIALECT_NAMES
from headrace.wire.framing import LINE_FRAMINGS

HIGH, LOW = "\ud83d", "\ude00"
FACE = HIGH.encode("utf-16-le", "surrogatepass") + LOW.encode("utf-16-le", "surrogatepass")
SMILE = FACE.decode("utf-16-le")


def sse(*payloads: dict[str, Any]) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(payload).encode() for payload in payloads)


def chat(field: str, pieces: list[str]) -> bytes:
    chunks: list[dict[str, Any]] = [{"delta": {field: piece}} for piece in pieces]
    return _chat([*chunks, {"delta": {}, "finish_reason": "stop"}])


def _chat(choices: list[dict[str, Any]]) -> bytes:
    return sse(*({"object": "chat.completion.chunk", "choices": [c]} for c in choices))


def chat_call(pieces: list[str]) -> bytes:
    first = {"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}
    calls = [first, *({"index": 0, "function": {"arguments": p}} for p in ['{"a": "', *pieces])]
    end = {"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '"}'}}]}}
    last: dict[str, Any] = {"delta": {}, "finish_reason": "tool_calls"}
    return _chat([*({"delta": {"tool_calls": [call]}} for call in calls), end, last])


def anthropic(kind: str, field: str, pieces: list[str]) -> bytes:
    block = {"text_delta": {"type": "text", "text": ""}}.get(
        kind, {"type": "thinking", "thinking": ""}
    )
    return sse(
        {"type": "message_start", "message": {"id": "m", "model": "c", "role": "assistant"}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": kind, field: piece}}
            for piece in pieces
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    )


def anthropic_call(pieces: list[str]) -> bytes:
    block: dict[str, Any] = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    deltas = [
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": piece},
        }
        for piece in ['{"a": "', *pieces, '"}']
    ]
    return sse(
        {"type": "message_start", "message": {"id": "m", "model": "c", "role": "assistant"}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *deltas,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    )


def responses(noun: str, pieces: list[str]) -> bytes:
    kind = "message" if noun == "output_text" else "reasoning"
    item: dict[str, Any] = {
        "id": "i",
        "type": kind,
        "role": "assistant",
        "content": [],
        "summary": [],
    }
    return sse(
        {"type": "response.created", "response": {"id": "r", "model": "m"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *(
            {"type": f"response.{noun}.delta", "output_index": 0, "delta": piece}
            for piece in pieces
        ),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "status": "completed"}},
    )


def gemini(pieces: list[str], **beside: Any) -> bytes:
    parts = [{"content": {"role": "model", "parts": [{"text": p, **beside}]}} for p in pieces]
    return sse(*({"candidates": [part]} for part in [*parts, {"finishReason": "STOP"}]))


def ollama(field: str, pieces: list[str]) -> bytes:
    lines: list[dict[str, Any]] = [
        {"model": "m", "message": {"role": "assistant", field: piece}, "done": False}
        for piece in pieces
    ]
    last = {"model": "m", "message": {"content": ""}, "done": True, "done_reason": "stop"}
    return b"".join(json.dumps(line).encode() + b"\n" for line in [*lines, last])


def events(*payloads: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(payload).encode() + b"\n\n" for payload in payloads)


def bedrock(pieces: list[str], *, is_reasoning: bool = False) -> bytes:
    deltas: list[Any] = [{"text": piece} for piece in pieces]
    if is_reasoning:
        deltas = [{"reasoningContent": delta} for delta in deltas]
    said = [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}} for delta in deltas]
    return events(*said, {"messageStop": {"stopReason": "end_turn"}})


def cohere(field: str, pieces: list[str]) -> bytes:
    deltas = [{"message": {"content": {field: piece}}} for piece in pieces]
    said = [{"type": "content-delta", "index": 0, "delta": delta} for delta in deltas]
    return events(*said, {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}})


def interactions(pieces: list[str], *, is_reasoning: bool = False) -> bytes:
    deltas: list[Any] = [{"type": "text", "text": piece} for piece in pieces]
    if is_reasoning:
        deltas = [{"type": "thought_summary", "content": delta} for delta in deltas]
    said = [{"event_type": "step.delta", "index": 0, "delta": delta} for delta in deltas]
    end = {"event_type": "interaction.completed", "interaction": {"status": "completed"}}
    return events(*said, end)


def completions(pieces: list[str]) -> bytes:
    said = [{"completion": piece, "stop_reason": None} for piece in pieces]
    return events(*said, {"completion": "", "stop_reason": "stop_sequence"})


STREAMS: dict[str, tuple[str, Callable[[list[str]], bytes]]] = {
    "chat text": ("chat", lambda pieces: chat("content", pieces)),
    "chat reasoning": ("chat", lambda pieces: chat("reasoning_content", pieces)),
    "chat refusal": ("chat", lambda pieces: chat("refusal", pieces)),
    "chat call": ("chat", chat_call),
    "anthropic text": ("anthropic", lambda pieces: anthropic("text_delta", "text", pieces)),
    "anthropic thinking": (
        "anthropic",
        lambda pieces: anthropic("thinking_delta", "thinking", pieces),
    ),
    "anthropic call": ("anthropic", anthropic_call),
    "responses text": ("responses", lambda pieces: responses("output_text", pieces)),
    "responses reasoning": ("responses", lambda pieces: responses("reasoning_text", pieces)),
    "gemini text": ("gemini", gemini),
    "gemini thought": ("gemini", lambda pieces: gemini(pieces, thought=True)),
    "ollama text": ("ollama", lambda pieces: ollama("content", pieces)),
    "ollama thinking": ("ollama", lambda pieces: ollama("thinking", pieces)),
    "bedrock text": ("bedrock", bedrock),
    "bedrock reasoning": ("bedrock", lambda pieces: bedrock(pieces, is_reasoning=True)),
    "cohere text": ("cohere", lambda pieces: cohere("text", pieces)),
    "cohere thinking": ("cohere", lambda pieces: cohere("thinking", pieces)),
    "interactions text": ("interactions", interactions),
    "interactions thought": (
        "interactions",
        lambda pieces: interactions(pieces, is_reasoning=True),
    ),
    "text": ("text", completions),
}


def test_every_dialect_of_json_texts_has_a_stream_here() -> None:
    # xAI sends protocol buffers, and Bedrock agents base64: neither has halves.
    assert {dialect for dialect, _ in STREAMS.values()} == set(DIALECT_NAMES) - {
        "xai",
        "bedrock-agent",
    }


def decoded(dialect: str, data: bytes, step: int | None = None) -> list[ev.TurnEvent]:
    framing = "ndjson" if dialect == "ollama" else "sse"
    assert framing in LINE_FRAMINGS
    decoder = Decoder(dialect, framing=framing)
    step = step or len(data)
    made = [e for at in range(0, len(data), step) for e in decoder.feed(data[at : at + step])]
    made += decoder.close()
    assert isinstance(made[-1], ev.TurnFinished), made[-1]
    assert not decoder.skipped_frames
    for event in made:
        ev.encode_event(event)
    return made


def told(events: list[ev.TurnEvent]) -> str:
    deltas = [event for event in events if isinstance(event, ev.DeltaEvent)]
    assert all(delta.text for delta in deltas)
    return "".join(delta.text for delta in deltas)


PIECES = {
    "cut": (["a", HIGH, LOW, "b"], f"a{SMILE}b"),
    "cut with words around": ([f"a{HIGH}", f"{LOW}b"], f"a{SMILE}b"),
    "cut again and again": ([HIGH, LOW + HIGH, LOW + HIGH, LOW], SMILE * 3),
    "not cut": (["a", SMILE, "b"], f"a{SMILE}b"),
    "never ended": (["a", HIGH, "b"], "a\ufffdb"),
    "never ended, at the end": (["a", HIGH], "a\ufffd"),
    "never begun": (["a", LOW, "b"], "a\ufffdb"),
    "two beginnings": ([HIGH, HIGH, LOW], f"\ufffd{SMILE}"),
    "in one delta, apart": ([f"a{HIGH} {LOW}b"], "a\ufffd \ufffdb"),
    "the wrong way round": ([LOW, HIGH, "a"], "\ufffd\ufffda"),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("case", PIECES)
def test_halves_in_two_deltas_are_one_character(name: str, case: str) -> None:
    dialect, write = STREAMS[name]
    pieces, wanted = PIECES[case]
    whole = decoded(dialect, write(pieces))
    if name.endswith("call"):
        (call,) = [e for e in whole if isinstance(e, ev.ToolCallFinished)]
        assert told(whole) == call.raw == f'{{"a": "{wanted}"}}'
        assert call.args == {"a": wanted}
    else:
        assert told(whole) == wanted
    assert decoded(dialect, write(pieces), 1) == decoded(dialect, write(pieces), 7) == whole


def test_a_half_is_joined_only_in_its_own_part() -> None:
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": {"content": f"a{HIGH}"}},
        {"index": 1, "delta": {"content": f"b{HIGH}"}},
        {"index": 0, "delta": {"content": f"{LOW}c"}},
        {"index": 1, "delta": {"content": "d"}},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
        {"index": 1, "delta": {}, "finish_reason": "stop"},
    ]
    events = decoded("chat", _chat(choices))
    by_part: dict[int, str] = {}
    for event in events:
        if isinstance(event, ev.TextDelta):
            by_part[event.part] = by_part.get(event.part, "") + event.text
    assert [*by_part.values()] == [f"a{SMILE}c", "b\ufffdd"]


def test_reasoning_that_ends_in_half_is_not_joined_with_the_text() -> None:
    choices: list[dict[str, Any]] = [
        {"delta": {"reasoning_content": f"a{HIGH}"}},
        {"delta": {"content": f"{LOW}b"}},
        {"delta": {}, "finish_reason": "stop"},
    ]
    events = decoded("chat", _chat(choices))
    assert told(events) == "a\ufffd\ufffdb"
    ends = [type(e).__name__ for e in events if isinstance(e, ev.DeltaEvent | ev.ReasoningFinished)]
    assert ends == ["ReasoningDelta", "ReasoningDelta", "ReasoningFinished", "TextDelta"]


def test_a_cut_stream_still_tells_its_half() -> None:
    decoder = Decoder("chat")
    data = _chat([{"delta": {"content": f"a{HIGH}"}}])
    events = [*decoder.feed(data), *decoder.close()]
    assert told(events) == decoder.message.text == "a\ufffd"
    assert isinstance(events[-1], ev.TurnFailed)


def test_halves_in_a_value_are_replaced() -> None:
    """What comes as a value and not in deltas is mended where it is read."""
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": {"content": HIGH}}}
    choices: list[dict[str, Any]] = [
        {"delta": {"tool_calls": [call]}},
        {"delta": {}, "finish_reason": "tool_calls"},
    ]
    events = decoded("chat", _chat(choices))
    (finished,) = [e for e in events if isinstance(e, ev.ToolCallFinished)]
    assert finished.args == {"content": "\ufffd"}
