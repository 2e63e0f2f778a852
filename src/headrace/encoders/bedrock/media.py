"""Encodes images and files as blocks of Converse requests."""

from __future__ import annotations

import re

from headrace.content import FileContent, ImageContent
from headrace.encoders.text_content import format_text_file
from headrace.errors import UsageError
from headrace.events import JSONObject

_IMAGES = ("png", "jpeg", "gif", "webp")
_DOCUMENTS = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
}
_VIDEOS = {
    "video/x-matroska": "mkv",
    "video/quicktime": "mov",
    "video/mp4": "mp4",
    "video/webm": "webm",
    "video/x-flv": "flv",
    "video/mpeg": "mpeg",
    "video/x-ms-wmv": "wmv",
    "video/3gpp": "three_gp",
}
_AUDIO = {
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/ogg": "ogg",
    "audio/mp4": "m4a",
    "audio/webm": "webm",
}
# Names of documents are restricted, because the model reads them.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9 ()\[\]-]+")
_MAX_NAME_CHARS = 200


def encode_image(image: ImageContent) -> JSONObject:
    """Encode an image. Raises `UsageError` for a format that Bedrock does not read."""
    kind = image.media_type.partition("/")[2].replace("jpg", "jpeg")
    if kind not in _IMAGES:
        known = ", ".join(_IMAGES)
        raise UsageError(f"Bedrock reads {known} images, and this is {image.media_type}")
    return {"image": {"format": kind, "source": _encode_source(image)}}


class FileEncoder:
    """Encodes the files of one request. No two documents may have the same name."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def encode(self, file: FileContent) -> JSONObject:
        """Encode a file as a document, video or sound, and any other text file as text. Raises
        `UsageError` for a type that Bedrock does not read."""
        kind = file.media_type.partition(";")[0].strip().lower()
        if kind in _VIDEOS:
            return {"video": {"format": _VIDEOS[kind], "source": _encode_source(file)}}
        if kind in _AUDIO:
            return {"audio": {"format": _AUDIO[kind], "source": _encode_source(file)}}
        if kind in _DOCUMENTS:
            name = self._choose_name(file.name)
            source = _encode_source(file)
            return {"document": {"format": _DOCUMENTS[kind], "name": name, "source": source}}
        text = format_text_file(file)
        if text is None:
            raise UsageError(f"Bedrock does not read files of type {file.media_type}")
        return {"text": text}

    def _choose_name(self, name: str | None) -> str:
        stem = (name or "").rpartition(".")[0] or name or ""
        allowed = " ".join(_NOT_IN_NAMES.sub(" ", stem).split())[:_MAX_NAME_CHARS]
        wanted = unique = allowed or "document"
        copy = 1
        while unique in self._names:
            copy += 1
            unique = f"{wanted} {copy}"
        self._names.add(unique)
        return unique


def _encode_source(entry: ImageContent | FileContent) -> JSONObject:
    if entry.url is None:
        return {"bytes": entry.data or ""}
    if not entry.url.startswith("s3://"):
        raise UsageError("Bedrock reads data or s3:// addresses, and no other addresses")
    return {"s3Location": {"uri": entry.url}}
