"""The framing of AWS event streams: binary messages with typed headers and two checksums.

https://smithy.io/2.0/aws/amazon-eventstream.html
"""

from __future__ import annotations

import struct
from typing import Final
from zlib import crc32

import msgspec

from headrace.errors import LimitExceeded, WireError
from headrace.wire.framing.frame import BYTES, CUT, Frame
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

PRELUDE_BYTES: Final = 12
_CHECKSUM_BYTES: Final = 4
# The length of the message, that of its headers, and the checksum of both.
_unpack_prelude = struct.Struct(">III").unpack_from
_unpack_checksum = struct.Struct(">I").unpack_from
_MIN_BYTES: Final = PRELUDE_BYTES + _CHECKSUM_BYTES
# Sizes of header values by type; strings and byte arrays bring their own length.
_FIXED_SIZES: Final = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_BYTE_ARRAY, _STRING = 6, 7
# Messages of one kind repeat their headers byte for byte.
_MAX_KNOWN_HEADERS = 32
_MAX_KNOWN_HEADER_BYTES = 512
_CHUNK = "chunk"
# Events whose messages `cut_single` leaves to `feed`.
_NOT_SINGLE = (_CHUNK, "error")
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Chunk(msgspec.Struct, forbid_unknown_fields=True):
    """A message of InvokeModel: the payload of the model inside base64. `p` is padding."""

    data: bytes = msgspec.field(name="bytes")
    p: str = ""


_decode_chunk = msgspec.json.Decoder(_Chunk).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def is_prelude(start: bytes) -> bool:
    """Return whether bytes begin with a valid prelude."""
    if len(start) < PRELUDE_BYTES:
        return False
    return crc32(start[:8]) == int.from_bytes(start[8:PRELUDE_BYTES], "big")


