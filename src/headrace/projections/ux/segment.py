"""The canonical event: a message as it is displayed, live or from the store."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace.events import Executor, InputDecision, InputKind, JSONObject
from headrace.messages import Citation
from headrace.outcome import ErrorInfo, FinishReason
from headrace.usage import Usage

PartType: TypeAlias = Literal["summary_text", "reasoning_text", "redacted"]
ToolStatus: TypeAlias = Literal["completed", "failed", "incomplete", "approval_requested"]


class ReasoningEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One part of a reasoning segment."""

    text: str
    """Text without status markers; empty if the provider does not show it."""
    type: PartType
    """A summary, the raw reasoning, or a part that the provider keeps hidden."""
    created_at: int
    """Start in milliseconds since the epoch."""
    is_complete: bool
    """False if the stream broke off inside this part."""
    summary_index: int
    """Position in the segment, from 0."""
    sequence_number: int
    """Position among the parts of all segments, from 0."""


class _Segment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Fields of all segments. Those with a default are additions, omitted if unset."""

    id: str
    """Unique id, known before the first delta and never changed."""
    provider_item_id: str | None = None
    """The provider's own id of the item, if it has one."""


class _OtherSegment(_Segment, frozen=True, kw_only=True):
    output_index: int = 0
    """Number of the provider's output, if it is not the first."""


class ReasoningSegment(_Segment, frozen=True, kw_only=True, tag="reasoning"):
    """Reasoning without anything in between: one provider item, or several without ids."""

    output_index: int
    """Number of the provider's output."""
    parts: tuple[ReasoningEntry, ...]
    """Its parts, in order."""
    streaming: bool
    """Always false in a finished event."""
    combined_text: str
    """The texts of the parts, separated by blank lines."""
    sequence_number: int
    """Position in the list of segments, from 0."""
    duration_ms: int | None = None
    """Time from start to end, if it ended."""
    effort_level: str | None = None
    """The requested effort."""
    reasoning_tokens: int | None = None
    """Token count, if the turn has only this reasoning segment."""
    citations: tuple[Citation, ...] = ()
    """Its sources."""


class TextSegment(_OtherSegment, frozen=True, kw_only=True, tag="text"):
    """Text of the answer."""

    text: str
    """The text as it arrived."""
    channel: str | None = None
    """The provider's channel, if it has several."""
    is_refusal: bool = False
    """Whether the model refuses to answer."""
    citations: tuple[Citation, ...] = ()
    """Its sources; `start` and `end` count characters of the text."""


class ToolSegment(_OtherSegment, frozen=True, kw_only=True, tag="tool_call"):
    """A tool call and its result."""

    call_id: str
    """Id of the call, unique within its turn."""
    name: str
    """Name of the tool."""
    args: Any
    """The arguments; the raw text if they are malformed."""
    result: Any
    """A text, a JSON value, an object with a `url`, or a list of these; null if there is none."""
    status: ToolStatus
    """Whether the tool succeeded; `incomplete` if unknown, and `approval_requested` if the provider
    waits for an approval that nobody gave."""
    sequence_number: int
    """Position in the list of segments, from 0."""
    created_at: int
    """Time at which the model began the call, in milliseconds since the epoch."""
    executor: Executor = "client"
    """Who runs the tool."""
    error: str | None = None
    """What went wrong."""
    kind: str | None = None
    """Kind of the result, if the tool declares one."""
    duration_ms: int | None = None
    """How long the tool ran."""
    event: MessageEvent | None = None
    """What a sub-agent did for the call, as an event of its own."""


class WebSearchSegment(ToolSegment, frozen=True, kw_only=True, tag="web_search_call"):
    """A web search that the provider ran, with the fields of a `tool_call`."""


class CodeInterpreterSegment(ToolSegment, frozen=True, kw_only=True, tag="code_interpreter_call"):
    """Code that the provider ran, with the fields of a `tool_call`."""


