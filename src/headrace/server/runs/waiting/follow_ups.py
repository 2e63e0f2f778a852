"""Answers that follow another one: to what the user has said while it was being written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.events import RunFinished, UserMessageAdded
from headrace.server.runs.next_question import start_after
from headrace.server.storage.store import InboxEntry, RunRow

if TYPE_CHECKING:
    from headrace.server.service import Service


class FollowUps:
    """Asks what the user has said while a run went on, and what did not reach the model."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def ask_left(self, row: RunRow) -> None:
        """Begin the answer to the first question that is left after a run, which gets the others.
        After a run that failed or was cancelled nothing is asked."""
        store = self._service.store
        entries = await store.open_entries(row.id)
        questions = await self._find_questions(row, entries)
        await store.take_entries([entry.id for entry in entries if entry not in questions])
        if questions:
            await self._ask_after(row, questions[0])

    async def _ask_after(self, row: RunRow, question: InboxEntry) -> None:
        service, models = self._service, self._service.models
        start = start_after(row, question, service.clock())
        _, start = await models.pin_tools(models.prepare_agent(row), start)
        with service.quota.reserve(row.owner, start.run_id, is_checked=False):
            started = await service.store.begin(start)
            await service.store.take_entries([question.id])
            await service.store.move_entries(row.id, started.run.id)
            if started.is_repeated:
                return
            agent, history = await models.restore_agent(started.run)
            live = await service.runs.begin(started.run, agent, history)
            if live is not None:
                # It has the questions that are left.
                live.has_entries = True

    async def _find_questions(self, row: RunRow, entries: list[InboxEntry]) -> list[InboxEntry]:
        """Return the entries that become questions after a run. Its log tells how it has ended, and
        which of them the model has got: a killed server may not have marked them."""
        messages = [entry for entry in entries if entry.kind in ("steer", "queue")]
        if not messages:
            return []
        records = await self._service.log.read(row.id)
        events = [record.event for record in records if not record.path]
        is_normal = any(
            isinstance(event, RunFinished) and event.reason.word != "aborted" for event in events
        )
        sent = {event.entry_id for event in events if isinstance(event, UserMessageAdded)}
        return [entry for entry in messages if is_normal and entry.id not in sent]
