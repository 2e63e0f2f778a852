"""The frames of the thinking protocol. Field names are those on the wire."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace.events import InputDecision, InputKind, JSONObject
from headrace.usage import Usage

StatusWord: TypeAlias = Literal["title", "glm_marker", "natural_language", "tool"]


class ThinkingStart(msgspec.Struct, frozen=True, tag="thinking_start", gc=False):
    """The model starts thinking: first, and again after a tool or after text."""

    timestamp: int


class ThinkingDelta(msgspec.Struct, frozen=True, tag="thinking_delta", gc=False):
    """More reasoning text, without status markers."""

    content: str
    """The text."""
    timestamp: int


class Status(msgspec.Struct, frozen=True, tag="status", gc=False):
    """A short phrase that says what the model is doing."""

    description: str
    """The phrase."""
    source: StatusWord
    """Where the phrase was found."""
    timestamp: int


class ThinkingEnd(msgspec.Struct, frozen=True, tag="thinking_end", gc=False):
    """This phase of thinking has ended; `duration` is in whole seconds."""

    duration: int
    timestamp: int
    duration_ms: int


class ThinkingComplete(msgspec.Struct, frozen=True, tag="thinking_complete", gc=False):
    """All phases of thinking together; sent once, near the end."""

    duration: int
    thinking: str
    """The whole reasoning, shortened to `max_thinking_chars` if that is set."""
    timestamp: int
    duration_ms: int


class TextStart(msgspec.Struct, frozen=True, tag="text_start", gc=False):
    """The answer starts, or continues after a tool or more thinking."""

    timestamp: int


class TextPiece(msgspec.Struct, frozen=True, tag="text_delta", gc=False):
    """More text of the answer."""

    content: str
    """The text."""


class ChunkDelta(msgspec.Struct, frozen=True, gc=False):
    """The delta of a `TextChunk`."""

    content: str
    """The text."""


class ChunkChoice(msgspec.Struct, frozen=True, gc=False):
    """The choice of a `TextChunk`."""

    delta: ChunkDelta
    """The text."""
    index: int = 0
    """Always 0."""
    finish_reason: None = None
    """Always null; `text_end` has the reason."""


class TextChunk(msgspec.Struct, frozen=True, gc=False):
    """More text of the answer, shaped like an OpenAI chat chunk."""

    choices: tuple[ChunkChoice, ...]
    """Always one choice."""
    object: str = "chat.completion.chunk"
    """Always `chat.completion.chunk`."""


class TextEnd(msgspec.Struct, frozen=True, tag="text_end", gc=False):
    """The answer pauses or ends.

    `finish_reason` is the provider's own word, or `tool_calls`, `error`, `cancelled` or `stop`.
    """

    finish_reason: str
    """Why the text ended: the provider's own word, `tool_calls`, `stop`, `error` or `cancelled`."""
    timestamp: int


class ToolCallStart(msgspec.Struct, frozen=True, tag="tool_call_start", omit_defaults=True):
    """A tool is called. `error` says why its arguments could not be read."""

    toolName: str  # noqa: N815 (the vocabulary's own spelling)
    arguments: JSONObject
    """The parsed arguments; `{}` if they could not be parsed."""
    timestamp: int
    call_id: str = ""
    error: str | None = None
    """Why the arguments could not be parsed; such a call is not run."""


class ToolResultFrame(msgspec.Struct, frozen=True, tag="tool_result", omit_defaults=True):
    """A tool has ended."""

    toolName: str  # noqa: N815
    success: bool
    """Whether the tool succeeded."""
    timestamp: int
    call_id: str = ""
    result: Any = None
    """The result: text, JSON, or a list of several."""
    error: str | None = None
    """The error message of a tool that failed."""


class WebSearch(msgspec.Struct, frozen=True, tag="web_search"):
    """The results of a search."""

    data: JSONObject
    """The result of the tool, as `{"results": …}` if it is not an object."""
    timestamp: int
    call_id: str = ""


class ArtifactComplete(msgspec.Struct, frozen=True, tag="artifact_complete", omit_defaults=True):
    """A tool has produced an artifact."""

    artifactCode: str  # noqa: N815
    """The content of the artifact."""
    timestamp: int
    artifactTitle: str | None = None  # noqa: N815
    """Its title, if the tool gave one."""
    artifactType: str | None = None  # noqa: N815
    """Its type, if the tool gave one."""
    call_id: str = ""


