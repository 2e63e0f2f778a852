"""JSON values and content without secrets. What has none stays the same object."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import Any, TypeVar, cast

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent
from headrace.encoders.text_content import decode_text_file
from headrace.events import CitationAdded
from headrace.messages import Citation
from headrace.secrets.mask import Mask
from headrace.wire.call_arguments import MalformedArguments, parse_arguments
from headrace.wire.json.value import as_object
from headrace.wire.limits import DEFAULT_WIRE_LIMITS

S = TypeVar("S", bound=msgspec.Struct)
C = TypeVar("C", Citation, CitationAdded)


def changed(struct: S, **fields: Any) -> S:
    """The struct with these fields; itself, where they say what it said."""
    if all(getattr(struct, name) == value for name, value in fields.items()):
        return struct
    return msgspec.structs.replace(struct, **fields)


def hide_value(mask: Mask, value: Any) -> Any:
    """A JSON value; names of fields count too."""
    if isinstance(value, str):
        return mask.hide(value)
    if isinstance(value, dict):
        fields = as_object(cast("object", value))
        return {hide_value(mask, name): hide_value(mask, inner) for name, inner in fields.items()}
    if isinstance(value, list | tuple):
        entries = cast("Iterable[Any]", value)
        return [hide_value(mask, inner) for inner in entries]
    return value


def hide_words(mask: Mask, text: str | None) -> str | None:
    """A text that may be missing."""
    return None if text is None else mask.hide(text)


def hide_content(mask: Mask, content: Iterable[Content]) -> tuple[Content, ...]:
    """Text, JSON, names, addresses, and files that are text."""
    return tuple(_entry(mask, entry) for entry in content)


def _entry(mask: Mask, entry: Content) -> Content:
    match entry:
        case TextContent():
            return changed(entry, text=mask.hide(entry.text))
        case JSONContent():
            return changed(entry, value=hide_value(mask, entry.value))
        case ImageContent():
            return changed(entry, url=hide_words(mask, entry.url))
        case FileContent():
            return _file(mask, entry)


def _file(mask: Mask, file: FileContent) -> FileContent:
    made = changed(file, name=hide_words(mask, file.name), url=hide_words(mask, file.url))
    words = decode_text_file(file)
    if words is None or (hidden := mask.hide(words)) == words:
        return made
    return changed(made, data=b64encode(hidden.encode()).decode())


def hide_citation(mask: Mask, cited: C) -> C:
    """A source, as it is told or as a message keeps it."""
    return changed(
        cited,
        source=hide_words(mask, cited.source),
        ref=hide_words(mask, cited.ref),
        title=hide_words(mask, cited.title),
        quote=hide_words(mask, cited.quote),
        raw=hide_value(mask, cited.raw),
    )


def hide_arguments(mask: Mask, raw: str, input: str) -> tuple[str, Any, str | None]:
    """The arguments of a call: as they are written, what they say, and what is wrong with
    them. A value that goes beyond one text of the JSON leaves none."""
    if input == "text":
        hidden = mask.hide(raw)
        return hidden, hidden, None
    hidden = mask.hide_json(raw)
    try:
        return hidden, parse_arguments(hidden, DEFAULT_WIRE_LIMITS.max_depth), None
    except MalformedArguments as error:
        return hidden, None, f"redacted arguments are no JSON: {error}"
