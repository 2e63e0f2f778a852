"""`TurnTaker`: asks the model for a turn, with retries, fallbacks and forced compaction."""

from __future__ import annotations

import asyncio
import random

import msgspec

from headrace import events as ev
from headrace.address import find_server
from headrace.encoders import Request
from headrace.engine.history.run_history import RunHistory
from headrace.engine.journal.any_journal import AnyJournal
from headrace.engine.log_lines.run_logger import log_discarded_step
from headrace.engine.middleware.middleware import RunView
from headrace.engine.output_check import OutputCheck
from headrace.engine.run_broken import RunBroken
from headrace.engine.run_config import RunConfig
from headrace.engine.timer import Timers
from headrace.errors import RequestFailed
from headrace.events import TurnEvent
from headrace.messages import Turn
from headrace.outcome import ErrorCategory
from headrace.trace_headers import TRACE_HEADERS
from headrace.transport.call_secrets import hide_address
from headrace.transport.transport import HTTPCall
from headrace.turn.fallback import Route
from headrace.turn.key_mask import list_events
from headrace.turn.open_turn import OpenTurn
from headrace.turn.target import TurnTarget
from headrace.wire.decoder import ReadResult

# A longer history is encoded in a thread, so that other runs on this event loop do not wait.
_MAX_MESSAGES_HERE = 1_000


