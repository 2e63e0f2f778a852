"""Mutations that change nothing: what gateways, proxies and serializers do to a stream.

Each takes a sample and returns reads of bytes, or None where it does not apply.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable
from typing import Any

from tests.mutation.dialect import merge_texts, split_text
from tests.mutation.sample import DONE, Sample, Sent, write_event
from tests.wire import random_cuts, single_bytes

Reads = bytes | list[bytes]
Mutation = Callable[[Sample], Reads | None]

EXTRA = "x_gateway"
"""Name of the fields that mutations add."""

_NAMED = ("anthropic", "responses")
_MAX_SINGLE_BYTES = 4_000


# -- lines of server-sent events


def _sse(sample: Sample, **style: Any) -> bytes | None:
    if sample.framing != "sse":
        return None
    return b"".join(write_event(frame, **style) for frame in sample.frames)


def _lines(end: bytes) -> Mutation:
    def mutate(sample: Sample) -> Reads | None:
        if sample.framing == "ndjson":
            return b"".join(frame.data + end for frame in sample.frames)
        return _sse(sample, line_end=end)

    return mutate


def _mixed_line_ends(sample: Sample) -> Reads | None:
    if sample.framing != "sse":
        return None
    ends = (b"\n", b"\r\n", b"\r")
    frames = enumerate(sample.frames)
    return b"".join(write_event(frame, line_end=ends[at % 3]) for at, frame in frames)


def _head(head: bytes) -> Mutation:
    return lambda sample: _sse(sample, head=head)


def _before_each(extra: bytes, every: int = 1) -> Mutation:
    """Put bytes before every frame of a server-sent stream."""

    def mutate(sample: Sample) -> Reads | None:
        if sample.framing != "sse":
            return None
        return b"".join(
            (extra if at % every == 0 else b"") + write_event(frame)
            for at, frame in enumerate(sample.frames)
        )

    return mutate


def _after_first(extra: bytes) -> Mutation:
    def mutate(sample: Sample) -> Reads | None:
        if sample.framing != "sse":
            return None
        first, *rest = sample.frames
        return write_event(first) + extra + b"".join(map(write_event, rest))

    return mutate


def _at_start(extra: bytes, *framings: str) -> Mutation:
    return lambda sample: extra + sample.data if sample.framing in framings else None


def _at_end(extra: bytes, *framings: str) -> Mutation:
    return lambda sample: sample.data + extra if sample.framing in framings else None


def _inside_each(extra: bytes) -> Mutation:
    """Put a line between the fields of every event."""

    def mutate(sample: Sample) -> Reads | None:
        if sample.framing != "sse":
            return None
        return b"".join(
            (b"event: " + frame.event.encode() + b"\n" if frame.event else b"")
            + extra
            + b"data: "
            + frame.data
            + b"\n"
            + extra
            + b"\n"
            for frame in sample.frames
        )

    return mutate


def _ids(sample: Sample) -> Reads | None:
    if sample.framing != "sse":
        return None
    frames = enumerate(sample.frames)
    return b"".join(b"id: %d\n" % at + write_event(frame) for at, frame in frames)


def _names_removed(sample: Sample) -> Reads | None:
    if sample.framing != "sse" or not any(frame.event for frame in sample.frames):
        return None
    return b"".join(write_event(frame._replace(event="")) for frame in sample.frames)


def _names_added(sample: Sample) -> Reads | None:
    if sample.framing != "sse":
        return None
    named = []
    for frame in sample.frames:
        kind = (frame.payload or {}).get("type") if sample.dialect in _NAMED else "message"
        named.append(frame._replace(event=frame.event or str(kind or "message")))
    return b"".join(map(write_event, named))


def _name_after_data(sample: Sample) -> Reads | None:
    if sample.framing != "sse" or not any(frame.event for frame in sample.frames):
        return None
    return b"".join(
        b"data: " + frame.data + b"\nevent: " + frame.event.encode() + b"\n\n"
        for frame in sample.frames
    )


def _pretty_in_data_lines(sample: Sample) -> Reads | None:
    if sample.framing != "sse":
        return None
    written = []
    for frame in sample.frames:
        payload = frame.payload
        shown = frame if payload is None else frame.with_payload(payload, indent=2)
        lines = shown.data.replace(b"\n", b"\ndata: ")
        written.append(write_event(frame._replace(data=lines)))
    return b"".join(written)


def _without_final_blank_line(sample: Sample) -> Reads | None:
    return sample.data[:-1] if sample.framing == "sse" else None


def _without_final_line_end(sample: Sample) -> Reads | None:
    return sample.data.rstrip(b"\n") if sample.framing in ("sse", "ndjson") else None


def _done_added(sample: Sample) -> Reads | None:
    if sample.framing != "sse" or sample.has_done:
        return None
    return sample.data + write_event(Sent(DONE))


def _done_removed(sample: Sample) -> Reads | None:
    # Where one of several candidates has no finish reason, only `[DONE]` tells the end.
    if not sample.has_done or len(sample.content) > 1:
        return None
    return sample.write(sample.frames[:-1])


def _done_as(written: bytes) -> Mutation:
    def mutate(sample: Sample) -> Reads | None:
        return sample.write(sample.frames[:-1]) + written if sample.has_done else None

    return mutate


# -- reads


def _single_bytes(sample: Sample) -> Reads | None:
    return single_bytes(sample.data) if len(sample.data) <= _MAX_SINGLE_BYTES else None


def _frame_by_frame(sample: Sample) -> Reads | None:
    return [sample.write([frame]) for frame in sample.frames] if sample.framing == "sse" else None


def _blocks(size: int) -> Mutation:
    return lambda sample: [sample.data[at : at + size] for at in range(0, len(sample.data), size)]


def _split_line_ends(sample: Sample) -> Reads | None:
    data = _sse(sample, line_end=b"\r\n")
    return None if data is None else re.split(rb"(?<=\r)(?=\n)", data)


def _empty_reads(sample: Sample) -> Reads | None:
    pieces = random_cuts(sample.data, seed=3, pieces=20)
    return [read for piece in pieces for read in (b"", piece, b"")]


# -- JSON


def _json(change: Callable[[dict[str, Any], Sample], Any], **style: Any) -> Mutation:
    """Change and write every payload anew."""

    def mutate(sample: Sample) -> Reads | None:
        frames = [
            frame
            if frame.payload is None
            else frame.with_payload(change(frame.payload, sample), **style)
            for frame in sample.frames
        ]
        return sample.write(frames)

    return mutate


def _text(change: Callable[[str], str], *framings: str) -> Mutation:
    """Change the text of every payload."""

    def mutate(sample: Sample) -> Reads | None:
        if framings and sample.framing not in framings:
            return None
        frames = [
            frame
            if frame.payload is None
            else frame._replace(
                data=change(frame.data.decode("utf-8", "surrogatepass")).encode(
                    "utf-8", "surrogatepass"
                )
            )
            for frame in sample.frames
        ]
        return sample.write(frames)

    return mutate


def _same(payload: dict[str, Any], sample: Sample) -> Any:
    return payload


def _ordered(order: Callable[[Iterable[str]], Iterable[str]]) -> Callable[[Any, Sample], Any]:
    def change(value: Any, sample: Sample) -> Any:
        if isinstance(value, dict):
            return {key: change(value[key], sample) for key in order(list(value))}
        if isinstance(value, list):
            return [change(entry, sample) for entry in value]
        return value

    return change


def _shuffle(keys: Iterable[str]) -> list[str]:
    shuffled = sorted(keys)
    random.Random(len(shuffled)).shuffle(shuffled)
    return shuffled


def _escape_letters(text: str) -> str:
    """Write every `e` inside a string as `\\u0065`, keys included."""
    return re.sub(
        r'"(?:[^"\\]|\\.)*"',
        lambda found: re.sub(
            r"\\u[0-9a-fA-F]{4}|\\.|e", lambda one: r"\u0065" if one[0] == "e" else one[0], found[0]
        ),
        text,
    )


def _on_top(**fields: Any) -> Callable[[dict[str, Any], Sample], Any]:
    return lambda payload, sample: {**payload, **fields}


def _first_on_top(**fields: Any) -> Callable[[dict[str, Any], Sample], Any]:
    return lambda payload, sample: {**fields, **payload}


def _in_lists(**fields: Any) -> Callable[[dict[str, Any], Sample], Any]:
    """Add fields to every choice or candidate, or to the message."""

    def change(payload: dict[str, Any], sample: Sample) -> Any:
        changed = dict(payload)
        for name in ("choices", "candidates"):
            if isinstance(payload.get(name), list):
                changed[name] = [{**entry, **fields} for entry in payload[name]]
        for name in ("message", "response") if sample.dialect != "chat" else ():
            if isinstance(payload.get(name), dict):
                changed[name] = {**payload[name], **fields}
        return changed

    return change


def _in_deltas(**fields: Any) -> Callable[[dict[str, Any], Sample], Any]:
    """Add fields to every delta of a chat or Anthropic stream, and to Gemini's contents."""

    def change(payload: dict[str, Any], sample: Sample) -> Any:
        changed = dict(payload)
        if isinstance(payload.get("delta"), dict) and _is_plain(payload["delta"]):
            changed["delta"] = {**payload["delta"], **fields}
        for name, inner in (("choices", "delta"), ("candidates", "content")):
            if isinstance(payload.get(name), list):
                changed[name] = [
                    {**entry, inner: {**entry[inner], **fields}}
                    if isinstance(entry.get(inner), dict)
                    else entry
                    for entry in payload[name]
                ]
        return changed

    return change


