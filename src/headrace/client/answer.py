"""An answer of the server: iterate over it to read its frames while they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from headrace.client.connection import ClientError, Response
from headrace.projections.ux import MessageEvent, UXFrame, decode_frame
from headrace.projections.ux.frame import MessageCancelled, MessageError, MessageFinal
from headrace.transport.loop_thread import shared_loop
from headrace.wire.framing.sse import SSEFraming

if TYPE_CHECKING:
    from headrace.server.api import CancelResult

END_FRAMES = (MessageFinal, MessageError, MessageCancelled)
"""The types of the last frame of an answer."""
_PAUSES_S = (0.25, 0.5, 1.0, 2.0, 4.0)
_GIVEN_UP = (
    "the connection to the server broke. The answer is still being written there, and will be in"
    " its conversation"
)


class AsyncAnswer:
    """An answer, and its stream of frames. Iterate over it with `async for`, once.

    If the connection breaks, the stream is resumed after the last frame received. Iterating raises
    `ClientError` if that fails for about eight seconds.
    """

    def __init__(
        self,
        response: Response,
        resume: Callable[[str, str], Awaitable[Response]],
        cancel: Callable[[str], Awaitable[CancelResult]],
        after: str = "",
    ) -> None:
        self._response: Response | None = response
        self._resume = resume
        self._cancel = cancel
        self.event_id = response.headers.get("x-event-id", "")
        """Id of the answer; `watch()` and `cancel()` take it."""
        self.conversation_id = response.headers.get("x-conversation-id", "")
        """Id of the conversation; pass it to `ask()` to continue."""
        self.question_id = response.headers.get("x-parent-id", "")
        """Id of the user message that is answered."""
        self.last_frame_id = after
        """Id of the last frame received, for the `after` of `watch()`."""
        self.event: MessageEvent | None = None
        """The whole answer, after its last frame."""

    async def __aiter__(self) -> AsyncIterator[UXFrame]:
        async for frames in self.batches():
            for frame in frames:
                yield frame

    async def batches(self) -> AsyncGenerator[list[UXFrame], None]:
        """Return the frames in lists, as they arrive together."""
        pauses = iter(_PAUSES_S)
        while True:
            has_frames = False
            try:
                async for frames in self._read():
                    pauses, has_frames = iter(_PAUSES_S), True
                    last = frames[-1]
                    if isinstance(last, END_FRAMES):
                        self.event = last.event
                    yield frames
                    if self.event is not None:
                        return
                # The stream has ended regularly: there is nothing after the last frame received.
                if not has_frames:
                    return
            except ClientError as error:
                if not error.is_temporary:
                    raise
            pause_s = next(pauses, None)
            if pause_s is None:
                raise ClientError(None, "network", _GIVEN_UP)
            await asyncio.sleep(pause_s)

    async def wait(self) -> MessageEvent:
        """Read to the end and return the whole answer, also if it failed or was cancelled."""
        if self.event is None:
            await self._drain()
        if self.event is None:
            # Reading began after the last frame, which carries the answer.
            self.last_frame_id = ""
            await self._drain()
        if self.event is None:
            raise ClientError(None, "network", "the stream ended without a last frame")
        return self.event

    async def _drain(self) -> None:
        async for _ in self.batches():
            pass

    async def cancel(self) -> None:
        """Cancel the run. The stream goes on until its last frame, which tells the outcome."""
        await self._cancel(self.event_id)

    async def aclose(self) -> None:
        """Stop reading. The run goes on."""
        if self._response is not None:
            await self._response.aclose()

    async def _read(self) -> AsyncGenerator[list[UXFrame], None]:
        response, self._response = self._response, None
        if response is None:
            response = await self._resume(self.event_id, self.last_frame_id or "0")
        framing = SSEFraming()
        try:
            async for chunk in response:
                if events := framing.feed(chunk):
                    self.last_frame_id = framing.last_event_id or self.last_frame_id
                    frames = [_decode(event.data) for event in events]
                    if known := [frame for frame in frames if frame is not None]:
                        yield known
        finally:
            await response.aclose()


class Answer:
    """An answer, and its stream of frames. Iterate over it with `for`, once.

    Synchronous version of `AsyncAnswer`.
    """

    def __init__(self, answer: AsyncAnswer) -> None:
        self._answer = answer
        self.event_id = answer.event_id
        """Id of the answer; `watch()` and `cancel()` take it."""
        self.conversation_id = answer.conversation_id
        """Id of the conversation; pass it to `ask()` to continue."""
        self.question_id = answer.question_id
        """Id of the user message that is answered."""

    def __iter__(self) -> Iterator[UXFrame]:
        with shared_loop().iterate(self._answer.batches()) as batches:
            for frames in batches:
                yield from frames

    @property
    def last_frame_id(self) -> str:
        """Id of the last frame received, for the `after` of `watch()`."""
        return self._answer.last_frame_id

    @property
    def event(self) -> MessageEvent | None:
        """The whole answer, after its last frame."""
        return self._answer.event

    def wait(self) -> MessageEvent:
        """Read to the end and return the whole answer, also if it failed or was cancelled."""
        return shared_loop().run(self._answer.wait())

    def cancel(self) -> None:
        """Cancel the run. The stream goes on until its last frame, which tells the outcome."""
        shared_loop().run(self._answer.cancel())


def _decode(data: bytes) -> UXFrame | None:
    """Decode a frame. Return None for a type that only a newer server knows."""
    try:
        return decode_frame(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
