"""The frames of the ux protocol. Field names are those on the wire.

Fields with a default are additions to the protocol's document, except those that it calls optional.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from headrace.events import Executor, InputDecision, InputKind, JSONObject
from headrace.messages import Citation
from headrace.projections.ux.segment import (
    MediaSegment,
    MessageEvent,
    OpaqueSegment,
    PartType,
    TextSegment,
)
from headrace.status.reader import StatusSource


class MessageStarted(msgspec.Struct, frozen=True, tag="message_started", gc=False):
    """The message begins; sent once, first."""

    event_id: str
    run_id: str | None
    created_at: int


class ReasoningPartStarted(
    msgspec.Struct, frozen=True, tag="reasoning_part_started", omit_defaults=True, gc=False
):
    """A reasoning part begins. Its segment begins too if `summary_index` is 0."""

    event_id: str
    segment_id: str
    summary_index: int
    sequence_number: int
    created_at: int
    part_type: PartType = "summary_text"
    output_index: int = 0


class ReasoningPartDelta(msgspec.Struct, frozen=True, tag="reasoning_part_delta", gc=False):
    """More text of a reasoning part, without status markers."""

    event_id: str
    segment_id: str
    summary_index: int
    text_delta: str


class ReasoningPartCompleted(
    msgspec.Struct, frozen=True, tag="reasoning_part_completed", omit_defaults=True, gc=False
):
    """A reasoning part is complete. It is not sent for a part that the stream broke off."""

    event_id: str
    segment_id: str
    summary_index: int
    is_complete: bool
    final_text: str | None = None


class ReasoningSegmentMeta(
    msgspec.Struct, frozen=True, tag="reasoning_segment_meta", omit_defaults=True, gc=False
):
    """Facts about a whole reasoning segment. A later frame replaces an earlier one."""

    event_id: str
    segment_id: str
    effort_level: str | None = None
    reasoning_tokens: int | None = None
    duration_ms: int | None = None
    provider_item_id: str | None = None


class SegmentAdded(msgspec.Struct, frozen=True, tag="segment_added"):
    """A segment that is neither reasoning nor a tool: an empty text, or a whole item."""

    event_id: str
    segment: TextSegment | MediaSegment | OpaqueSegment
    sequence_number: int = 0


class TextPiece(msgspec.Struct, frozen=True, tag="text_delta", omit_defaults=True, gc=False):
    """More of the newest text; if there are several outputs, of the named one."""

    event_id: str
    text_delta: str
    output_index: int = 0


class PartRestoredFrame(
    msgspec.Struct, frozen=True, tag="part_restored", omit_defaults=True, gc=False
):
    """The whole text of a segment or reasoning part that had a gap; it replaces what was sent."""

    event_id: str
    segment_id: str
    text: str
    summary_index: int | None = None


class CitationFrame(msgspec.Struct, frozen=True, tag="citation_added", omit_defaults=True):
    """A source of a segment or of the whole message."""

    event_id: str
    citation: Citation
    segment_id: str | None = None


class Status(msgspec.Struct, frozen=True, tag="status", gc=False):
    """A short phrase that says what the model is doing."""

    event_id: str
    text: str
    source: StatusSource
    created_at: int


class ToolCallStarted(msgspec.Struct, frozen=True, tag="tool_call_started", omit_defaults=True):
    """A tool is called. Its arguments follow: the update with status `ready` has the preview."""

    event_id: str
    call_id: str
    name: str
    args_preview: str
    sequence_number: int
    created_at: int
    segment_id: str = ""
    executor: Executor = "client"
    output_index: int = 0
    provider_item_id: str | None = None


class ToolCallUpdate(msgspec.Struct, frozen=True, tag="tool_call_update", omit_defaults=True):
    """More arguments, the complete arguments, or the progress of a tool.

    `status` is `writing`, `ready`, `running`, `approval_requested`, or the tool's own word.
    """

    event_id: str
    call_id: str
    status: str
    progress: float | None = None
    logs_delta: str | None = None
    args_delta: str | None = None
    args: Any = None
    detail: Any = None
    args_preview: str | None = None


class ToolResultFrame(msgspec.Struct, frozen=True, tag="tool_result", omit_defaults=True):
    """A tool has ended. A later frame for the same call replaces it."""

    event_id: str
    call_id: str
    result: Any
    error: str | None = None
    kind: str | None = None
    duration_ms: int | None = None
    event: MessageEvent | None = None


class WebSearchCallStarted(ToolCallStarted, frozen=True, tag="web_search_call_started"):
    """`ToolCallStarted` for a web search that the provider runs."""


class WebSearchCallUpdate(ToolCallUpdate, frozen=True, tag="web_search_call_update"):
    """`ToolCallUpdate` for a web search that the provider runs."""


class WebSearchCallResult(ToolResultFrame, frozen=True, tag="web_search_call_result"):
    """`ToolResultFrame` for a web search that the provider runs."""


class CodeInterpreterCallStarted(ToolCallStarted, frozen=True, tag="code_interpreter_call_started"):
    """`ToolCallStarted` for code that the provider runs."""


class CodeInterpreterCallUpdate(ToolCallUpdate, frozen=True, tag="code_interpreter_call_update"):
    """`ToolCallUpdate` for code that the provider runs."""


class CodeInterpreterCallResult(ToolResultFrame, frozen=True, tag="code_interpreter_call_result"):
    """`ToolResultFrame` for code that the provider runs."""


class FileSearchCallStarted(ToolCallStarted, frozen=True, tag="file_search_call_started"):
    """`ToolCallStarted` for a file search that the provider runs."""


class FileSearchCallUpdate(ToolCallUpdate, frozen=True, tag="file_search_call_update"):
    """`ToolCallUpdate` for a file search that the provider runs."""


class FileSearchCallResult(ToolResultFrame, frozen=True, tag="file_search_call_result"):
    """`ToolResultFrame` for a file search that the provider runs."""


class MCPCallStarted(ToolCallStarted, frozen=True, tag="mcp_call_started"):
    """`ToolCallStarted` for a tool of an MCP server that the provider calls."""


class MCPCallUpdate(ToolCallUpdate, frozen=True, tag="mcp_call_update"):
    """`ToolCallUpdate` for a tool of an MCP server that the provider calls."""


class MCPCallResult(ToolResultFrame, frozen=True, tag="mcp_call_result"):
    """`ToolResultFrame` for a tool of an MCP server that the provider calls."""


class ImageGenerationCallStarted(ToolCallStarted, frozen=True, tag="image_generation_call_started"):
    """`ToolCallStarted` for an image that the provider generates."""


class ImageGenerationCallUpdate(ToolCallUpdate, frozen=True, tag="image_generation_call_update"):
    """`ToolCallUpdate` for an image that the provider generates; `detail` may hold a preview."""


class ImageGenerationCallResult(ToolResultFrame, frozen=True, tag="image_generation_call_result"):
    """`ToolResultFrame` for an image that the provider generates."""


class InputRequestedFrame(
    msgspec.Struct, frozen=True, kw_only=True, tag="input_requested", omit_defaults=True
):
    """The run needs something from a person or from another program before it can go on."""

    event_id: str
    request_id: str
    run_id: str
    kind: InputKind
    call_id: str
    name: str
    created_at: int
    args: Any = None
    message: str = ""
    schema: JSONObject | None = None
    expires_at: int | None = None
    parent_call_id: str | None = None
    server: str | None = None


class InputAnsweredFrame(
    msgspec.Struct, frozen=True, kw_only=True, tag="input_answered", omit_defaults=True
):
    """A request was answered, or has expired. Sent once per request."""

    event_id: str
    request_id: str
    decision: InputDecision
    value: Any = None
    is_always: bool = False
    reason: str | None = None
    by: str | None = None


class MessageWaiting(msgspec.Struct, frozen=True, tag="message_waiting"):
    """The message waits for input. It goes on with the next frame, after an answer."""

    event_id: str
    run_id: str
    waiting: tuple[str, ...]


class UserMessageAddedFrame(
    msgspec.Struct, frozen=True, kw_only=True, tag="user_message_added", omit_defaults=True
):
    """The user has said something while the message was going on. It is a segment."""

    event_id: str
    segment_id: str
    text: str
    sequence_number: int
    created_at: int
    said_at: int | None = None


class StepDiscardedFrame(msgspec.Struct, frozen=True, tag="step_discarded", omit_defaults=True):
    """A step is discarded and tried again.

    Its segments are gone, and so are the results of the tools in `unanswered_ids` and the last
    `dropped_citations` sources of the message.
    """

    event_id: str
    segment_ids: tuple[str, ...]
    reason: str
    unanswered_ids: tuple[str, ...] = ()
    dropped_citations: int = 0


class NestedFrame(msgspec.Struct, frozen=True, tag="nested_frame"):
    """A frame of a sub-agent, for the call that has started it. The frame may be of this type
    itself, for a sub-agent of the sub-agent."""

    event_id: str
    parent_call_id: str
    frame: UXFrame


class MessageFinal(msgspec.Struct, frozen=True, tag="message_final"):
    """The end of the message, with the whole event as it is stored."""

    event: MessageEvent


class MessageError(msgspec.Struct, frozen=True, tag="message_error"):
    """The end of a message that failed or could not be saved. `event` is what there was."""

    event_id: str
    message: str
    event: MessageEvent


class MessageCancelled(msgspec.Struct, frozen=True, tag="message_cancelled"):
    """The end of a message that a person stopped. `event` is what there was."""

    event_id: str
    event: MessageEvent


EndFrame: TypeAlias = MessageFinal | MessageError | MessageCancelled
UXFrame: TypeAlias = (
    TextPiece
    | ReasoningPartDelta
    | MessageStarted
    | ReasoningPartStarted
    | ReasoningPartCompleted
    | ReasoningSegmentMeta
    | SegmentAdded
    | PartRestoredFrame
    | CitationFrame
    | Status
    | ToolCallStarted
    | ToolCallUpdate
    | ToolResultFrame
    | WebSearchCallStarted
    | WebSearchCallUpdate
    | WebSearchCallResult
    | CodeInterpreterCallStarted
    | CodeInterpreterCallUpdate
    | CodeInterpreterCallResult
    | FileSearchCallStarted
    | FileSearchCallUpdate
    | FileSearchCallResult
    | MCPCallStarted
    | MCPCallUpdate
    | MCPCallResult
    | ImageGenerationCallStarted
    | ImageGenerationCallUpdate
    | ImageGenerationCallResult
    | InputRequestedFrame
    | InputAnsweredFrame
    | MessageWaiting
    | UserMessageAddedFrame
    | StepDiscardedFrame
    | NestedFrame
    | MessageFinal
    | MessageError
    | MessageCancelled
)

_encode = msgspec.json.Encoder().encode
_decoder: msgspec.json.Decoder[UXFrame] = msgspec.json.Decoder(UXFrame)


def encode_frame(frame: UXFrame) -> bytes:
    """Return the payload of a frame."""
    return _encode(frame)


def decode_frame(payload: bytes) -> UXFrame:
    """Decode one frame from its payload. Raises `msgspec.ValidationError` for an unknown type."""
    return _decoder.decode(payload)


def frame_type(frame: UXFrame) -> str:
    """Return the frame's `type`."""
    return str(frame.__struct_config__.tag)
