"""The canonical event: what a message is for those who show it, live or from a store."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace.events import Executor
from headrace.messages import Citation
from headrace.outcome import ErrorInfo, FinishReason
from headrace.usage import Usage

PartType: TypeAlias = Literal["summary_text", "reasoning_text", "redacted"]
ToolStatus: TypeAlias = Literal["completed", "failed", "incomplete"]


class ReasoningEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One part of a reasoning segment."""

    text: str
    """Without status markers; empty where the provider shows none of it."""
    type: PartType
    """A summary, the reasoning itself, or a part that the provider keeps to itself."""
    created_at: int
    """When it began, in milliseconds since the epoch."""
    is_complete: bool
    """False where the stream broke off inside of it."""
    summary_index: int
    """Its place in the segment, from 0."""
    sequence_number: int
    """Its place among the parts of all segments, from 0."""


class _Segment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Fields with a default are additions to the document, left out where they have it."""

    id: str
    """Unique, known before the first delta, and never another."""
    provider_item_id: str | None = None
    """What the provider calls the item, where it has a name for it."""


class _OtherSegment(_Segment, frozen=True, kw_only=True):
    output_index: int = 0
    """The provider's output, where it is not the first."""


class ReasoningSegment(_Segment, frozen=True, kw_only=True, tag="reasoning"):
    """What the model thought without anything else between: one provider item, or several that
    have no ids."""

    output_index: int
    """The provider's output."""
    parts: tuple[ReasoningEntry, ...]
    """Its parts, in order."""
    streaming: bool
    """Always false: an event is whole."""
    combined_text: str
    """The texts of the parts, with an empty line between."""
    sequence_number: int
    """Its place in the list of segments, from 0."""
    duration_ms: int | None = None
    """From its start to its end, where it ended."""
    effort_level: str | None = None
    """The effort that was asked for."""
    reasoning_tokens: int | None = None
    """What it cost, where the turn has this one alone."""
    citations: tuple[Citation, ...] = ()
    """Its sources."""


class TextSegment(_OtherSegment, frozen=True, kw_only=True, tag="text"):
    """Text for the reader."""

    text: str
    """The text, as it came."""
    channel: str | None = None
    """The provider's channel, where it has several."""
    is_refusal: bool = False
    """Whether the model says here that it will not answer."""
    citations: tuple[Citation, ...] = ()
    """Its sources; `start` and `end` count characters of the text."""


class ToolSegment(_OtherSegment, frozen=True, kw_only=True, tag="tool_call"):
    """A tool that was called, and what it gave."""

    call_id: str
    """The call's id, unique in its turn."""
    name: str
    """What the model calls the tool by."""
    args: Any
    """The arguments; as the model wrote them where they are malformed."""
    result: Any
    """A text, a JSON value, an object with a `url`, or a list of these; null where there is
    none."""
    status: ToolStatus
    """Whether it worked; `incomplete` where nobody said."""
    sequence_number: int
    """Its place in the list of segments, from 0."""
    created_at: int
    """When the model began to call it, in milliseconds since the epoch."""
    executor: Executor = "client"
    """Who runs it."""
    error: str | None = None
    """What went wrong."""
    kind: str | None = None
    """What kind of result it is, where the tool says so."""
    duration_ms: int | None = None
    """How long it ran, where it did."""


class WebSearchSegment(ToolSegment, frozen=True, kw_only=True, tag="web_search_call"):
    """A search that the provider ran; its fields are a `tool_call`'s."""


class CodeInterpreterSegment(ToolSegment, frozen=True, kw_only=True, tag="code_interpreter_call"):
    """Code that the provider ran; its fields are a `tool_call`'s."""


class FileSearchSegment(ToolSegment, frozen=True, kw_only=True, tag="file_search_call"):
    """A search in files that the provider ran; its fields are a `tool_call`'s."""


class MCPSegment(ToolSegment, frozen=True, kw_only=True, tag="mcp_call"):
    """A tool of an MCP server that the provider called; its fields are a `tool_call`'s."""


class ImageGenerationSegment(ToolSegment, frozen=True, kw_only=True, tag="image_generation_call"):
    """A picture that the provider drew, which is a `media` segment of its own."""


class MediaSegment(_OtherSegment, frozen=True, kw_only=True, tag="media"):
    """An image, sound or film that the model made."""

    media_type: str
    """What it is."""
    url: str
    """Its address, or itself as a `data:` address."""
    sequence_number: int
    """Its place in the list of segments, from 0."""
    created_at: int
    """When it came, in milliseconds since the epoch."""


class OpaqueSegment(_OtherSegment, frozen=True, kw_only=True, tag="opaque"):
    """An item that nobody has told us about: that it was there, and not what is in it."""

    kind: str
    """The provider's word for it."""
    sequence_number: int
    """Its place in the list of segments, from 0."""
    created_at: int
    """When it came, in milliseconds since the epoch."""


Segment: TypeAlias = (
    TextSegment
    | ReasoningSegment
    | ToolSegment
    | WebSearchSegment
    | CodeInterpreterSegment
    | FileSearchSegment
    | MCPSegment
    | ImageGenerationSegment
    | MediaSegment
    | OpaqueSegment
)


class MessageEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The canonical event of an assistant's message."""

    id: str
    """The message's id; `event_id` in frames."""
    role: Literal["assistant"]
    """Always the assistant."""
    run_id: str | None
    """The run that made it; null for a single turn."""
    created_at: int
    """When it began, in milliseconds since the epoch."""
    segments: tuple[Segment, ...]
    """What was thought, done and said, in order."""
    usage: Usage | None
    """What it cost; null where that is not known."""
    finish: FinishReason | None = None
    """Why it ended, where it did not fail."""
    error: ErrorInfo | None = None
    """What broke it."""
    citations: tuple[Citation, ...] = ()
    """Sources of the message as a whole."""
    duration_ms: int | None = None
    """From its start to the last thing that ended in it."""
