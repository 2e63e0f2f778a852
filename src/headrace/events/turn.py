"""Turn events: what a provider sent. Only the ledger creates them."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, get_args

from headrace.content import Content
from headrace.events.base import BaseEvent
from headrace.outcome import ErrorCategory, FinishReason
from headrace.usage import Usage

JSONObject: TypeAlias = dict[str, Any]
ReasoningKind: TypeAlias = Literal["raw", "summary"]
Executor: TypeAlias = Literal["client", "provider"]
CallInput: TypeAlias = Literal["json", "text"]
SealKind: TypeAlias = Literal["signature", "encrypted"]
OutputsKind: TypeAlias = Literal["candidates", "successive"]


class TurnStarted(BaseEvent, frozen=True, kw_only=True, gc=False):
    """The turn has started. It is the first event, even if the stream begins with an error."""

    dialect: str
    provider: str | None = None
    """Name of the provider, if it is known."""
    model: str | None = None
    """Name of the model as the provider reports it."""
    response_id: str | None = None
    """The provider's id of the response."""
    outputs: OutputsKind = "candidates"
    """What output numbers mean: alternative answers, or an agent's successive steps."""


class OutputStarted(BaseEvent, frozen=True, gc=False):
    """An output has started."""

    output: int
    """The provider's number of the output."""
    role: str = "assistant"


class OutputFinished(BaseEvent, frozen=True, gc=False):
    """An output has ended, and all its parts are closed."""

    output: int
    reason: FinishReason | None = None
    """None if the provider gave no reason, or the stream broke off before it."""
    raw_reason: str | None = None
    """The provider's own word for the reason."""


class _PartEvent(BaseEvent, frozen=True):
    """An event of one part."""

    part: int
    """Number of the part, counted through the whole run."""


class _PartStarted(_PartEvent, frozen=True, kw_only=True):
    """The numbers that identify a part."""

    output: int
    """The provider's number of the output that the part belongs to."""
    item: int
    """Number of the provider item. Parts of one item share it."""
    item_id: str | None = None
    """The provider's id of the item."""


class ReasoningStarted(_PartStarted, frozen=True, kw_only=True):
    """A block of reasoning has started."""

    kind: ReasoningKind = "raw"
    summary_index: int | None = None
    """Position among several summaries of one item."""
    provider_data: JSONObject | None = None
    """What the provider needs back with the block beyond the fields named here."""


class ReasoningDelta(_PartEvent, frozen=True, gc=False):
    """More text of a reasoning block, never empty."""

    text: str
    """The text to append."""


class ReasoningFinished(_PartEvent, frozen=True, gc=False):
    """A block of reasoning has ended."""

    signature: str | None = None
    """The provider's signature of the block, if it gave one."""


class ReasoningRedacted(_PartStarted, frozen=True, kw_only=True):
    """A whole block of encrypted reasoning, which must be sent back unchanged."""

    data: str
    """The encrypted reasoning. Only the provider can read it."""
    provider_data: JSONObject | None = None
    """What the provider needs back with the block beyond the fields named here."""


class TextStarted(_PartStarted, frozen=True, kw_only=True, gc=False):
    """A block of text has started."""

    channel: str | None = None
    """The provider's channel or phase of the text, such as `final`."""
    is_refusal: bool = False
    """Whether the model refuses to answer with this text."""


class TextDelta(_PartEvent, frozen=True, gc=False):
    """More text of a text block, never empty."""

    text: str
    """The text to append."""


class TextFinished(_PartEvent, frozen=True, gc=False):
    """A block of text has ended."""


class ToolCallStarted(_PartStarted, frozen=True, kw_only=True):
    """The model calls a tool. The arguments follow."""

    call_id: str
    """Id of the call, unique in its turn."""
    name: str
    """Name of the tool."""
    executor: Executor = "client"
    """Who runs the tool: the client, or the provider itself."""
    input: CallInput = "json"
    """Whether the arguments are JSON or plain text."""
    provider_data: JSONObject | None = None
    """What the provider needs back with the call beyond the fields named here."""


class ToolCallArgsDelta(_PartEvent, frozen=True, gc=False):
    """More of the arguments as the model writes them, never empty."""

    text: str
    """The text to append."""


class ToolCallFinished(_PartEvent, frozen=True, kw_only=True):
    """The arguments of a call are complete."""

    call_id: str
    """Id of the call, unique in its turn."""
    name: str
    """Name of the tool."""
    args: Any
    """The parsed arguments; for a text call, the text."""
    raw: str
    """The arguments as the model wrote them."""


class ToolCallMalformed(_PartEvent, frozen=True, kw_only=True, gc=False):
    """The arguments of a call are not valid. Such a call is never run."""

    call_id: str
    """Id of the call, unique in its turn."""
    name: str
    """Name of the tool."""
    raw: str
    """The arguments as the model wrote them."""
    error: str
    """Why the arguments could not be read, worded for the model."""


