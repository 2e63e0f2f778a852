"""The `UserData` interface: everything that is stored about a user, to export and to delete it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from headrace.server.storage.access_tokens import AccessTokenInfo


class OldConversation(NamedTuple):
    """A conversation that nothing has happened in for a while."""

    owner: str
    id: str


class UserDeletion(NamedTuple):
    """A user whose data has to be deleted."""

    owner: str
    is_emptied: bool
    """Whether nothing was left when a server last looked."""


class UserData(Protocol):
    """Finds and deletes what belongs to a user, beside conversations and files."""

    async def request_deletion(self, owner: str, now_ms: int) -> bool:
        """Delete the account, the access tokens, the sign-ins and the settings of a user, and note
        that a server has to delete the rest. Return False if nothing is stored of such a user."""
        ...

    async def requested_deletions(self) -> list[UserDeletion]:
        """Return the users whose data has to be deleted, the earliest request first."""
        ...

    async def finish_deletion(self, owner: str, before_ms: int) -> bool:
        """Delete what is left when the conversations and files of a user are gone; the usage of the
        user loses its name. The note is removed if it is older than `before_ms`: a request that was
        accepted before it may still be stored. Return False if conversations are left."""
        ...

    async def abandon_runs(self, owner: str) -> None:
        """Close the runs of a user that no server works on, so that they can be deleted. Call it
        only while no server runs."""
        ...

    async def delete_settings(self, owner: str) -> None:
        """Delete the settings of a user."""
        ...

    async def old_conversations(self, before_ms: int, limit: int) -> list[OldConversation]:
        """Return conversations of any user without a live run in which nothing has happened since
        a time, the oldest first."""
        ...

    async def access_tokens(self, owner: str) -> Sequence[AccessTokenInfo]:
        """Return what is stored about the access tokens of a user."""
        ...

    async def usage(self, owner: str) -> list[dict[str, Any]]:
        """Return the usage of a user, one row for each answer."""
        ...
