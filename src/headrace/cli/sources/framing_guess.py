"""Recognizes the framing of a recorded stream by its name or its first bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from headrace.cli.option import FRAMING_NAMES
from headrace.errors import InputError
from headrace.recording.file import READS_ENDING, REQUEST_ENDING
from headrace.wire.framing.aws_event_stream import PRELUDE_BYTES, is_prelude

# The longer ending comes first.
_BY_ENDING = {
    ".squeezed.sse": "squeezed-sse",
    ".sse": "sse",
    ".ndjson": "ndjson",
    ".jsonl": "lines",
    ".json": "json-array",
    ".grpc": "grpc",
    ".eventstream": "aws-event-stream",
    ".nul": "nul-json",
}
STREAM_ENDINGS = tuple(_BY_ENDING)
"""Endings of files that are treated as streams when a folder is searched."""

# Files that `--record` writes beside a stream.
_BESIDE = (READS_ENDING, REQUEST_ENDING)

_SSE_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")
# An uncompressed gRPC message of less than 16 MiB; no text begins like this.
_GRPC_START = b"\0\0"
_BOM = b"\xef\xbb\xbf"
# A brace alone on its line: a pretty-printed error body.
_PRETTY_OBJECT = re.compile(rb"\{[ \t\r]*\n")
# An object that ends in a NUL byte.
_NUL_OBJECT = re.compile(rb"\{[^\n\0]*\0")
# An object is read up to its end, or up to this many bytes.
_MAX_OBJECT_BYTES = 64 * 1024
# Enough for the longest other start.
_ENOUGH_BYTES = PRELUDE_BYTES


def framing_by_name(name: str) -> str | None:
    """Return the framing for a file ending, or None.

    Raises `InputError` for the list of a stream's reads.
    """
    lower = name.lower()
    if lower.endswith(READS_ENDING):
        raise InputError("this file lists the reads of a stream; name the stream itself")
    return next((name for end, name in _BY_ENDING.items() if lower.endswith(end)), None)


def is_stream_name(name: str) -> bool:
    """Return whether a file is treated as a stream when its folder is searched."""
    lower = name.lower()
    is_stream = lower.endswith(STREAM_ENDINGS) and not lower.endswith(_BESIDE)
    return is_stream and not name.startswith(".")


def framing_by_start(chunks: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """Return the framing for the first bytes, and all chunks again.

    Squeezed SSE is never guessed. Raises `InputError` if nothing fits.
    """
    held: list[bytes] = []
    start = b""
    for chunk in chunks:
        held.append(chunk)
        start = (start + chunk).removeprefix(_BOM).lstrip()
        is_line = b"\n" in start and not start.startswith(b"\0")
        enough_bytes = _MAX_OBJECT_BYTES if start.startswith(b"{") else _ENOUGH_BYTES
        if len(start) >= enough_bytes or is_line or _NUL_OBJECT.match(start):
            break
    return _guess(start), chain(held, chunks)


def _guess(start: bytes) -> str:
    if not start:
        raise InputError("the stream is empty")
    if start.startswith(_SSE_STARTS):
        return "sse"
    if start.startswith(b"[") or _PRETTY_OBJECT.match(start):
        return "json-array"
    if start.startswith(b"{"):
        return "nul-json" if _NUL_OBJECT.match(start) else "lines"
    if is_prelude(start):
        return "aws-event-stream"
    if start.startswith(_GRPC_START):
        return "grpc"
    raise InputError(
        "the framing is unknown; choose one with --framing: " + ", ".join(FRAMING_NAMES)
    )
