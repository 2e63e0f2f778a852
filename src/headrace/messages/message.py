"""The message and its parts, as values. How they come about is in `assembler`."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace.content import Content, TextContent
from headrace.events import CallInput, Executor, JSONObject, ReasoningKind, SealKind
from headrace.outcome import ErrorInfo, FinishReason
from headrace.usage import Usage


class Seal(msgspec.Struct, frozen=True, gc=False):
    """Replay material of a part."""

    kind: SealKind
    value: str


class Citation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A source, with the place in the part's text where it is told."""

    source: str | None = None
    ref: str | None = None
    title: str | None = None
    quote: str | None = None
    start: int | None = None
    end: int | None = None
    raw: Any = None


class Activity(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a provider-run tool said that it was doing, and when."""

    at_ms: int
    status: str
    detail: Any = None


class _Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The numbers of a part and the times of its start and end; `ended_ms` is None
    while it is open."""

    part: int
    output: int
    item: int
    item_id: str | None = None
    started_ms: int
    ended_ms: int | None = None


class TextPart(_Part, frozen=True, kw_only=True, tag="text"):
    """Text for the reader."""

    text: str
    channel: str | None = None
    is_refusal: bool = False
    citations: tuple[Citation, ...] = ()
    seals: tuple[Seal, ...] = ()


class ReasoningPart(_Part, frozen=True, kw_only=True, tag="reasoning"):
    """Reasoning that can be read; sealed where the provider signed or encrypted it."""

    text: str
    kind: ReasoningKind = "raw"
    summary_index: int | None = None
    seals: tuple[Seal, ...] = ()
    citations: tuple[Citation, ...] = ()
    provider_data: JSONObject | None = None

    @property
    def signature(self) -> str | None:
        """The last signature, which is the one that counts."""
        values = [seal.value for seal in self.seals if seal.kind == "signature"]
        return values[-1] if values else None


class RedactedPart(_Part, frozen=True, kw_only=True, tag="redacted"):
    """Reasoning that only the provider can read."""

    data: str
    seals: tuple[Seal, ...] = ()
    provider_data: JSONObject | None = None


class CallPart(_Part, frozen=True, kw_only=True, tag="call"):
    """A tool call. `raw` is what the model wrote; `args` is None until it is whole, and
    for ever where `error` says that it is malformed."""

    call_id: str
    name: str
    executor: Executor = "client"
    input: CallInput = "json"
    raw: str = ""
    args: Any = None
    error: str | None = None
    activities: tuple[Activity, ...] = ()
    seals: tuple[Seal, ...] = ()
    provider_data: JSONObject | None = None

    @property
    def is_runnable(self) -> bool:
        """Whether the call is whole, well-formed and ours to run."""
        return self.executor == "client" and self.ended_ms is not None and self.error is None


class OutputPart(_Part, frozen=True, kw_only=True, tag="output"):
    """What a provider-run tool gave back."""

    call_id: str
    content: tuple[Content, ...]
    is_error: bool = False
    seals: tuple[Seal, ...] = ()
    provider_data: JSONObject | None = None


class MediaPart(_Part, frozen=True, kw_only=True, tag="media"):
    """An image, sound or film."""

    media_type: str
    data: str | None = None
    url: str | None = None
    seals: tuple[Seal, ...] = ()


class OpaquePart(_Part, frozen=True, kw_only=True, tag="opaque"):
    """An item that we do not interpret: its kind, and its JSON as written."""

    kind: str
    data: str
    seals: tuple[Seal, ...] = ()


Part: TypeAlias = (
    TextPart | ReasoningPart | RedactedPart | CallPart | OutputPart | MediaPart | OpaquePart
)


class CallResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to a call of ours."""

    call_id: str
    content: tuple[Content, ...]
    kind: str | None = None
    is_error: bool = False
    started_ms: int | None = None
    ended_ms: int | None = None


class OutputEnd(msgspec.Struct, frozen=True, omit_defaults=True):
    """One output of a turn: who spoke, and how it ended."""

    output: int
    role: str = "assistant"
    finish: FinishReason | None = None
    raw_reason: str | None = None


class Turn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One provider turn: its parts in the order in which they began, and the results
    of the calls that it asked for."""

    step: int = 0
    provider: str | None = None
    dialect: str | None = None
    model: str | None = None
    response_id: str | None = None
    outputs: tuple[OutputEnd, ...] = ()
    parts: tuple[Part, ...] = ()
    results: tuple[CallResult, ...] = ()
    citations: tuple[Citation, ...] = ()
    """Sources of the response as a whole."""
    finish: FinishReason | None = None
    error: ErrorInfo | None = None
    usage: Usage = Usage()
    service_tier: str | None = None
    skipped_frames: int = 0
    provider_data: JSONObject = {}
    nudge: str | None = None
    """What the model was told after it, as if the user had said it."""

    @property
    def text(self) -> str:
        """What the reader is told, refusals included."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def reasoning(self) -> str:
        """All readable reasoning."""
        return "".join(part.text for part in self.parts if isinstance(part, ReasoningPart))

    @property
    def calls(self) -> tuple[CallPart, ...]:
        """All calls, ours and the provider's."""
        return tuple(part for part in self.parts if isinstance(part, CallPart))


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a conversation. An assistant's is a list of turns, with one finish
    or one error; anybody else's has `content` instead."""

    role: Literal["assistant", "user", "system", "developer"]
    run_id: str | None = None
    created_at_ms: int = 0
    effort: str | None = None
    content: tuple[Content, ...] = ()
    turns: tuple[Turn, ...] = ()
    finish: FinishReason | None = None
    error: ErrorInfo | None = None
    usage: Usage = Usage()

    @property
    def text(self) -> str:
        """What was said: the text of all turns, or of the content, a line for each piece."""
        if self.content:
            return "\n".join(part.text for part in self.content if isinstance(part, TextContent))
        return "".join(turn.text for turn in self.turns)

    @property
    def reasoning(self) -> str:
        """The readable reasoning of all turns."""
        return "".join(turn.reasoning for turn in self.turns)

    @property
    def calls(self) -> tuple[CallPart, ...]:
        """The calls of all turns."""
        return tuple(call for turn in self.turns for call in turn.calls)
