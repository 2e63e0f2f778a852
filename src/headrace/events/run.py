"""Events that Headrace itself adds: of a run, of the server, and the derived ones."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from headrace.content import Content
from headrace.events.base import BaseEvent
from headrace.outcome import ErrorCategory, FinishReason
from headrace.usage import Usage

PhaseStatus: TypeAlias = Literal["init", "pending", "complete"]

# --- run events: what the engine adds --------------------------------------------


class RunStarted(BaseEvent, frozen=True, gc=False):
    """Once, and first."""

    run_id: str
    model: str | None = None
    effort: str | None = None


class StepStarted(BaseEvent, frozen=True, gc=False):
    """A step begins: one provider turn and the calls it asks for."""

    step: int


class ToolStarted(BaseEvent, frozen=True):
    """A tool of ours begins to run, with the arguments that it really gets."""

    call_id: str
    args: Any = None


class ToolProgress(BaseEvent, frozen=True, kw_only=True, gc=False):
    """A running tool says how far it is."""

    call_id: str
    status: str | None = None
    progress: float | None = None
    log: str | None = None


class ToolResult(BaseEvent, frozen=True, kw_only=True):
    """A tool of ours has ended."""

    call_id: str
    content: tuple[Content, ...]
    kind: str | None = None
    is_error: bool = False


class StepDiscarded(BaseEvent, frozen=True, gc=False):
    """What the step said is taken back; it is tried again."""

    step: int
    reason: str


class StepFinished(BaseEvent, frozen=True, gc=False, omit_defaults=True):
    """The step has ended, its calls answered."""

    step: int
    nudge: str | None = None
    """What the run goes on with although the model had ended its turn: it is told to the
    model as if the user had said it."""


class HistoryCompacted(BaseEvent, frozen=True, gc=False):
    """History was shortened before a request; the counts are messages."""

    before: int
    after: int
    strategy: str


class RunFinished(BaseEvent, frozen=True, gc=False):
    """Terminal: the run ended, by the model or by an abort."""

    reason: FinishReason
    usage: Usage = Usage()


class RunFailed(BaseEvent, frozen=True, kw_only=True, gc=False):
    """Terminal: the run broke."""

    category: ErrorCategory
    message: str
    usage: Usage = Usage()


RunEvent: TypeAlias = (
    RunStarted
    | StepStarted
    | ToolStarted
    | ToolProgress
    | ToolResult
    | StepDiscarded
    | StepFinished
    | HistoryCompacted
    | RunFinished
    | RunFailed
)

# --- server event ----------------------------------------------------------------


class RunClosed(BaseEvent, frozen=True, gc=False):
    """The last record of a log: the message is in the store, or could not be saved."""

    outcome: Literal["committed", "save_failed", "interrupted"]
    message_id: str | None = None


# --- derived events: computed from records, never logged -------------------------


class PhaseChanged(BaseEvent, frozen=True, gc=False):
    """The reasoning or the content of an output has a new status."""

    output: int
    phase: Literal["reasoning", "content"]
    status: PhaseStatus


class StatusChanged(BaseEvent, frozen=True, gc=False):
    """A phrase that says what the model is doing."""

    text: str
    source: Literal["title", "marker", "natural", "tool"]


DerivedEvent: TypeAlias = PhaseChanged | StatusChanged
