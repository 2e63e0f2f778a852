"""Reads the files of `headrace ask -f` as message content."""

from __future__ import annotations

import base64
import mimetypes
from pathlib import Path

from headrace.content import Content, FileContent, ImageContent, TextContent
from headrace.errors import InputError

MAX_BYTES = 20 * 1024 * 1024


def attachment(name: str) -> Content:
    """Return a file as content: an image, a document, or a text with its name."""
    path = Path(name)
    data = _read(path)
    media_type = mimetypes.guess_type(path.name)[0] or ""
    if media_type.startswith("image/"):
        return ImageContent(media_type=media_type, data=base64.b64encode(data).decode())
    try:
        text = data.decode()
    except UnicodeDecodeError:
        kind = media_type or "application/octet-stream"
        encoded = base64.b64encode(data).decode()
        return FileContent(media_type=kind, name=path.name, data=encoded)
    return TextContent(f"{path.name}:\n\n{text}")


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path}: larger than {MAX_BYTES // 1024 // 1024} MB")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
