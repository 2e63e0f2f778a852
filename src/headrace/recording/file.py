"""A recorded stream on disk: FILE has its bytes, FILE.chunks.json its reads.

Not even half a key is ever written, even if the process is killed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec

from headrace.errors import UsageError
from headrace.secrets.known import KnownSecrets

READS_ENDING = ".chunks.json"
REQUEST_ENDING = ".request.json"

_CHUNK_BYTES = 64 * 1024


class Recording(msgspec.Struct, frozen=True):
    """The length of each read and, if known, the pause before it in milliseconds."""

    lens: list[Annotated[int, msgspec.Meta(ge=0)]]
    ms: list[Annotated[float, msgspec.Meta(ge=0)]] | None = None

    def cut(self, data: bytes) -> Iterator[bytes]:
        """Return the reads. Bytes beyond the lengths follow in chunks."""
        start = 0
        for length in self.lens:
            yield data[start : start + length]
            start += length
        for at in range(start, len(data), _CHUNK_BYTES):
            yield data[at : at + _CHUNK_BYTES]


def load_recording(path: Path) -> Recording:
    """Load the reads beside a stream, if any. Raises `UsageError` for an invalid list."""
    file = path.with_name(path.name + READS_ENDING)
    if not file.exists():
        return Recording([])
    try:
        recording = msgspec.json.decode(file.read_bytes(), type=Recording)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} lists no reads: {error}") from None
    if recording.ms is not None and len(recording.ms) != len(recording.lens):
        raise UsageError(
            f"{file} has {len(recording.lens)} lens and {len(recording.ms)} ms;"
            " expected as many of both"
        )
    return recording


class MaskedFile:
    """Writes FILE, with FILE.chunks.json and FILE.request.json beside it.

    `feed()` the reads as they arrive, then `close()`. The data is on disk when `feed()` returns,
    except for an end that may be the beginning of a key. Raises `OSError`.
    """

    def __init__(self, path: Path, out: BinaryIO, secrets: KnownSecrets, since_s: float) -> None:
        self.bytes = 0
        self._path = path
        self._out = out
        self._secrets = secrets
        self._last_s = since_s
        self._lens: list[int] = []
        self._ms: list[float] = []
        self._hold_bytes = max(secrets.longest_bytes - 1, 0)
        # The end of the data. It may be partly written, and is kept to detect keys that span reads.
        self._seen = b""
        self._written = 0

    @property
    def reads(self) -> int:
        """Number of reads so far."""
        return len(self._lens)

    def feed(self, data: bytes, now_s: float) -> None:
        """Write one read and its time."""
        self.bytes += len(data)
        self._lens.append(len(data))
        self._ms.append(round((now_s - self._last_s) * 1000, 3))
        self._last_s = now_s
        self._seen += data
        end = len(self._seen) - self._hold_bytes
        if end <= self._written:
            return
        self._out.write(self._secrets.mask(self._seen)[self._written : end])
        self._out.flush()
        start = max(end - self._hold_bytes, 0)
        self._seen, self._written = self._seen[start:], end - start

    def tell(self, request: Any) -> None:
        """Write the request, replacing an earlier version."""
        told = msgspec.json.format(msgspec.json.encode(request), indent=2)
        self._beside(REQUEST_ENDING, self._secrets.hide(told.decode()).encode())

    def close(self) -> None:
        """Write the rest and the list of reads. A second call does nothing."""
        if self._out.closed:
            return
        with self._out as out:
            out.write(self._secrets.mask_end(self._seen)[self._written :])
        self._beside(READS_ENDING, msgspec.json.encode(Recording(self._lens, self._ms)))

    def _beside(self, ending: str, data: bytes) -> None:
        self._path.with_name(self._path.name + ending).write_bytes(data)
