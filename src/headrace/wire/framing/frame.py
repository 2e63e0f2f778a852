"""The frame, one payload cut out of a byte stream, and the interface of all framings."""

from __future__ import annotations

from typing import Protocol

import msgspec

STRAY = ""
"""The `field` of a payload that came without one."""
BYTES = "bytes"
"""The `field` of a payload that came as base64 inside another one."""
CUT = "cut"
"""The `field` of an empty frame that stands for a message which the end of the bytes cut off."""


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One payload. `data` stays bytes, which JSON decoders read; `text` replaces invalid UTF-8."""

    data: bytes
    event: str = ""
    """The SSE event name; empty where the stream gave none."""
    field: str = "data"
    """The field the payload came in: `data`, an extra field of the framing, or one of the above."""
    last_event_id: str = ""
    retry_ms: int | None = None

    @property
    def text(self) -> str:
        """The payload as text, with invalid UTF-8 replaced by U+FFFD."""
        return self.data.decode("utf-8", "replace")


class Framing(Protocol):
    """Turns bytes into frames. After `close()`, `unfinished` is the frame that the end of the bytes
    cut off, if there is one: the format discards it, but a dialect may still use it."""

    unfinished: Frame | None

    def feed(self, data: bytes) -> list[Frame]:
        """Take one read of any length and return the frames it completed.

        Raises `LimitExceeded` if the stream exceeds a named limit, and `WireError` if it breaks the
        format. Complete frames of the same read are returned first, and the next call of `feed` or
        `close` raises, so that the result does not depend on how reads are cut. After an error the
        framing must not be fed again.
        """
        ...

    def close(self) -> list[Frame]:
        """Take the end of the bytes and return the remaining frames. Raises like `feed`."""
        ...


class SingleFraming(Framing, Protocol):
    """A framing that can cut a read of exactly one frame without creating the frame."""

    single_event: str
    """The event of the frame that `cut_single` cut last."""

    def cut_single(self, data: bytes) -> bytes | None:
        """Return the payload if the read is exactly one common frame. Otherwise return None and
        change nothing: the read must then go to `feed`. Never cuts frames of the event `error`."""
        ...
