"""The `Store` interface and its values: conversations, messages and runs.

Every row belongs to one owner. To everyone else it does not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from headrace.errors import HeadraceError
from headrace.events import LOG_VERSION, Record
from headrace.messages import Message
from headrace.server.storage.snippet import SnippetPart
from headrace.server.storage.store.inbox import InboxEntry
from headrace.usage import Usage


class NotFound(HeadraceError):
    """Nothing has this id, or it belongs to another owner."""


class RunLive(HeadraceError):
    """An answer is still being written here; `message_id` is its id."""

    def __init__(self, message_id: str) -> None:
        super().__init__(f"an answer to this message is still being written: {message_id}")
        self.message_id = message_id


class KeyTaken(HeadraceError):
    """The idempotency key was already used for another request."""


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation without its messages."""

    id: str
    """Id of the conversation."""
    title: str
    """The beginning of the first question, until the conversation is renamed."""
    created_ms: int
    """Time of creation."""
    updated_ms: int
    """Time of the last message."""
    leaf_id: str | None = None
    """The last message of the branch that is shown, which the next message follows."""
    is_pinned: bool = False
    """Whether the user keeps it at the top of the list."""
    is_unread: bool = False
    """Whether an answer has ended that no client has marked as read."""
    instructions: str | None = None
    """Instructions of the user for every answer of this conversation."""
    context_tokens: int | None = None
    """Tokens of the last request to the model and of its answer; None if unknown."""
    total_tokens: int | None = None
    """Tokens of all answers, of all branches; None if unknown."""
    cost: float | None = None
    """Cost of all answers in US dollars; None if unknown."""


class AnswerUse(NamedTuple):
    """What an answer adds to the numbers of its conversation."""

    context_tokens: int | None
    tokens: int | None
    cost: float | None


def measure_use(message: Message) -> AnswerUse:
    """Return what an answer has used. Nested runs count for tokens and cost, not for context."""
    last = message.turns[-1].usage if message.turns else Usage()
    context = None
    if last.input_tokens is not None:
        context = last.input_tokens + (last.output_tokens or 0)
    return AnswerUse(context, message.usage.total_tokens, message.usage.cost)


class ConversationNote(msgspec.Struct, frozen=True, kw_only=True):
    """Changes that a user makes to a conversation beside its messages. None: no change."""

    is_pinned: bool | None = None
    """Whether to keep it at the top of the list."""
    is_unread: bool | None = None
    """Whether to mark its last answer as unread."""
    instructions: str | None = None
    """Instructions for its answers; an empty text removes them."""

    @property
    def columns(self) -> dict[str, object]:
        """The columns that change, with their values."""
        found = {
            name: value for name, value in msgspec.structs.asdict(self).items() if value is not None
        }
        if self.instructions is not None:
            found["instructions"] = self.instructions or None
        return found


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that a search has found, and where."""

    conversation: Conversation
    """The conversation."""
    message_id: str | None = None
    """The newest message that matches, or None if only the title does."""
    snippet: tuple[SnippetPart, ...] = ()
    """The text of the message around the first match; empty if it is too long to look at."""


class PageCursor(msgspec.Struct, frozen=True):
    """The last conversation of a page of the list; the next page starts after it."""

    updated_ms: int
    id: str


class StoredMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message and its place in the tree of its conversation."""

    id: str
    """Id of the message."""
    conversation_id: str
    """The conversation that it belongs to."""
    parent_id: str | None
    """The message that it follows, or null for the first one."""
    message: Message
    """The whole [`Message`](values.md#message)."""


class MessageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which messages of a conversation to return, and how many at most."""

    limit: int = 100
    """Most messages of one page."""
    max_bytes: int = 524_288
    """Most bytes of stored messages in one page. A page has at least one message, however large."""
    before: str | None = None
    """Id of a message: the page ends right before it. By default it ends with the newest one."""
    after: str | None = None
    """Id of a message, or an empty string for the beginning: the page starts right after it. Not
    together with `before`."""


NEWEST = MessageQuery()
"""The newest page."""


class MessagePage(msgspec.Struct, frozen=True, kw_only=True):
    """Some messages of a conversation that follow one another in time."""

    messages: list[StoredMessage]
    """The messages, the oldest first."""
    has_more: bool
    """Whether there are more in the direction of the query: earlier ones, or with `after` later
    ones."""


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run: whose it is, and where its message belongs."""

    id: str
    owner: str
    conversation_id: str
    parent_id: str
    """Id of the user message that is answered."""
    message_id: str
    """Id of the answer."""
    model: str
    created_ms: int
    is_live: bool
    """Whether the run has not been closed."""
    is_suspended: bool = False
    """Whether the run waits for input, and no process works on it."""
    request: str | None = None
    """What the caller asked for beside the question, as JSON."""
    epoch: int = 0
    """How often the run was taken over, to go on from its log. Only the server that took it last
    can write."""
    log_version: int = LOG_VERSION
    """Version of the records in its log."""
    holder: str | None = None
    """The server that works on the run, if several servers share the store."""


class StartedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `Store.begin()`."""

    run: RunRow
    is_repeated: bool = False
    """Whether somebody else works on the run: an earlier request with the same idempotency key has
    begun it, or another server has claimed it before this one knew that it was stored."""


class RunStart(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `Store.begin()`."""

    owner: str
    run_id: str
    message_id: str
    model: str
    now_ms: int
    fingerprint: str
    """Hash of the request. The same key with another fingerprint is refused."""
    idempotency_key: str | None = None
    instructions: str | None = None
    """Instructions for a new conversation."""
    conversation_id: str | None = None
    """None if a stored message is answered again: its conversation is used."""
    is_new: bool = False
    """Whether to create the conversation if there is none; otherwise it must exist."""
    parent_id: str | None = None
    """The message to answer again or to follow; None: the active leaf."""
    beside_id: str | None = None
    """The user message that the new one is an edited version of; it gets the same parent."""
    prompt: StoredMessage | None = None
    """The new user message, or None if a stored one is answered again."""
    earlier: tuple[StoredMessage, ...] = ()
    """Messages that are stored in front of the prompt, the oldest first. Each follows the one
    before it."""
    is_branch: bool = False
    """Whether another live run under the same parent is allowed."""
    request: str | None = None
    """What the caller asks for beside the question, as JSON."""