class FileSearchSegment(ToolSegment, frozen=True, kw_only=True, tag="file_search_call"):
    """A file search that the provider ran, with the fields of a `tool_call`."""


class MCPSegment(ToolSegment, frozen=True, kw_only=True, tag="mcp_call"):
    """A tool of an MCP server that the provider called, with the fields of a `tool_call`."""


class ImageGenerationSegment(ToolSegment, frozen=True, kw_only=True, tag="image_generation_call"):
    """An image generation of the provider; the image is a `media` segment of its own."""


class MediaSegment(_OtherSegment, frozen=True, kw_only=True, tag="media"):
    """An image, audio or video that the model produced."""

    media_type: str
    """Its media type."""
    url: str
    """Its address, or a `data:` URL."""
    sequence_number: int
    """Position in the list of segments, from 0."""
    created_at: int
    """Time of arrival in milliseconds since the epoch."""


class OpaqueSegment(_OtherSegment, frozen=True, kw_only=True, tag="opaque"):
    """An item that Headrace does not interpret. Its content is not included."""

    kind: str
    """The provider's name for it."""
    sequence_number: int
    """Position in the list of segments, from 0."""
    created_at: int
    """Time of arrival in milliseconds since the epoch."""


class UserMessageSegment(_Segment, frozen=True, kw_only=True, tag="user_message"):
    """What the user said while the answer was going on."""

    text: str
    """The text."""
    sequence_number: int
    """Position in the list of segments, from 0."""
    created_at: int
    """Time at which it was passed on to the model, in milliseconds since the epoch."""
    said_at: int | None = None
    """Time at which it was said."""


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
    | UserMessageSegment
)


class RequestEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request for input, and its answer. The fields are those of the frames."""

    request_id: str
    """Id of the request, unique in the run."""
    kind: InputKind
    """What is needed: an `approval` of a call, the `result` of a call, a `form` or a `text`."""
    call_id: str
    """Id of the call that needs it."""
    name: str
    """Name of the tool."""
    created_at: int
    """Time of the request in milliseconds since the epoch."""
    args: Any = None
    """The arguments of the call."""
    message: str = ""
    """What the person is asked."""
    schema: JSONObject | None = None
    """JSON schema of the value that is expected."""
    expires_at: int | None = None
    """Time at which it expires."""
    parent_call_id: str | None = None
    """For a request of a sub-agent: id of the outermost call."""
    server: str | None = None
    """Label of the MCP server, if the provider runs the call: its arguments cannot be changed."""
    decision: InputDecision | None = None
    """The answer: `accepted`, `denied` or `expired`; absent while there is none."""
    value: Any = None
    """The value that was given."""
    is_always: bool = False
    """Whether the approval holds for later calls of the tool in this run."""
    reason: str | None = None
    """Why it was denied."""
    by: str | None = None
    """Who answered."""


class MessageEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The canonical event of an assistant message."""

    id: str
    """Id of the message; `event_id` in frames."""
    role: Literal["assistant"]
    """Always `assistant`."""
    run_id: str | None
    """Id of the run that made it; null for a single turn."""
    created_at: int
    """Start in milliseconds since the epoch."""
    segments: tuple[Segment, ...]
    """Reasoning, tools and text, in order."""
    usage: Usage | None
    """Token counts; null if unknown."""
    finish: FinishReason | None = None
    """Why it ended, if it did not fail."""
    error: ErrorInfo | None = None
    """Why it failed."""
    citations: tuple[Citation, ...] = ()
    """Sources of the whole message."""
    duration_ms: int | None = None
    """Time from its start to the last end of a part or tool."""
    requests: tuple[RequestEntry, ...] = ()
    """Requests for input of the message and of its sub-agents, in the order of their times."""
    warning: str | None = None
    """What is known about content that is missing because frames could not be read."""
    model: str | None = None
    """The model that wrote it, by the provider's name; the last one if there were several."""
