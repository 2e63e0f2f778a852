"""A transport that records the streams of another transport."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from headrace.errors import UsageError
from headrace.recording.file import MaskedFile
from headrace.transport.call_secrets import address_of, recordable_body, secrets_of, shown_headers
from headrace.transport.transport import ByteStream, HTTPCall, Transport


class RecordingTransport:
    """Wraps a transport and records its streams while they are read.

    FILE gets the bytes, FILE.chunks.json the length of each read and the milliseconds before it,
    FILE.request.json the request. A second stream goes to FILE-2 (before the ending), and so on.
    What arrived before a break is kept. Only harmless headers are written, and keys that a server
    sends back are replaced by asterisks.
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
        """Open the wrapped stream. A refused call leaves no file."""
        if not self._file.parent.is_dir():
            raise UsageError(f"cannot record to {self._file}: there is no such folder")
        sent_s = self._clock()
        stream = await self._inner.open(call)
        self._streams += 1
        path = self._file
        if self._streams > 1:
            path = path.with_stem(f"{path.stem}-{self._streams}")
        try:
            file = MaskedFile(path, path.open("wb"), secrets_of(call), sent_s)
            shown = {"url": address_of(call.url), "headers": shown_headers(call)}
            file.tell({**shown, "body": recordable_body(call.body)})
        except BaseException:
            await stream.aclose()
            raise
        return RecordingStream(stream, file, self._clock)

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._inner.aclose()


class RecordingStream:
    """A stream that is recorded while it is read."""

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
            # A full disk must not hide why the stream ended.
            with suppress(OSError):
                self._file.close()
            raise
        self._file.feed(read, self._clock())
        return read

    async def aclose(self) -> None:
        """Close the wrapped stream and finish the recording."""
        try:
            self._file.close()
        finally:
            await self._inner.aclose()
