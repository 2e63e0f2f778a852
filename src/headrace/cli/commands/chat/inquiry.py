"""Asks the user what a run waits for while its answer goes on arriving."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from headrace.cli.commands.chat.display.display import AnswerView
from headrace.cli.commands.chat.request_prompt import RequestPrompt
from headrace.client import ClientError
from headrace.projections.ux import UXFrame
from headrace.projections.ux.frame import InputAnsweredFrame, InputRequestedFrame


class Inquiry:
    """Passes the frames of one answer to its view, and asks for each request in them.

    While the user is asked, the view is paused and frames are held back. A request that somebody
    else answers meanwhile is dropped. `interrupt` is called for Ctrl-C.
    """

    def __init__(
        self, view: AnswerView, prompt: RequestPrompt, interrupt: Callable[[], None]
    ) -> None:
        self._view = view
        self._prompt = prompt
        self._interrupt = interrupt
        self._open: dict[str, InputRequestedFrame] = {}
        self._held: list[UXFrame] = []
        self._is_asking = False
        self._task: asyncio.Task[None] | None = None
        self._asked: tuple[str, asyncio.Task[None]] | None = None

    def feed(self, frames: Sequence[UXFrame]) -> None:
        """Add frames."""
        for frame in frames:
            if isinstance(frame, InputRequestedFrame):
                self._open[frame.request_id] = frame
            elif isinstance(frame, InputAnsweredFrame):
                self._drop(frame.request_id)
        if self._is_asking:
            self._held += frames
        else:
            self._view.feed(frames)
        if self._open and self._task is None:
            self._task = asyncio.create_task(self._ask_all(), name="requests")

    async def close(self) -> None:
        """Stop asking, and show what was held back."""
        self._open.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        self._resume()

    def _drop(self, request_id: str) -> None:
        self._open.pop(request_id, None)
        if self._asked is not None and self._asked[0] == request_id:
            self._asked[1].cancel()

    async def _ask_all(self) -> None:
        try:
            while self._open:
                request = next(iter(self._open.values()))
                await self._ask(request)
                self._open.pop(request.request_id, None)
        finally:
            self._task = None
            self._resume()

    async def _ask(self, request: InputRequestedFrame) -> None:
        task = asyncio.create_task(self._ask_if_open(request), name="request")
        self._asked = (request.request_id, task)
        try:
            await asyncio.wait({task})
        finally:
            self._asked = None
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled() and isinstance(task.exception(), ClientError):
            self._view.say(str(task.exception()))

    async def _ask_if_open(self, request: InputRequestedFrame) -> None:
        if not await self._prompt.is_open(request):
            return
        self._is_asking = True
        self._view.pause()
        try:
            await self._prompt.ask(request)
        except KeyboardInterrupt:
            # It must not leave the task: asyncio would stop the event loop.
            self._open.clear()
            self._interrupt()

    def _resume(self) -> None:
        if self._is_asking:
            self._is_asking = False
            self._view.resume()
            held, self._held = self._held, []
            self._view.feed(held)
