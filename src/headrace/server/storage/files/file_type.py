"""What an uploaded file is, by its bytes; what is not known, or not safe to show, is refused."""

from __future__ import annotations

import re
import struct
import unicodedata
from typing import Final

from headrace.attachment import sniff_media_type
from headrace.errors import HeadraceError

IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_OTHERS: Final = frozenset(
    {"application/pdf", "audio/wav", "audio/mpeg", "audio/flac", "audio/ogg", "audio/mp4"}
)
_TEXTS: Final = ("text/", "application/json", "application/xml", "application/yaml")
MAX_PIXELS: Final = 50_000_000
"""Most pixels of an image. A few bytes can describe one that fills the memory of a browser."""
_MAX_NAME_CHARS: Final = 120


class FileRefused(HeadraceError):
    """A file that is not taken; `code` and the text say why."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def clean_name(name: str) -> str:
    """Return a name to display: without folders, control characters and signs that turn text
    around. Nothing is ever stored under it."""
    base = re.split(r"[/\\]", name)[-1]
    kept = "".join(one for one in base if unicodedata.category(one)[0] != "C")
    return kept.strip().strip(".")[:_MAX_NAME_CHARS].strip() or "file"


def check_file(data: bytes, name: str) -> str:
    """Return the media type of a file by its bytes. Raises `FileRefused` for other types and for
    images that are broken or too large. What could run in a browser is plain text."""
    if not data:
        raise FileRefused("empty_file", "the file is empty")
    kind = sniff_media_type(data, name)
    if kind in IMAGES:
        _check_pixels(kind, data)
        return kind
    if kind in _OTHERS and kind == sniff_media_type(data):
        return kind
    if kind.startswith(_TEXTS) or kind == "image/svg+xml":
        return _text_type(data, kind)
    raise FileRefused(
        "unknown_type",
        "this type cannot be sent: send an image (PNG, JPEG, GIF, WebP), a PDF, a text or audio",
    )


def _text_type(data: bytes, kind: str) -> str:
    if sniff_media_type(data) != "text/plain":
        raise FileRefused("unknown_type", "the name says that it is a text, and it is not")
    is_plain = kind in ("text/csv", "text/markdown", "application/json", "application/yaml")
    return kind if is_plain else "text/plain"


def _check_pixels(kind: str, data: bytes) -> None:
    size = image_size(kind, data)
    if size is None or 0 in size:
        raise FileRefused("broken_image", "the image cannot be read")
    if size[0] * size[1] > MAX_PIXELS:
        text = f"the image has more than {MAX_PIXELS // 1_000_000} megapixels"
        raise FileRefused("too_many_pixels", text)


def image_size(kind: str, data: bytes) -> tuple[int, int] | None:
    """Return the width and the height that an image claims, or None if it does not say."""
    try:
        match kind:
            case "image/png":
                return struct.unpack(">II", data[16:24]) if data[12:16] == b"IHDR" else None
            case "image/gif":
                return struct.unpack("<HH", data[6:10])
            case "image/webp":
                return _webp_size(data)
            case _:
                return _jpeg_size(data)
    except struct.error:
        return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack("<I", data[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            width = int.from_bytes(data[24:27], "little") + 1
            height = int.from_bytes(data[27:30], "little") + 1
            return (width, height) if len(data) >= 30 else None
        case _:
            return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    # Each segment but the first has a marker and a length; the size is in the frame header.
    while at + 9 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        (length,) = struct.unpack(">H", data[at + 2 : at + 4])
        if length < 2:
            return None
        at += 2 + length
    return None
