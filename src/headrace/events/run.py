"""Events that Headrace itself adds: those of a run and of the server, and derived events."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace.content import Content, PromptContent
from headrace.events.base import BaseEvent
from headrace.outcome import ErrorCategory, FinishReason
from headrace.usage import Usage

PhaseStatus: TypeAlias = Literal["init", "pending", "complete"]
InputKind: TypeAlias = Literal["approval", "result", "form", "text"]
InputDecision: TypeAlias = Literal["accepted", "denied", "expired"]

# --- run events: what the engine adds --------------------------------------------


class TraceIds(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The span of a distributed trace that stands for a run, from its start or from a resumption
    until it ends or stops. The ids are hexadecimal, as W3C Trace Context writes them."""

    trace_id: str
    """Id of the trace: 32 digits."""
    span_id: str
    """Id of the span: 16 digits."""
    parent_id: str | None = None
    """Id of the span around it, such as that of an HTTP request, or None."""
    is_sampled: bool = True
    """Whether the trace is recorded."""


class RunStarted(BaseEvent, frozen=True, gc=False):
    """A run has started. It is the first event, and comes once."""

    run_id: str
    """Id of the run."""
    model: str | None = None
    """The model as `provider:model`."""
    effort: str | None = None
    trace: TraceIds | msgspec.UnsetType = msgspec.UNSET
    """Ids of the span of the run up to its first suspension, if it is traced."""


class StepStarted(BaseEvent, frozen=True, gc=False):
    """A step has started: one provider turn and the calls it asks for."""

    step: int
    """Number of the step, counted from 0."""


class InputRequested(BaseEvent, frozen=True, kw_only=True, omit_defaults=True):
    """The run needs something from a person or from another program before it can go on."""

    request_id: str
    """Id of the request, unique in the run. It depends on the call and its arguments, so that the
    answer holds for nothing else."""
    kind: InputKind
    """What is needed: an `approval` of a call, the `result` of a call that runs elsewhere, a `form`
    that is described by a schema, or a `text`."""
    call_id: str
    """Id of the call that needs it."""
    name: str
    """Name of the tool."""
    args: Any = None
    """The arguments of the call."""
    message: str = ""
    """What the person is asked."""
    schema: dict[str, Any] | None = None
    """JSON schema of the value that is expected."""
    expires_at_ms: int | None = None
    """When the request expires, in milliseconds since the epoch, or None."""
    server: str | None = None
    """Label of the MCP server, if the provider runs the call and asks whether it may. The answer is
    a yes or a no then: the arguments cannot be replaced."""
    state: Any = None
    """What the tool needs to go on with the answer, if it can do so in another process."""