class ImageComplete(msgspec.Struct, frozen=True, tag="image_complete", omit_defaults=True):
    """An image is complete. `url` is an address or a `data:` URL."""

    imageUrl: str  # noqa: N815
    """Address of the image, or a `data:` URL."""
    timestamp: int
    call_id: str = ""


class InputRequestedFrame(
    msgspec.Struct, frozen=True, kw_only=True, tag="input_requested", omit_defaults=True
):
    """The run needs something from a person or from another program before it can go on."""

    request_id: str
    """Id of the request, unique in the run."""
    run_id: str
    """Id of the run that takes the answer."""
    kind: InputKind
    """What is needed: an `approval` of a call, the `result` of a call, a `form` or a `text`."""
    call_id: str
    """Id of the call that needs it."""
    name: str
    """Name of the tool."""
    timestamp: int
    args: Any = None
    """The arguments of the call."""
    message: str = ""
    """What the person is asked."""
    schema: JSONObject | None = None
    """JSON schema of the value that is expected."""
    expires_at: int | None = None
    """Time at which the request expires, in milliseconds since the epoch."""
    parent_call_id: str | None = None
    """For a request of a sub-agent: id of the outermost call."""
    server: str | None = None
    """Label of the MCP server, if the provider runs the call: its arguments cannot be changed."""


class InputAnsweredFrame(
    msgspec.Struct, frozen=True, kw_only=True, tag="input_answered", omit_defaults=True
):
    """A request was answered, or has expired. Sent once per request."""

    request_id: str
    """Id of the request."""
    decision: InputDecision
    """`accepted`, `denied` or `expired`."""
    timestamp: int
    value: Any = None
    """The value that was given."""
    is_always: bool = False
    """Whether the approval holds for later calls of the tool in this run."""
    reason: str | None = None
    """Why the request was denied."""
    by: str | None = None
    """Who answered."""


class MessageWaiting(msgspec.Struct, frozen=True, tag="message_waiting"):
    """The message waits for input. It goes on with the next frame, after an answer."""

    run_id: str
    """Id of the run that takes the answers."""
    waiting: tuple[str, ...]
    """Ids of the requests that it waits for."""
    timestamp: int


class UserMessageAddedFrame(
    msgspec.Struct, frozen=True, kw_only=True, tag="user_message_added", omit_defaults=True
):
    """The user has said something while the message was going on."""

    text: str
    """The text."""
    timestamp: int
    said_at: int | None = None
    """Time at which it was said, in milliseconds since the epoch."""


class Done(msgspec.Struct, frozen=True, tag="done", omit_defaults=True, gc=False):
    """The message ended normally, or by a limit that `finish_reason` names."""

    finish_reason: str
    """The finish reason, in the words of `FinishReason`."""
    timestamp: int
    usage: Usage | None = None
    """Token counts, if known."""
    warning: str | None = None
    """What is known about content that is missing because frames could not be read."""


class Error(msgspec.Struct, frozen=True, tag="error", omit_defaults=True, gc=False):
    """The message failed. What was sent before remains valid."""

    message: str
    """The error message."""
    category: str
    """The category of the error."""
    timestamp: int
    retryable: bool = False
    """Whether the same request may succeed if it is sent again."""


class Cancelled(msgspec.Struct, frozen=True, tag="cancelled", gc=False):
    """A person stopped the message."""

    timestamp: int


class EndOfFrames(msgspec.Struct, frozen=True, gc=False):
    """`[DONE]`: no frame follows."""


END_OF_FRAMES = EndOfFrames()

ThinkingFrame: TypeAlias = (
    ThinkingDelta
    | TextPiece
    | TextChunk
    | ThinkingStart
    | Status
    | ThinkingEnd
    | ThinkingComplete
    | TextStart
    | TextEnd
    | ToolCallStart
    | ToolResultFrame
    | WebSearch
    | ArtifactComplete
    | ImageComplete
    | InputRequestedFrame
    | InputAnsweredFrame
    | MessageWaiting
    | UserMessageAddedFrame
    | Done
    | Error
    | Cancelled
    | EndOfFrames
)

_encode = msgspec.json.Encoder().encode


def encode_frame(frame: ThinkingFrame) -> bytes:
    """Return the payload of a frame: JSON, or `[DONE]`."""
    return b"[DONE]" if frame is END_OF_FRAMES else _encode(frame)


def frame_type(frame: ThinkingFrame) -> str:
    """Return the frame's `type`; `[DONE]` for the last frame, `text_delta` for a chunk."""
    if isinstance(frame, EndOfFrames):
        return "[DONE]"
    return "text_delta" if isinstance(frame, TextChunk) else str(frame.__struct_config__.tag)