class Store(Protocol):
    """Stores conversations. Each call is atomic."""

    message_writes: int
    """Number of answers committed so far, for the metrics."""

    async def begin(self, start: RunStart) -> StartedRun:
        """Store the user message, the run and its key, before the provider is asked.

        Raises `NotFound`, `RunLive` and `KeyTaken`.
        """
        ...

    async def find_repeated(self, start: RunStart) -> StartedRun | None:
        """Return the run that the same idempotency key has begun, if any. Raises `KeyTaken`."""
        ...

    async def commit(self, run: RunRow, message: Message, closing: Sequence[Record]) -> None:
        """Store the answer and append the last records of its log, in one transaction.

        If the answer is stored already, only the records are appended.
        """
        ...

    async def is_committed(self, run: RunRow) -> bool:
        """Return whether the answer of a run is stored."""
        ...

    async def run(self, owner: str, message_id: str) -> RunRow:
        """Return the run that writes this message. Raises `NotFound`."""
        ...

    async def live_runs(self) -> list[RunRow]:
        """Return all runs that are neither closed nor suspended, also those of a server that was
        killed."""
        ...

    async def find_run(self, owner: str, run_id: str) -> RunRow:
        """Return a run by its id. Raises `NotFound`."""
        ...

    async def open_runs(self, owner: str, limit: int) -> list[RunRow]:
        """Return runs of a user that have not ended, live or suspended, the oldest first."""
        ...

    async def suspend(
        self,
        run: RunRow,
        now_ms: int,
        expires_ms: int | None,
        *,
        even_with_input: bool = False,
    ) -> bool:
        """Mark a run as suspended. Returns False if its inbox has entries that can wake it, unless
        it is to be suspended `even_with_input`."""
        ...

    async def claim(self, run: RunRow, *, even_if_live: bool = False) -> int | None:
        """Mark a suspended run as live, to go on with it. Returns its new epoch, which is one more
        than before, or None if it was not suspended. With `even_if_live`, a run that a killed
        process has left is claimed as well; a closed one never is."""
        ...

    async def expired_runs(self, before_ms: int, limit: int, skip: int = 0) -> list[RunRow]:
        """Return suspended runs with a request that has expired before this time, the earliest
        first, without the first `skip`."""
        ...

    async def runs_with_entries(self) -> list[RunRow]:
        """Return suspended and closed runs whose inbox has entries that were not taken."""
        ...

    async def add_entry(self, entry: InboxEntry) -> InboxEntry:
        """Store an entry of a run's inbox. Returns the entry that counts: for a request that has
        been answered, that is the first answer."""
        ...

    async def find_entry(self, entry_id: str) -> InboxEntry | None:
        """Return an entry of an inbox, or None."""
        ...

    async def move_entries(self, run_id: str, next_run_id: str) -> None:
        """Give the entries that a run has not taken to the run that follows it."""
        ...

    async def open_entries(self, run_id: str) -> list[InboxEntry]:
        """Return the entries that a run has not taken yet, the oldest first."""
        ...

    async def take_entries(self, entry_ids: Sequence[str]) -> None:
        """Note that these entries are in the log of their run."""
        ...

    async def closed_runs(self, before_ms: int) -> list[str]:
        """Return the ids of runs that were closed before this time and still have records."""
        ...

    async def mark_expired(self, run_ids: Sequence[str]) -> None:
        """Note that the records of these runs are deleted; `closed_runs()` omits them now."""
        ...

    async def conversations(
        self, owner: str, limit: int = 100, before: PageCursor | None = None
    ) -> list[Conversation]:
        """Return conversations, the most recently used first, after `before` if it is given."""
        ...

    async def pinned(self, owner: str, limit: int = 100) -> list[Conversation]:
        """Return the conversations that the user has pinned, the most recently used first."""
        ...

    async def conversation(self, owner: str, conversation_id: str) -> Conversation:
        """Return one conversation. Raises `NotFound`."""
        ...

    async def messages(
        self, owner: str, conversation_id: str, query: MessageQuery = NEWEST
    ) -> MessagePage:
        """Return a page of the messages of a conversation, of all branches.

        They are ordered by time, so that a new message never changes an earlier page. Raises
        `NotFound`, also if there is no message `before` or `after`.
        """
        ...

    async def message_bytes(
        self, owner: str, conversation_id: str, query: MessageQuery = NEWEST
    ) -> int:
        """Return how many bytes `messages()` would read. Raises `NotFound`."""
        ...

    async def branch_ids(self, owner: str, message_id: str) -> list[str]:
        """Return the ids of the messages from the root down to this one. Raises `NotFound`."""
        ...

    async def branch(self, owner: str, message_id: str) -> list[StoredMessage]:
        """Return the messages from the root down to this one. Raises `NotFound`."""
        ...

    async def rename(self, owner: str, conversation_id: str, title: str) -> Conversation:
        """Set the title of a conversation. Raises `NotFound`."""
        ...

    async def suggest_title(self, owner: str, conversation_id: str, title: str) -> bool:
        """Set the title of a conversation that has none of its own yet; return whether it was
        set. Does nothing if the conversation is gone."""
        ...

    async def annotate(
        self, owner: str, conversation_id: str, note: ConversationNote
    ) -> Conversation:
        """Pin a conversation, mark it as read, or set its instructions. Raises `NotFound`."""
        ...

    async def select(self, owner: str, conversation_id: str, leaf_id: str) -> Conversation:
        """Make this message the active leaf, which the next message follows. Raises `NotFound`."""
        ...

    async def live_under(self, owner: str, conversation_id: str) -> list[RunRow]:
        """Return the live runs of a conversation, the oldest first."""
        ...

    async def delete(self, owner: str, conversation_id: str) -> list[str]:
        """Delete a conversation and return the ids of its runs. Raises `NotFound`, `RunLive`."""
        ...

    async def search(self, owner: str, words: str, limit: int = 50) -> list[SearchHit]:
        """Return conversations with these words in the title or in one message.

        Matches in titles come first; then by relevance.
        """
        ...
