"""JSON in every place where a stream can have it: as a payload, as a field, as arguments.

The cases are the public JSONTestSuite (`y_` must be read, `n_` must not, `i_` is up to us)
and some of our own, in the same three kinds, so that a clone tests the same promises.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace import events as ev
from tests.fuzz.targets import check_events
from tests.shared import shared
from tests.wire import chunk, events_of, only, sse

SUITE = "conformance/json/test_parsing"
DEEP = 100_000
DIGITS = b"7" * 10_000

AUTHORED: dict[str, bytes] = {
    "y_object_empty": b"{}",
    "y_object_unknown_keys": b'{"a": {"b": [1, 2.5, true, false, null, "c"]}}',
    "y_object_duplicate_keys": b'{"a": 1, "a": 2}',
    "y_object_duplicate_known_keys": b'{"choices": 1, "choices": [], "type": 1, "type": "ping"}',
    "y_object_empty_key": b'{"": 0}',
    "y_object_blanks_around": b" \t\n{ } \n",
    "y_object_lines": b'{\n"a":\n1\n}',
    "y_object_128_levels": b'{"a":' * 100 + b"1" + b"}" * 100,
    "y_object_brackets_in_string": b'{"a": "' + b"[{" * 500 + b'"}',
    "y_object_escaped_quotes": b'{"a": "' + b'\\"[' * 500 + b'"}',
    "y_object_lone_surrogate": b'{"a": "\\ud800", "\\udc00": "\\udc00\\ud800"}',
    "y_object_surrogate_pair": b'{"a": "\\ud83d\\ude00"}',
    "y_object_nul_escape": b'{"a\\u0000b": "\\u0000"}',
    "y_object_10000_digits": b'{"a": ' + DIGITS + b', "b": -' + DIGITS + b"}",
    "y_object_10000_fraction_digits": b'{"a": 0.' + DIGITS + b"}",
    "y_object_past_a_double": b'{"a": 1e400, "b": -1e400, "c": 1e-400, "d": 1E+99999}',
    "y_object_past_64_bits": b'{"a": 18446744073709551616, "b": -9223372036854775809}',
    "y_object_many_keys": b"{" + b",".join(b'"%d": %d' % (n, n) for n in range(2000)) + b"}",
    "y_object_noncharacter": '{"a": "\uffff\ufdd0"}'.encode(),
    "y_scalar_null": b"null",
    "y_scalar_number": b"-0",
    "y_scalar_10000_digits": DIGITS,
    "y_scalar_past_a_double": b"1e400",
    "y_scalar_string": b'"text"',
    "y_array_empty": b"[]",
    "y_array_of_objects": b'[{"choices": []}, {"type": "ping"}]',
    "n_blank_nothing": b"",
    "n_blank_spaces": b"  \t \n ",
    "n_object_trailing_comma": b'{"a": 1,}',
    "n_object_single_quotes": b"{'a': 1}",
    "n_object_unquoted_key": b"{a: 1}",
    "n_object_unclosed": b'{"a": {"b": 1}',
    "n_object_closed_twice": b'{"a": 1}}',
    "n_object_trailing_garbage": b'{"a": 1} x',
    "n_object_two": b"{}{}",
    "n_object_comment": b'{"a": 1 /* one */}',
    "n_object_nul_byte": b'{"a": "\x00"}',
    "n_object_control_character": b'{"a": "\x1f"}',
    "n_object_bad_escape": b'{"a": "\\x41"}',
    "n_object_half_escape": b'{"a": "\\u12"}',
    "n_array_trailing_comma": b"[1,]",
    "n_scalar_nan": b"NaN",
    "n_scalar_infinity": b"-Infinity",
    "n_scalar_hex": b"0x10",
    "n_scalar_leading_zero": b"012",
    "n_scalar_word": b"undefined",
    "n_scalar_capital": b"True",
    "n_array_deep": b"[" * DEEP,
    "n_object_deep": b'{"a":' * DEEP,
    "i_array_deep_and_closed": b"[" * DEEP + b"]" * DEEP,
    "i_object_deep_and_closed": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "i_object_byte_order_mark": b"\xef\xbb\xbf{}",
    "i_object_bad_utf8": b'{"a": "\xff\xfe\xc0\x80\xed\xa0\x80"}',
    "i_object_bad_utf8_key": b'{"\xff": 1}',
    "i_object_utf16": '{"a": "b"}'.encode("utf-16"),
}


def public_cases() -> list[Any]:
    folder = shared(SUITE)
    files = sorted(folder.glob("*.json")) if folder else []
    return [pytest.param(path, id=path.stem) for path in files]


authored = pytest.mark.parametrize("name", AUTHORED)
public = [
    pytest.mark.shared(SUITE),
    pytest.mark.parametrize("path", public_cases()),
]


def both(test: Any) -> Any:
    """The public suite as the parameter `path`."""
    for mark in public:
        test = mark(test)
    return test


# --- where the JSON goes ----------------------------------------------------------


def framed(data: bytes) -> bytes:
    """As one SSE event; a line end in the payload is one between `data` lines."""
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return b"".join(b"data: " + line + b"\n" for line in lines) + b"\n"


def block(index: int, text: str) -> bytes:
    start = {"type": "content_block_start", "index": index, "content_block": {"type": "text"}}
    delta = {"type": "text_delta", "text": text}
    return sse(
        start,
        {"type": "content_block_delta", "index": index, "delta": delta},
        {"type": "content_block_stop", "index": index},
        done=False,
    )


BEFORE = {
    "chat": sse(chunk({"role": "assistant", "content": "before"}), done=False),
    "anthropic": sse({"type": "message_start", "message": {"id": "m"}}, done=False)
    + block(90, "before"),
}
AFTER = {
    "chat": sse(chunk({"content": "after"}), chunk({}, finish="stop")),
    "anthropic": block(91, "after")
    + sse(
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
        done=False,
    ),
}

# The JSON stands last in its object, and no quote follows it: what is open stays open.
FIELDS: dict[str, list[bytes]] = {
    "chat": [
        b'{"usage": @}',
        b'{"choices": @}',
        b'{"choices": [@]}',
        b'{"choices": [], "service_tier": @}',
        b'{"choices": [], "odd": @}',
        b'{"citations": @}',
        b'{"search_results": [@]}',
        b'{"x_groq": {"usage": @}}',
        b'{"id": @}',
        *(
            b'{"choices": [{"index": 0, ' + field + b": @}]}"
            for field in (b'"delta"', b'"message"', b'"usage"', b'"logprobs"', b'"odd"')
        ),
        *(
            b'{"choices": [{"index": 0, "delta": {' + field + b": @}}]}"
            for field in (
                b'"content"',
                b'"role"',
                b'"reasoning"',
                b'"reasoning_content"',
                b'"reasoning_details"',
                b'"thinking_blocks"',
                b'"tool_calls"',
                b'"function_call"',
                b'"refusal"',
                b'"annotations"',
                b'"images"',
                b'"audio"',
                b'"odd"',
            )
        ),
        b'{"choices": [{"delta": {"content": [@]}}]}',
        b'{"choices": [{"delta": {"content": [{"type": "odd", "value": @}]}}]}',
        b'{"choices": [{"delta": {"annotations": [@]}}]}',
        b'{"choices": [{"delta": {"reasoning_details": [@]}}]}',
        b'{"choices": [{"delta": {"tool_calls": [@]}}]}',
        b'{"choices": [{"delta": {"tool_calls": [{"index": 7, "function": @}]}}]}',
        b'{"choices": [{"delta": {"tool_calls": [{"function": {"name": "f", "arguments": @}}]}}]}',
    ],
    "anthropic": [
        b'{"type": "ping", "odd": @}',
        b'{"type": "message_start", "message": @}',
        b'{"type": "message_start", "message": {"content": @}}',
        b'{"type": "message_start", "message": {"content": [@]}}',
        b'{"type": "message_start", "message": {"usage": @}}',
        b'{"type": "message_delta", "usage": @}',
        b'{"type": "message_delta", "delta": @}',
        b'{"type": "message_delta", "delta": {"odd": @}}',
        b'{"type": "content_block_start", "index": @}',
        b'{"type": "content_block_start", "content_block": @}',
        b'{"type": "content_block_start", "content_block": {"type": "text", "text": @}}',
        b'{"type": "content_block_start", "content_block": {"type": "text", "citations": @}}',
        b'{"type": "content_block_start", "content_block": {"type": "odd", "value": @}}',
        b'{"type": "content_block_start", "content_block":'
        b' {"type": "tool_use", "name": "f", "input": @}}',
        b'{"type": "content_block_start", "content_block": {"type": "tool_result", "content": @}}',
        b'{"type": "content_block_delta", "delta": @}',
        b'{"type": "content_block_delta", "delta": {"type": "text_delta", "text": @}}',
        b'{"type": "content_block_delta", "delta":'
        b' {"type": "input_json_delta", "partial_json": @}}',
        b'{"type": "content_block_delta", "delta": {"type": "citations_delta", "citation": @}}',
        b'{"type": @}',
    ],
}
ERRORS = {
    "chat": [b'{"error": @}', b'{"x_groq": {"error": @}}', b'{"error": {"message": @}}'],
    "anthropic": [b'{"type": "error", "error": @}', b'{"type": "error", "error": {"message": @}}'],
}


# Python servers write these, and the rest of such a payload is good: they are read as null.
PYTHON_CONSTANTS = (b"NaN", b"Infinity", b"-Infinity")


# --- what must come of it ---------------------------------------------------------


def decode(dialect: str, payload: bytes) -> tuple[str, ev.TurnFinished | ev.TurnFailed]:
    """The text, and the end, of a stream with this frame in its middle; legal in any case."""
    data = BEFORE[dialect] + framed(payload) + AFTER[dialect]
    events = events_of(data, dialect)
    check_events(events)
    end = events[-1]
    assert isinstance(end, ev.TurnFinished | ev.TurnFailed)
    return "".join(event.text for event in only(events, ev.TextDelta)), end


def assert_goes_on(dialect: str, payload: bytes, *, skipped: int) -> None:
    text, end = decode(dialect, payload)
    assert isinstance(end, ev.TurnFinished), (payload[:200], end)
    assert end.skipped_frames == skipped, payload[:200]
    assert text.startswith("before"), (payload[:200], text)
    assert text.endswith("after"), (payload[:200], text)


def assert_unreadable(dialect: str, payload: bytes) -> None:
    """A frame that is skipped and counted, or a typed end; never a part of the answer."""
    text, end = decode(dialect, payload)
    assert text.startswith("before")
    if isinstance(end, ev.TurnFailed):
        assert end.category == "protocol", end
        assert "max_depth=" in end.message
    else:
        assert text == "beforeafter"
        assert end.skipped_frames == 1, payload[:200]


def check_payload(dialect: str, name: str, data: bytes) -> None:
    if name.startswith("y_"):
        value = json.loads(data, parse_int=float)
        entries = value if isinstance(value, list) and value else [value]
        # An array of objects is an array of payloads.
        is_payload = all(isinstance(entry, dict) for entry in entries)
        assert_goes_on(dialect, data, skipped=0 if is_payload else 1)
    elif name.startswith("n_") and not data.strip():
        assert_goes_on(dialect, data, skipped=0)
    elif name.startswith("n_"):
        assert_unreadable(dialect, data)
    else:
        decode(dialect, data)


def choose_fields(dialect: str, name: str) -> list[bytes]:
    """Return a third of the fields, which depends on the case; all of them in `make soak`."""
    fields = FIELDS[dialect]
    if "HEADRACE_SOAK_MUTATIONS" in os.environ:
        return fields
    return fields[zlib.crc32(name.encode()) % 3 :: 3]


def check_fields(dialect: str, name: str, data: bytes, fields: Sequence[bytes]) -> None:
    for field in fields:
        payload = field.replace(b"@", data)
        if name.startswith("y_") or data.strip(b"[]") in PYTHON_CONSTANTS:
            assert_goes_on(dialect, payload, skipped=0)
        elif name.startswith("n_") and not (b"[@]" in field and not data.strip()):
            assert_unreadable(dialect, payload)
        else:
            decode(dialect, payload)
    for field in ERRORS[dialect]:
        decode(dialect, field.replace(b"@", data))


def call_events(dialect: str, written: str) -> list[ev.TurnEvent]:
    """A call with these arguments, in three pieces."""
    third = len(written) // 3
    pieces = [written[:third], written[third : 2 * third], written[2 * third :]]
    if dialect == "chat":
        entries = [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
        opening = {"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}
        payloads: list[Any] = [chunk({"tool_calls": [entry]}) for entry in [opening, *entries]]
        return events_of(sse(*payloads, chunk({}, finish="tool_calls")), dialect)
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    deltas = [
        {
            "type": "content_block_delta",
            "delta": {"type": "input_json_delta", "partial_json": piece},
        }
        for piece in pieces
    ]
    payloads = [{"type": "content_block_start", "content_block": use}, *deltas]
    payloads += [{"type": "content_block_stop"}, {"type": "message_stop"}]
    return events_of(sse(*payloads, done=False), dialect)


def check_arguments(dialect: str, name: str, data: bytes) -> None:
    written = data.decode("utf-8", "replace")
    events = call_events(dialect, written)
    check_events(events)
    (end,) = only(events, ev.ToolCallFinished, ev.ToolCallMalformed)
    assert end.raw == written
    assert isinstance(events[-1], ev.TurnFinished)
    if not written.strip():
        assert end.args == {}
    elif name.startswith("y_"):
        assert isinstance(end, ev.ToolCallFinished), end
        assert end.args == meant(written)
    elif name.startswith("n_"):
        assert isinstance(end, ev.ToolCallMalformed), end
        assert end.error


def meant(written: str) -> Any:
    """What the standard library reads; `null` is no arguments, half a surrogate pair is
    U+FFFD, and a whole number past what Python takes from text is infinite."""
    value = json.loads(written, parse_int=_int)
    return {} if value is None else _mended(value)


def _int(digits: str) -> int | float:
    return int(digits) if len(digits) <= 4_300 else float(digits)


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in value)
    if isinstance(value, list):
        return [_mended(entry) for entry in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(entry) for key, entry in value.items()}
    return value


# --- the promises -----------------------------------------------------------------

dialects = pytest.mark.parametrize("dialect", ["chat", "anthropic"])


@dialects
@authored
def test_a_payload_is_read_or_counted_or_ends_the_turn(dialect: str, name: str) -> None:
    check_payload(dialect, name, AUTHORED[name])


@dialects
@authored
def test_valid_json_in_any_field_never_fails_the_stream(dialect: str, name: str) -> None:
    check_fields(dialect, name, AUTHORED[name], FIELDS[dialect])


@dialects
@authored
def test_arguments_are_parsed_or_malformed_and_kept_as_written(dialect: str, name: str) -> None:
    check_arguments(dialect, name, AUTHORED[name])


@dialects
@both
def test_a_public_case_as_payload(dialect: str, path: Path) -> None:
    check_payload(dialect, path.name, path.read_bytes())


@dialects
@both
def test_a_public_case_in_any_field(dialect: str, path: Path) -> None:
    fields = choose_fields(dialect, path.name)
    check_fields(dialect, path.name, path.read_bytes(), fields)


@dialects
@both
def test_a_public_case_as_arguments(dialect: str, path: Path) -> None:
    check_arguments(dialect, path.name, path.read_bytes())


@authored
def test_detection_reads_any_first_frame(name: str) -> None:
    for payload in (AUTHORED[name], b'{"type": ' + AUTHORED[name] + b"}"):
        check_events(events_of(framed(payload) + AFTER["chat"]))
        check_events(events_of(framed(b'{"object": ' + payload + b"}") + AFTER["anthropic"]))