class TurnTaker:
    """Asks for turns. `open_turn` is the turn that is being read."""

    __slots__ = (
        "_closing", "_config", "_has_output", "_history", "_journal", "_limits", "_output",
        "_route", "_timers", "_view", "hides_address", "next_item", "next_part", "open_turn",
        "private_error",
    )  # fmt: skip

    def __init__(
        self,
        config: RunConfig,
        journal: AnyJournal,
        view: RunView,
        history: RunHistory,
        timers: Timers,
        output: OutputCheck | None,
    ) -> None:
        self._config = config
        self._limits = config.limits
        self._journal = journal
        self._view = view
        self._history = history
        self._timers = timers
        self._output = output
        self._route = Route(None)
        self._has_output = False
        self._closing: asyncio.Task[None] | None = None
        self.open_turn: OpenTurn | None = None
        self.next_item = 0
        self.next_part = 0
        self.hides_address = False
        """Whether errors are written without the address of the provider."""
        self.private_error: str | None = None
        """The error of the provider with its address, if that was hidden."""

    async def take(self, step: int) -> Turn:
        """Ask for a turn until one succeeds. Raises `RunBroken` if none does."""
        attempt = 1
        has_compacted = False
        # The model that answered the last step is preferred: it has its own reasoning and cache.
        self._route = Route(self._config.fallback, self._config.at)
        while True:
            failed = await self._try_turn()
            if failed is None:
                self._route.report(None)
                return self._journal.assembler.turns[-1].turn()
            pause_s = self._pause_s(failed, attempt)
            compaction: ev.HistoryCompacted | None = None
            if self._may_discard and self._switch(failed.category, is_late=True):
                pause_s, attempt = 0.0, 0
            elif failed.category == "context_overflow" and not has_compacted:
                # Some providers report this in the stream instead of refusing the request.
                if not self._has_output:
                    compaction = await self._history.compact(is_forced=True)
                has_compacted = compaction is not None
                pause_s = 0.0 if has_compacted else None
            if pause_s is None:
                raise RunBroken(failed.category, failed.message)
            log_discarded_step(self._view.run_id, step, failed.category, pause_s)
            await self._journal.write([ev.StepDiscarded(step, failed.message)])
            if compaction is not None:
                await self._journal.write([compaction])
            await asyncio.sleep(pause_s)
            attempt += 1

    def _pause_s(self, failed: ev.TurnFailed, attempt: int) -> float | None:
        """Return how long to wait before the turn is retried, or None if it is not."""
        if not failed.retryable or attempt >= self._limits.turn_attempts:
            return None
        if not self._may_discard:
            return None
        return self._config.policy.pause_s(failed.retry_after_s, attempt, random.random())

    @property
    def _may_discard(self) -> bool:
        """Whether what has arrived of the turn may be taken back."""
        return not self._has_output or self._limits.retries_late

    def _switch(self, category: ErrorCategory, *, is_late: bool = False) -> bool:
        """Note that the model failed. Returns whether another one is asked from now on."""
        if not self._route.switch(category, is_late=is_late):
            return False
        self._config.switches.append(self._route.switches[-1])
        return True

    async def _try_turn(self) -> ev.TurnFailed | None:
        with self._timers.limit(self._limits.turn_timeout_s, "turn_timeout_s"):
            self.open_turn = turn = await self._open_turn()
            self._has_output = False
            try:
                await self._read(turn)
            finally:
                await turn.aclose()
        self.open_turn = None
        self.next_item, self.next_part = turn.decoder.next_item, turn.decoder.next_part
        last = self._journal.last_event
        return last if isinstance(last, ev.TurnFailed) else None

    async def _read(self, turn: OpenTurn) -> None:
        journal = self._journal
        if not journal.is_immediate:
            while events := await turn.next():
                self._has_output = self._has_output or _has_output(events)
                await journal.write(events)
            return
        # If the log fails, the turn is closed at once, even while the provider is silent.
        with journal.on_log_error(lambda: self._close_later(turn)):
            # After the first output, an event only has to be written.
            put = journal.create_writer()
            while await turn.drain(put if self._has_output else self._put_first):
                await journal.wait_for_room()
            await journal.flush()

    def _close_later(self, turn: OpenTurn) -> None:
        self._closing = asyncio.ensure_future(turn.aclose())

    def _put_first(self, events: ReadResult) -> bool:
        listed = list_events(events)
        self._has_output = _has_output(listed)
        return self._journal.put(listed) or self._has_output

    async def _open_turn(self) -> OpenTurn:
        is_second = False
        while True:
            target = self._choose_target()
            asked = target.request_with(self._history.messages())
            request = await self._config.chain.request(self._view, asked)
            if len(request.messages) > _MAX_MESSAGES_HERE:
                call = await asyncio.to_thread(target.encode, request)
            else:
                call = target.encode(request)
            try:
                return await self._send(target, request, call)
            except RequestFailed as refused:
                before = self._route.describe()
                if self._switch(refused.category):
                    continue
                message = self._describe_refusal(refused, call.url) + before
                broken = RunBroken(refused.category, message)
                if refused.category != "context_overflow" or is_second:
                    raise broken from None
                is_second = True
                compaction = await self._history.compact(is_forced=True)
                if compaction is None:
                    raise broken from None
                await self._journal.write([compaction])

    async def _send(self, target: TurnTarget, request: Request, call: HTTPCall) -> OpenTurn:
        """Send a request and wait for the first events. It carries the trace that it belongs to."""
        self._view.server = find_server(target.model.endpoint.url)
        with self._config.chain.around_turn(self._view, request):
            headers = TRACE_HEADERS.get()
            if headers:
                call = msgspec.structs.replace(call, headers={**call.headers, **headers})
            return await target.open(
                call,
                request,
                self._config.wire_limits,
                strict=self._config.strict,
                numbers=(self.next_item, self.next_part),
            )

    def _choose_target(self) -> TurnTarget:
        """Return the model to ask, and set how it gives a typed answer."""
        self._config.at = self._route.at
        target = self._config.target
        if self._output is not None and target.plan is not None:
            self._output.plan = target.plan
        return target

    def _describe_refusal(self, refused: RequestFailed, url: str) -> str:
        if not self.hides_address:
            return str(refused)
        self.private_error = str(refused)
        return hide_address(self.private_error, url)


def _has_output(events: list[TurnEvent]) -> bool:
    """Return whether part of an answer is among the events: a delta, or a whole part."""
    return any(isinstance(event, _OUTPUT_TYPES) for event in events)


_OUTPUT_TYPES = (
    *ev.DELTA_TYPES,
    ev.ToolCallFinished,
    ev.ReasoningRedacted,
    ev.ToolOutput,
    ev.MediaProduced,
    ev.OpaqueItem,
)
