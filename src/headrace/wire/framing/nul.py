"""The framing of payloads that each end in a NUL byte, as older versions of vLLM stream."""

from __future__ import annotations

from headrace.errors import LimitExceeded
from headrace.wire.framing.frame import Frame
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

_NUL = 0


class NULFraming:
    """One frame per payload that is not blank. A last payload without its NUL byte may be cut off
    or complete: it is in `unfinished` after `close()`."""

    def __init__(self, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> None:
        self.unfinished: Frame | None = None
        self._max_frame_bytes = limits.max_frame_bytes
        self._tail = bytearray()
        self._error: LimitExceeded | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """Take one read and return the payloads it completed.

        Raises `LimitExceeded` for `max_frame_bytes`.
        """
        if self._error is not None:
            raise self._error
        if _NUL not in data:
            self._tail += data
            self._check(self._tail)
            return []
        *payloads, rest = data.split(b"\0")
        payloads[0] = bytes(self._tail) + payloads[0]
        self._tail = bytearray(rest)
        frames: list[Frame] = []
        try:
            for payload in payloads:
                self._check(payload)
                if payload.strip():
                    frames.append(Frame(payload))
            self._check(rest)
        except LimitExceeded as error:
            # Complete payloads before it are returned first, so that no cut changes the result.
            if not frames:
                raise
            self._error = error
        return frames

    def close(self) -> list[Frame]:
        """Take the end of the bytes; a payload without an end is in `unfinished`."""
        if self._error is not None:
            raise self._error
        rest = bytes(self._tail)
        if rest.strip():
            self.unfinished = Frame(rest)
        return []

    def _check(self, payload: bytes | bytearray) -> None:
        if len(payload) > self._max_frame_bytes:
            raise LimitExceeded("max_frame_bytes", self._max_frame_bytes)
