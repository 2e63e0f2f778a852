"""The floor: the least that any reader of these streams in Python does."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import orjson


def floor(reads: list[bytes]) -> Callable[[], int]:
    """Split each read into lines and call `orjson.loads` on the payloads. It builds no
    events, keeps nothing, and is wrong as soon as a read is not whole lines."""

    def run() -> int:
        seen = 0
        for read in reads:
            for line in read.split(b"\n"):
                if line.startswith(b"data: ") and line != b"data: [DONE]":
                    orjson.loads(line[6:])
                    seen += 1
        return seen

    return run


def floor_of_messages(reads: list[bytes]) -> Callable[[], int]:
    """The same where every read is a message of an AWS event stream: check its checksum, skip its
    headers, and call `orjson.loads` on the payload."""

    def run() -> int:
        seen = 0
        for read in reads:
            if zlib.crc32(memoryview(read)[:-4]) == int.from_bytes(read[-4:], "big"):
                orjson.loads(read[12 + int.from_bytes(read[4:8], "big") : -4])
                seen += 1
        return seen

    return run


def floor_of_lines(reads: list[bytes]) -> Callable[[], int]:
    """The same where every line is a payload."""

    def run() -> int:
        seen = 0
        for read in reads:
            for line in read.split(b"\n"):
                if line:
                    orjson.loads(line)
                    seen += 1
        return seen

    return run
