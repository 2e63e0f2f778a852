"""What a tool gives back, and how plain Python values become that."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent

CONTENT_TYPES = (TextContent, JSONContent, ImageContent, FileContent)
MAX_DATA_CHARS = 24 * 1024 * 1024
"""The base64 of an image or a file, which cannot be cut: it is left out, and that is said.
Providers take less."""


class ToolReturn(msgspec.Struct, frozen=True, kw_only=True):
    """A result with all that can be said of it. Tools may return plain values instead."""

    content: tuple[Content, ...] = ()
    """Texts, JSON, images and files."""
    kind: str | None = None
    """What it is, for those who show it: `web_search`, `artifact`, `image` …"""
    is_error: bool = False
    """Whether something went wrong; the content says what."""
    ends_run: bool = False
    """Whether the run ends when all calls of this turn are answered."""


class NoResult(TypeError):
    """A value that cannot be told to a model. The message names its type."""


def failure(message: str) -> ToolReturn:
    """A result that tells the model what went wrong."""
    return ToolReturn(content=(TextContent(_clean(message)),), is_error=True)


def tool_return(value: Any, kind: str | None = None) -> ToolReturn:
    """Whatever a tool returned, as a result: text as text, content as it is, a list with
    content as several, anything else as JSON. Raises `NoResult` for what is none of these."""
    if not isinstance(value, ToolReturn):
        return ToolReturn(content=_content(value), kind=kind)
    given = cast("Any", value.content)  # a tool may have put anything there
    return ToolReturn(
        content=_content(given) if given != () else (),
        kind=None if value.kind is None and kind is None else str(value.kind or kind),
        is_error=bool(value.is_error),
        ends_run=bool(value.ends_run),
    )


def plain(value: Any) -> Any:
    """A value as JSON has it: what is read back from a log is the same. Numbers that JSON
    does not know (nan, inf) become null. Raises `NoResult`."""
    try:
        return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_foreign))
    except NoResult as error:
        outer = _type_name(value)
        is_inner = not str(error).startswith(f"{outer},")
        raise NoResult(f"{outer} that holds {error}" if is_inner else str(error)) from None
    except RecursionError:
        raise NoResult(f"{_type_name(value)} that holds itself, or is too deep") from None
    except UnicodeEncodeError:
        raise NoResult(f"{_type_name(value)} with text that is no Unicode") from None
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise NoResult(f"{_type_name(value)} that is no JSON: {error}") from None


def _content(value: Any) -> tuple[Content, ...]:
    entries = cast("Iterable[Any]", value) if isinstance(value, list | tuple) else ()
    if any(isinstance(entry, CONTENT_TYPES) for entry in entries):
        return tuple(_entry(entry) for entry in entries)
    return (_entry(value),)


def _entry(value: Any) -> Content:
    match value:
        case None:
            return TextContent("Done.")
        case str():
            return TextContent(_clean(value))
        case float() if not math.isfinite(value):
            return TextContent(str(value))
        case TextContent() | JSONContent() | ImageContent() | FileContent():
            return _checked(value)
        case bytes() | bytearray() | memoryview():
            raise NoResult(
                f"{_type_name(value)}: expected text, or an ImageContent or FileContent with base64"
            )
        case _:
            return JSONContent(plain(value))


def _checked(entry: Content) -> Content:
    """Content is not checked when it is made; a log and a provider would stumble over it."""
    made = plain(entry)
    try:
        checked: Content = msgspec.convert(made, cast("type[Content]", Content))
    except msgspec.ValidationError as error:
        raise NoResult(f"{_type_name(entry)} that is none: {error}") from None
    if isinstance(checked, ImageContent | FileContent) and not (checked.data or checked.url):
        raise NoResult(f"{_type_name(entry)} without data or url")
    return checked


def _foreign(value: Any) -> Any:
    """What msgspec does not know: models of pydantic's."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    raise NoResult(f"{_type_name(value)}, which is no JSON")


def _type_name(value: Any) -> str:
    kind = type(cast("object", value))
    home = kind.__module__
    return kind.__qualname__ if home in ("builtins", "__main__") else f"{home}.{kind.__qualname__}"


def _clean(text: str) -> str:
    """Half a surrogate, as file names may hold it, fits into no log."""
    return str(text) if text.isascii() else text.encode("utf-8", "replace").decode()


# --- the limit ----------------------------------------------------------------------


def shortened(result: ToolReturn, max_chars: int) -> ToolReturn:
    """A result whose text is within the limit; the cut is said. JSON that is too long
    becomes text, and images and files past `MAX_DATA_CHARS` are left out. Middleware may
    have put anything in its place: what is no result is an error result."""
    try:
        result = tool_return(result)
    except NoResult as error:
        return failure(f"What was to be the result is {error}")
    room = max_chars
    content: list[Content] = []
    for entry in result.content:
        text = _text(entry)
        if text is None:
            content.append(_within(cast("ImageContent | FileContent", entry)))
        elif len(text) <= room:
            content.append(entry)
            room -= len(text)
        else:
            missing = len(text) - room
            content.append(TextContent(f"{text[:room]}\n[cut: {missing} more characters]"))
            room = 0
    return msgspec.structs.replace(result, content=tuple(content))


def _within(entry: ImageContent | FileContent) -> Content:
    size = len(entry.data or "") + len(entry.url or "")
    if size <= MAX_DATA_CHARS:
        return entry
    return TextContent(f"[left out: {entry.media_type}, {size} characters of base64]")


def _text(entry: Content) -> str | None:
    if isinstance(entry, TextContent):
        return entry.text
    if isinstance(entry, JSONContent):
        return msgspec.json.encode(entry.value).decode()
    return None
