"""Requests and responses of the HTTP API, as structs that the server and the client share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from headrace.encoders import Effort
from headrace.messages import InputRequest
from headrace.projections.ux.segment import MessageEvent
from headrace.server.storage.snippet import SnippetPart
from headrace.server.storage.store.store import Conversation, StoredMessage
from headrace.usage import Usage

MAX_PAGE = 100
"""Most conversations, or messages of a conversation, in one response."""
MAX_PAGE_BYTES = 524_288
"""Most bytes of messages in one response, as they are stored. One message is always sent."""
MAX_INSTRUCTIONS = 8_000
"""Most characters of the instructions of a user or a conversation."""
MAX_KEY_CHARS = 200
"""Longest value of the header `Idempotency-Key`."""


# --- requests -------------------------------------------------------------------------


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /api/chat`."""

    message: str | None = None
    """Text of the user; leave it out to have a stored message answered again."""
    conversation_id: str | None = None
    """The conversation to continue; leave it out to start a new one."""
    parent_id: str | None = None
    """The message that this one follows, or the user message to answer again."""
    beside_id: str | None = None
    """The user message that this one is an edited version of: it becomes a branch beside it."""
    model: str | None = None
    """Name of one of the server's models; the first one by default."""
    effort: Effort | None = None
    """How hard the model should think; the agent's own setting by default."""
    is_branch: bool = False
    """Whether another answer to the same message may be written at the same time."""
    attachments: tuple[str, ...] = ()
    """Ids of uploaded files, which become part of the message."""
    instructions: Annotated[str, msgspec.Meta(max_length=MAX_INSTRUCTIONS)] | None = None
    """Instructions for every answer of a new conversation; a stored one has its own."""
    mode: Literal["reject", "steer", "queue"] = "reject"
    """What happens to a message while an answer is being written: it is refused with 409, passed on
    to the model with the next step of that answer, or asked when the answer is there. With `steer`
    and `queue` the response is the stream of that answer."""


class InputAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /api/runs/{run_id}/requests/{request_id}`."""

    decision: Literal["accepted", "denied"]
    """Whether the call may run, or the value is given."""
    value: Any = None
    """The result, text or form that was asked for. For an approval: arguments that replace those of
    the call, or null to keep them."""
    is_always: bool = False
    """Whether later calls of the same tool in this run need no approval."""
    reason: str | None = None
    """Why it is denied; the model is told."""


class ConversationUpdate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `PATCH /api/conversations/{id}`."""

    title: str | None = None
    """The new title."""
    leaf_id: str | None = None
    """The message that the next one follows: selects the branch that is shown."""
    is_pinned: bool | None = None
    """Whether to keep it at the top of the list."""
    is_unread: bool | None = None
    """Whether its last answer is unread. A client that has shown it sends false."""
    instructions: Annotated[str, msgspec.Meta(max_length=MAX_INSTRUCTIONS)] | None = None
    """Instructions for every answer of this conversation; an empty text removes them."""


# --- responses ------------------------------------------------------------------------


class AttachmentView(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a message; its bytes have an address of their own."""

    name: str
    """Name to display."""
    media_type: str
    """Type, by its bytes."""
    size: int
    """Number of bytes."""


class MessageView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a conversation: a question has a text, an answer has an event."""

    id: str
    """Id of the message; for an answer, its `event_id`."""
    parent_id: str | None
    """The message that it follows, or null for the first one."""
    role: str
    """`user` or `assistant`."""
    created_at: int
    """Time of creation."""
    text: str = ""
    """Text of the user."""
    attachments: tuple[AttachmentView, ...] = ()
    """Files of the user, in order."""
    event: MessageEvent | None = None
    """The answer, as the last frame of its stream carried it."""


class InputRequestList(msgspec.Struct, frozen=True, kw_only=True):
    """What a run waits for."""

    run_id: str
    """Id of the run."""
    event_id: str
    """Id of the answer that the run writes."""
    conversation_id: str
    """The conversation of the answer."""
    requests: list[InputRequest]
    """The requests that nobody has answered yet."""


class WaitingRunList(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a user that wait for an answer to a request."""

    runs: list[InputRequestList]
    """The runs and what they wait for, the oldest run first."""


class InputAnswerResult(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request that counts."""

    request_id: str
    """Id of the request."""
    decision: Literal["accepted", "denied", "expired"]
    """The decision."""
    by: str | None = None
    """Who answered."""


class LiveAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is being written."""

    event_id: str
    """Id of the answer, to watch or to cancel it."""
    parent_id: str
    """The message that it answers."""
    created_at: int
    """Time at which it was begun."""


class ConversationDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation with a page of its messages, and the answers that are being written."""

    conversation: Conversation
    """The conversation itself."""
    messages: list[MessageView]
    """The messages of the page, of all branches, the oldest first."""
    live: list[LiveAnswer]
    """Answers that are being written, the oldest first."""
    earlier: str | None = None
    """The value of `before` for the page of earlier messages, or null if there are none."""

    @property
    def branch(self) -> list[MessageView]:
        """The messages of the branch that is shown, the first one first."""
        return select_branch(self.messages, self.conversation.leaf_id)


AnswerState: TypeAlias = Literal["writing", "waiting"]


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """Where a search has found its words in a conversation."""

    message_id: str
    """The newest message that has them."""
    snippet: tuple[SnippetPart, ...]
    """The text around the first of them, in parts; empty if the message is very long."""


class ConversationPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page of the list of conversations."""

    conversations: list[Conversation]
    """The most recently used first."""
    next: str | None
    """The value of `before` for the next page, or None if this is the last one."""
    pinned: list[Conversation] = []
    """The conversations that the user has pinned, at most 100. Only on the first page of the list;
    they are among `conversations` as well, where their time puts them."""
    hits: dict[str, Hit] = {}
    """Where a search has found its words, by the id of the conversation. Conversations that were
    found by their title alone are missing."""
    live: dict[str, AnswerState] = {}
    """The user's conversations, by id, with an answer that is being written (`writing`) or waits
    for input (`waiting`), on whatever page they are. At most 100 answers count."""


class ConversationExport(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation with all its messages as they are stored."""

    conversation: Conversation
    """The conversation itself."""
    messages: list[StoredMessage]
    """All messages of all branches, the oldest first."""


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One of the models that a server offers."""

    name: str
    """The name for `ChatRequest.model`."""
    model: str
    """Provider and model, such as `openai:gpt-5`."""
    tools: list[str]
    """Names of the tools that it may call."""
    efforts: tuple[str, ...]
    """The values that `ChatRequest.effort` may have."""
    is_rehearsal: bool
    """Whether it is the rehearsal model, which is not a language model."""
    context_window: int | None = None
    """Most tokens of a request and its answer; None if unknown."""


class ModelList(msgspec.Struct, frozen=True, kw_only=True):
    """All models of a server. The first one is the default."""

    models: list[ModelInfo]
    """The models, in the order in which the server lists them."""


class RunTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """When a run did what, to be drawn."""

    started_ms: int
    """Time of the first record."""
    duration_ms: int
    """Time from the first record to the last."""
    lanes: list[TimelineLane]
    """Reasoning, tools and text, each in a row of its own."""
    is_live: bool
    """Whether the run goes on."""
    is_rough: bool
    """Whether the records have expired, and the times are those that the message keeps."""
    first_text_ms: int | None = None
    """Time from the start to the first text."""
    usage: Usage | None = None
    """Token counts and cost; null if unknown."""


class TimelineLane(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a timeline."""

    kind: str
    """`reasoning`, `tool`, `text`, `media` or `opaque`."""
    label: str
    """Name of the tool, or the kind."""
    depth: int
    """How many calls of sub-agents it is inside of."""
    ms: int
    """Sum of the durations."""
    spans: list[TimelineSpan]
    """The stretches of time, from the start of the run on."""


class TimelineSpan(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch of time."""

    kind: str
    """As that of the row; `call` for arguments that are written."""
    start_ms: int
    """Time from the start of the run."""
    end_ms: int
    """Time from the start of the run."""
    chars: int = 0
    """Number of characters."""
    is_error: bool = False
    """Whether the tool failed."""


class CancelResult(msgspec.Struct, frozen=True, kw_only=True):
    """The response to `POST /api/chat/{event_id}/cancel`."""

    event_id: str
    """Id of the answer."""
    was_live: bool
    """False if the run was over already."""


class ErrorDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a request. Some codes come with more fields."""

    code: str
    """For programs."""
    message: str
    """For people: what is wrong, and what to do."""
    request_id: str
    """Finds the request in the server's log."""


class ErrorResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every response with a status of 400 or above."""

    error: ErrorDetail
    """What is wrong."""


class _TreeNode(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def parent_id(self) -> str | None: ...


M = TypeVar("M", bound=_TreeNode)


def select_branch(messages: Iterable[M], leaf_id: str | None) -> list[M]:
    """Return the messages from the root of the tree down to the leaf."""
    by_id = {message.id: message for message in messages}
    branch: list[M] = []
    while leaf_id is not None and (message := by_id.pop(leaf_id, None)) is not None:
        branch.append(message)
        leaf_id = message.parent_id
    return branch[::-1]
