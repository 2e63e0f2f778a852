"""The chunks of the AI SDK's UI message stream. Field names are camel-cased on the wire."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace.events import JSONObject

ProviderMetadata: TypeAlias = dict[str, JSONObject]
"""Fields of a provider, by the name that the AI SDK has for the provider."""
AISDKFinishReason: TypeAlias = Literal[
    "stop", "length", "content-filter", "tool-calls", "error", "other"
]


class _Chunk(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A chunk."""


class Start(_Chunk, frozen=True, tag="start"):
    """The message starts, or goes on after it has waited for input."""

    message_id: str
    message_metadata: JSONObject | None = None


class StartStep(_Chunk, frozen=True, tag="start-step"):
    """A step starts: one turn of the model and the calls it asks for."""


class FinishStep(_Chunk, frozen=True, tag="finish-step"):
    """The step has ended."""


class ResetStep(_Chunk, frozen=True, tag="reset-step"):
    """What the step has produced is discarded. The step is tried again."""


class TextStart(_Chunk, frozen=True, tag="text-start"):
    """A text starts."""

    id: str


class TextPiece(_Chunk, frozen=True, tag="text-delta", gc=False):
    """More text."""

    id: str
    delta: str


class TextEnd(_Chunk, frozen=True, tag="text-end"):
    """A text has ended."""

    id: str
    provider_metadata: ProviderMetadata | None = None


class ReasoningStart(_Chunk, frozen=True, tag="reasoning-start"):
    """A block of reasoning starts."""

    id: str
    provider_metadata: ProviderMetadata | None = None


class ReasoningPiece(_Chunk, frozen=True, tag="reasoning-delta", gc=False):
    """More reasoning."""

    id: str
    delta: str


class ReasoningEnd(_Chunk, frozen=True, tag="reasoning-end"):
    """A block of reasoning has ended. Its signature is in the metadata."""

    id: str
    provider_metadata: ProviderMetadata | None = None


class ToolInputStart(_Chunk, frozen=True, tag="tool-input-start"):
    """The model calls a tool. The arguments follow."""

    tool_call_id: str
    tool_name: str
    provider_executed: bool | None = None
    input_encoding: Literal["text"] | None = None


class ToolInputDelta(_Chunk, frozen=True, tag="tool-input-delta", gc=False):
    """More of the arguments, as the model writes them."""

    tool_call_id: str
    input_text_delta: str


class ToolInputAvailable(_Chunk, frozen=True, tag="tool-input-available"):
    """The arguments are complete, or a person has replaced them."""

    tool_call_id: str
    tool_name: str
    input: Any
    provider_executed: bool | None = None
    provider_metadata: ProviderMetadata | None = None


class ToolInputError(_Chunk, frozen=True, tag="tool-input-error"):
    """The arguments are not valid."""

    tool_call_id: str
    tool_name: str
    input: Any
    error_text: str
    provider_executed: bool | None = None


class ToolApprovalRequest(_Chunk, frozen=True, tag="tool-approval-request"):
    """A person must approve a call."""

    approval_id: str
    tool_call_id: str
    reason: str | None = None
    """What the person is asked."""
    approval_descriptor: JSONObject | None = None
    """The call of a sub-agent that is to be approved, if it is not the call itself."""


class ToolApprovalResponse(_Chunk, frozen=True, tag="tool-approval-response"):
    """The request was answered, or has expired."""

    approval_id: str
    approved: bool
    reason: str | None = None


class ToolOutputAvailable(_Chunk, frozen=True, tag="tool-output-available"):
    """The result of a call, or with `preliminary` its progress."""

    tool_call_id: str
    output: Any
    provider_executed: bool | None = None
    preliminary: bool | None = None


class ToolOutputError(_Chunk, frozen=True, tag="tool-output-error"):
    """The tool failed."""

    tool_call_id: str
    error_text: str
    provider_executed: bool | None = None


class ToolOutputDenied(_Chunk, frozen=True, tag="tool-output-denied"):
    """The call was not approved, so it did not run."""

    tool_call_id: str


class SourceURL(_Chunk, frozen=True, tag="source-url"):
    """A page that the answer cites."""

    source_id: str
    url: str
    title: str | None = None


class SourceDocument(_Chunk, frozen=True, tag="source-document"):
    """A document that the answer cites."""

    source_id: str
    media_type: str
    title: str


class File(_Chunk, frozen=True, tag="file"):
    """An image, audio or video that the model has produced."""

    url: str
    media_type: str


class Custom(_Chunk, frozen=True, tag="custom"):
    """An item of the provider that Headrace does not interpret."""

    kind: str
    """Name of the provider and its name for the item, such as `openai.compaction`."""


class Status(_Chunk, frozen=True, tag="data-status"):
    """A short phrase that says what the model is doing. It is not part of the message."""

    data: JSONObject
    id: Literal["status"]
    transient: Literal[True]


class InputRequest(_Chunk, frozen=True, tag="data-input-request"):
    """A call needs a result, a text or a form; answered by the output of the call."""

    id: str
    data: JSONObject


class UserMessage(_Chunk, frozen=True, tag="data-user-message"):
    """The user has said something while the message was being written."""

    id: str
    data: JSONObject


class Output(_Chunk, frozen=True, tag="data-output"):
    """The answer as a value of the type that was asked for."""

    data: Any


class MessageMetadata(_Chunk, frozen=True, tag="message-metadata"):
    """What is known about the message at its end."""

    message_metadata: JSONObject


class Error(_Chunk, frozen=True, tag="error"):
    """The message failed."""

    error_text: str


class Abort(_Chunk, frozen=True, tag="abort"):
    """A person has stopped the message."""

    reason: str | None = None


class Finish(_Chunk, frozen=True, tag="finish"):
    """The message has ended, or waits for input."""

    finish_reason: AISDKFinishReason
    message_metadata: JSONObject | None = None


class EndOfFrames(msgspec.Struct, frozen=True, gc=False):
    """`[DONE]`: no chunk follows."""


END_OF_FRAMES = EndOfFrames()

AISDKFrame: TypeAlias = (
    TextPiece
    | ReasoningPiece
    | ToolInputDelta
    | Start
    | StartStep
    | FinishStep
    | ResetStep
    | TextStart
    | TextEnd
    | ReasoningStart
    | ReasoningEnd
    | ToolInputStart
    | ToolInputAvailable
    | ToolInputError
    | ToolApprovalRequest
    | ToolApprovalResponse
    | ToolOutputAvailable
    | ToolOutputError
    | ToolOutputDenied
    | SourceURL
    | SourceDocument
    | File
    | Custom
    | Status
    | InputRequest
    | UserMessage
    | Output
    | MessageMetadata
    | Error
    | Abort
    | Finish
    | EndOfFrames
)

_encode = msgspec.json.Encoder().encode


def encode_frame(frame: AISDKFrame) -> bytes:
    """Return the payload of a chunk: JSON, or `[DONE]`."""
    return b"[DONE]" if frame is END_OF_FRAMES else _encode(frame)


def frame_type(frame: AISDKFrame) -> str:
    """Return the chunk's `type`; `[DONE]` for the last one."""
    if isinstance(frame, EndOfFrames):
        return "[DONE]"
    return str(frame.__struct_config__.tag)
