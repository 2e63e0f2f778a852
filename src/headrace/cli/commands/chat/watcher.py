"""Shows an answer while it arrives; the first Ctrl-C stops it, the second quits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager

from headrace.cli.commands.chat.display.display import REFRESH_S, AnswerView
from headrace.cli.commands.chat.inquiry import Inquiry
from headrace.cli.commands.chat.request_prompt import RequestPrompt
from headrace.client import AsyncAnswer
from headrace.client.answer import END_FRAMES
from headrace.projections.ux.frame import EndFrame

LEFT = 130
"""Exit code after Ctrl-C."""
_STOPPING = "Stopping"
_AGAIN_S = 2.0


class Leave(Exception):
    """Raised when the user quits; `code` is the exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Interrupts:
    """Counts presses of Ctrl-C. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last_s: float | None = None
        self._was_idle = False

    def press(self, *, is_idle: bool) -> bool:
        """Return whether to quit: at the second press within two seconds, or at an empty prompt."""
        now_s, last_s = self._clock(), self._last_s
        was_idle, self._was_idle, self._last_s = self._was_idle, is_idle, now_s
        if last_s is None:
            return False
        return now_s - last_s <= _AGAIN_S or (is_idle and was_idle)

    def reset(self) -> None:
        """Forget earlier presses."""
        self._last_s, self._was_idle = None, False


class Watcher:
    """Watches one answer at a time. `listen` takes care of the keyboard meanwhile."""

    def __init__(
        self, interrupts: Interrupts, listen: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._interrupts = interrupts
        self._listen = listen
        self._watch: _Watch | None = None

    def interrupt(self) -> None:
        """Handle Ctrl-C."""
        if self._watch is not None:
            self._watch.stop(is_final=self._interrupts.press(is_idle=False))

    def _stop(self) -> None:
        """Handle Ctrl-C at a question. A signal may have told of the same key."""
        if self._watch is not None and not self._watch.is_stopped:
            self.interrupt()

    def waits(self, told: str) -> None:
        """Show why the answer cannot begin yet."""
        if self._watch is not None:
            self._watch.wait(told)

    async def watch(
        self,
        asked: AbstractAsyncContextManager[AsyncAnswer],
        view: AnswerView,
        begun: Callable[[AsyncAnswer], None],
        prompt: RequestPrompt,
    ) -> EndFrame | None:
        """Return the last frame, or None if it was stopped before it was asked.

        The first Ctrl-C asks the server to stop the answer; what has arrived is kept, and the last
        frame says so. Raises `Leave` at the second.
        """
        inquiry = Inquiry(view, prompt, self._stop)
        watch = self._watch = _Watch(asked, view, inquiry, begun)
        try:
            with self._listen():
                async with _ticking(view):
                    return await watch.task
        except asyncio.CancelledError:
            if not watch.is_stopped:
                raise
            if watch.is_left:
                raise Leave(LEFT) from None
            return None
        finally:
            self._watch = None
            await _cancel(watch.task)
            view.close()


class _Watch:
    """One answer that is being watched."""

    def __init__(
        self,
        asked: AbstractAsyncContextManager[AsyncAnswer],
        view: AnswerView,
        inquiry: Inquiry,
        begun: Callable[[AsyncAnswer], None],
    ) -> None:
        self._view = view
        self._inquiry = inquiry
        self._begun = begun
        self._stop = asyncio.Event()
        self._is_waiting = False
        self.is_left = False
        self.task = asyncio.create_task(self._show(asked), name="answer")

    @property
    def is_stopped(self) -> bool:
        return self._stop.is_set()

    def stop(self, *, is_final: bool) -> None:
        self.is_left = is_final
        self._stop.set()
        self._view.say(_STOPPING)
        # A request that is being sent can only be cancelled after it has begun.
        if is_final or self._is_waiting:
            self.task.cancel()

    def wait(self, told: str) -> None:
        self._is_waiting = True
        self._view.say(told)

    async def _show(self, asked: AbstractAsyncContextManager[AsyncAnswer]) -> EndFrame:
        async with asked as answer:
            self._is_waiting = False
            self._begun(answer)
            if not self.is_stopped:
                self._view.say("")
            stopping = asyncio.create_task(self._cancel_answer(answer), name="stop")
            try:
                async for frames in answer.batches():
                    self._inquiry.feed(frames)
                    last = frames[-1]
                    if isinstance(last, END_FRAMES):
                        return last
            finally:
                await self._inquiry.close()
                await _cancel(stopping)
        raise AssertionError("a stream ends with a last frame, or raises")

    async def _cancel_answer(self, answer: AsyncAnswer) -> None:
        await self._stop.wait()
        await answer.cancel()


@asynccontextmanager
async def _ticking(view: AnswerView) -> AsyncGenerator[None, None]:
    task = asyncio.create_task(_tick(view), name="tick")
    try:
        yield
    finally:
        await _cancel(task)


async def _tick(view: AnswerView) -> None:
    while True:
        view.tick()
        await asyncio.sleep(REFRESH_S)


async def _cancel(task: asyncio.Task[object]) -> None:
    task.cancel()
    await asyncio.wait({task})
