"""Reads messages from plain dicts, in the shapes of OpenAI's and Anthropic's APIs."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from headrace.content import Content, FileContent, ImageContent, TextContent
from headrace.errors import UsageError
from headrace.messages.message import (
    CallPart,
    CallResult,
    Message,
    Part,
    ReasoningPart,
    RedactedPart,
    Seal,
    TextPart,
    Turn,
)
from headrace.outcome import END_TURN, TOOL_USE

MessageLike: TypeAlias = Message | Mapping[str, Any]
"""A message, or a dict in the shape of OpenAI's chat messages or Anthropic's messages."""

_PROMPT_ROLES = ("user", "system", "developer")


def read_messages(entries: Iterable[MessageLike]) -> list[Message]:
    """Return the entries as messages. Results of tools are joined with the calls they answer.

    Raises `UsageError`, which names the entry, for a dict that is not a message and for a result
    without a call.
    """
    reader = _Reader()
    for number, entry in enumerate(entries):
        if isinstance(entry, Message):
            reader.messages.append(entry)
            continue
        try:
            reader.feed(entry)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(
                f"message {number} is not in the shape of OpenAI's or Anthropic's messages:"
                f" {type(error).__name__}: {error}"
            ) from None
    return reader.messages


class _Reader:
    """Reads dicts one by one; a result belongs to an earlier assistant message."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def feed(self, entry: Mapping[str, Any]) -> None:
        role = entry["role"]
        if role == "tool":
            content = read_content(entry.get("content"))
            self._answer(CallResult(call_id=entry["tool_call_id"], content=content))
        elif role == "assistant":
            self.messages.append(_read_assistant(entry))
        elif role in _PROMPT_ROLES:
            self._prompt(role, entry.get("content"))
        else:
            raise ValueError(f"the role {role!r} is unknown")

    def _prompt(self, role: Any, content: Any) -> None:
        blocks = _to_blocks(content)
        for block in blocks:
            if block.get("type") == "tool_result":
                self._answer(
                    CallResult(
                        call_id=block["tool_use_id"],
                        content=read_content(block.get("content")),
                        is_error=bool(block.get("is_error")),
                    )
                )
        rest = [block for block in blocks if block.get("type") != "tool_result"]
        if rest or not blocks:
            self.messages.append(Message(role=role, content=tuple(map(_read_block, rest))))

    def _answer(self, result: CallResult) -> None:
        for at in range(len(self.messages) - 1, -1, -1):
            message = self.messages[at]
            if any(call.call_id == result.call_id for call in message.calls):
                (turn,) = message.turns
                turn = msgspec.structs.replace(turn, results=(*turn.results, result))
                self.messages[at] = msgspec.structs.replace(message, turns=(turn,))
                return
        raise ValueError(f"there is no earlier call {result.call_id!r} for this result")


def _read_assistant(entry: Mapping[str, Any]) -> Message:
    parts: list[Part] = []
    reasoning = entry.get("reasoning_content")
    if reasoning:
        parts.append(ReasoningPart(text=reasoning, **_place(0)))
    parts += [_read_part(block, len(parts) + n) for n, block in enumerate(_assistant_blocks(entry))]
    for call in entry.get("tool_calls") or ():
        function = call["function"]
        parts.append(_call_part(call["id"], function["name"], function["arguments"], len(parts)))
    has_calls = any(isinstance(part, CallPart) for part in parts)
    turn = Turn(parts=tuple(parts), finish=TOOL_USE if has_calls else END_TURN)
    return Message(role="assistant", turns=(turn,), finish=turn.finish)


def _assistant_blocks(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return _to_blocks(entry["content"] if "tool_calls" not in entry else entry.get("content"))


def _read_part(block: Mapping[str, Any], number: int) -> Part:
    place = _place(number)
    match block.get("type"):
        case "text" | "output_text" | "input_text":
            return TextPart(text=block["text"], **place)
        case "refusal":
            return TextPart(text=block["refusal"], is_refusal=True, **place)
        case "thinking":
            signature = block.get("signature")
            seals = (Seal("signature", signature),) if signature else ()
            return ReasoningPart(text=block["thinking"], seals=seals, **place)
        case "redacted_thinking":
            return RedactedPart(data=block["data"], **place)
        case "tool_use":
            raw = msgspec.json.encode(block["input"]).decode()
            return _call_part(block["id"], block["name"], raw, number)
        case kind:
            raise ValueError(f"an assistant message cannot have a part of type {kind!r}")


def _call_part(call_id: str, name: str, raw: str, number: int) -> CallPart:
    """Build a call. Malformed arguments, which a model may have written, stay as they are."""
    args, error = None, None
    try:
        args = msgspec.json.decode(raw or "{}")
    except msgspec.DecodeError as problem:
        error = str(problem)
    return CallPart(call_id=call_id, name=name, raw=raw, args=args, error=error, **_place(number))


def _place(number: int) -> dict[str, Any]:
    return {"part": number, "output": 0, "item": number, "started_ms": 0, "ended_ms": 0}


def _to_blocks(content: Any) -> list[Mapping[str, Any]]:
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
    return tuple(map(_read_block, _to_blocks(content)))


def _read_block(block: Mapping[str, Any]) -> Content:
    match block.get("type"):
        case "text" | "input_text" | "output_text":
            return TextContent(block["text"])
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
            fields = _read_source(block["source"], "application/pdf")
            return FileContent(name=block.get("title"), **fields)
        case "file":
            file = block["file"]
            media_type, data = _split_data_url(file["file_data"])
            return FileContent(media_type=media_type, name=file.get("filename"), data=data)
        case kind:
            raise ValueError(f"content of type {kind!r} is unknown")


def _get_address(block: Mapping[str, Any], name: str) -> str:
    """Return the address of an image or file, which may be a data URL."""
    url = block.get(name)
    if not isinstance(url, str):
        raise ValueError(f"expected {name}: files are not stored here, so file_id means nothing")
    return url


def _read_input_file(block: Mapping[str, Any]) -> FileContent:
    name = block.get("filename")
    if "file_data" not in block:
        url = _get_address(block, "file_url")
        guess = mimetypes.guess_type(name or url)[0]
        return FileContent(media_type=guess or "application/pdf", name=name, url=url)
    media_type, data = _split_data_url(block["file_data"])
    return FileContent(media_type=media_type, name=name, data=data)


def _image_from_url(url: str) -> ImageContent:
    if url.startswith("data:"):
        media_type, data = _split_data_url(url)
        return ImageContent(media_type=media_type, data=data)
    return ImageContent(media_type=mimetypes.guess_type(url)[0] or "image/*", url=url)


def _read_source(source: Mapping[str, Any], media_type: str) -> dict[str, Any]:
    match source["type"]:
        case "base64":
            return {"media_type": source["media_type"], "data": source["data"]}
        case "url":
            return {"media_type": media_type, "url": source["url"]}
        case kind:
            raise ValueError(f"a source of type {kind!r} is unknown")


def _split_data_url(url: str) -> tuple[str, str]:
    head, comma, data = url.partition(",")
    media_type, semicolon, _ = head.removeprefix("data:").partition(";base64")
    if not comma or not semicolon:
        raise ValueError("expected a data: URL with base64")
    return media_type, data
