"""Events that Headrace itself adds: those of a run and of the server, and derived events."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from headrace.content import Content
from headrace.events.base import BaseEvent
from headrace.outcome import ErrorCategory, FinishReason
from headrace.usage import Usage

PhaseStatus: TypeAlias = Literal["init", "pending", "complete"]

# --- run events: what the engine adds --------------------------------------------


class RunStarted(BaseEvent, frozen=True, gc=False):
    """A run has started. It is the first event, and comes once."""

    run_id: str
    """Id of the run."""
    model: str | None = None
    """The model as `provider:model`."""
    effort: str | None = None


class StepStarted(BaseEvent, frozen=True, gc=False):
    """A step has started: one provider turn and the calls it asks for."""

    step: int
    """Number of the step, counted from 0."""


class ToolStarted(BaseEvent, frozen=True):
    """A client tool has started to run."""

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


class HistoryCompacted(BaseEvent, frozen=True, gc=False):
    """The history was shortened before a request."""

    before: int
    """Number of messages before."""
    after: int
    """Number of messages after."""
    strategy: str


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
