"""The agent loop: turns and tools, step after step, until there is one end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

import msgspec

from headrace.encoders import Request
from headrace.engine.journal.journal import Journal
from headrace.engine.journal.sink import SinkFailed
from headrace.engine.middleware.chain import MiddlewareFailed
from headrace.engine.middleware.middleware import RunView
from headrace.engine.run_config import Plan
from headrace.engine.tool_runner import ToolRunner, unanswered
from headrace.errors import HeadraceError, RequestFailed, Terminate
from headrace.events import (
    DELTA_TYPES,
    Event,
    HistoryCompacted,
    MediaProduced,
    OpaqueItem,
    ReasoningRedacted,
    RunFailed,
    RunFinished,
    RunStarted,
    StepDiscarded,
    StepFinished,
    StepStarted,
    ToolCallFinished,
    ToolOutput,
    TurnEvent,
    TurnFailed,
)
from headrace.messages import CallPart, Message, Turn
from headrace.outcome import ErrorCategory, ErrorInfo, FinishReason, abort_reason
from headrace.turn.open_turn import OpenTurn, open_turn
from headrace.usage import Usage
from headrace.wire.decoder import Decoder

End = RunFinished | RunFailed
# What cannot change an end that is being written.
_AT_THE_END = (MiddlewareFailed, Terminate, SinkFailed)
_ENDING_WORDS = frozenset({"content_filter", "context_full"})


class RunBroken(HeadraceError):
    """The run cannot go on; it ends as `RunFailed`."""

    def __init__(self, category: ErrorCategory, message: str) -> None:
        super().__init__(message)
        self.category: ErrorCategory = category


class Loop:
    """One run. `begin()` writes `RunStarted` into the journal, `play()` all from there to the last
    `StepFinished`, and returns how the run ends; `abort()` does what is left to do when `play()`
    was stopped. The terminal record is written by `finish()`."""

    def __init__(
        self, plan: Plan, journal: Journal, view: RunView, stop: Callable[[FinishReason], None]
    ) -> None:
        self._plan = plan
        self._chain = plan.chain
        self._limits = plan.limits
        self._journal = journal
        self._view = view
        self._stop = stop
        self._history: tuple[Message, ...] = plan.request.messages
        self._nudge: str | None = None
        self._compaction: HistoryCompacted | None = None
        self._has_spoken = False
        self._turn: OpenTurn | None = None
        self._workshop: ToolRunner | None = None
        self._leaving: asyncio.Task[None] | None = None
        self._is_in_step = False
        self._next_item = 0
        self._next_part = 0
        self.late_failure: HeadraceError | None = None
        """What middleware raised at the terminal record itself."""

    # -- the run

    async def begin(self) -> None:
        """Write `RunStarted`, whatever comes then."""
        effort = self._plan.request.options.effort
        start = RunStarted(self._view.run_id, self._plan.model.name, effort)
        await self._journal.write([start])

    async def play(self) -> FinishReason:
        """Until the model has ended its turn, or something ends the run."""
        write = self._journal.write
        await self._chain.start(self._view)
        for step in range(self._limits.max_iterations):
            await self._compact()
            self._view.step = step
            # Whatever middleware says to it, it will have been written.
            self._is_in_step = True
            await write([StepStarted(step)])
            finish = await self._step(step)
            self._is_in_step = False
            nudge, self._nudge = self._nudge, None
            await write([StepFinished(step, nudge)])
            if finish is not None:
                return finish
        return abort_reason("max_iterations", f"max_iterations={self._limits.max_iterations}")

    async def finish(self, end: End) -> None:
        """Tell everybody, and write the terminal record: once, whatever they do."""
        try:
            end = await self._journal.rewritten(end)
            await self._chain.run_end(self._view, end)
        except Terminate as terminate:
            end = RunFinished(abort_reason("terminated", terminate.reason), end.usage)
        except MiddlewareFailed as failed:
            end = RunFailed(category="unknown", message=str(failed), usage=end.usage)
        try:
            await self._journal.write([end], is_rewritten=True)
        except _AT_THE_END as failed:
            # It has been written, and nothing can follow it: the caller is told instead.
            self.late_failure = failed

    @property
    def usage(self) -> Usage:
        """The sum over all turns so far."""
        return self._journal.assembler.usage

    # -- a step

    async def _step(self, step: int) -> FinishReason | None:
        """One turn and its calls. Returns how the run ends, None to go on."""
        turn = await self._take_turn(step)
        self._view.message = self._journal.assembler.message()
        calls = [call for call in turn.calls if call.executor == "client"]
        finish = turn.finish
        assert finish is not None
        if finish.word in _ENDING_WORDS:
            await self._journal.write([unanswered(call) for call in calls])
            return finish
        if calls:
            return await self._work(calls)
        if finish.word == "paused":
            return None
        return await self._ended(turn, finish)

    async def _ended(self, turn: Turn, finish: FinishReason) -> FinishReason | None:
        self._nudge = await self._chain.turn_end(self._view, turn)
        return finish if self._nudge is None else None

    async def _work(self, calls: list[CallPart]) -> FinishReason | None:
        shop = ToolRunner(self._view, self._chain, self._plan.tools, self._limits)
        self._workshop = shop
        async for event in shop.events(calls):
            await self._journal.write([event])
        self._workshop = None
        if shop.ends_run is not None:
            return abort_reason("terminated", f"ended by the tool {shop.ends_run}")
        return None

    # -- a turn

    async def _take_turn(self, step: int) -> Turn:
        """A turn that ended as a turn should; raises `RunBroken` where none does."""
        attempt = 1
        has_compacted = False
        while True:
            failed = await self._try_turn()
            if failed is None:
                return self._journal.assembler.turns[-1].turn()
            pause_s = self._pause_s(failed, attempt)
            if failed.category == "context_overflow" and not has_compacted:
                # Some providers say so as the first event of a stream, not as a refusal.
                has_compacted = not self._has_spoken and await self._can_compact()
                pause_s = 0.0 if has_compacted else None
            if pause_s is None:
                raise RunBroken(failed.category, failed.message)
            await self._journal.write([StepDiscarded(step, failed.message)])
            if has_compacted:
                await self._told_compaction()
            await asyncio.sleep(pause_s)
            attempt += 1

    def _pause_s(self, failed: TurnFailed, attempt: int) -> float | None:
        """How long to wait before the turn is tried again; None: it is not."""
        if not failed.retryable or attempt >= self._limits.turn_attempts:
            return None
        if self._has_spoken and not self._limits.retries_late:
            return None
        return self._plan.policy.pause_s(failed.retry_after_s, attempt, random.random())

    async def _try_turn(self) -> TurnFailed | None:
        with self.timer(self._limits.turn_timeout_s, "turn_timeout_s"):
            self._turn = turn = await self._opened()
            self._has_spoken = False
            try:
                await self._read(turn)
            finally:
                await turn.aclose()
        self._turn = None
        self._next_item, self._next_part = turn.decoder.next_item, turn.decoder.next_part
        last = self._journal.records[-1].event
        return last if isinstance(last, TurnFailed) else None

    async def _read(self, turn: OpenTurn) -> None:
        journal = self._journal
        if not journal.is_immediate:
            while events := await turn.next():
                self._has_spoken = self._has_spoken or _says(events)
                await journal.write(events)
            return
        # A log that fails while the provider is silent ends the turn, not its next word.
        with journal.watched(lambda: self._leave(turn)):
            # Once something was said, nothing but writing is to be done for an event.
            while await turn.drain(journal.put if self._has_spoken else self._put_first):
                await journal.has_room()
            await journal.landed()

    def _leave(self, turn: OpenTurn) -> None:
        self._leaving = asyncio.ensure_future(turn.aclose())

    def _put_first(self, events: list[TurnEvent]) -> bool:
        self._has_spoken = _says(events)
        return self._journal.put(events) or self._has_spoken

    async def _opened(self) -> OpenTurn:
        is_second = False
        while True:
            request = await self._chain.request(self._view, self._asked())
            call = self._plan.model.call(request)
            try:
                return await open_turn(
                    self._plan.model.transport, call, self._new_decoder, self._plan.policy
                )
            except RequestFailed as refused:
                if refused.category != "context_overflow" or is_second:
                    raise RunBroken(refused.category, str(refused)) from None
                is_second = True
                if not await self._can_compact():
                    raise RunBroken(refused.category, str(refused)) from None
                await self._told_compaction()

    def _new_decoder(self) -> Decoder:
        return self._plan.model.decoder(
            self._plan.wire_limits, first_item=self._next_item, first_part=self._next_part
        )

    def _asked(self) -> Request:
        """The request with all that has been said so far."""
        return msgspec.structs.replace(self._plan.request, messages=self._messages())

    def _messages(self) -> tuple[Message, ...]:
        message = self._journal.assembler.message()
        return (*self._history, message) if message.turns else self._history

    async def _compact(self) -> None:
        """Make the history shorter, if the strategy wants that."""
        if await self._can_compact(is_forced=False):
            await self._told_compaction()

    async def _can_compact(self, *, is_forced: bool = True) -> bool:
        """Whether the history has become shorter. This run's own answer counts for the
        budget, and stays as it is."""
        compactor = self._plan.compactor
        if compactor is None:
            return False
        messages = self._messages()
        compacted = await compactor.compact(messages, is_forced=is_forced)
        if compacted is None:
            return False
        own = self._view.run_id
        kept = tuple(one for one in compacted if one.run_id != own or one.role != "assistant")
        before, after = len(self._history), len(kept)
        self._history = kept
        self._compaction = HistoryCompacted(before, after, compactor.name)
        return True

    async def _told_compaction(self) -> None:
        told, self._compaction = self._compaction, None
        if told is not None:
            await self._journal.write([told])

    def timer(self, seconds: float | None, name: str) -> AbstractContextManager[None]:
        """Stop the run when the time is up."""
        return nullcontext() if seconds is None else self._timed(seconds, name)

    @contextmanager
    def _timed(self, seconds: float, name: str) -> Generator[None, None, None]:
        reason = abort_reason("timeout", f"{name}={seconds:g}")
        handle = asyncio.get_running_loop().call_later(seconds, self._stop, reason)
        try:
            yield
        finally:
            handle.cancel()

    # -- the end, when it comes from outside

    async def abort(self, why: str) -> None:
        """Close what is open: the turn, the tools, the step. Every call is answered. The
        provider is let go of first; what fails on the way does not stop the rest."""
        turn, self._turn = self._turn, None
        if turn is not None:
            with suppress(Exception):
                await turn.aclose()
        await self._journal.settle(self._limits.closing_s)
        for stage in (
            self._abort_turn(turn, why),
            self._abort_tools(),
            self._answer_rest(),
            self._end_step(),
        ):
            with suppress(Exception):
                await stage

    async def _abort_turn(self, turn: OpenTurn | None, why: str) -> None:
        if turn is not None:
            await self._quietly(turn.decoder.fail(ErrorInfo("interrupted", why)))

    async def _end_step(self) -> None:
        if self._is_in_step:
            self._is_in_step = False
            await self._quietly([StepFinished(self._view.step)])

    async def _abort_tools(self) -> None:
        shop, self._workshop = self._workshop, None
        if shop is not None:
            await self._quietly(await shop.close())

    async def _answer_rest(self) -> None:
        turns = self._journal.assembler.turns
        turn = turns[-1].turn() if turns else Turn()
        answered = {result.call_id for result in turn.results}
        calls = [c for c in turn.calls if c.executor == "client" and c.call_id not in answered]
        await self._quietly([unanswered(call) for call in calls])

    async def _quietly(self, events: Sequence[Event]) -> None:
        """The run is ending: what middleware says to that does not change it."""
        with suppress(*_AT_THE_END):
            await self._journal.write(events)


def _says(events: list[TurnEvent]) -> bool:
    """Whether something of an answer is there: a delta, or a part that comes whole."""
    return any(isinstance(event, _SPOKEN) for event in events)


_SPOKEN = (
    *DELTA_TYPES,
    ToolCallFinished,
    ReasoningRedacted,
    ToolOutput,
    MediaProduced,
    OpaqueItem,
)
