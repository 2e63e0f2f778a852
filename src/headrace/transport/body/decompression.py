"""Decompression with a limit, for servers that compress although they were asked not to."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from headrace.transport.stream_error import stream_broken

ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})
"""Content encodings that can be decompressed."""

_PIECE_BYTES = 64 * 1024
_AUTO = 32 + zlib.MAX_WBITS  # gzip or zlib, by the header
_RAW = -zlib.MAX_WBITS


class Inflation:
    """Decompresses reads into pieces of at most 64 KiB, so that a bomb cannot fill memory."""

    def __init__(self, encoding: str, max_inflated_bytes: int) -> None:
        self._may_be_raw = encoding == "deflate"
        self._max_bytes = max_inflated_bytes
        self._room = max_inflated_bytes
        self._engine = zlib.decompressobj(_AUTO)
        self._has_begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Return the decompressed pieces of a read.

        Raises `StreamBroken` past `max_inflated_bytes`, or if the bytes are not valid.
        """
        piece = b""
        # A full piece may be followed by more output even if all input is consumed.
        while data or len(piece) == _PIECE_BYTES:
            piece = self._inflate(data)
            data = self._engine.unconsumed_tail or self._next_member()
            self._room -= len(piece)
            if self._room < 0:
                raise stream_broken(
                    "protocol", f"the stream passes max_inflated_bytes={self._max_bytes}"
                )
            if piece:
                yield piece

    def close(self) -> None:
        """End the stream. Raises `StreamBroken` if the compressed data is truncated."""
        if self._has_begun and not self._engine.eof:
            raise stream_broken("network", "the compressed stream was cut before its end")

    def _inflate(self, data: bytes) -> bytes:
        try:
            piece = self._engine.decompress(data, _PIECE_BYTES)
        except zlib.error as error:
            if self._has_begun or not self._may_be_raw:
                raise stream_broken(
                    "protocol", f"the compressed stream is damaged: {error}"
                ) from None
            # "deflate" means zlib, but some servers send it without the zlib header.
            self._engine, self._has_begun = zlib.decompressobj(_RAW), True
            return self._inflate(data)
        self._has_begun = True
        return piece

    def _next_member(self) -> bytes:
        """Start the next stream; gzip allows several in a row."""
        data = self._engine.unused_data.lstrip(b"\0") if self._engine.eof else b""
        if data:
            self._engine = zlib.decompressobj(_AUTO)
        return data
