"""Authored streams of Bedrock and Cohere, and what they must decode to."""

from __future__ import annotations

import zlib
from typing import Any

from bench.streams import EVENTS, Stream, _arguments, _json, _pieces, _shares, _words


def bedrock(events: int = EVENTS) -> Stream:
    """Reasoning, text, two calls and usage in `events` messages; a tenth of them belongs to each
    call."""
    reasoning, text, deltas = _shares(events - 10, None)
    calls = (_arguments(4 * deltas),) * 2
    stream = Stream("bedrock", arguments=calls, framing="aws-event-stream")
    _add_message(stream, "messageStart", {"role": "assistant"})
    for word in _words(reasoning):
        stream.reasoning += word
        _add_delta(stream, 0, {"reasoningContent": {"text": word}})
    _add_delta(stream, 0, {"reasoningContent": {"signature": "EqoB" + "x9Lk" * 40}})
    _add_message(stream, "contentBlockStop", {"contentBlockIndex": 0})
    for word in _words(text):
        stream.text += word
        _add_delta(stream, 1, {"text": word})
    _add_message(stream, "contentBlockStop", {"contentBlockIndex": 1})
    for number, arguments in enumerate(calls, 2):
        use = {"toolUse": {"toolUseId": f"tooluse_{number:022}", "name": "search_places"}}
        _add_message(stream, "contentBlockStart", {"contentBlockIndex": number, "start": use})
        for piece in _pieces(arguments, deltas):
            _add_delta(stream, number, {"toolUse": {"input": piece}})
        _add_message(stream, "contentBlockStop", {"contentBlockIndex": number})
    _add_message(stream, "messageStop", {"stopReason": "tool_use"})
    usage = {"inputTokens": 1203, "outputTokens": 704, "totalTokens": 1907}
    _add_message(stream, "metadata", {"usage": usage, "metrics": {"latencyMs": 2768}})
    return stream


def _add_delta(stream: Stream, index: int, delta: Any) -> None:
    payload = {"contentBlockIndex": index, "delta": delta, "p": "abcdefghijklmnopqrs"}
    _add_message(stream, "contentBlockDelta", payload)


def _add_message(stream: Stream, kind: str, payload: Any) -> None:
    named = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\7" + len(value).to_bytes(2, "big") + value.encode()
        for name, value in named.items()
    )
    data = _json(payload)
    sizes = (16 + len(headers) + len(data), len(headers))
    prelude = b"".join(size.to_bytes(4, "big") for size in sizes)
    whole = prelude + zlib.crc32(prelude).to_bytes(4, "big") + headers + data
    stream.reads.append(whole + zlib.crc32(whole).to_bytes(4, "big"))
    stream.events += 1


def cohere(events: int = EVENTS) -> Stream:
    """Reasoning, text, two calls and usage in `events` events."""
    reasoning, text, deltas = _shares(events - 8, None)
    stream = Stream("cohere", arguments=(_arguments(4 * deltas),) * 2)
    message: dict[str, Any] = {"role": "assistant", "content": [], "tool_calls": []}
    _add_event(stream, "message-start", id="9c4c845f-5c20", delta={"message": message})
    for word in _words(reasoning):
        stream.reasoning += word
        _add_content(stream, 0, {"thinking": word})
    _add_event(stream, "content-end", index=0)
    for word in _words(text):
        stream.text += word
        _add_content(stream, 1, {"text": word})
    _add_event(stream, "content-end", index=1)
    for number, arguments in enumerate(stream.arguments):
        function = {"name": "search_places", "arguments": ""}
        call = {"id": f"call_{number:012}", "type": "function", "function": function}
        _add_call(stream, "tool-call-start", number, call)
        for piece in _pieces(arguments, deltas):
            _add_call(stream, "tool-call-delta", number, {"function": {"arguments": piece}})
        _add_event(stream, "tool-call-end", index=number)
    counts = {"input_tokens": 1203, "output_tokens": 704}
    delta = {"finish_reason": "TOOL_CALL", "usage": {"billed_units": counts, "tokens": counts}}
    _add_event(stream, "message-end", delta=delta)
    return stream


def _add_content(stream: Stream, index: int, content: Any) -> None:
    _add_event(stream, "content-delta", index=index, delta={"message": {"content": content}})


def _add_call(stream: Stream, kind: str, index: int, call: Any) -> None:
    _add_event(stream, kind, index=index, delta={"message": {"tool_calls": call}})


def _add_event(stream: Stream, kind: str, **fields: Any) -> None:
    payload = _json({"type": kind, **fields})
    stream.reads.append(b"event: " + kind.encode() + b"\ndata: " + payload + b"\n\n")
    stream.events += 1
