"""Plays the run of a sub-agent inside the run that called it."""

from __future__ import annotations

import asyncio

import msgspec

from headrace.content import TextContent
from headrace.engine.loop import End, Loop
from headrace.engine.middleware.middleware import RunView
from headrace.engine.nested.nested_journal import NestedJournal
from headrace.engine.nested.nesting import Nesting, never
from headrace.engine.run_broken import RunEnded
from headrace.engine.run_config import RunConfig
from headrace.engine.run_end import describe_error, end_of
from headrace.events import RunFinished
from headrace.messages import Message
from headrace.outcome import FinishReason
from headrace.tools import ToolReturn, tool_error


async def play_nested(config: RunConfig, nesting: Nesting) -> ToolReturn:
    """Play a nested run, or go on with it, and return its answer as the result of its call.

    If the task is cancelled, the calls that run are stopped and the records are left as they are:
    the run around it closes them, or suspends.
    """
    run = _NestedRun(config, nesting)
    try:
        if nesting.progress.end is None:
            await run.play()
    finally:
        run.release()
        for target in config.targets:
            await target.model.aclose()
    return _to_result(nesting.progress.assembler.message())


class _NestedRun:
    def __init__(self, config: RunConfig, nesting: Nesting) -> None:
        scope, progress = nesting.scope, nesting.progress
        view = RunView(
            scope.run_id, config.name, nesting.path, scope.user, nesting.outer_steps, scope.clock
        )
        if scope.chain is not None:
            config.chain.inherit(scope.chain)
        journal = NestedJournal(view, config.chain, nesting)
        self._limits = config.limits
        self._loop = Loop(
            config,
            journal,
            view,
            scope,
            self._stop,
            progress=None if progress.state == "before" else progress,
            wake=nesting.wake,
        )
        self._nesting = nesting
        nesting.is_waiting = self._loop.is_waiting
        self._task = asyncio.current_task()
        self._reason: FinishReason | None = None

    async def play(self) -> None:
        """Play the run to its terminal record."""
        loop = self._loop
        expired: RunEnded | None = None
        try:
            end = await self._play_steps()
        except RunEnded as error:
            # Nobody has answered in time: that ends the runs around this one too.
            expired = error
            await loop.abort(str(error))
            end = end_of(error, loop.usage)
        except Exception as error:  # noqa: BLE001 (an edge: the run must get an end)
            await loop.abort(describe_error(error))
            end = end_of(error, loop.usage)
        await loop.finish(end)
        if expired is not None:
            raise expired

    def release(self) -> None:
        """Let go of everything: what is over must not keep itself in memory."""
        self._nesting.is_waiting = never
        self._task = None
        del self._loop

    async def _play_steps(self) -> End:
        loop = self._loop
        try:
            await loop.begin()
            with (
                loop.timers.limit(self._limits.run_timeout_s, "run_timeout_s"),
                loop.timers.pause_with(self._nesting.timer),
            ):
                return RunFinished(await loop.play(), loop.usage)
        except asyncio.CancelledError:
            if self._reason is None or self._task is None:
                await loop.leave(self._nesting.closing_s)
                raise
            self._task.uncancel()
            await loop.abort(str(self._reason))
            return RunFinished(self._reason, loop.usage)

    def _stop(self, reason: FinishReason) -> None:
        """End the run because of a time limit."""
        if self._reason is None and self._task is not None:
            self._reason = reason
            self._task.cancel()


def _to_result(message: Message) -> ToolReturn:
    """Return the answer of a sub-agent as the result of its call."""
    if message.error is not None:
        return tool_error(f"The sub-agent failed: {message.error.message}")
    finish = message.finish
    if finish is not None and finish.word == "aborted":
        return tool_error(f"The sub-agent was stopped: {finish.detail or finish.kind}")
    if message.output is not msgspec.UNSET:
        return ToolReturn(content=(TextContent(msgspec.json.encode(message.output).decode()),))
    text = message.turns[-1].text if message.turns else ""
    return ToolReturn(content=(TextContent(text),))
