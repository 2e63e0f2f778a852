"""A recording while it is written: bytes without keys, the reads, and the request.

Not even half a key is ever on the disk, even if the process is killed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from headrace.recording.file import READS_ENDING, REQUEST_ENDING, Recording
from headrace.secrets.known import KnownSecrets


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