def _is_plain(delta: dict[str, Any]) -> bool:
    """Whether we interpret a delta of Anthropic; what we do not, we keep with every field."""
    return delta.get("type") in (None, "text_delta", "thinking_delta", "input_json_delta")


def _only(*dialects: str, change: Callable[[dict[str, Any], Sample], Any]) -> Mutation:
    inner = _json(change)
    return lambda sample: inner(sample) if sample.dialect in dialects else None


def _insert(payload: dict[str, Any], *dialects: str, event: str = "") -> Mutation:
    """Insert a frame that says nothing after every second one, before the end."""

    def mutate(sample: Sample) -> Reads | None:
        if sample.dialect not in dialects:
            return None
        told = _head_fields(sample)
        empty = Sent(json.dumps({**told, **payload}).encode(), event)
        frames: list[Sent] = []
        for at, frame in enumerate(sample.frames):
            frames.append(frame)
            if at % 2 == 0 and at < len(sample.frames) - 2:
                frames.append(empty)
        return sample.write(frames)

    return mutate


def _head_fields(sample: Sample) -> dict[str, Any]:
    """Return what every chunk of a chat stream repeats."""
    if sample.dialect != "chat":
        return {}
    last = next(frame.payload for frame in reversed(sample.frames) if frame.payload)
    return {name: last[name] for name in ("id", "model", "object", "created") if name in last}


