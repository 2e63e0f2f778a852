"""The frames of a stored response: from any event on, up to its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Self

from headrace.projections.registry import find_protocol

_ENDS = tuple(f"\nevent: {kind}\n".encode() for kind in find_protocol("openai-responses").ends)
_DATA = b"\ndata: "


class ResponseFrames:
    """Iterates over batches of frames after the event `starting_after`. The run may go on after
    the end of its response, when it waits for an approval."""

    def __init__(
        self, frames: AsyncIterator[list[bytes]], starting_after: int | None = None
    ) -> None:
        self._frames = frames
        self._skip = 0 if starting_after is None else starting_after + 1
        self.is_over = False
        """Whether the last frame has been returned."""
        self.last: bytes | None = None
        """The last frame of the response, once it has come."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[bytes]:
        while not self.is_over:
            batch = list(await anext(self._frames))
            if self._is_end(batch[-1]):
                self.is_over, self.last = True, batch[-1]
            skipped = min(self._skip, len(batch))
            self._skip -= skipped
            if skipped < len(batch):
                return batch[skipped:]
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop reading."""
        close = getattr(self._frames, "aclose", None)
        if close is not None:
            await close()

    @staticmethod
    def _is_end(frame: bytes) -> bool:
        # The type stands in front of the payload.
        head = frame[: frame.index(_DATA) + 1]
        return any(end in head for end in _ENDS)


def payload_of(frame: bytes) -> bytes:
    """Return the JSON of a server-sent event."""
    start = 0 if frame.startswith(_DATA[1:]) else frame.index(_DATA) + 1
    return frame[start + len(_DATA) - 1 :].rstrip(b"\n")