class InputAnswered(BaseEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A request for input was answered, or has expired. Comes once per request."""

    request_id: str
    """Id of the request."""
    decision: InputDecision
    value: Any = None
    """The value that was given. For an approval: arguments that replace those of the call, or None
    to keep them."""
    is_always: bool = False
    """Whether later calls of the same tool in this run need no approval."""
    reason: str | None = None
    """Why the request was denied, if a reason was given."""
    by: str | None = None
    """Who answered."""
    entry_id: str | None = None
    """Id of the inbox entry that the answer came from."""


class CancelRequested(BaseEvent, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Somebody has asked to cancel the run."""

    detail: str = ""
    by: str | None = None
    """Who asked."""
    entry_id: str | None = None
    """Id of the inbox entry that the request came from."""


class UserMessageAdded(BaseEvent, frozen=True, kw_only=True, omit_defaults=True):
    """The user has said something while the run was going on. Comes between two steps; the model
    gets it with the next turn."""

    content: tuple[PromptContent, ...]
    """What was said."""
    said_at_ms: int | None = None
    """When it was said, in milliseconds since the epoch."""
    by: str | None = None
    """Who said it."""
    entry_id: str | None = None
    """Id of the inbox entry that the message came from."""


class RunSuspended(BaseEvent, frozen=True, omit_defaults=True, gc=False):
    """The run has stopped and will go on later: the next event is `RunResumed`."""

    reason: Literal["input", "drain"]
    """Whether it waits for input, or its process was stopping."""
    waiting: tuple[str, ...] = ()
    """Ids of the requests that it waits for."""


class RunResumed(BaseEvent, frozen=True, omit_defaults=True, gc=False):
    """The run goes on from its records, after it was suspended or its process was killed."""

    epoch: int = 1
    """How often the run has been resumed, this time included."""
    node: str | None = None
    """The server that continues the run."""
    trace: TraceIds | msgspec.UnsetType = msgspec.UNSET
    """Ids of the span of the run from here on, if it is traced."""


class ToolStarted(BaseEvent, frozen=True):
    """A client tool is about to run. It runs only after this event has been logged."""

    call_id: str
    """Id of the call, unique in its turn."""
    args: Any = None
    """The arguments that the tool is called with, after validation and middleware."""


class ToolProgress(BaseEvent, frozen=True, kw_only=True, gc=False):
    """A running tool has reported its progress."""

    call_id: str
    """Id of the call, unique in its turn."""
    status: str | None = None
    progress: float | None = None
    """Fraction of the work that is done, from 0 to 1."""
    log: str | None = None
    """A line of output."""


class ToolResult(BaseEvent, frozen=True, kw_only=True):
    """A client tool has ended."""

    call_id: str
    """Id of the call, unique in its turn."""
    content: tuple[Content, ...]
    """The result."""
    kind: str | None = None
    """What kind of result it is, for the UI."""
    is_error: bool = False
    """Whether the tool failed."""
    ends_run: bool = False
    """Whether the tool asked to end the run."""


class StepDiscarded(BaseEvent, frozen=True, gc=False):
    """What the step produced is discarded, and the step is tried again."""

    step: int
    reason: str


class StepFinished(BaseEvent, frozen=True, gc=False, omit_defaults=True):
    """A step has ended, and all its calls have results."""

    step: int
    nudge: str | None = None
    """A text that is sent to the model as a user message, so that the run continues although the
    model had ended its turn."""


class HistoryCompacted(BaseEvent, frozen=True):
    """The history was shortened before a request."""

    before: int
    """Number of messages before."""
    after: int
    """Number of messages after."""
    strategy: str
    messages: tuple[int | dict[str, Any], ...] = ()
    """The history after it: each entry is the number of a message before that stays as it is,
    counted from 0, or a message in full."""


class OutputProduced(BaseEvent, frozen=True):
    """The answer of the run is a value of the type that was asked for. Comes once, after the last
    step."""

    value: Any = None
    """The answer as a JSON value."""


class RunFinished(BaseEvent, frozen=True, gc=False):
    """The run ended, by the model or by an abort. This is a terminal event."""

    reason: FinishReason
    """Why the run ended."""
    usage: Usage = Usage()
    """Token counts of all turns together."""


class RunFailed(BaseEvent, frozen=True, kw_only=True, gc=False):
    """The run failed. This is a terminal event."""

    category: ErrorCategory
    """Category of the error."""
    message: str
    """The error message."""
    usage: Usage = Usage()
    """Token counts of all turns together."""


RunEvent: TypeAlias = (
    RunStarted
    | StepStarted
    | InputRequested
    | InputAnswered
    | CancelRequested
    | UserMessageAdded
    | RunSuspended
    | RunResumed
    | ToolStarted
    | ToolProgress
    | ToolResult
    | StepDiscarded
    | StepFinished
    | HistoryCompacted
    | OutputProduced
    | RunFinished
    | RunFailed
)

# --- server event ----------------------------------------------------------------


class RunClosed(BaseEvent, frozen=True, gc=False):
    """The run is closed. It is the last record of a log."""

    outcome: Literal["committed", "save_failed", "interrupted"]
    """Whether the message was stored."""
    message_id: str | None = None
    """Id of the stored message."""


# --- derived events: computed from records, never logged -------------------------


class PhaseChanged(BaseEvent, frozen=True, gc=False):
    """The reasoning or the content of an output has a new status."""

    output: int
    """The provider's number of the output."""
    phase: Literal["reasoning", "content"]
    status: PhaseStatus


class StatusChanged(BaseEvent, frozen=True, gc=False):
    """A new phrase tells what the model is doing."""

    text: str
    source: Literal["title", "marker", "natural", "tool"]
    """Where the phrase was found."""


DerivedEvent: TypeAlias = PhaseChanged | StatusChanged