# -- deltas


def _split(at: float) -> Mutation:
    return lambda sample: sample.write(
        [piece for frame in sample.frames for piece in split_text(sample.dialect, frame, at)]
    )


def _split_twice(sample: Sample) -> Reads | None:
    frames = [piece for frame in sample.frames for piece in split_text(sample.dialect, frame)]
    return sample.write(
        [piece for frame in frames for piece in split_text(sample.dialect, frame, 0.3)]
    )


def _merged(sample: Sample) -> Reads | None:
    return sample.write(merge_texts(sample.dialect, sample.frames))


# -- arrays and lines of JSON


def _array(start: bytes, between: bytes, end: bytes) -> Mutation:
    def mutate(sample: Sample) -> Reads | None:
        if sample.framing != "json-array":
            return None
        return start + between.join(frame.data for frame in sample.frames) + end

    return mutate


def _around_lines(before: bytes, after: bytes) -> Mutation:
    def mutate(sample: Sample) -> Reads | None:
        if sample.framing != "ndjson":
            return None
        return b"".join(before + frame.data + after for frame in sample.frames)

    return mutate


_OBJECT = {"trace": {"id": "t-1", "hops": [1, 2]}}
_EMPTY_CHAT = {"choices": [{"index": 0, "delta": {}, "finish_reason": None}]}
_LINE = ("sse", "ndjson")

