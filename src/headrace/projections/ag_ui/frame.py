"""The events of AG-UI 1.0. Field names are camel-cased on the wire."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace.events import JSONObject


class _Frame(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An event. Optional fields are left out, never null."""


class _AgentFrame(_Frame, frozen=True, kw_only=True):
    """An event of the agent or of one of its sub-agents."""

    subagent_run_id: str | None = None
    """The sub-agent that produced it, or None for the agent itself."""


class RunStarted(_Frame, frozen=True, kw_only=True, tag="RUN_STARTED"):
    """The run starts, or goes on after it has waited for input."""

    thread_id: str
    run_id: str
    protocol_version: Literal["1.0"]


class RunFinished(_Frame, frozen=True, kw_only=True, tag="RUN_FINISHED"):
    """The run has ended, was cancelled, or waits for input."""

    thread_id: str
    run_id: str
    outcome: JSONObject
    result: Any = None
    """The answer as a value of the type that was asked for."""
    usage: tuple[JSONObject, ...] = ()
    metadata: JSONObject | None = None


class RunError(_Frame, frozen=True, kw_only=True, tag="RUN_ERROR"):
    """The run failed."""

    message: str
    code: str | None = None
    usage: tuple[JSONObject, ...] = ()


class StepStarted(_AgentFrame, frozen=True, kw_only=True, tag="STEP_STARTED"):
    """A step starts: one turn of the model and the calls it asks for."""

    step_name: str


class StepFinished(_AgentFrame, frozen=True, kw_only=True, tag="STEP_FINISHED"):
    """The step has ended."""

    step_name: str


class TextMessageStart(_AgentFrame, frozen=True, kw_only=True, tag="TEXT_MESSAGE_START"):
    """A text starts."""

    message_id: str
    role: Literal["assistant", "user"]


class TextMessageContent(
    _AgentFrame, frozen=True, kw_only=True, gc=False, tag="TEXT_MESSAGE_CONTENT"
):
    """More text."""

    message_id: str
    delta: str


class TextMessageEnd(_AgentFrame, frozen=True, kw_only=True, tag="TEXT_MESSAGE_END"):
    """A text has ended."""

    message_id: str


class ReasoningStart(_AgentFrame, frozen=True, kw_only=True, tag="REASONING_START"):
    """The model starts to reason."""

    message_id: str


class ReasoningMessageStart(_AgentFrame, frozen=True, kw_only=True, tag="REASONING_MESSAGE_START"):
    """A block of reasoning starts."""

    message_id: str
    role: Literal["reasoning"]


class ReasoningMessageContent(
    _AgentFrame, frozen=True, kw_only=True, gc=False, tag="REASONING_MESSAGE_CONTENT"
):
    """More reasoning."""

    message_id: str
    delta: str


class ReasoningMessageEnd(_AgentFrame, frozen=True, kw_only=True, tag="REASONING_MESSAGE_END"):
    """A block of reasoning has ended."""

    message_id: str


class ReasoningEnd(_AgentFrame, frozen=True, kw_only=True, tag="REASONING_END"):
    """The model has stopped to reason."""

    message_id: str


class ReasoningEncryptedValue(
    _AgentFrame, frozen=True, kw_only=True, tag="REASONING_ENCRYPTED_VALUE"
):
    """A signature or encrypted content of a message or a call."""

    subtype: Literal["message", "tool-call"]
    entity_id: str
    encrypted_value: str


class ToolCallStart(_AgentFrame, frozen=True, kw_only=True, tag="TOOL_CALL_START"):
    """The model calls a tool. The arguments follow."""

    tool_call_id: str
    tool_call_name: str
    parent_message_id: str


class ToolCallArgs(_AgentFrame, frozen=True, kw_only=True, gc=False, tag="TOOL_CALL_ARGS"):
    """More of the arguments, as the model writes them."""

    tool_call_id: str
    delta: str


class ToolCallEnd(_AgentFrame, frozen=True, kw_only=True, tag="TOOL_CALL_END"):
    """The arguments are complete."""

    tool_call_id: str


class ToolCallResult(_AgentFrame, frozen=True, kw_only=True, tag="TOOL_CALL_RESULT"):
    """The result of a call."""

    message_id: str
    tool_call_id: str
    content: str | list[JSONObject]
    role: Literal["tool"]
    metadata: JSONObject | None = None


class ActivitySnapshot(_AgentFrame, frozen=True, kw_only=True, tag="ACTIVITY_SNAPSHOT"):
    """The progress of a call. It replaces the one before."""

    message_id: str
    activity_type: Literal["tool-progress"]
    content: JSONObject


class SubagentStarted(_AgentFrame, frozen=True, kw_only=True, tag="SUBAGENT_STARTED"):
    """A sub-agent starts, or goes on after the run has waited for input."""

    name: str
    parent_tool_call_id: str | None = None
    parent_subagent_run_id: str | None = None


class SubagentFinished(_AgentFrame, frozen=True, kw_only=True, tag="SUBAGENT_FINISHED"):
    """A sub-agent has ended, or waits for input."""

    outcome: JSONObject


class SubagentError(_AgentFrame, frozen=True, kw_only=True, tag="SUBAGENT_ERROR"):
    """A sub-agent failed."""

    message: str
    code: str | None = None


class Custom(_AgentFrame, frozen=True, kw_only=True, tag="CUSTOM"):
    """Something that AG-UI has no event for: a status phrase, a source, a file, a discarded
    step."""

    name: str
    value: Any


AGUIFrame: TypeAlias = (
    TextMessageContent
    | ReasoningMessageContent
    | ToolCallArgs
    | RunStarted
    | RunFinished
    | RunError
    | StepStarted
    | StepFinished
    | TextMessageStart
    | TextMessageEnd
    | ReasoningStart
    | ReasoningMessageStart
    | ReasoningMessageEnd
    | ReasoningEnd
    | ReasoningEncryptedValue
    | ToolCallStart
    | ToolCallEnd
    | ToolCallResult
    | ActivitySnapshot
    | SubagentStarted
    | SubagentFinished
    | SubagentError
    | Custom
)

_encode = msgspec.json.Encoder().encode


def encode_frame(frame: AGUIFrame) -> bytes:
    """Return the JSON of an event."""
    return _encode(frame)


def frame_type(frame: AGUIFrame) -> str:
    """Return the `type` of an event."""
    return str(frame.__struct_config__.tag)
