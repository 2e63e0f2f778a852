"""The message and its parts, as values. How they come about is in `assembler`."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace.content import Content, PromptContent, TextContent
from headrace.events import (
    APPROVAL_REQUESTED,
    CallInput,
    Executor,
    InputDecision,
    InputKind,
    JSONObject,
    ReasoningKind,
    SealKind,
)
from headrace.outcome import ErrorInfo, FinishReason
from headrace.usage import Usage


class Seal(msgspec.Struct, frozen=True, gc=False):
    """A signature or encrypted content of a part."""

    kind: SealKind
    value: str
    """The signature or the encrypted content, to be sent back to the provider."""


class Citation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A source, with the range of the part's text that cites it."""

    source: str | None = None
    ref: str | None = None
    title: str | None = None
    quote: str | None = None
    start: int | None = None
    end: int | None = None
    raw: Any = None


class Activity(msgspec.Struct, frozen=True, omit_defaults=True):
    """A status that a tool of the provider reported, and when."""

    at_ms: int
    status: str
    detail: Any = None


class _Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The numbers of a part, and when it started and ended."""

    part: int
    """Number of the part, counted through the whole run."""
    output: int
    """The provider's number of the output that the part belongs to."""
    item: int
    """Number of the provider item. Parts of one item share it."""
    item_id: str | None = None
    """The provider's id of the item."""
    started_ms: int
    """When the part started."""
    ended_ms: int | None = None
    """When the part ended, or None while it is open."""
    seals: tuple[Seal, ...] = ()
    """Signatures and encrypted content, to be sent back to the provider."""


class TextPart(_Part, frozen=True, kw_only=True, tag="text"):
    """Text for the reader."""

    text: str
    channel: str | None = None
    is_refusal: bool = False
    citations: tuple[Citation, ...] = ()


class ReasoningPart(_Part, frozen=True, kw_only=True, tag="reasoning"):
    """Readable reasoning."""

    text: str
    kind: ReasoningKind = "raw"
    summary_index: int | None = None
    citations: tuple[Citation, ...] = ()
    provider_data: JSONObject | None = None
    """What the provider needs back beyond the fields named here."""

    @property
    def signature(self) -> str | None:
        """The last signature, which is the one that counts."""
        values = [seal.value for seal in self.seals if seal.kind == "signature"]
        return values[-1] if values else None


class RedactedPart(_Part, frozen=True, kw_only=True, tag="redacted"):
    """Encrypted reasoning, which only the provider can read."""

    data: str
    provider_data: JSONObject | None = None
    """What the provider needs back beyond the fields named here."""


class CallPart(_Part, frozen=True, kw_only=True, tag="call"):
    """A tool call."""

    call_id: str
    """Id of the call, unique in its turn."""
    name: str
    executor: Executor = "client"
    input: CallInput = "json"
    raw: str = ""
    """The arguments as the model wrote them."""
    args: Any = None
    """The parsed arguments, or None while they are incomplete and if they are malformed."""
    error: str | None = None
    """Why the arguments are malformed, if they are."""
    activities: tuple[Activity, ...] = ()
    provider_data: JSONObject | None = None
    """What the provider needs back beyond the fields named here."""

    @property
    def asks_approval(self) -> bool:
        """Whether the provider runs the call, and asks first whether it may."""
        return self._approval_request is not None

    @property
    def server(self) -> str:
        """Label of the MCP server of a call that the provider asks to approve, or empty."""
        asked = self._approval_request
        detail: JSONObject = (asked.detail if asked is not None else None) or {}
        return str(detail.get("server", ""))

    @property
    def _approval_request(self) -> Activity | None:
        if self.executor != "provider":
            return None
        asked = (entry for entry in self.activities if entry.status == APPROVAL_REQUESTED)
        return next(asked, None)

    @property
    def is_runnable(self) -> bool:
        """Whether the call is whole, well-formed and ours to run."""
        return self.executor == "client" and self.ended_ms is not None and self.error is None


class OutputPart(_Part, frozen=True, kw_only=True, tag="output"):
    """The result of a tool that the provider ran."""

    call_id: str
    """Id of the call, unique in its turn."""
    content: tuple[Content, ...]
    is_error: bool = False
    provider_data: JSONObject | None = None
    """What the provider needs back beyond the fields named here."""


class MediaPart(_Part, frozen=True, kw_only=True, tag="media"):
    """An image, audio or video."""

    media_type: str
    data: str | None = None
    url: str | None = None


class OpaquePart(_Part, frozen=True, kw_only=True, tag="opaque"):
    """An item that Headrace does not interpret."""

    kind: str
    data: str
    """The JSON of the item, exactly as it came."""


Part: TypeAlias = (
    TextPart | ReasoningPart | RedactedPart | CallPart | OutputPart | MediaPart | OpaquePart
)


class CallResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a client tool call."""

    call_id: str
    """Id of the call, unique in its turn."""
    content: tuple[Content, ...]
    kind: str | None = None
    is_error: bool = False
    started_ms: int | None = None
    """When the tool started."""
    ended_ms: int | None = None
    """When the tool ended."""
    edited_args: Any = None
    """The arguments that a person has given instead of the model's, or None."""
    message: Message | None = None
    """What a sub-agent did for the call. It is shown, but not sent to the model again."""


class InputRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that a run needed from a person or another program, and the answer."""

    request_id: str
    """Id of the request, unique in the run."""
    kind: InputKind
    call_id: str
    """Id of the call that needed it."""
    name: str
    """Name of the tool."""
    args: Any = None
    """The arguments of the call."""
    message: str = ""
    """What was asked."""
    schema: JSONObject | None = None
    """JSON schema of the value that is expected."""
    asked_ms: int
    """When it was asked."""
    expires_at_ms: int | None = None
    """When it expires, or None."""
    server: str | None = None
    """Label of the MCP server, if the provider runs the call and asks whether it may."""
    state: Any = None
    """What the tool needs to go on with the answer. It is dropped when the answer is there."""
    decision: InputDecision | None = None
    """The answer, or None while there is none."""
    value: Any = None
    """The value that was given."""
    is_always: bool = False
    """Whether the approval holds for later calls of the tool in this run."""
    reason: str | None = None
    """Why it was denied."""
    by: str | None = None
    """Who answered."""
    answered_ms: int | None = None
    """When it was answered."""


class AddedMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the user said while the run was going on."""

    content: tuple[PromptContent, ...]
    at_ms: int
    """When it was passed on to the model."""
    said_at_ms: int | None = None
    """When it was said."""
    by: str | None = None
    """Who said it."""


class OutputEnd(msgspec.Struct, frozen=True, omit_defaults=True):
    """One output of a turn: its role, and how it ended."""

    output: int
    """The provider's number of the output."""
    role: str = "assistant"
    finish: FinishReason | None = None
    raw_reason: str | None = None
    """The provider's own word for the reason."""


class Turn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One provider turn: its parts in the order in which they started, and the results of its
    calls."""

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
    """Number of frames that could not be read."""
    is_complete: bool = True
    """False if frames could not be read and nothing later made up for them."""
    provider_data: JSONObject = {}
    """What else the provider reported about the response."""
    nudge: str | None = None
    """A text that was sent to the model after this turn as a user message."""
    requests: tuple[InputRequest, ...] = ()
    """What the calls of this turn needed from a person or another program."""
    added: tuple[AddedMessage, ...] = ()
    """What the user said after this turn, while the run was going on."""

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
    """One message of a conversation: an assistant message has `turns`, any other has `content`."""

    role: Literal["assistant", "user", "system", "developer"]
    run_id: str | None = None
    created_at_ms: int = 0
    effort: str | None = None
    content: tuple[PromptContent, ...] = ()
    """What a user, system or developer message says. An assistant message that no model has
    produced has content too: imported history, an example, or the beginning of an answer."""
    turns: tuple[Turn, ...] = ()
    """The provider turns of an assistant message."""
    finish: FinishReason | None = None
    error: ErrorInfo | None = None
    usage: Usage = Usage()
    output: Any = msgspec.UNSET
    """The answer as a JSON value, if a type was asked for and the answer is of that type."""

    @classmethod
    def user(cls, *content: str | PromptContent) -> Message:
        """Create a user message from texts, images and files."""
        return cls(role="user", content=_to_content(content))

    @classmethod
    def system(cls, *content: str | PromptContent) -> Message:
        """Create a system message."""
        return cls(role="system", content=_to_content(content))

    @classmethod
    def assistant(cls, *content: str | Content) -> Message:
        """Create an assistant message: imported history, or an example.

        As the last message it is the beginning of the answer, which the model continues if its
        provider allows that (Anthropic does).
        """
        return cls(role="assistant", content=_to_content(content))

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
    def is_complete(self) -> bool:
        """Whether no turn has lost content to frames that could not be read."""
        return all(turn.is_complete for turn in self.turns)

    @property
    def skipped_frames(self) -> int:
        """Number of frames that could not be read, in all turns."""
        return sum(turn.skipped_frames for turn in self.turns)

    @property
    def warning(self) -> str | None:
        """What a reader must know about an answer that is not complete, or None."""
        if self.is_complete:
            return None
        count = self.skipped_frames
        return f"{count} frame{'s' * (count != 1)} of the stream could not be read: {_LOSS}"

    @property
    def calls(self) -> tuple[CallPart, ...]:
        """The calls of all turns."""
        return tuple(call for turn in self.turns for call in turn.calls)


_LOSS = "part of the answer may be missing"


def _to_content(entries: tuple[str | PromptContent, ...]) -> tuple[PromptContent, ...]:
    return tuple(TextContent(entry) if isinstance(entry, str) else entry for entry in entries)
