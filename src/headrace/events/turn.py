"""Turn events: what a provider said. Only the ledger makes them."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

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
    """The first event of a turn, also where the first thing said is an error."""

    dialect: str
    provider: str | None = None
    model: str | None = None
    response_id: str | None = None
    outputs: OutputsKind = "candidates"
    """What output numbers mean: alternative answers, or an agent's successive steps."""


class OutputStarted(BaseEvent, frozen=True, gc=False):
    """An output has appeared on the wire."""

    output: int
    role: str = "assistant"


class OutputFinished(BaseEvent, frozen=True, gc=False):
    """An output has ended; all its parts are closed. `reason` is None where the provider
    gave none for it, or the stream broke off before."""

    output: int
    reason: FinishReason | None = None
    raw_reason: str | None = None


class _PartStarted(BaseEvent, frozen=True, kw_only=True):
    """The numbers of a part: `part` is its own, parts of one provider item share
    `item`, and `item_id` is the provider's own id of that item."""

    part: int
    output: int
    item: int
    item_id: str | None = None


class ReasoningStarted(_PartStarted, frozen=True, kw_only=True):
    """A block of reasoning begins."""

    kind: ReasoningKind = "raw"
    summary_index: int | None = None
    provider_data: JSONObject | None = None
    """What the provider wants back with the block beyond the fields named here."""


class ReasoningDelta(BaseEvent, frozen=True, gc=False):
    """More reasoning; never empty."""

    part: int
    text: str


class ReasoningFinished(BaseEvent, frozen=True, gc=False):
    """The block has ended, with the provider's signature where it gave one."""

    part: int
    signature: str | None = None


class ReasoningRedacted(_PartStarted, frozen=True, kw_only=True):
    """One opaque block of reasoning, whole; it must be replayed as it is."""

    data: str
    provider_data: JSONObject | None = None


class TextStarted(_PartStarted, frozen=True, kw_only=True, gc=False):
    """A block of text begins."""

    channel: str | None = None
    is_refusal: bool = False


class TextDelta(BaseEvent, frozen=True, gc=False):
    """More text; never empty."""

    part: int
    text: str


class TextFinished(BaseEvent, frozen=True, gc=False):
    """The block of text has ended."""

    part: int


class ToolCallStarted(_PartStarted, frozen=True, kw_only=True):
    """The model calls a tool; its arguments follow."""

    call_id: str
    name: str
    executor: Executor = "client"
    input: CallInput = "json"
    provider_data: JSONObject | None = None


class ToolCallArgsDelta(BaseEvent, frozen=True, gc=False):
    """More of the arguments, as written; never empty."""

    part: int
    text: str


class ToolCallFinished(BaseEvent, frozen=True, kw_only=True):
    """The arguments are whole: parsed, and as written. `args` of a text call is the text."""

    part: int
    call_id: str
    name: str
    args: Any
    raw: str


class ToolCallMalformed(BaseEvent, frozen=True, kw_only=True, gc=False):
    """The arguments never became what they should be. Never run, never `{}`."""

    part: int
    call_id: str
    name: str
    raw: str
    error: str


class ToolActivity(BaseEvent, frozen=True, kw_only=True):
    """What a provider-run tool is doing (searching, completed, failed …)."""

    part: int
    call_id: str
    status: str
    detail: Any = None


class ToolOutput(_PartStarted, frozen=True, kw_only=True):
    """The result of a provider-run tool: a part like any other."""

    call_id: str
    content: tuple[Content, ...]
    is_error: bool = False
    provider_data: JSONObject | None = None


class MediaProduced(_PartStarted, frozen=True, kw_only=True, gc=False):
    """An image, sound or film: base64 `data`, or a `url`."""

    media_type: str
    data: str | None = None
    url: str | None = None


class OpaqueItem(_PartStarted, frozen=True, kw_only=True, gc=False):
    """What we do not interpret, but show as such and replay as it came."""

    kind: str
    data: str
    """The item's JSON, exactly as written."""


class PartSealed(BaseEvent, frozen=True, gc=False):
    """Replay material that comes late, or belongs to a text, call or opaque part."""

    part: int
    kind: SealKind
    value: str


class CitationAdded(BaseEvent, frozen=True, kw_only=True):
    """A source. `part` is None for a list that belongs to the whole response; `start`
    and `end` count characters of the part's text."""

    part: int | None = None
    source: str | None = None
    ref: str | None = None
    title: str | None = None
    quote: str | None = None
    start: int | None = None
    end: int | None = None
    raw: Any = None


class TurnFinished(BaseEvent, frozen=True, kw_only=True):
    """Terminal: the provider ended the turn."""

    reason: FinishReason
    raw_reason: str | None = None
    usage: Usage = Usage()
    service_tier: str | None = None
    skipped_frames: int = 0
    provider_data: JSONObject = {}


class TurnFailed(BaseEvent, frozen=True, kw_only=True, gc=False):
    """Terminal: the turn broke. What came before it stands."""

    category: ErrorCategory
    message: str
    code: str | None = None
    retryable: bool = False
    retry_after_s: float | None = None
    usage: Usage = Usage()
    skipped_frames: int = 0


DeltaEvent: TypeAlias = TextDelta | ReasoningDelta | ToolCallArgsDelta
"""More of an open part."""
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
    | TurnFinished
    | TurnFailed
)
