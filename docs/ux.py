"""Blocks of the page about the ux protocol: frames, fields, the event and its segments."""

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
"""The fields of the specification of the protocol; all others are additions."""
FIELDS: dict[str, str] = {
    "event_id": "Id of the message; `id` of the event.",
    "run_id": "Id of the run, which takes the answers to its requests; null for a single turn.",
    "created_at": "Start time in milliseconds since the epoch.",
    "segment_id": "Id of the segment, which never changes; `id` of the segment.",
    "segment": "The segment as in the event; a text is still empty.",
    "summary_index": "Position of the part in its segment, from 0.",
    "sequence_number": "Position in the list of segments, from 0.",
    "part_type": "`type` of the part, if it is not `summary_text`.",
    "text_delta": "Text to append.",
    "is_complete": "Always true.",
    "final_text": "The whole text, if the server has `has_final_text` (`--final-text`).",
    "effort_level": "The requested effort.",
    "reasoning_tokens": "Token count of the reasoning, if the turn has only one segment of it.",
    "duration_ms": "Duration in milliseconds.",
    "provider_item_id": "The provider's own id of the item.",
    "output_index": "Number of the provider's output, if it is not the first.",
    "citation": "The source: `source`, `ref`, `title`, `quote`, `start`, `end`.",
    "text": "The phrase of a status, the whole text of the part, or what the user said.",
    "source": "Where the phrase was found: `tool`, `title`, `marker` or `natural`.",
    "call_id": "Id of the call. If calls of several turns have the same id, the latest is meant.",
    "name": "Name of the tool.",
    "args_preview": "The arguments in one line of at most 80 characters, once they are complete.",
    "executor": "`provider` if the provider runs the tool.",
    "status": "`writing`, `ready`, `running`, `approval_requested`, or the tool's own word.",
    "progress": "Progress of the tool, from 0 to 1.",
    "logs_delta": "Text to append to the log of the tool.",
    "args_delta": "Text to append to the raw arguments.",
    "args": "The complete, parsed arguments.",
    "request_id": "Id of the request for input, unique in the run.",
    "schema": "JSON schema of the value that is expected.",
    "expires_at": "Time at which the request expires, in milliseconds since the epoch.",
    "parent_call_id": "Id of the call of the sub-agent; for a request, of the outermost one.",
    "server": "Label of the MCP server, if the provider runs the call; its arguments are fixed.",
    "decision": "`accepted`, `denied` or `expired`.",
    "value": "The value that was given.",
    "is_always": "Whether the approval holds for later calls of the tool in this run.",
    "by": "Who answered.",
    "waiting": "Ids of the requests that the message waits for.",
    "said_at": "Time at which the user said it, in milliseconds since the epoch.",
    "detail": "Details of the status from the provider, such as a preview of an image.",
    "result": "Result of the tool.",
    "error": "Error message.",
    "kind": "Kind of the result, if the tool declares one; or what a request is for.",
    "frame": "A frame of the sub-agent, with the id of the call's segment as its `event_id`.",
    "segment_ids": "Ids of segments that are removed.",
    "unanswered_ids": "Ids of tool segments whose result is removed.",
    "dropped_citations": "Number of sources of the message that are removed, from the end.",
    "reason": "Why the step is discarded, or the request was denied.",
    "event": "The event, complete or as far as it arrived; in a result what a sub-agent did.",
    "message": "Error message, or what a person is asked.",
}


def structs() -> list[Struct]:
    """Return the frames that have a row, in the order of the source."""
    kinds = list(get_args(UXFrame))
    order = sorted(kinds, key=lambda kind: inspect.getsourcelines(kind)[1])
    return [kind for kind in order if "_call_" not in type_of(kind) or _is_first(kind)]


def _is_first(kind: Struct) -> bool:
    """Return whether it is a frame of `tool_call`, whose row stands for all built-in tools."""
    return type_of(kind).startswith("tool_call")


def type_of(kind: Struct) -> str:
    """Return the `type` of a frame."""
    return str(kind.__struct_config__.tag)


def _codes(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


# --- blocks ----------------------------------------------------------------------


def frames() -> str:
    """Return the table of frames, with the fields of the specification and those added."""
    rows = [(f"`{type_of(kind)}`", *_fields(kind), one_line(kind)) for kind in structs()]
    return table(("type", "fields", "added", "meaning"), rows)


def _fields(kind: Struct) -> tuple[str, str]:
    theirs = DOCUMENT.get(type_of(kind), ())
    known = [field for field in kind.__struct_fields__ if field in theirs]
    added = [field for field in kind.__struct_fields__ if field not in theirs]
    return _codes(known), _codes(added)


def fields() -> str:
    """Return the table of all fields."""
    used = dict.fromkeys(field for kind in structs() for field in kind.__struct_fields__)
    return table(("field", "meaning"), [(f"`{field}`", FIELDS[field]) for field in used])


def built_in() -> str:
    """Return the table of the kinds of built-in tools."""
    rows = [
        (f"`{kind}_call_started`, `_update`, `_result`", f"`{kind}_call`") for kind in _BUILT_IN
    ]
    return table(("frames", "segment"), rows)


def event() -> str:
    """Return the table of the event."""
    return _members(segment.MessageEvent)


def requests() -> str:
    """Return the table of an entry of `requests`."""
    return _members(segment.RequestEntry)


def segments() -> str:
    """Return one section for each kind of segment that differs from the others."""
    kinds: tuple[Struct, ...] = (
        segment.ReasoningSegment,
        segment.ReasoningEntry,
        segment.TextSegment,
        segment.ToolSegment,
        segment.MediaSegment,
        segment.OpaqueSegment,
        segment.UserMessageSegment,
    )
    titles = (
        "reasoning",
        "A part of `reasoning`",
        "text",
        "tool_call",
        "media",
        "opaque",
        "user_message",
    )
    sections = (
        f"### {title}\n\n{one_line(kind)}\n\n{_members(kind)}"
        for title, kind in zip(titles, kinds, strict=True)
    )
    return "\n".join(sections)


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
    return table(("key", "type", "present", "meaning"), rows)
