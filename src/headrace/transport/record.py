"""Recording a live stream: its raw bytes, their timing, and the request without its keys."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from headrace.errors import UsageError
from headrace.transport.byte_stream import ByteStream, HTTPCall, Transport
from headrace.transport.recording import READS_ENDING, REQUEST_ENDING, Recording
from headrace.transport.secret import Secrets, address_of, shown_headers, without_secrets


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
        file = self._file
        if self._streams > 1:
            file = file.with_stem(f"{file.stem}-{self._streams}")
        _beside(file, REQUEST_ENDING).write_bytes(_request(call))
        return RecordingStream(stream, file, Secrets(call), self._clock, sent_s)

    async def aclose(self) -> None:
        """Close the transport below."""
        await self._inner.aclose()


class RecordingStream:
    """A stream that is written down while it is read."""

    def __init__(
        self,
        inner: ByteStream,
        file: Path,
        secrets: Secrets,
        clock: Callable[[], float],
        sent_s: float,
    ) -> None:
        self.request_id = inner.request_id
        self.first_event_by_s = inner.first_event_by_s
        self._inner = inner
        self._file = file
        self._secrets = secrets
        self._clock = clock
        self._last_s = sent_s
        self._lens: list[int] = []
        self._ms: list[float] = []

        self._reads = aiter(inner)
        self._out = file.open("wb")

    def __aiter__(self) -> RecordingStream:
        return self

    async def __anext__(self) -> bytes:
        try:
            read = await anext(self._reads)
        except BaseException:
            self._finish()
            raise
        self._note(len(read))
        self._out.write(self._secrets.mask(read))
        return read

    async def aclose(self) -> None:
        """Close the stream below, and write down what is known."""
        self._finish()
        await self._inner.aclose()

    def _note(self, length: int) -> None:
        now_s = self._clock()
        self._lens.append(length)
        self._ms.append(round((now_s - self._last_s) * 1000, 3))
        self._last_s = now_s

    def _finish(self) -> None:
        if self._out.closed:
            return
        self._out.close()
        recording = Recording(self._lens, self._ms)
        _beside(self._file, READS_ENDING).write_bytes(msgspec.json.encode(recording))
        # A key may have come in two reads.
        written = self._file.read_bytes()
        masked = self._secrets.mask(written)
        if masked != written:
            self._file.write_bytes(masked)


def _beside(file: Path, ending: str) -> Path:
    return file.with_name(file.name + ending)


def _request(call: HTTPCall) -> bytes:
    try:
        body: Any = without_secrets(msgspec.json.decode(call.body))
    except (msgspec.DecodeError, RecursionError):
        body = f"{len(call.body)} bytes that are no JSON"
    request = {"url": address_of(call.url), "headers": shown_headers(call), "body": body}
    written = msgspec.json.format(msgspec.json.encode(request), indent=2)
    return Secrets(call).hide(written.decode()).encode()
