"""One run that is going on, and the clients that read it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

from headrace.engine import AlreadyAnswered, Run
from headrace.errors import UsageError
from headrace.events import InputRequested, Record, RunFailed, StepStarted, ToolStarted
from headrace.log import get_logger
from headrace.messages import Assembler, Message
from headrace.server.runs.broadcast import Broadcast, Subscription
from headrace.server.runs.log_replay import Replay, read_pages
from headrace.server.runs.next_question import read_run_request
from headrace.server.runs.phase_log import create_phase_log
from headrace.server.sse import FrameEncoder, FrameId, View
from headrace.server.storage.log import Done, Log
from headrace.server.storage.store import InboxEntry, RunRow

_logger = get_logger("server")
_CURRENT_POLL_S = 0.1
_NO_FORMS = "nobody can be asked here: this API can only approve calls"

ProjectionOptions: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Options of the projections, by the name of the protocol."""


class LogSink:
    """The log of one run, as the engine expects it.

    `is_current` returns whether this server may begin turns and tools. While it may not, because
    the database cannot be reached, records that announce them wait, and those behind them.
    """

    __slots__ = ("_held", "_is_current", "_log", "_release", "_run", "_tail", "put")

    def __init__(self, log: Log, run: RunRow, is_current: Callable[[], bool] | None = None) -> None:
        self._log = log
        self._run = run
        self._is_current = is_current
        self._tail = log.tail(run.id, run.epoch)
        self._held: list[tuple[Sequence[Record], Done]] = []
        self._release: asyncio.Task[None] | None = None
        self.put = self._tail.put if is_current is None else self._put

    @property
    def is_shared(self) -> bool:
        """Whether other servers use the log too, and may claim the run."""
        return self._is_current is not None

    def _put(self, records: Sequence[Record], done: Done) -> None:
        if not self._held and self._may_log(records):
            self._tail.put(records, done)
            return
        self._held.append((records, done))
        if self._release is None:
            self._release = asyncio.create_task(self._put_held())

    async def _put_held(self) -> None:
        await self._wait_until_current()
        held, self._held, self._release = self._held, [], None
        for records, done in held:
            self._tail.put(records, done)

    async def append(self, records: Sequence[Record]) -> None:
        if self._release is not None:
            await self._release
        if not self._may_log(records):
            await self._wait_until_current()
        await self._log.append(self._run.id, records, self._run.epoch)

    def _may_log(self, records: Sequence[Record]) -> bool:
        if self._is_current is None or self._is_current():
            return True
        return not any(isinstance(record.event, StepStarted | ToolStarted) for record in records)

    async def _wait_until_current(self) -> None:
        """Wait for the next heartbeat that is accepted. If it comes too late, another server has
        claimed the run, and the log refuses the records."""
        while self._is_current is not None and not self._is_current():
            await asyncio.sleep(_CURRENT_POLL_S)


