"""What the docs tell of the ux vocabulary: its frames, their fields, and the event object."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import get_args

import msgspec

from docs.outline import field_docs, field_types, one_line, table
from headrace.projections.ux import segment
from headrace.projections.ux.frame import UXFrame

Struct = type[msgspec.Struct]
_CALL = ("event_id", "call_id", "name", "args_preview", "sequence_number", "created_at")
_UPDATE = ("event_id", "call_id", "status", "progress", "logs_delta")
_RESULT = ("event_id", "call_id", "result", "error")
_BUILT_IN = ("web_search", "code_interpreter", "file_search", "mcp", "image_generation")
DOCUMENT: dict[str, tuple[str, ...]] = {
    "reasoning_part_started": (
        "event_id",
        "segment_id",
        "summary_index",
        "sequence_number",
        "created_at",
    ),
    "reasoning_part_delta": ("event_id", "segment_id", "summary_index", "text_delta"),
    "reasoning_part_completed": (
        "event_id",
        "segment_id",
        "summary_index",
        "is_complete",
        "final_text",
    ),
    "reasoning_segment_meta": ("event_id", "segment_id", "effort_level", "reasoning_tokens"),
    "text_delta": ("event_id", "text_delta", "output_index"),
    "tool_call_started": _CALL,
    "tool_call_update": _UPDATE,
    "tool_result": _RESULT,
    **{f"{kind}_call_started": _CALL for kind in _BUILT_IN},
    **{f"{kind}_call_update": _UPDATE for kind in _BUILT_IN},
    **{f"{kind}_call_result": _RESULT for kind in _BUILT_IN},
    "message_final": ("event",),
    "message_error": ("event_id", "message"),
    "message_cancelled": ("event_id",),
}
"""The fields that the source document of the vocabulary names; all others are additions."""
FIELDS: dict[str, str] = {
    "event_id": "The message's id; `id` of the event.",
    "run_id": "The run that makes the message; null for a single turn.",
    "created_at": "When it began, in milliseconds since the epoch.",
    "segment_id": "The segment's id; `id` of the segment. It never changes.",
    "segment": "The segment, as it stands in the event; a text has no words yet.",
    "summary_index": "The part's place in its segment, from 0.",
    "sequence_number": "The segment's place in the list of segments, from 0, text included.",
    "part_type": "`type` of the part, where it is not `summary_text`.",
    "text_delta": "What is added to the text.",
    "is_complete": "Always true.",
    "final_text": "The whole text, if the projection has `has_final_text`.",
    "effort_level": "The effort that was asked for.",
    "reasoning_tokens": "What the reasoning cost, where the turn has one segment of it.",
    "duration_ms": "How long it took; of a tool, how long it ran.",
    "provider_item_id": "The provider's own id of the item.",
    "output_index": "The provider's output, where it is not the first.",
    "citation": "The source: `source`, `ref`, `title`, `quote`, `start`, `end`.",
    "text": "The phrase.",
    "source": "Where the phrase was found: `tool`, `title`, `marker` or `natural`.",
    "call_id": "The call's id. A later call may have the same: the latest is meant.",
    "name": "What the model calls the tool by.",
    "args_preview": "Empty: the arguments follow.",
    "executor": "`provider` where the provider runs the tool.",
    "status": "`writing`, `ready`, `running`, or the tool's own word.",
    "progress": "How far the tool is, from 0 to 1.",
    "logs_delta": "What is added to the tool's log.",
    "args_delta": "What is added to the arguments, as written.",
    "args": "The arguments, whole and parsed.",
    "detail": "What the provider adds to the status, such as a first sight of a picture.",
    "result": "What the tool gave.",
    "error": "What went wrong.",
    "kind": "What kind of result it is, where the tool says so.",
    "segment_ids": "Segments that are gone.",
    "unanswered_ids": "Tool segments whose result is gone.",
    "dropped_citations": "How many of the message's own sources are gone, from the end.",
    "reason": "Why.",
    "event": "The whole event, or as far as it came.",
    "message": "What broke, in words.",
}


def structs() -> list[Struct]:
    """Every frame that has a row, in the order of the source."""
    kinds = list(get_args(UXFrame))
    order = sorted(kinds, key=lambda kind: inspect.getsourcelines(kind)[1])
    return [kind for kind in order if "_call_" not in type_of(kind) or _is_first(kind)]


def _is_first(kind: Struct) -> bool:
    """Frames of built-in tools are like those of any tool, so one row tells all of them."""
    return type_of(kind).startswith("tool_call")


def type_of(kind: Struct) -> str:
    """What stands in a frame's `type`."""
    return str(kind.__struct_config__.tag)


def _codes(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


# --- blocks ----------------------------------------------------------------------


def frames() -> str:
    """The vocabulary, the document's fields apart from ours."""
    rows = [(f"`{type_of(kind)}`", *_fields(kind), one_line(kind)) for kind in structs()]
    return table(("type", "fields", "added", "meaning"), rows)


def _fields(kind: Struct) -> tuple[str, str]:
    theirs = DOCUMENT.get(type_of(kind), ())
    known = [field for field in kind.__struct_fields__ if field in theirs]
    added = [field for field in kind.__struct_fields__ if field not in theirs]
    return _codes(known), _codes(added)


def fields() -> str:
    """Every field of every frame, once."""
    used = dict.fromkeys(field for kind in structs() for field in kind.__struct_fields__)
    return table(("field", "meaning"), [(f"`{field}`", FIELDS[field]) for field in used])


def built_in() -> str:
    """The kinds of built-in tools."""
    rows = [
        (f"`{kind}_call_started`, `_update`, `_result`", f"`{kind}_call`") for kind in _BUILT_IN
    ]
    return table(("frames", "segment"), rows)


def event() -> str:
    """The event object."""
    return _members(segment.MessageEvent)


def segments() -> str:
    """The segments that are not like another one."""
    kinds: tuple[Struct, ...] = (
        segment.ReasoningSegment,
        segment.ReasoningEntry,
        segment.TextSegment,
        segment.ToolSegment,
        segment.MediaSegment,
        segment.OpaqueSegment,
    )
    titles = ("reasoning", "A part of `reasoning`", "text", "tool_call", "media", "opaque")
    told = (
        f"### {title}\n\n{one_line(kind)}\n\n{_members(kind)}"
        for title, kind in zip(titles, kinds, strict=True)
    )
    return "\n".join(told)


def _members(kind: Struct) -> str:
    docs, types = field_docs(kind), field_types(kind)
    rows = [
        (
            f"`{field.name}`",
            f"`{types[field.name]}`",
            "always" if field.required else "if known",
            docs[field.name],
        )
        for field in sorted(msgspec.structs.fields(kind), key=lambda field: not field.required)
    ]
    return table(("key", "type", "is there", "meaning"), rows)
