"""The seam of all stores, and the values that go through it. Every row has one owner; what
belongs to another does not exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from headrace.errors import HeadraceError
from headrace.events import Record
from headrace.messages import Message


class NotFound(HeadraceError):
    """There is nothing of that id, or it belongs to somebody else."""


class RunLive(HeadraceError):
    """A run under this parent is still going on; `message_id` is its event."""

    def __init__(self, message_id: str) -> None:
        super().__init__(f"a run is live under this message: {message_id}")
        self.message_id = message_id


class KeyTaken(HeadraceError):
    """The idempotency key was used for another request."""


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation, without its messages."""

    id: str
    title: str
    created_ms: int
    updated_ms: int
    leaf_id: str | None = None


class Mark(msgspec.Struct, frozen=True):
    """The last conversation of a page: the next one begins behind it."""

    updated_ms: int
    id: str


class StoredMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message and its place in the tree."""

    id: str
    conversation_id: str
    parent_id: str | None
    message: Message


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run: where its message belongs, and whether it goes on."""

    id: str
    owner: str
    conversation_id: str
    parent_id: str
    message_id: str
    model: str
    created_ms: int
    is_live: bool


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """What `begin` gives: the run, and whether the key had begun it before."""

    run: RunRow
    is_repeated: bool = False


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """What a run begins with."""

    owner: str
    run_id: str
    message_id: str
    model: str
    now_ms: int
    fingerprint: str
    """Of the request: the same key with another body is refused."""
    idempotency_key: str | None = None
    conversation_id: str | None = None
    """None where an old message is answered again: it knows its own."""
    is_new: bool = False
    """Whether the conversation begins with this; else it must be there."""
    parent_id: str | None = None
    """The message that is answered, or that the question follows; None: the active leaf."""
    beside_id: str | None = None
    """The message that the question takes the place of, as a branch beside it."""
    prompt: StoredMessage | None = None
    """The user's new message; None where an old one is answered again."""
    is_branch: bool = False
    """Whether a live run under the same parent may go on beside it."""


class Store(Protocol):
    """Keeps conversations. All of a call happens, or none of it."""

    async def begin(self, start: Start) -> Begun:
        """The user's message, the run and its key in one transaction, before the first byte
        goes to a provider. Raises `NotFound`, `RunLive`, `KeyTaken`."""
        ...

    async def repeated(self, start: Start) -> Begun | None:
        """What the same key has begun before, if anything. Raises `KeyTaken`."""
        ...

    async def commit(self, run: RunRow, message: Message, closing: Sequence[Record]) -> None:
        """The message, once, and the last records of its log, as one. A second commit of the
        same run is nothing but its records."""
        ...

    async def is_committed(self, run: RunRow) -> bool:
        """Whether its message is there."""
        ...

    async def run(self, owner: str, message_id: str) -> RunRow:
        """The run whose event this is. Raises `NotFound`."""
        ...

    async def live_runs(self) -> list[RunRow]:
        """Runs that were not closed: of this server, or of one that is gone."""
        ...

    async def closed_runs(self, before_ms: int) -> list[str]:
        """Runs that ended before this moment, and whose records may go."""
        ...

    async def mark_expired(self, run_ids: Sequence[str]) -> None:
        """The records of these are gone: they are told no more as closed."""
        ...

    async def conversations(
        self, owner: str, limit: int = 100, before: Mark | None = None
    ) -> list[Conversation]:
        """The newest first; where a mark is given, those that were last used before it."""
        ...

    async def conversation(self, owner: str, conversation_id: str) -> Conversation:
        """One of them. Raises `NotFound`."""
        ...

    async def messages(self, owner: str, conversation_id: str) -> list[StoredMessage]:
        """All messages of a conversation, the oldest first. Raises `NotFound`."""
        ...

    async def branch(self, owner: str, message_id: str) -> list[StoredMessage]:
        """The messages from the root down to this one. Raises `NotFound`."""
        ...

    async def rename(self, owner: str, conversation_id: str, title: str) -> Conversation:
        """Give it a title. Raises `NotFound`."""
        ...

    async def select(self, owner: str, conversation_id: str, leaf_id: str) -> Conversation:
        """Make this message the one that the next question follows. Raises `NotFound`."""
        ...

    async def live_under(self, owner: str, conversation_id: str) -> list[RunRow]:
        """The runs of a conversation that go on, the oldest first."""
        ...

    async def delete(self, owner: str, conversation_id: str) -> list[str]:
        """Forget it, and return the ids of its runs. Raises `NotFound`, `RunLive`."""
        ...

    async def search(self, owner: str, words: str, limit: int = 50) -> list[Conversation]:
        """Those in whose title, or in one message of which, the words stand; titles first, then
        the best."""
        ...
