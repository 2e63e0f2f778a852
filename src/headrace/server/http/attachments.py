"""Attachments of messages: uploaded files as content, and their description."""

from __future__ import annotations

import base64

from headrace.content import Content, FileContent, ImageContent
from headrace.messages import Message
from headrace.server.api import AttachmentView
from headrace.server.http_error import HTTPError
from headrace.server.service import Service
from headrace.server.storage.files import FileInfo, FileRefused
from headrace.server.storage.files.file_type import IMAGES


async def load_attachments(
    service: Service, owner: str, file_ids: tuple[str, ...]
) -> tuple[Content, ...]:
    """Return uploaded files as content of a message. Raises an `HTTPError` if one is not there."""
    try:
        loaded = [await service.files.load(owner, file_id) for file_id in file_ids]
    except FileRefused as error:
        raise to_http_error(error) from None
    return tuple(_to_content(info, data) for info, data in loaded)


def list_attachments(message: Message) -> list[ImageContent | FileContent]:
    """Return the images and files of a message that are stored with it."""
    kinds = (ImageContent, FileContent)
    return [one for one in message.content if isinstance(one, kinds) and one.data is not None]


def describe_attachments(message: Message) -> tuple[AttachmentView, ...]:
    """Describe the attachments of a message, without their bytes."""
    return tuple(
        AttachmentView(
            name=name_of(entry), media_type=entry.media_type, size=_size_of(entry.data or "")
        )
        for entry in list_attachments(message)
    )


def to_http_error(error: FileRefused) -> HTTPError:
    """Return the error that a client is told."""
    match error.code:
        case "too_large":
            return HTTPError(413, "too_large", str(error))
        case "too_many_files":
            return HTTPError(429, "too_many_files", str(error))
        case "no_file":
            return HTTPError(404, "no_file", str(error))
        case "unknown_type":
            return HTTPError(415, "unknown_type", str(error))
        case "too_many_pixels":
            return HTTPError(422, "too_many_pixels", str(error))
        case "empty_file":
            return HTTPError(422, "empty_file", str(error))
        case _:
            return HTTPError(422, "broken_image", str(error))


def _to_content(info: FileInfo, data: bytes) -> Content:
    encoded = base64.b64encode(data).decode()
    if info.media_type in IMAGES:
        return ImageContent(media_type=info.media_type, data=encoded)
    return FileContent(media_type=info.media_type, name=info.name, data=encoded)


def name_of(entry: ImageContent | FileContent) -> str:
    """Return the name of an attachment to display."""
    name = entry.name if isinstance(entry, FileContent) else None
    return name or f"image.{entry.media_type.rpartition('/')[2]}"


def _size_of(data: str) -> int:
    return len(data) * 3 // 4 - data[-2:].count("=")
