"""Reads content blocks from plain dicts, in the shapes of OpenAI's and Anthropic's APIs."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.content import (
    CacheBreak,
    Content,
    FileContent,
    ImageContent,
    PromptContent,
    TextContent,
)

_SOUNDS = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def to_blocks(content: Any) -> list[Mapping[str, Any]]:
    """Return content, which may be a text, as a list of blocks."""
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, Sequence):
        blocks: list[Any] = list(content)  # pyright: ignore[reportUnknownArgumentType]
        return [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    raise ValueError(f"the content must be a text or a list; got {content!r:.80}")


def read_content(content: Any) -> tuple[Content, ...]:
    """Return the content of a message: a text, or a list of blocks in the shape of OpenAI's or
    Anthropic's API. Raises `KeyError`, `TypeError`, `ValueError` or `AttributeError` for anything
    else."""
    return tuple(map(read_block, to_blocks(content)))


def read_prompt_blocks(blocks: Sequence[Mapping[str, Any]]) -> tuple[PromptContent, ...]:
    """Read the blocks of a message that is not from the model, with its cache breaks."""
    content: list[PromptContent] = []
    for block in blocks:
        content.append(read_block(block))
        mark = find_cache_mark(block)
        if mark is not None:
            content.append(mark)
    return tuple(content)


def find_cache_mark(block: Mapping[str, Any]) -> CacheBreak | None:
    """Return the cache break after a block, or None. OpenAI's name for it has other times."""
    mark = block.get("cache_control")
    if isinstance(mark, Mapping):
        ttl: Any = mark.get("ttl")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        return CacheBreak(ttl if ttl in ("5m", "1h") else None)
    return CacheBreak() if block.get("prompt_cache_breakpoint") else None


def check_text(value: Any, name: str) -> str:
    """Return a value that must be a text. Raises `TypeError` for any other."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text; got {value!r:.40}")
    return value


def _check_texts(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields, which must be texts or None."""
    for name, value in fields.items():
        if value is not None:
            check_text(value, name)
    return fields


def read_block(block: Mapping[str, Any]) -> Content:
    """Read one block. Raises `ValueError` or `KeyError` for one that is not known."""
    match block.get("type"):
        case "text" | "input_text" | "output_text":
            return TextContent(check_text(block["text"], "text"))
        case "image_url":
            url = block["image_url"]
            return _image_from_url(url if isinstance(url, str) else url["url"])
        case "input_image":
            return _image_from_url(_get_address(block, "image_url"))
        case "input_file":
            return _read_input_file(block)
        case "image":
            return ImageContent(**_read_source(block["source"], "image/*"))
        case "document":
            return _read_document(block)
        case "search_result":
            shown = _check_texts({name: block.get(name) for name in ("title", "source")})
            texts = [*shown.values(), _join(block.get("content"))]
            return TextContent("\n".join(filter(None, texts)))
        case "file":
            file = block["file"]
            if "file_data" not in file:
                raise ValueError("send the data of a file as file_data: file ids are not known")
            media_type, data = _split_data_url(file["file_data"])
            name = _check_texts({"filename": file.get("filename")})["filename"]
            return FileContent(media_type=media_type, name=name, data=data)
        case "input_audio":
            sound = block["input_audio"]
            data = check_text(sound["data"], "data")
            return FileContent(media_type=_SOUNDS[sound["format"]], data=data)
        case kind:
            raise ValueError(f"content of type {kind!r} is unknown")


def _read_document(block: Mapping[str, Any]) -> Content:
    source = block["source"]
    name = _check_texts({"title": block.get("title")})["title"]
    match source["type"]:
        case "text":
            data = base64.b64encode(source["data"].encode()).decode()
            return FileContent(media_type="text/plain", name=name, data=data)
        case "content":
            return TextContent("\n".join(filter(None, [name, _join(source["content"])])))
        case _:
            return FileContent(name=name, **_read_source(source, "application/pdf"))


def _join(content: Any) -> str:
    return "\n".join(check_text(block["text"], "text") for block in to_blocks(content))


def _get_address(block: Mapping[str, Any], name: str) -> str:
    """Return the address of an image or file, which may be a data URL."""
    url = block.get(name)
    if not isinstance(url, str):
        raise ValueError(f"expected {name}: files are not stored here, so file_id means nothing")
    return url


def _read_input_file(block: Mapping[str, Any]) -> FileContent:
    name = _check_texts({"filename": block.get("filename")})["filename"]
    if "file_data" not in block:
        url = _get_address(block, "file_url")
        guess = _guess_type(name or url)
        return FileContent(media_type=guess or "application/pdf", name=name, url=url)
    media_type, data = _split_data_url(block["file_data"])
    return FileContent(media_type=media_type, name=name, data=data)


def _image_from_url(url: str) -> ImageContent:
    if url.startswith("data:"):
        media_type, data = _split_data_url(url)
        return ImageContent(media_type=media_type, data=data)
    return ImageContent(media_type=_guess_type(url) or "image/*", url=url)


def _read_source(source: Mapping[str, Any], media_type: str) -> dict[str, Any]:
    match source["type"]:
        case "base64":
            return _check_texts({"media_type": source["media_type"], "data": source["data"]})
        case "url":
            return _check_texts({"media_type": media_type, "url": source["url"]})
        case kind:
            raise ValueError(f"a source of type {kind!r} is unknown")


def _split_data_url(url: str) -> tuple[str, str]:
    head, comma, data = url.partition(",")
    media_type, semicolon, _ = head.removeprefix("data:").partition(";base64")
    if not comma or not semicolon:
        raise ValueError("expected a data: URL with base64")
    return media_type, data


def _guess_type(name: str) -> str | None:
    # The module is slow to import, and few programs get here.
    import mimetypes  # noqa: PLC0415

    return mimetypes.guess_type(name)[0]