class LiveRun:
    """One run that is going on, and its subscriptions."""

    __slots__ = (
        "_broadcasts", "_denies_questions", "_early", "_log", "_options", "_phases", "assembler",
        "closer", "has_entries", "last_record", "last_seq", "row", "run", "stored_message",
        "taken", "task",
    )  # fmt: skip

    def __init__(
        self,
        row: RunRow,
        log: Log,
        options: ProjectionOptions | None = None,
        request_id: str | None = None,
    ) -> None:
        self.row = row
        self.run: Run | None = None
        """The run itself, or None while it is suspended."""
        self.taken: list[str] = []
        """Inbox entries that are in the log, and not yet marked as taken."""
        self.has_entries = False
        """Whether the run has got entries of its inbox."""
        self._early: dict[str, InboxEntry] = {}
        """Answers to requests that others have read in the log before this server was told that
        they are stored."""
        self._log = log
        self._options: ProjectionOptions = options or {}
        self._broadcasts: dict[View, Broadcast] = {}
        self._phases = create_phase_log(request_id, row.id)
        self.last_seq = 0
        """Number of the last logged record."""
        self.last_record: Record | None = None
        """The last record that was published, or with which this object began."""
        self.stored_message: Message | None = None
        """The message as the log has it, if the log has failed before the end of the run, or if
        the run did not end."""
        self.assembler: Assembler | None = None
        """Folds the records of a run that another server works on."""
        # Clients of the Responses API cannot fill in forms.
        self._denies_questions = read_run_request(row).response is not None
        self.task: asyncio.Task[None] | None = None
        self.closer: asyncio.TimerHandle | None = None
        """Closes the streams of a suspended run after a while."""

    def attach(self, run: Run) -> None:
        """Take the run that goes on now."""
        self.run = run
        self.stored_message = self.assembler = None
        if self.closer is not None:
            self.closer.cancel()
            self.closer = None
        run.hand_to(self.publish)
        # Users need not know where the provider is: the log of the server says it.
        run.hides_address = True

    def detach(self) -> None:
        """Let go of a run that was suspended."""
        if self.run is not None:
            self.stored_message = self.run.message
        self.run = self.task = None

    @property
    def has_watchers(self) -> bool:
        """Whether a client reads the run."""
        return any(not broadcast.is_idle for broadcast in self._broadcasts.values())

    def deliver(self, entry: InboxEntry) -> None:
        """Pass an entry of the inbox to the run. An entry that comes too late stays in the
        inbox."""
        run = self.run
        if run is None:
            return
        self.has_entries = True
        match entry.kind:
            case "answer" if self._is_late(run, entry):
                _logger.info("run %s got an answer to an expired request", self.row.id)
                self.taken.append(entry.id)
            case "answer":
                try:
                    run.answer(entry.request_id or "", **entry.body, entry_id=entry.id)
                except AlreadyAnswered:
                    self.taken.append(entry.id)
                except UsageError as error:
                    _logger.info("run %s did not take an answer: %s", self.row.id, error)
                    self._keep_or_drop(run, entry)
            case "steer":
                text, said_at_ms = entry.body["text"], entry.created_ms
                run.steer(text, entry_id=entry.id, said_at_ms=said_at_ms)
            case "cancel":
                run.cancel("cancelled by the user", by=entry.body.get("by"), entry_id=entry.id)
            case "queue":
                pass

    def _keep_or_drop(self, run: Run, entry: InboxEntry) -> None:
        """Keep an answer for later if the run does not know the request yet. Drop one that the run
        will never take: it must not keep the run from being suspended."""
        if not run.takes_answers:
            return
        if any(request.request_id == entry.request_id for request in run.requests):
            self.taken.append(entry.id)
        else:
            self._early[entry.request_id or ""] = entry

    def drop_early(self) -> None:
        """Drop the answers to requests that the run has not made: all its records are stored."""
        self.taken += [entry.id for entry in self._early.values()]
        self._early.clear()

    @staticmethod
    def _is_late(run: Run, entry: InboxEntry) -> bool:
        """Return whether an answer was stored after its request had expired."""
        times = (r.expires_at_ms for r in run.requests if r.request_id == entry.request_id)
        expires_ms = next(times, None)
        return expires_ms is not None and expires_ms < entry.created_ms

    def subscribe(self, view: View, after: FrameId) -> Subscription:
        """Return the frames after `after`, until the run is closed."""
        broadcast = self._broadcasts.get(view)
        if broadcast is None:
            self._drop_idle_options()
            # A view that nobody has read so far begins with a replay of the log.
            encoder = None if self.last_seq else self._new_encoder(view)
            broadcast = Broadcast(partial(self._open_replay, view), encoder)
            self._broadcasts[view] = broadcast
        return broadcast.subscribe(after)

    def _drop_idle_options(self) -> None:
        """Forget views with options that nobody reads: each costs an encoding of every record, and
        clients choose how many there are."""
        for view, broadcast in list(self._broadcasts.items()):
            if view.options and broadcast.is_idle:
                del self._broadcasts[view]

    def follow(self, records: Sequence[Record]) -> None:
        """Send records that another server has logged."""
        if self.assembler is not None:
            for record in records:
                self.assembler.feed(record)
        self.publish(records)

    def has_logged(self, frame: FrameId) -> bool:
        """Return whether the record of this frame is logged, so that a client can know it."""
        return frame.seq <= self.last_seq

    def publish(self, records: Sequence[Record]) -> None:
        """Send records that have been logged to the subscriptions."""
        if not records or is_unlogged(records[-1]):
            return
        self.last_record = last = records[-1]
        self.last_seq = last.seq
        if self.has_entries:
            ids = (getattr(record.event, "entry_id", None) for record in records)
            self.taken += [entry_id for entry_id in ids if entry_id is not None]
        if self._phases is not None:
            self._phases.feed(records)
        if self._early:
            self._deliver_early(records)
        if self._denies_questions:
            self._deny_questions(records)
        failed: list[View] = []
        for view, broadcast in self._broadcasts.items():
            try:
                broadcast.feed(records)
            except Exception:
                # A projection that fails ends its subscriptions, but never the run.
                _logger.exception("run %s cannot be shown as %s", self.row.id, view.protocol)
                failed.append(view)
        for view in failed:
            self._broadcasts.pop(view).close()

    def _deliver_early(self, records: Sequence[Record]) -> None:
        for record in records:
            event = record.event
            if isinstance(event, InputRequested) and event.request_id in self._early:
                self.deliver(self._early.pop(event.request_id))

    def _deny_questions(self, records: Sequence[Record]) -> None:
        """Deny what a tool asks a person for; approvals are asked for by the protocol."""
        for record in records:
            event = record.event
            if isinstance(event, InputRequested) and event.kind != "approval" and self.run:
                with suppress(AlreadyAnswered, UsageError):
                    self.run.answer(event.request_id, "denied", reason=_NO_FORMS)

    def close(self) -> None:
        """End the subscriptions after the last record."""
        for broadcast in self._broadcasts.values():
            broadcast.close()
        # They refer to this object: without the cycle, it is freed at once.
        self._broadcasts = {}

    def _open_replay(self, view: View, after: FrameId) -> Replay:
        pages = read_pages(self._log, self.row.id, lambda: self.last_seq)
        return Replay(pages, self._new_encoder(view), after)

    def _read_message(self) -> Message:
        if self.assembler is not None:
            return self.assembler.message()
        if self.stored_message is not None or self.run is None:
            return self.stored_message or Message(role="assistant")
        return self.run.message

    def _new_encoder(self, view: View) -> FrameEncoder:
        options = {**self._options.get(view.protocol, {}), **dict(view.options)}
        return FrameEncoder(view.protocol, self.row.message_id, self._read_message, **options)


def is_unlogged(record: Record) -> bool:
    """Return whether this is the end that the engine gives a run whose log has failed."""
    event = record.event
    return type(event) is RunFailed and event.category == "storage" and not record.path
