"""Deletes what belongs to a user, and what is too old."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

from headrace.server.storage.accounts import Accounts
from headrace.server.storage.accounts.user_data import UserData
from headrace.server.storage.files import Files
from headrace.server.storage.store import NotFound, RunLive, RunRow, Store

_PAGE = 100
Stop = Callable[[RunRow], Awaitable[object]]
"""Tells the server that works on a run to end it."""


class UserStorage(NamedTuple):
    """The places in which something of a user is stored."""

    store: Store
    files: Files
    accounts: Accounts
    user_data: UserData


async def delete_content(storage: UserStorage, owner: str, stop: Stop) -> bool:
    """Delete the conversations and files of a user. Runs are stopped first. Returns False if a run
    has not ended yet: then try again soon."""
    for run in await storage.store.open_runs(owner, 10 * _PAGE):
        await stop(run)
    is_done = await _delete_conversations(storage.store, owner)
    await storage.files.delete_all(owner)
    return is_done


async def _delete_conversations(store: Store, owner: str) -> bool:
    """Delete all conversations of a user but those with a live run. Returns whether none is
    left."""
    live: set[str] = set()
    while found := [
        one for one in await store.conversations(owner, _PAGE + len(live)) if one.id not in live
    ]:
        for conversation in found:
            try:
                # Another server may have deleted it.
                with suppress(NotFound):
                    await store.delete(owner, conversation.id)
            except RunLive:
                live.add(conversation.id)
    return not live


async def finish_deletions(storage: UserStorage, stop: Stop, before_ms: int) -> None:
    """Delete the rest of the users whose deletion was requested. Requests that are older than
    `before_ms` are done then; the others are looked at again."""
    for owner, _ in await storage.user_data.requested_deletions():
        if await delete_content(storage, owner, stop):
            await storage.user_data.finish_deletion(owner, before_ms)


async def delete_old_conversations(storage: UserStorage, before_ms: int) -> int:
    """Delete the conversations in which nothing has happened since a time; return how many."""
    gone = 0
    while old := await storage.user_data.old_conversations(before_ms, _PAGE):
        deleted = 0
        for owner, conversation_id in old:
            with suppress(NotFound, RunLive):
                await storage.store.delete(owner, conversation_id)
                deleted += 1
        gone += deleted
        if not deleted:
            # Only such that have begun to be used at this moment.
            break
    return gone