class AWSEventStreamFraming:
    """One frame per message, as soon as its last byte has come and its checksums are right.

    The frame's `event` is the `:event-type`. Payloads that InvokeModel wraps in base64 are
    unwrapped. Exceptions and errors become frames of the event `error`, whose payload is a JSON
    object with `code` and `message`. A message that the end of the bytes cuts off leaves an empty
    frame in `unfinished`, because nothing vouches for its bytes.
    """

    def __init__(self, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> None:
        self.unfinished: Frame | None = None
        self._max_frame_bytes = limits.max_frame_bytes
        self._max_headers_bytes = limits.max_headers_bytes
        # What came of the open message. It grows by what has come and never to the length that
        # the prelude claims.
        self._tail = bytearray()
        self._wanted_bytes = PRELUDE_BYTES
        # The event of each kind of message, by its headers.
        self._known_events: dict[bytes, str] = {}
        self._error: WireError | None = None
        self.single_event = ""

    def feed(self, data: bytes) -> list[Frame]:
        """Take one read and return the messages it completed.

        Raises `LimitExceeded` for `max_frame_bytes` and `max_headers_bytes` as soon as a prelude
        announces more, and `WireError` for a wrong checksum or length and for broken headers.
        """
        if self._error is not None:
            raise self._error
        if self._tail:
            self._tail += data
            if len(self._tail) < self._wanted_bytes:
                return []
            data = bytes(self._tail)
        return self._take(data)

    def cut_single(self, data: bytes) -> bytes | None:
        """Return the payload if the read is exactly one valid message whose headers have come
        before. Otherwise return None and change nothing."""
        end = len(data) - _CHECKSUM_BYTES
        if self._tail or end < PRELUDE_BYTES or self._error is not None:
            return None
        total_bytes, headers_bytes, checksum = _unpack_prelude(data)
        headers_end = PRELUDE_BYTES + headers_bytes
        event = self._known_events.get(data[PRELUDE_BYTES:headers_end])
        if event is None or event in _NOT_SINGLE or total_bytes != len(data):
            return None
        is_valid = (
            0 <= end - headers_end <= self._max_frame_bytes
            and crc32(data[:8]) == checksum
            and crc32(data[:end]) == _unpack_checksum(data, end)[0]
        )
        if not is_valid:
            return None
        self.single_event = event
        return data[headers_end:end]

    def close(self) -> list[Frame]:
        """Take the end of the bytes."""
        if self._error is not None:
            raise self._error
        if self._tail:
            self.unfinished = Frame(b"", field=CUT)
        return []

    def _take(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        start, size, max_bytes = 0, len(data), self._max_frame_bytes
        self._wanted_bytes = PRELUDE_BYTES
        try:
            while size - start >= PRELUDE_BYTES:
                total_bytes, headers_bytes, checksum = _unpack_prelude(data, start)
                if crc32(data[start : start + 8]) != checksum:
                    raise WireError(
                        "expected an AWS event stream, got a wrong checksum of a prelude"
                    )
                payload_bytes = total_bytes - headers_bytes - _MIN_BYTES
                if not 0 <= payload_bytes <= max_bytes or headers_bytes > self._max_headers_bytes:
                    raise self._describe_lengths(total_bytes, headers_bytes)
                end = start + total_bytes
                if size < end:
                    self._wanted_bytes = total_bytes
                    break
                frames.append(self._read_message(data, start, headers_bytes, end))
                start = end
        except WireError as error:
            # Complete messages before it are returned first, so that no cut changes the result.
            if not frames:
                raise
            self._error = error
        if self._tail or start < size:
            self._tail = bytearray(data[start:])
        return frames

    def _describe_lengths(self, total_bytes: int, headers_bytes: int) -> WireError:
        """Return the error for lengths that cannot be or are not allowed."""
        if total_bytes < headers_bytes + _MIN_BYTES:
            return WireError(
                f"expected at least {headers_bytes + _MIN_BYTES} bytes in an AWS event stream "
                f"message, got a length of {total_bytes}"
            )
        if headers_bytes > self._max_headers_bytes:
            return LimitExceeded("max_headers_bytes", self._max_headers_bytes)
        return LimitExceeded("max_frame_bytes", self._max_frame_bytes)

    def _read_message(self, data: bytes, start: int, headers_bytes: int, end: int) -> Frame:
        payload_end = end - _CHECKSUM_BYTES
        checksum = int.from_bytes(data[payload_end:end], "big")
        if crc32(data[start:payload_end]) != checksum:
            raise WireError("expected an AWS event stream, got a wrong checksum of a message")
        headers_start = start + PRELUDE_BYTES
        headers_end = headers_start + headers_bytes
        headers = data[headers_start:headers_end]
        payload = data[headers_end:payload_end]
        event = self._known_events.get(headers)
        if event is None:
            return self._read_unknown(headers, payload)
        return _create_chunk(payload) if event == _CHUNK else Frame(payload, event)

    def _read_unknown(self, data: bytes, payload: bytes) -> Frame:
        """Read a message whose headers have not come before."""
        headers = parse_headers(data)
        match headers.get(":message-type"):
            case "exception":
                return _create_exception(headers.get(":exception-type", ""), payload)
            case "error":
                code, text = headers.get(":error-code"), headers.get(":error-message")
                return _create_error({"code": code, "message": text})
            case _:
                pass
        event = headers.get(":event-type", "")
        is_small = len(data) <= _MAX_KNOWN_HEADER_BYTES
        if is_small and len(self._known_events) < _MAX_KNOWN_HEADERS:
            self._known_events[data] = event
        return _create_chunk(payload) if event == _CHUNK else Frame(payload, event)


def parse_headers(data: bytes) -> dict[str, str]:
    """Return the headers that are strings, by name. Raises `WireError` if the bytes are no headers,
    or if a name occurs twice."""
    headers: dict[str, str] = {}
    names: set[bytes] = set()
    position = 0
    while position < len(data):
        name, position = _read_sized(data, position, 1)
        kind = data[position] if position < len(data) else -1
        position += 1
        if name in names:
            raise WireError(f"expected each header of a message once, got {name!r} twice")
        names.add(name)
        if kind in (_BYTE_ARRAY, _STRING):
            value, position = _read_sized(data, position, 2)
            if kind == _STRING:
                headers[_decode_text(name)] = _decode_text(value)
        elif kind in _FIXED_SIZES:
            position += _FIXED_SIZES[kind]
        else:
            raise WireError(f"expected a header type from 0 to 9, got {kind}")
    if position > len(data):
        raise WireError("expected the value of a header, got the end of the headers")
    return headers


def _read_sized(data: bytes, position: int, size_bytes: int) -> tuple[bytes, int]:
    start = position + size_bytes
    end = start + int.from_bytes(data[position:start], "big")
    if end > len(data):
        raise WireError("expected the value of a header, got the end of the headers")
    return data[start:end], end


def _decode_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise WireError("expected UTF-8 in the header of a message") from None


def _create_chunk(payload: bytes) -> Frame:
    """Return what a `chunk` wraps, or the payload if it holds more than that."""
    try:
        return Frame(_decode_chunk(payload).data, _CHUNK, BYTES)
    except _UNREADABLE:
        return Frame(payload, _CHUNK)


def _create_exception(kind: str, payload: bytes) -> Frame:
    try:
        fields = _decode_fields(payload)
    except _UNREADABLE:
        return _create_error({"code": kind, "message": payload.decode("utf-8", "replace")})
    return _create_error({**fields, "code": kind} if kind else fields)


def _create_error(error: object) -> Frame:
    return Frame(msgspec.json.encode(error), "error", "error")
