"""Mutations that must not pass for a success: errors in the stream, cuts, and damaged frames."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.mutation.sample import DONE, Sample, Sent, write_event

MESSAGE = "the upstream exploded"
_HTML = (
    b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n"
    b"<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"
)
_DETAILS = {"message": MESSAGE, "type": "server_error", "code": "500"}

ERRORS: dict[str, Any] = {
    "error object": {"error": _DETAILS},
    "error text": {"error": MESSAGE},
    "error with status": {"error": {"code": 503, "status": "UNAVAILABLE", "message": MESSAGE}},
    "errors of objects": {"errors": [{"message": MESSAGE, "code": 500}]},
    "errors of texts": {"errors": [MESSAGE]},
    "success false": {"success": False, "message": MESSAGE},
    "detail text": {"detail": MESSAGE},
    "detail list": {"detail": [{"loc": ["body"], "msg": MESSAGE, "type": "value_error"}]},
    "object error": {"object": "error", "message": MESSAGE, "type": "InternalServerError"},
    "code and msg": {"code": 500, "msg": MESSAGE},
    "type error": {"type": "error", "error": {"type": "overloaded_error", "message": MESSAGE}},
    "type error, flat": {"type": "error", "message": MESSAGE, "code": "server_error"},
}
"""Payloads that are errors, by name."""

Insertion = Callable[[Sample], bytes | None]


def _event(payload: Any, event: str = "") -> Insertion:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()

    def write(sample: Sample) -> bytes | None:
        if sample.framing == "sse":
            return write_event(Sent(data, event))
        if event:
            return None
        return b"\n,\n" + data if sample.framing == "json-array" else data + b"\n"

    return write


def _raw(data: bytes) -> Insertion:
    return lambda sample: data if sample.framing == "sse" else None


INSERTIONS: dict[str, Insertion] = {
    **{name: _event(payload) for name, payload in ERRORS.items()},
    "event error with a message": _event({"message": MESSAGE}, "error"),
    "event error with an object": _event({"error": _DETAILS}, "error"),
    "event error with text": _event(MESSAGE.encode(), "error"),
    "array with an error": _event([{"error": _DETAILS}]),
    "bare JSON line": _raw(json.dumps({"error": _DETAILS}).encode() + b"\n\n"),
    "bare JSON line without an end": _raw(json.dumps({"error": _DETAILS}).encode()),
    "bare JSON, pretty": _raw(json.dumps({"error": _DETAILS}, indent=2).encode() + b"\n"),
    "bare array": _raw(json.dumps([{"error": _DETAILS}], indent=1).encode() + b"\n"),
    "field error": _raw(b"error: " + json.dumps(_DETAILS).encode() + b"\n\n"),
    "HTML page": _raw(_HTML),
    "HTML page as data": _event(_HTML.replace(b"\r\n", b"")),
    "plain text as data": _event(b"upstream connect error or disconnect/reset before headers"),
}
"""What is put into a stream, by name; None where it cannot be."""

UNSPECIFIC = frozenset({"HTML page", "HTML page as data", "plain text as data"})
"""Insertions that are not surely an error: the turn may go on, but not end as complete."""


# -- damage


def _replace(sample: Sample, at: int, frame: Sent) -> bytes:
    return sample.write([*sample.frames[:at], frame, *sample.frames[at + 1 :]])


def _change(change: Callable[[bytes], bytes]) -> Callable[[Sample, int], bytes | None]:
    def damage(sample: Sample, at: int) -> bytes | None:
        frame = sample.frames[at]
        return _replace(sample, at, frame._replace(data=change(frame.data)))

    return damage


def _flip(data: bytes) -> bytes:
    """Change the colon behind the first key, which leaves no JSON."""
    at = data.index(b'":') + 1
    return data[:at] + b"\x1a" + data[at + 1 :]


def _rewrite(write: Callable[[Sent], bytes]) -> Callable[[Sample, int], bytes | None]:
    """Write one event of a server-sent stream in another way."""

    def damage(sample: Sample, at: int) -> bytes | None:
        if sample.framing != "sse":
            return None
        before, after = sample.frames[:at], sample.frames[at + 1 :]
        return sample.write(before) + write(sample.frames[at]) + sample.write(after)

    return damage


def _join_lines(between: bytes) -> Callable[[Sample, int], bytes | None]:
    """Write a frame and the next one with something else than a blank line in between."""

    def damage(sample: Sample, at: int) -> bytes | None:
        if sample.framing != "sse" or at + 1 >= len(sample.frames):
            return None
        first, second = sample.frames[at], sample.frames[at + 1]
        if second.data.strip() == DONE:
            return None
        middle = write_event(first).rstrip(b"\n") + between + second.data + b"\n\n"
        return sample.write(sample.frames[:at]) + middle + sample.write(sample.frames[at + 2 :])

    return damage


def _glue_lines(sample: Sample, at: int) -> bytes | None:
    """Lose the line end between two lines of JSON."""
    if sample.framing != "ndjson" or at + 1 >= len(sample.frames):
        return None
    joined = sample.frames[at].data + sample.frames[at + 1].data
    return sample.write([*sample.frames[:at], Sent(joined), *sample.frames[at + 2 :]])


DAMAGES: dict[str, Callable[[Sample, int], bytes | None]] = {
    "truncated JSON": _change(lambda data: data[: max(1, len(data) // 2)]),
    "last brace lost": _change(lambda data: data.rstrip()[:-1]),
    "first brace lost": _change(lambda data: data.lstrip()[1:]),
    "colon changed": _change(_flip),
    "invalid UTF-8": _change(lambda data: data[:-1] + b"\xff}"),
    "HTML in its place": _change(lambda data: _HTML.replace(b"\r\n", b" ")),
    "`data:` lost": _rewrite(lambda frame: frame.data + b"\n\n"),
    "HTML lines in its place": _rewrite(lambda frame: _HTML + b"\n"),
    "`data:` of the next lost": _join_lines(b"\n"),
    "blank line lost": _join_lines(b"\ndata: "),
    "line end lost": _join_lines(b"data: "),
    "line end of JSON lines lost": _glue_lines,
}
"""Damages of one frame, by name; None where one does not apply."""
