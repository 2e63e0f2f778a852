"""Authored streams as the providers write them, and what they must decode to.

One read is one event, and `recut` makes reads of any other length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

EVENTS = 20_000

# Pieces as tokenizers cut them: some need escapes in JSON, some are no ASCII.
_WORDS = (
    "The", " channel", " brings", " the", " stream", " to", " the", " wheel", ":", " first",
    " we", " add", ' "', "inflow", '"', " and", " the", " loss", ",", " then", " 3", ".", "14",
    " ×", " the", " area", " gives", " m³", ".\n\n", "So", " the", " answer", " is", " small", ".",
)  # fmt: skip
# Reasoning as models write it, cut into words.
_THOUGHTS = tuple(
    re.findall(
        r"\s*\S+",
        " The channel has two gates, and only the lower one was open that night. So the level"
        " behind it must have dropped by about 12.5 cm before anybody noticed. Let me check the"
        " readings of the second gauge against the log. They were taken every ten minutes, which"
        " is coarse but enough here.\n\nIf the inflow was steady, the loss is the difference"
        " between both gauges. Wait, the upper gauge was replaced in May and reads 3 cm too high"
        " since then. I need to correct the upper readings first. With that the loss is 0.9 m³"
        ' per second, not 1.4. That agrees with what the miller wrote, "a good bucket a second".'
        "\n\nThe question also asks how long the wheel stood still. The report says that it turned"
        " again at dawn, and dawn was at 4:52 on that day. Now, compare that with the time of the"
        " first call. The gate was closed at 23:10, so it stood for 5 hours and 42 minutes, more"
        " or less.\n\n",
    )
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz 0123456789"
_CHAT_ID = "chatcmpl-C4HqHBe4xca0k0EzsCnf1t6V3YFXp"
_CHAT_MODEL = "gpt-5-mini-2025-08-07"
_CLAUDE = "claude-sonnet-4-5-20250929"
_GEMINI_MODEL = "gemini-2.5-flash"
_OLLAMA_MODEL = "qwen3:8b"


@dataclass
class Stream:
    """The reads of one turn. `events` counts payloads, without the `[DONE]` of a chat."""

    dialect: str
    reads: list[bytes] = field(default_factory=list[bytes])
    events: int = 0
    reasoning: str = ""
    text: str = ""
    arguments: tuple[str, ...] = ()
    framing: str = "sse"


def chat(events: int = EVENTS, *, call_deltas: int | None = None) -> Stream:
    """Reasoning, text, two calls and usage in `events` chunks; a tenth of them belongs to
    each call, or `call_deltas`."""
    reasoning, text, deltas = _shares(events - 5, call_deltas)
    stream = Stream("chat", arguments=(_arguments(4 * deltas),) * 2)
    _add_chunk(stream, {"role": "assistant", "content": "", "refusal": None})
    for word in _words(reasoning):
        stream.reasoning += word
        _add_chunk(stream, {"reasoning_content": word})
    for word in _words(text):
        stream.text += word
        _add_chunk(stream, {"content": word})
    for number, arguments in enumerate(stream.arguments):
        _add_chunk(stream, _call_start(number))
        for piece in _pieces(arguments, deltas):
            _add_chunk(stream, _call_piece(number, piece))
    _end_chat(stream)
    return stream


def chat_reasoning(chunks: int) -> Stream:
    """Nothing but reasoning: sentences of a dozen words, of which one in four announces
    what the model is about to do, as in recorded reasoning."""
    stream = Stream("chat")
    for word in islice(cycle(_THOUGHTS), chunks):
        stream.reasoning += word
        _add_chunk(stream, {"reasoning_content": word})
    _end_chat(stream)
    return stream


def chat_answer(events: int = EVENTS) -> Stream:
    """Reasoning and text alone, half of each: a turn that calls nothing."""
    stream = Stream("chat")
    _add_chunk(stream, {"role": "assistant", "content": "", "refusal": None})
    for word in _words(events // 2):
        stream.reasoning += word
        _add_chunk(stream, {"reasoning_content": word})
    for word in _words(events - events // 2 - 3):
        stream.text += word
        _add_chunk(stream, {"content": word})
    _end_chat(stream)
    return stream


def chat_argument(events: int, chars: int) -> Stream:
    """One call whose argument string has `chars` characters, in `events` deltas."""
    arguments = _arguments(chars)
    stream = Stream("chat", arguments=(arguments,))
    _add_chunk(stream, _call_start(0))
    for piece in _pieces(arguments, events):
        _add_chunk(stream, _call_piece(0, piece))
    _end_chat(stream)
    return stream


def chat_switches(switches: int) -> Stream:
    """Two calls, both open, that take turns: a switch after every delta."""
    arguments = _arguments(switches * 8)
    stream = Stream("chat", arguments=(arguments, arguments))
    for number in (0, 1):
        _add_chunk(stream, _call_start(number))
    for piece in _pieces(arguments, switches // 2):
        for number in (0, 1):
            _add_chunk(stream, _call_piece(number, piece))
    _end_chat(stream)
    return stream


def anthropic(events: int = EVENTS, *, call_deltas: int | None = None) -> Stream:
    """Thinking with its signature, text, two calls, a ping and usage in `events` events."""
    reasoning, text, deltas = _shares(events - 13, call_deltas)
    stream = Stream("anthropic", arguments=(_arguments(4 * deltas),) * 2)
    _start_message(stream)
    _add_event(stream, "ping")
    _start_block(stream, 0, {"type": "thinking", "thinking": "", "signature": ""})
    for word in _words(reasoning):
        stream.reasoning += word
        _add_delta(stream, 0, {"type": "thinking_delta", "thinking": word})
    _add_delta(stream, 0, {"type": "signature_delta", "signature": "EqQBCgIYAhIM" + "x9Lk" * 80})
    _add_event(stream, "content_block_stop", index=0)
    _start_block(stream, 1, {"type": "text", "text": ""})
    for word in _words(text):
        stream.text += word
        _add_delta(stream, 1, {"type": "text_delta", "text": word})
    _add_event(stream, "content_block_stop", index=1)
    for number, arguments in enumerate(stream.arguments):
        _add_tool_use(stream, number + 2, arguments, deltas)
    _end_message(stream)
    return stream


def anthropic_argument(events: int, chars: int) -> Stream:
    """One call whose argument string has `chars` characters, in `events` deltas."""
    arguments = _arguments(chars)
    stream = Stream("anthropic", arguments=(arguments,))
    _start_message(stream)
    _add_tool_use(stream, 0, arguments, events)
    _end_message(stream)
    return stream


def responses(events: int = EVENTS) -> Stream:
    """A summary of the reasoning and its seal, text, two calls and usage in `events` events."""
    reasoning, text, deltas = _shares(events - 19, None)
    stream = Stream("responses", arguments=(_arguments(4 * deltas),) * 2)
    _add_response(stream, "created", "in_progress")
    _add_response(stream, "in_progress", "in_progress")
    _add_thoughts(stream, reasoning)
    _add_message(stream, text)
    for number, arguments in enumerate(stream.arguments):
        _add_function_call(stream, number + 2, arguments, deltas)
    _add_response(stream, "completed", "completed", usage=_RESPONSES_USAGE)
    return stream


def gemini(events: int = EVENTS) -> Stream:
    """Thoughts, text, two calls and running usage in `events` chunks. Calls come whole."""
    reasoning = (events - 3) * 35 // 100
    stream = Stream("gemini", arguments=('{"place":"Köln","limit":20}',) * 2)
    for word in _words(reasoning):
        stream.reasoning += word
        _add_parts(stream, {"text": word, "thought": True})
    for word in _words(events - 3 - reasoning):
        stream.text += word
        _add_parts(stream, {"text": word})
    for arguments in stream.arguments:
        call = {"name": "search_places", "args": json.loads(arguments)}
        _add_parts(stream, {"functionCall": call, "thoughtSignature": "CiQB" + "x9Lk" * 20})
    _add_parts(stream, {"text": ""}, finish="STOP")
    return stream


def ollama(events: int = EVENTS) -> Stream:
    """Thinking, text, two calls and usage in `events` lines. Calls come whole."""
    reasoning = (events - 3) * 35 // 100
    stream = Stream("ollama", arguments=('{"place":"Köln","limit":20}',) * 2, framing="ndjson")
    for word in _words(reasoning):
        stream.reasoning += word
        _add_line(stream, content="", thinking=word)
    for word in _words(events - 3 - reasoning):
        stream.text += word
        _add_line(stream, content=word)
    for arguments in stream.arguments:
        function = {"name": "search_places", "arguments": json.loads(arguments)}
        _add_line(stream, content="", tool_calls=[{"function": function}])
    _add_line(stream, content="", beside=_OLLAMA_END)
    return stream


def recut(reads: list[bytes], size: int) -> list[bytes]:
    """The same bytes in reads of `size` bytes."""
    data = b"".join(reads)
    return [data[start : start + size] for start in range(0, len(data), size)]


# -- what is said


def _shares(events: int, call_deltas: int | None) -> tuple[int, int, int]:
    """How many events are reasoning, text, and the arguments of each of two calls."""
    deltas = events // 10 if call_deltas is None else call_deltas
    reasoning = events * 35 // 100
    return reasoning, events - reasoning - 2 * deltas, deltas


def _words(count: int) -> Iterator[str]:
    return islice(cycle(_WORDS), count)


def _arguments(chars: int) -> str:
    """A JSON object of at least `chars` characters, one string and a few others."""
    note = "".join(islice(cycle(_LETTERS), chars))
    return json.dumps({"place": "Köln", "limit": 20, "note": note}, ensure_ascii=False)


def _pieces(text: str, count: int) -> Iterator[str]:
    """`text` in exactly `count` pieces of nearly the same length, none empty."""
    for number in range(count):
        yield text[len(text) * number // count : len(text) * (number + 1) // count]


# -- how OpenAI writes it


def _add_chunk(stream: Stream, delta: Any, finish: str | None = None, usage: Any = None) -> None:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = {
        "id": _CHAT_ID,
        "object": "chat.completion.chunk",
        "created": 1755137933,
        "model": _CHAT_MODEL,
        "service_tier": "default",
        "system_fingerprint": "fp_0b4f2b9d3a",
        "choices": [] if usage else [choice],
        "usage": usage,
    }
    stream.reads.append(b"data: " + _json(chunk) + b"\n\n")
    stream.events += 1


def _call_start(number: int) -> Any:
    function = {"name": "search_places", "arguments": ""}
    call = {"index": number, "id": f"call_{number:024}", "type": "function", "function": function}
    return {"tool_calls": [call]}


def _call_piece(number: int, piece: str) -> Any:
    return {"tool_calls": [{"index": number, "function": {"arguments": piece}}]}


def _end_chat(stream: Stream) -> None:
    _add_chunk(stream, {}, finish="tool_calls")
    usage = {
        "prompt_tokens": 1203,
        "completion_tokens": stream.events,
        "total_tokens": 1203 + stream.events,
        "prompt_tokens_details": {"cached_tokens": 1024, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 704, "audio_tokens": 0},
    }
    _add_chunk(stream, None, usage=usage)
    stream.reads.append(b"data: [DONE]\n\n")


# -- how Anthropic writes it


def _add_event(stream: Stream, kind: str, **fields: Any) -> None:
    payload = _json({"type": kind, **fields})
    stream.reads.append(b"event: " + kind.encode() + b"\ndata: " + payload + b"\n\n")
    stream.events += 1


def _add_delta(stream: Stream, index: int, delta: Any) -> None:
    _add_event(stream, "content_block_delta", index=index, delta=delta)


def _start_block(stream: Stream, index: int, block: Any) -> None:
    _add_event(stream, "content_block_start", index=index, content_block=block)


def _add_tool_use(stream: Stream, index: int, arguments: str, deltas: int) -> None:
    name = {"name": "search_places", "input": {}}
    _start_block(stream, index, {"type": "tool_use", "id": f"toolu_{index:024}", **name})
    for piece in _pieces(arguments, deltas):
        _add_delta(stream, index, {"type": "input_json_delta", "partial_json": piece})
    _add_event(stream, "content_block_stop", index=index)


def _start_message(stream: Stream) -> None:
    message: dict[str, Any] = {
        "model": _CLAUDE,
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 179,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 1024,
            "output_tokens": 1,
            "service_tier": "standard",
        },
    }
    _add_event(stream, "message_start", message=message)


def _end_message(stream: Stream) -> None:
    delta = {"stop_reason": "tool_use", "stop_sequence": None}
    usage = {"input_tokens": 179, "cache_read_input_tokens": 1024, "output_tokens": stream.events}
    _add_event(stream, "message_delta", delta=delta, usage=usage)
    _add_event(stream, "message_stop")


# -- how OpenAI writes it in Responses

_RESPONSES_USAGE = {
    "input_tokens": 1203,
    "input_tokens_details": {"cached_tokens": 1024},
    "output_tokens": 20000,
    "output_tokens_details": {"reasoning_tokens": 704},
    "total_tokens": 21203,
}


def _add_typed(stream: Stream, kind: str, **fields: Any) -> None:
    _add_event(stream, f"response.{kind}", sequence_number=stream.events, **fields)


def _add_response(stream: Stream, kind: str, status: str, usage: Any = None) -> None:
    response = {
        "id": "resp_68af4030592c81938ec0a5fbab4a3e9f",
        "object": "response",
        "created_at": 1755137933,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": _CHAT_MODEL,
        "output": [],
        "service_tier": "default",
        "usage": usage,
    }
    _add_typed(stream, kind, response=response)


def _add_thoughts(stream: Stream, deltas: int) -> None:
    where = {"item_id": "rs_68af4032baa48193", "output_index": 0, "summary_index": 0}
    item: dict[str, Any] = {"id": where["item_id"], "type": "reasoning", "summary": []}
    _add_typed(stream, "output_item.added", output_index=0, item=item)
    empty = {"type": "summary_text", "text": ""}
    _add_typed(stream, "reasoning_summary_part.added", **where, part=empty)
    for word in _words(deltas):
        stream.reasoning += word
        _add_typed(stream, "reasoning_summary_text.delta", **where, delta=word, obfuscation="pAd")
    whole = {"type": "summary_text", "text": stream.reasoning}
    _add_typed(stream, "reasoning_summary_text.done", **where, text=stream.reasoning)
    _add_typed(stream, "reasoning_summary_part.done", **where, part=whole)
    item |= {"summary": [whole], "encrypted_content": "gAAAAABor0" + "x9Lk" * 80}
    _add_typed(stream, "output_item.done", output_index=0, item=item)


def _add_message(stream: Stream, deltas: int) -> None:
    where = {"item_id": "msg_68af4033ba6c8193", "output_index": 1, "content_index": 0}
    item = {"id": where["item_id"], "type": "message", "role": "assistant", "content": []}
    _add_typed(stream, "output_item.added", output_index=1, item=item)
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    _add_typed(stream, "content_part.added", **where, part=part)
    for word in _words(deltas):
        stream.text += word
        beside = {"logprobs": [], "obfuscation": "pAdd1n"}
        _add_typed(stream, "output_text.delta", **where, delta=word, **beside)
    part |= {"text": stream.text}
    _add_typed(stream, "output_text.done", **where, text=stream.text, logprobs=[])
    _add_typed(stream, "content_part.done", **where, part=part)
    _add_typed(stream, "output_item.done", output_index=1, item=item | {"content": [part]})


def _add_function_call(stream: Stream, index: int, arguments: str, deltas: int) -> None:
    where = {"item_id": f"fc_{index:016}", "output_index": index}
    item = {"id": where["item_id"], "type": "function_call", "status": "in_progress"}
    item |= {"call_id": f"call_{index:024}", "name": "search_places", "arguments": ""}
    _add_typed(stream, "output_item.added", output_index=index, item=item)
    for piece in _pieces(arguments, deltas):
        _add_typed(stream, "function_call_arguments.delta", **where, delta=piece, obfuscation="pAd")
    _add_typed(stream, "function_call_arguments.done", **where, arguments=arguments)
    item |= {"status": "completed", "arguments": arguments}
    _add_typed(stream, "output_item.done", output_index=index, item=item)


# -- how Google writes it


def _add_parts(stream: Stream, *parts: Any, finish: str | None = None) -> None:
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}}
    candidate |= {"finishReason": finish} if finish else {}
    usage = {
        "promptTokenCount": 1203,
        "candidatesTokenCount": stream.events,
        "totalTokenCount": 1907 + stream.events,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1203}],
        "thoughtsTokenCount": 704,
    }
    chunk = {
        "candidates": [candidate | {"index": 0}],
        "usageMetadata": usage,
        "modelVersion": _GEMINI_MODEL,
        "responseId": "BSivaPaaEYqqmtkP2c2MuQE",
    }
    stream.reads.append(b"data: " + _json(chunk) + b"\r\n\r\n")
    stream.events += 1


# -- how Ollama writes it

_OLLAMA_END = {
    "done_reason": "stop",
    "total_duration": 182319243511,
    "load_duration": 76012305,
    "prompt_eval_count": 1203,
    "prompt_eval_duration": 260109721,
    "eval_count": 20000,
    "eval_duration": 181983121485,
}


def _add_line(stream: Stream, beside: Any = None, **message: Any) -> None:
    line = {
        "model": _OLLAMA_MODEL,
        "created_at": "2026-11-15T09:42:01.123456789Z",
        "message": {"role": "assistant", **message},
        "done": beside is not None,
    }
    stream.reads.append(_json(line | (beside or {})) + b"\n")
    stream.events += 1


def _json(value: Any) -> bytes:
    """Compact, and with characters as they are, which is how the providers write."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