MUTATIONS: dict[str, Mutation] = {
    "CRLF line ends": _lines(b"\r\n"),
    "CR line ends": _lines(b"\r"),
    "mixed line ends": _mixed_line_ends,
    "byte order mark": _at_start(b"\xef\xbb\xbf", *_LINE),
    "data without a space": _head(b"data:"),
    "data with two spaces": _head(b"data:  "),
    "comment `: ping`": _before_each(b": ping\n\n"),
    "comment `:`": _before_each(b":\n\n"),
    "comment `: OPENROUTER PROCESSING`": _before_each(b": OPENROUTER PROCESSING\n\n"),
    "comment `: keep-alive` in front": _at_start(b": keep-alive\n\n" * 20, "sse"),
    "comment without a blank line": _before_each(b": ping\n"),
    "comment between the fields": _inside_each(b": ping\n"),
    "comment in braces": _before_each(b': {"error": "no"}\n\n'),
    "event ping with data": _before_each(b'event: ping\ndata: {"type": "ping"}\n\n', 2),
    "event ping without data": _before_each(b"event: ping\n\n", 2),
    "data ping": _after_first(b'data: {"type": "ping"}\n\n'),
    "event keepalive with empty data": _before_each(b"event: keepalive\ndata:\n\n", 2),
    "empty data": _before_each(b"data:\n\n"),
    "empty data with a space": _before_each(b"data: \n\n"),
    "data without a colon": _before_each(b"data\n\n"),
    "blank lines between": _before_each(b"\n\n\n"),
    "blank lines in front": _at_start(b"\n\n", *_LINE),
    "blank lines behind": _at_end(b"\n\n\n", *_LINE),
    "empty object in between": _after_first(b"data: {}\n\n"),
    "id fields": _ids,
    "retry field in front": _at_start(b"retry: 3000\n\n", "sse"),
    "retry field in each": _inside_each(b"retry: 100\n"),
    "id without a value": _inside_each(b"id:\n"),
    "unknown field": _inside_each(b"x-trace: 12\n"),
    "event names removed": _names_removed,
    "event names added": _names_added,
    "event name behind the data": _name_after_data,
    "pretty JSON in several data lines": _pretty_in_data_lines,
    "no final blank line": _without_final_blank_line,
    "no final line end": _without_final_line_end,
    "[DONE] added": _done_added,
    "[DONE] removed": _done_removed,
    "[DONE] without a space": _done_as(b"data:[DONE]\n\n"),
    "[DONE] with trailing blanks": _done_as(b"data: [DONE]  \n\n"),
    "[DONE] twice": _done_as(b"data: [DONE]\n\ndata: [DONE]\n\n"),
    "comment behind the end": _at_end(b": bye\n\n", "sse"),
    "single bytes": _single_bytes,
    "random reads": lambda sample: random_cuts(sample.data, seed=7),
    "one frame per read": _frame_by_frame,
    "reads of 17 bytes": _blocks(17),
    "reads of 1460 bytes": _blocks(1460),
    "reads between CR and LF": _split_line_ends,
    "empty reads": _empty_reads,
    "keys sorted": _json(_ordered(sorted)),
    "keys reversed": _json(_ordered(lambda keys: reversed(list(keys)))),
    "keys shuffled": _json(_ordered(_shuffle)),
    "JSON compact": _json(_same),
    "JSON with spaces": _json(_same, separators=(" , ", " : ")),
    "JSON with tabs": _json(_same, separators=(",\t", ":\t")),
    "ASCII escapes": _json(_same, ensure_ascii=True),
    "escaped letters": _text(_escape_letters),
    "escaped slashes": _text(lambda text: re.sub(r"(?<!\\)/", r"\\/", text)),
    "blanks around the JSON": _text(lambda text: f"  {text} \t", "sse", "json-array"),
    "unknown text on top": _json(_on_top(**{EXTRA: "gw-1"})),
    "unknown object on top": _json(_first_on_top(**{EXTRA: _OBJECT})),
    "unknown list on top": _json(_on_top(**{EXTRA: [1, None, {}]})),
    "unknown null on top": _json(_on_top(**{EXTRA: None})),
    "unknown field in a choice": _json(_in_lists(**{EXTRA: _OBJECT})),
    "unknown null in a choice": _json(_in_lists(**{EXTRA: None})),
    "unknown null in a delta": _json(_in_deltas(**{EXTRA: None})),
    "unknown text in a delta": _json(_in_deltas(**{EXTRA: "gw-2"})),
    "obfuscation in every frame": _only("chat", "responses", change=_on_top(obfuscation="abc")),
    "error null": _json(_first_on_top(error=None)),
    "nulls in a chat chunk": _only(
        "chat",
        change=lambda payload, sample: {
            "service_tier": None,
            "system_fingerprint": None,
            "usage": None,
            **payload,
        },
    ),
    "nulls in a chat delta": _only(
        "chat",
        change=lambda payload, sample: _fill_deltas(
            payload, refusal=None, tool_calls=None, function_call=None, audio=None
        ),
    ),
    "role in every chat delta": _only(
        "chat", change=lambda payload, sample: _fill_deltas(payload, role="assistant")
    ),
    "empty content in every chat delta": _only(
        "chat", change=lambda payload, sample: _fill_deltas(payload, content="")
    ),
    "empty chat delta": _insert(_EMPTY_CHAT, "chat"),
    "chat chunk without choices": _insert({"choices": []}, "chat"),
    "chat chunk with usage null": _insert({"choices": [], "usage": None}, "chat"),
    "ping of Anthropic": _insert({"type": "ping"}, "anthropic", event="ping"),
    "keepalive of Responses": _insert({"type": "keepalive", "sequence_number": 1}, "responses"),
    "empty Gemini chunk": _insert({"candidates": []}, "gemini"),
    "empty Ollama message": _insert(
        {"model": "m", "message": {"role": "assistant", "content": ""}, "done": False}, "ollama"
    ),
    "texts split in half": _split(0.5),
    "texts split after one character": _split(0.0),
    "texts split in four": _split_twice,
    "texts merged": _merged,
    "array compact": _array(b"[", b",", b"]"),
    "array with white space": _array(b" \n[\r\n  ", b"\r\n,\r\n  ", b"\n ]  \n"),
    "array with commas in front": _array(b"[", b"\n,", b"\n]"),
    "blank lines between lines": _around_lines(b"\n", b"\n\n"),
    "blanks around lines": _around_lines(b"  ", b" \t\n"),
}

FOLDED = frozenset(name for name in MUTATIONS if name.startswith("texts "))
"""Mutations after which the folded message stays the same, but not each delta."""


def _fill_deltas(payload: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Add fields to the deltas of a chat chunk that do not have them."""
    choices = [
        {**choice, "delta": {**fields, **choice["delta"]}}
        if isinstance(choice.get("delta"), dict)
        else choice
        for choice in payload.get("choices") or ()
    ]
    return {**payload, "choices": choices} if choices else payload
