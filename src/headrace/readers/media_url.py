"""Images and files that a request gives as URLs, `data:` URLs included."""

from __future__ import annotations

import base64
from urllib.parse import unquote_to_bytes

from headrace.content import FileContent, ImageContent
from headrace.readers.incoming import InvalidRequest


def read_media(
    url: str, media_type: str | None, name: str | None, param: str
) -> ImageContent | FileContent:
    """Return the image or file behind a URL. Raises `InvalidRequest` for a URL that only the
    client can read, such as `blob:`."""
    if url.startswith(("https://", "http://")):
        return create_media(media_type or "application/octet-stream", name, url=url)
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:"):
        raise InvalidRequest(f"{param} must be an https: or data: URL", param)
    own_type, *flags = head.removeprefix("data:").split(";")
    if "base64" not in flags:
        data = base64.b64encode(unquote_to_bytes(data)).decode()
    # A client may give only the first half, such as `image`.
    is_full = media_type is not None and "/" in media_type and not media_type.endswith("/*")
    kind = media_type if is_full else own_type or media_type
    return create_media(kind or "text/plain", name, data=data)


def create_media(
    media_type: str, name: str | None = None, *, data: str | None = None, url: str | None = None
) -> ImageContent | FileContent:
    """Return an image, or a file for any other type."""
    if media_type.partition("/")[0] == "image":
        return ImageContent(media_type=media_type, data=data, url=url)
    return FileContent(media_type=media_type, name=name, data=data, url=url)
