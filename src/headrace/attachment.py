"""`attach()`: images, documents, audio and texts as message content, from files, URLs or bytes."""

from __future__ import annotations

import base64
import mimetypes
import os
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from headrace.content import FileContent, ImageContent
from headrace.errors import InputError, UsageError

MAX_BYTES: Final = 20 * 1024 * 1024
"""Most bytes of one attachment. Base64 makes it a third larger, and providers refuse that."""

# The first bytes of a kind of file, and for containers what follows at an offset.
_SIGNATURES: tuple[tuple[bytes, int, bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, b"", "image/png"),
    (b"\xff\xd8\xff", 0, b"", "image/jpeg"),
    (b"GIF8", 0, b"", "image/gif"),
    (b"RIFF", 8, b"WEBP", "image/webp"),
    (b"BM", 6, b"\0\0\0\0", "image/bmp"),
    (b"II*\0", 0, b"", "image/tiff"),
    (b"MM\0*", 0, b"", "image/tiff"),
    (b"%PDF-", 0, b"", "application/pdf"),
    (b"RIFF", 8, b"WAVE", "audio/wav"),
    (b"ID3", 0, b"", "audio/mpeg"),
    (b"\xff\xfb", 0, b"", "audio/mpeg"),
    (b"\xff\xf3", 0, b"", "audio/mpeg"),
    (b"fLaC", 0, b"", "audio/flac"),
    (b"OggS", 0, b"", "audio/ogg"),
    (b"", 4, b"ftypheic", "image/heic"),
    (b"", 4, b"ftypM4A", "audio/mp4"),
    (b"", 4, b"ftyp", "video/mp4"),
    (b"\x1aE\xdf\xa3", 0, b"", "video/webm"),
)
_TEXT_TYPES = ("application/json", "application/xml", "application/yaml", "image/svg+xml")


def attach(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview,
    *,
    name: str | None = None,
    media_type: str | None = None,
) -> ImageContent | FileContent:
    """Return a file as message content: an image, or a file with its name.

    `source` is a path, the bytes themselves, or an `http(s)` URL, which the provider fetches. The
    media type is recognized by the first bytes, then by the name. Raises `InputError` for a file
    that cannot be read, is empty or is too large, and `UsageError` if the type of a URL is not
    known.
    """
    if isinstance(source, str) and source.lower().startswith(("https://", "http://")):
        return _attach_url(source, name, media_type)
    match source:
        case bytes() | bytearray() | memoryview():
            data = bytes(source)
        case str() | os.PathLike():
            path = Path(source)
            data = _read(path)
            name = name or path.name
        case _:
            raise UsageError(
                f"expected a path, a URL or bytes; got {source!r:.200}: give what a file's read()"
                " returns"
            )
    _check_size(len(data), name or "the attachment")
    kind = media_type or sniff_media_type(data, name)
    return _to_content(kind, name, data=base64.b64encode(data).decode())


def sniff_media_type(data: bytes, name: str | None = None) -> str:
    """Return the media type of a file: by its first bytes, by its name, or whether it is text."""
    for start, offset, more, kind in _SIGNATURES:
        if data.startswith(start) and data[offset : offset + len(more)] == more:
            return kind
    guessed = _guess_by_name(name)
    if _is_text(data):
        is_text = guessed is not None and (guessed.startswith("text/") or guessed in _TEXT_TYPES)
        return guessed if is_text and guessed is not None else "text/plain"
    return guessed or "application/octet-stream"


def _attach_url(url: str, name: str | None, media_type: str | None) -> ImageContent | FileContent:
    path = PurePosixPath(unquote(urlsplit(url).path))
    kind = media_type or _guess_by_name(path.name)
    if kind is None:
        raise UsageError(
            f"the type of {url.partition('?')[0]} is not known: pass media_type="
            " such as 'image/png' or 'application/pdf'"
        )
    return _to_content(kind, name or path.name or None, url=url)


def _to_content(
    kind: str, name: str | None, *, data: str | None = None, url: str | None = None
) -> ImageContent | FileContent:
    if kind.startswith("image/") and kind != "image/svg+xml":
        return ImageContent(media_type=kind, data=data, url=url)
    return FileContent(media_type=kind, name=name, data=data, url=url)


def _read(path: Path) -> bytes:
    try:
        _check_size(path.stat().st_size, str(path))
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _check_size(size: int, name: str) -> None:
    if not size:
        raise InputError(f"{name}: it is empty, and providers refuse empty files")
    if size > MAX_BYTES:
        raise InputError(f"{name}: larger than {MAX_BYTES // 1024 // 1024} MB")


def _guess_by_name(name: str | None) -> str | None:
    return mimetypes.guess_type(name)[0] if name else None


def _is_text(data: bytes) -> bool:
    if b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
