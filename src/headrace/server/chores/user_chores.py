"""What a server does about users from time to time: ends old sign-ins, and deletes data."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from headrace.server.accounts.identity import find_limits
from headrace.server.accounts.user_deletion import (
    UserStorage,
    delete_content,
    delete_old_conversations,
    finish_deletions,
)
from headrace.server.storage.store import InboxEntry, NotFound, RunRow

if TYPE_CHECKING:
    from headrace.server.service import Service

# A cancelled run ends much sooner, unless a tool ignores the cancellation.
_END_S: Final = 3.0
_MARGIN_S: Final = 30.0


class UserChores:
    """Ends sign-ins and deletes data, by the settings of a server and at the wish of users."""

    def __init__(self, service: Service) -> None:
        self._service = service
        # As long as a body may take to arrive, and some more.
        self.deletion_grace_s = service.settings.body_timeout_s + _MARGIN_S
        """Time for which what arrives of a deleted user is deleted too."""

    @property
    def storage(self) -> UserStorage:
        """The places in which something of a user is stored."""
        service = self._service
        return UserStorage(
            service.store, service.files, service.accounts, service.storage.user_data
        )

    async def expire_sign_ins(self) -> int:
        """Delete the sign-ins that are too old, or unused for too long; return how many."""
        service = self._service
        now_ms = service.clock()
        if not await service.storage.is_clock_trusted(now_ms):
            return 0
        return await service.accounts.expire_sign_ins(*find_limits(service.settings, now_ms))

    async def expire_conversations(self) -> int:
        """Delete the conversations in which nothing has happened for `keep_conversations_s`; return
        how many."""
        service = self._service
        keep_s, now_ms = service.settings.keep_conversations_s, service.clock()
        if keep_s is None or not await service.storage.is_clock_trusted(now_ms):
            return 0
        return await delete_old_conversations(self.storage, now_ms - int(keep_s * 1000))

    async def delete_users(self) -> None:
        """Delete the data of users whose deletion was requested, also what comes a little later:
        a request that was accepted before may still be arriving."""
        before_ms = self._service.clock() - int(self.deletion_grace_s * 1000)
        await finish_deletions(self.storage, self._end_run, before_ms)

    async def delete_content(self, owner: str) -> bool:
        """Delete the conversations, files and settings of a user. Returns False if an answer is
        still being written."""
        is_done = await delete_content(self.storage, owner, self._end_run)
        await self._service.storage.user_data.delete_settings(owner)
        return is_done

    async def _end_run(self, run: RunRow) -> None:
        """End a run because it is going to be deleted, on whichever server it is written."""
        service = self._service
        if run.is_suspended:
            return
        await service.quota.wait_for_start(run.id)
        await service.runs.stop(run.message_id, _END_S)
        try:
            is_elsewhere = (await service.store.find_run(run.owner, run.id)).is_live
        except NotFound:
            return
        if is_elsewhere and service.cluster is not None:
            entry = InboxEntry(
                id=f"ent_{uuid.uuid4().hex}",
                run_id=run.id,
                kind="cancel",
                body={"by": run.owner},
                created_ms=service.clock(),
            )
            await service.add_entry(run, entry)
