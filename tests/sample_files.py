"""Small files of several types, for uploads and for results of tools."""

from __future__ import annotations

import struct
import zlib

PDF = b"%PDF-1.4\n%%EOF\n"
HTML = b"<!doctype html><script>alert(document.domain)</script>"


def png(width: int = 1, height: int = 1) -> bytes:
    """Return a PNG that claims to have this size, with the data of one white pixel."""
    return _make_png(width, height, b"\0" + b"\xff" * 3)


def draw_picture(width: int = 240, height: int = 140) -> bytes:
    """Return a PNG with a sky that gets darker, and a sea."""
    rows = [
        b"\0" + bytes((20, 90 + row // 3, 120) if row > height * 0.7 else (200, 220 - row, 235))
        * width
        for row in range(height)
    ]  # fmt: skip
    return _make_png(width, height, b"".join(rows))


def _make_png(width: int, height: int, pixels: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(pixels))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
