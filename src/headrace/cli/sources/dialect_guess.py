"""Recognizes the dialect of a recorded stream, or that it is not a supported stream.

A live stream has to be read as something, so the decoder assumes the most common dialect. A file
may be anything, and an unknown one must not look like a failed stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from headrace.cli.sources.reads import Read
from headrace.errors import InputError, WireError
from headrace.wire.detection import detect, dialect_of_framing
from headrace.wire.dialects import DIALECT_NAMES
from headrace.wire.framing import Frame, create_framing
from headrace.wire.json.payload import NotJSON, parse
from headrace.wire.json.value import as_object
from headrace.wire.limits import DEFAULT_WIRE_LIMITS

_MAX_FRAMES = 64
_MAX_HELD_BYTES = 2 * DEFAULT_WIRE_LIMITS.max_frame_bytes
_MAX_DEPTH = DEFAULT_WIRE_LIMITS.max_depth


def recognize(reads: Iterator[Read], framing: str) -> tuple[str | None, Iterator[Read]]:
    """Return the dialect and all reads again.

    The dialect is None if the stream only holds an error, which is the same in all dialects. Raises
    `InputError` if no dialect fits.
    """
    look, held = _Look(framing), list[Read]()
    for read in reads:
        held.append(read)
        look.feed(read.data)
        if look.is_over:
            break
    else:
        look.close()
    return look.verdict(), chain(held, reads)


class _Look:
    """Looks at frames one by one.

    A terminator or an error says nothing about the payloads before it: many grammars end with
    `[DONE]`, and all can fail.
    """

    def __init__(self, framing: str) -> None:
        self._framing = create_framing(framing)
        self._only = dialect_of_framing(framing)
        self._name: str | None = None
        self._late_name: str | None = None
        self._has_end = False
        self._has_foreign = False
        self._frames = 0
        self._bytes = 0
        self._broken: WireError | None = None

    def feed(self, data: bytes) -> None:
        self._bytes += len(data)
        try:
            self._judge(self._framing.feed(data))
        except WireError as error:
            self._broken = error

    def close(self) -> None:
        try:
            self._judge(self._framing.close())
            if self._framing.unfinished is not None:
                self._judge([self._framing.unfinished])
        except WireError as error:
            self._broken = error

    @property
    def is_over(self) -> bool:
        """Return whether more bytes would change nothing, or enough were seen."""
        is_long = self._frames >= _MAX_FRAMES or self._bytes > _MAX_HELD_BYTES
        return is_long or self._name is not None or self._broken is not None

    def verdict(self) -> str | None:
        if self._name is not None:
            return self._name
        if self._has_end and not self._has_foreign:
            return self._late_name
        if not self._bytes:
            raise InputError("the stream is empty")
        if self._broken is not None:
            raise InputError(f"the framing is wrong: {self._broken}; try another --framing")
        raise InputError(
            "this stream is in no known dialect; choose one with --dialect: "
            + ", ".join(DIALECT_NAMES)
        )

    def _judge(self, frames: list[Frame]) -> None:
        for frame in frames:
            if self._name is not None:
                return
            self._frames += 1
            name = self._only or detect(frame, _MAX_DEPTH)
            payload = _payload(frame)
            if _is_end(frame, payload):
                self._has_end = True
                self._late_name = self._late_name or name
            elif name is not None:
                self._name = name
            elif payload is not None and as_object(payload).get("type") != "ping":
                self._has_foreign = True


def _payload(frame: Frame) -> Any:
    try:
        return parse(frame.data, _MAX_DEPTH)
    except NotJSON:
        return None


def _is_end(frame: Frame, payload: Any) -> bool:
    if frame.data.strip() == b"[DONE]" or "error" in (frame.event, frame.field):
        return True
    fields = as_object(payload)
    return "choices" not in fields and bool(fields.get("error"))
