"""The frame: one payload cut out of a byte stream, and the seam of all framings."""

from __future__ import annotations

from typing import Protocol

import msgspec


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One payload. `data` stays bytes: JSON decoders read bytes, and text that is no
    valid UTF-8 is replaced only where somebody needs it as text (see `text`)."""

    data: bytes
    event: str = ""
    """The SSE event name; empty where the stream gave none."""
    field: str = "data"
    """The field the payload came in; `data` but for a framing's extra fields."""
    last_event_id: str = ""
    retry_ms: int | None = None

    @property
    def text(self) -> str:
        """The payload as text, invalid UTF-8 as U+FFFD."""
        return self.data.decode("utf-8", "replace")


class Framing(Protocol):
    """Bytes in, frames out. After `close()`, `unfinished` is the frame that the end
    of the bytes cut off, if there is one: the format discards it, a dialect may
    still make sense of it."""

    unfinished: Frame | None

    def feed(self, data: bytes) -> list[Frame]:
        """Take one read of any length; return the frames it completed.

        Raises `LimitExceeded` when the stream passes a named limit and `WireError`
        when it breaks the format. Frames of the same read that were whole before are
        returned first and the next call raises, be it `feed` or `close`: no cut decides
        what is seen before a failure. After it the framing is not to be fed again.
        """
        ...

    def close(self) -> list[Frame]:
        """The bytes have ended; return what was still to come. Raises as `feed` does."""
        ...