class ToolActivity(_PartEvent, frozen=True, kw_only=True):
    """A tool that the provider runs has reported its status."""

    call_id: str
    """Id of the call, unique in its turn."""
    status: str
    """The provider's own word, such as `searching`, `completed` or `failed`."""
    detail: Any = None


class ToolOutput(_PartStarted, frozen=True, kw_only=True):
    """The result of a tool that the provider ran, as a part of its own."""

    call_id: str
    """Id of the call, unique in its turn."""
    content: tuple[Content, ...]
    """The result."""
    is_error: bool = False
    """Whether the tool failed."""
    provider_data: JSONObject | None = None
    """What the provider needs back with the result beyond the fields named here."""


class MediaProduced(_PartStarted, frozen=True, kw_only=True, gc=False):
    """An image, audio or video: base64 `data`, or a `url`."""

    media_type: str
    data: str | None = None
    url: str | None = None


class OpaqueItem(_PartStarted, frozen=True, kw_only=True, gc=False):
    """An item that Headrace does not interpret. It is shown as such and sent back unchanged."""

    kind: str
    """The provider's name for this kind of item."""
    data: str
    """The JSON of the item, exactly as it came."""


class PartSealed(_PartEvent, frozen=True, gc=False):
    """A signature or encrypted content of a part, to be sent back with it."""

    kind: SealKind
    value: str
    """The signature or the encrypted content."""


class CitationAdded(BaseEvent, frozen=True, kw_only=True):
    """A source that the answer cites."""

    part: int | None = None
    """Number of the part, or None if the source belongs to the whole response."""
    source: str | None = None
    """Kind of source, such as `url`."""
    ref: str | None = None
    """Address or id of the source."""
    title: str | None = None
    quote: str | None = None
    """The cited words."""
    start: int | None = None
    """Where the cited passage begins, in characters of the part's text."""
    end: int | None = None
    """Where the cited passage ends."""
    raw: Any = None
    """The citation as the provider sent it."""


class FrameSkipped(BaseEvent, frozen=True, kw_only=True, gc=False):
    """A frame of the stream could not be read, so something may be missing at this place."""

    reason: str
    """What is wrong with the frame."""
    data: str
    """The beginning of the frame, as text. It may hold content, so it is never shown."""
    size: int
    """Size of the whole frame in bytes."""


class PartRestored(_PartEvent, frozen=True, gc=False):
    """The provider repeated the whole content of an open part whose deltas had a gap."""

    text: str
    """The complete text, or the complete arguments of a call. It replaces what came before."""


class TurnFinished(BaseEvent, frozen=True, kw_only=True):
    """The provider ended the turn. This is a terminal event."""

    reason: FinishReason
    """Why the turn ended."""
    raw_reason: str | None = None
    """The provider's own word for the reason."""
    usage: Usage = Usage()
    """Token counts, if known."""
    service_tier: str | None = None
    skipped_frames: int = 0
    """Number of frames that could not be read."""
    is_complete: bool = True
    """False if frames could not be read and nothing later made up for them."""
    provider_data: JSONObject = {}
    """What else the provider reported about the response."""


class TurnFailed(BaseEvent, frozen=True, kw_only=True, gc=False):
    """The turn failed. This is a terminal event; the events before it remain valid."""

    category: ErrorCategory
    """Category of the error."""
    message: str
    """The error message."""
    code: str | None = None
    """The provider's own code."""
    retryable: bool = False
    """Whether the same request may work next time."""
    retry_after_s: float | None = None
    """How long the provider asks to wait."""
    usage: Usage = Usage()
    """Token counts, if known."""
    skipped_frames: int = 0
    """Number of frames that could not be read."""


DeltaEvent: TypeAlias = TextDelta | ReasoningDelta | ToolCallArgsDelta
"""More of an open part."""
APPROVAL_REQUESTED: Final = "approval_requested"
"""The status of a `ToolActivity` by which the provider asks whether it may run a call. Its detail
has the label of the `server` that has the tool."""

DELTA_TYPES: frozenset[type[DeltaEvent]] = frozenset(get_args(DeltaEvent))
TurnEvent: TypeAlias = (
    DeltaEvent
    | TurnStarted
    | OutputStarted
    | OutputFinished
    | ReasoningStarted
    | ReasoningFinished
    | ReasoningRedacted
    | TextStarted
    | TextFinished
    | ToolCallStarted
    | ToolCallFinished
    | ToolCallMalformed
    | ToolActivity
    | ToolOutput
    | MediaProduced
    | OpaqueItem
    | PartSealed
    | CitationAdded
    | FrameSkipped
    | PartRestored
    | TurnFinished
    | TurnFailed
)
