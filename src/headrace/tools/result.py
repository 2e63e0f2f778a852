"""`ToolReturn`, and the conversion of any Python value that a tool returns to it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent

CONTENT_TYPES = (TextContent, JSONContent, ImageContent, FileContent)
MAX_DATA_CHARS = 24 * 1024 * 1024
"""Most characters of base64 in one image or file. A longer one cannot be cut, so a note takes
its place; providers accept less anyway."""


class ToolReturn(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a tool, with its kind, whether it is an error, and whether it ends the run.
    Tools may return plain values instead."""

    content: tuple[Content, ...] = ()
    """Texts, JSON, images and files."""
    kind: str | None = None
    """What the content is, for a UI: `web_search`, `artifact`, `image` …"""
    is_error: bool = False
    """Whether the call failed; the content says why."""
    ends_run: bool = False
    """Whether the run ends when all calls of this turn are answered."""


class InvalidResult(TypeError):
    """A value that cannot be sent to a model. The message names its type."""


def tool_error(message: str) -> ToolReturn:
    """Return a result that tells the model what went wrong."""
    return ToolReturn(content=(TextContent(_replace_surrogates(message)),), is_error=True)


def to_tool_return(value: Any, kind: str | None = None) -> ToolReturn:
    """Convert the return value of a tool: text stays text, content stays content, a list that
    has content becomes several entries, anything else becomes JSON. Raises `InvalidResult` for
    a value that is none of these."""
    if not isinstance(value, ToolReturn):
        return ToolReturn(content=_to_content(value), kind=kind)
    content = cast("Any", value.content)  # a tool may have put anything there
    return ToolReturn(
        content=_to_content(content) if content != () else (),
        kind=None if value.kind is None and kind is None else str(value.kind or kind),
        is_error=bool(value.is_error),
        ends_run=bool(value.ends_run),
    )


def to_json_value(value: Any) -> Any:
    """Convert a value to what a reader of its JSON gets. Numbers that JSON lacks (nan, inf)
    become null. Raises `InvalidResult`."""
    try:
        return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_dump_pydantic))
    except InvalidResult as error:
        outer = _type_name(value)
        is_inner = not str(error).startswith(f"{outer},")
        raise InvalidResult(f"{outer} that holds {error}" if is_inner else str(error)) from None
    except RecursionError:
        raise InvalidResult(f"{_type_name(value)} that holds itself, or is too deep") from None
    except UnicodeEncodeError:
        raise InvalidResult(f"{_type_name(value)} with text that is not Unicode") from None
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise InvalidResult(f"{_type_name(value)} that is not JSON: {error}") from None


def _to_content(value: Any) -> tuple[Content, ...]:
    entries = cast("Iterable[Any]", value) if isinstance(value, list | tuple) else ()
    if any(isinstance(entry, CONTENT_TYPES) for entry in entries):
        return tuple(_to_entry(entry) for entry in entries)
    return (_to_entry(value),)


def _to_entry(value: Any) -> Content:
    match value:
        case None:
            return TextContent("Done.")
        case str():
            return TextContent(_replace_surrogates(value))
        case float() if not math.isfinite(value):
            return TextContent(str(value))
        case TextContent() | JSONContent() | ImageContent() | FileContent():
            return _validate(value)
        case bytes() | bytearray() | memoryview():
            raise InvalidResult(
                f"{_type_name(value)}: expected text, or an ImageContent or FileContent with base64"
            )
        case _:
            return JSONContent(to_json_value(value))


def _validate(entry: Content) -> Content:
    """Content is not checked when it is created, but a log or a provider would reject it."""
    try:
        valid: Content = msgspec.convert(to_json_value(entry), cast("type[Content]", Content))
    except msgspec.ValidationError as error:
        raise InvalidResult(f"{_type_name(entry)} that is invalid: {error}") from None
    if isinstance(valid, ImageContent | FileContent) and not (valid.data or valid.url):
        raise InvalidResult(f"{_type_name(entry)} without data or url")
    return valid


def _dump_pydantic(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    raise InvalidResult(f"{_type_name(value)}, which is not JSON")


def _type_name(value: Any) -> str:
    kind = type(cast("object", value))
    home = kind.__module__
    return kind.__qualname__ if home in ("builtins", "__main__") else f"{home}.{kind.__qualname__}"


def _replace_surrogates(text: str) -> str:
    """File names may hold lone surrogates, which no log can store."""
    return str(text) if text.isascii() else text.encode("utf-8", "replace").decode()


# --- the limit ----------------------------------------------------------------------


def limit_size(result: ToolReturn, max_chars: int) -> ToolReturn:
    """Cut the text of a result to the limit and note the cut. JSON that is too long becomes
    text; images and files over `MAX_DATA_CHARS` are left out. Middleware may have returned
    anything as the result: what is invalid becomes an error result."""
    try:
        result = to_tool_return(result)
    except InvalidResult as error:
        return tool_error(f"The result was replaced by {error}")
    room = max_chars
    content: list[Content] = []
    for entry in result.content:
        text = _text_of(entry)
        if text is None:
            content.append(_limit_data(cast("ImageContent | FileContent", entry)))
        elif len(text) <= room:
            content.append(entry)
            room -= len(text)
        else:
            missing = len(text) - room
            content.append(TextContent(f"{text[:room]}\n[cut: {missing} more characters]"))
            room = 0
    return msgspec.structs.replace(result, content=tuple(content))


def _limit_data(entry: ImageContent | FileContent) -> Content:
    size = len(entry.data or "") + len(entry.url or "")
    if size <= MAX_DATA_CHARS:
        return entry
    return TextContent(f"[left out: {entry.media_type}, {size} characters of base64]")


def _text_of(entry: Content) -> str | None:
    if isinstance(entry, TextContent):
        return entry.text
    if isinstance(entry, JSONContent):
        return msgspec.json.encode(entry.value).decode()
    return None
