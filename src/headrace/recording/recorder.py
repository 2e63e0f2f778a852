"""Recording a live stream: its raw bytes, their timing, and the request without its keys."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from headrace.errors import UsageError
from headrace.recording.masked_file import MaskedFile
from headrace.transport.call_secrets import Secrets, address_of, shown_headers, told_body
from headrace.transport.transport import ByteStream, HTTPCall, Transport


class RecordingTransport:
    """Another transport whose streams are written down as they are read.

    FILE gets the bytes, FILE.chunks.json the length of each read and the milliseconds
    before it, FILE.request.json the request. A second stream goes to FILE-2 (before the
    ending), and so on. What came before a break is kept. No header but the harmless ones is
    written, and where a server sends the key back, asterisks stand in its place.
    """

    def __init__(
        self,
        inner: Transport,
        file: str | Path,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._inner = inner
        self._file = Path(file)
        self._clock = clock
        self._streams = 0

    async def open(self, call: HTTPCall) -> RecordingStream:
        """Open the stream below. A call that is refused leaves no file."""
        if not self._file.parent.is_dir():
            raise UsageError(f"cannot record to {self._file}: there is no such folder")
        sent_s = self._clock()
        stream = await self._inner.open(call)
        self._streams += 1
        path = self._file
        if self._streams > 1:
            path = path.with_stem(f"{path.stem}-{self._streams}")
        try:
            file = MaskedFile(path, path.open("wb"), Secrets(call), sent_s)
            file.tell(_request(call))
        except BaseException:
            await stream.aclose()
            raise
        return RecordingStream(stream, file, self._clock)

    async def aclose(self) -> None:
        """Close the transport below."""
        await self._inner.aclose()


class RecordingStream:
    """A stream that is written down while it is read."""

    def __init__(self, inner: ByteStream, file: MaskedFile, clock: Callable[[], float]) -> None:
        self.request_id = inner.request_id
        self.first_event_by_s = inner.first_event_by_s
        self._inner = inner
        self._file = file
        self._clock = clock
        self._reads = aiter(inner)

    def __aiter__(self) -> RecordingStream:
        return self

    async def __anext__(self) -> bytes:
        try:
            read = await anext(self._reads)
        except BaseException:
            # A disk that is full must not hide why the stream ended.
            with suppress(OSError):
                self._file.close()
            raise
        self._file.feed(read, self._clock())
        return read

    async def aclose(self) -> None:
        """Close the stream below, and write down what is known."""
        try:
            self._file.close()
        finally:
            await self._inner.aclose()


def _request(call: HTTPCall) -> dict[str, Any]:
    return {
        "url": address_of(call.url),
        "headers": shown_headers(call),
        "body": told_body(call.body),
    }
