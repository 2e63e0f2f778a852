"""Inflation with a limit, for servers that compress although they were asked not to."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from headrace.transport.stream_error import broken

ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})
"""The content encodings that can be inflated."""

_PIECE_BYTES = 64 * 1024
_AUTO = 32 + zlib.MAX_WBITS  # gzip or zlib, by the header
_RAW = -zlib.MAX_WBITS


class Inflation:
    """Compressed reads in, pieces of at most 64 KiB out: a bomb never lies in memory whole."""

    def __init__(self, encoding: str, max_inflated_bytes: int) -> None:
        self._may_be_raw = encoding == "deflate"
        self._max_bytes = max_inflated_bytes
        self._room = max_inflated_bytes
        self._engine = zlib.decompressobj(_AUTO)
        self._has_begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What a read holds. Raises `StreamBroken` past `max_inflated_bytes`, and where the
        bytes are not compressed as they say."""
        piece = b""
        # A full piece may have more behind it although all of the read is taken in.
        while data or len(piece) == _PIECE_BYTES:
            piece = self._inflated(data)
            data = self._engine.unconsumed_tail or self._next_member()
            self._room -= len(piece)
            if self._room < 0:
                raise broken("protocol", f"the stream passes max_inflated_bytes={self._max_bytes}")
            if piece:
                yield piece

    def close(self) -> None:
        """The bytes have ended. Raises `StreamBroken` where their end is missing."""
        if self._has_begun and not self._engine.eof:
            raise broken("network", "the compressed stream was cut before its end")

    def _inflated(self, data: bytes) -> bytes:
        try:
            piece = self._engine.decompress(data, _PIECE_BYTES)
        except zlib.error as error:
            if self._has_begun or not self._may_be_raw:
                raise broken("protocol", f"the compressed stream is damaged: {error}") from None
            # "deflate" means zlib, but some servers send it without zlib's header.
            self._engine, self._has_begun = zlib.decompressobj(_RAW), True
            return self._inflated(data)
        self._has_begun = True
        return piece

    def _next_member(self) -> bytes:
        """gzip allows several streams in a row."""
        data = self._engine.unused_data.lstrip(b"\0") if self._engine.eof else b""
        if data:
            self._engine = zlib.decompressobj(_AUTO)
        return data
