"""A recording while it grows: bytes without the keys that they quote, their reads, and what was
asked. At no moment is half of a key on the disk, whoever is killed when."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from headrace.recording.file import READS_ENDING, REQUEST_ENDING, Recording
from headrace.transport.call_secrets import Secrets


class MaskedFile:
    """FILE, with FILE.chunks.json and FILE.request.json beside it. `feed` the reads as they
    come, then `close`. What `feed` was given is on disk when it returns, but for an end that
    could be the beginning of a key. Raises `OSError`."""

    def __init__(self, path: Path, out: BinaryIO, secrets: Secrets, since_s: float) -> None:
        self.bytes = 0
        self._path = path
        self._out = out
        self._secrets = secrets
        self._last_s = since_s
        self._lens: list[int] = []
        self._ms: list[float] = []
        self._hold_bytes = max(secrets.longest_bytes - 1, 0)
        # The end of what came. Some of it is written, and kept to see the keys that it is in.
        self._seen = b""
        self._written = 0

    @property
    def reads(self) -> int:
        """How many came."""
        return len(self._lens)

    def feed(self, data: bytes, now_s: float) -> None:
        """One read, and when it came."""
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
        """Write down what was asked, in place of what was told before."""
        told = msgspec.json.format(msgspec.json.encode(request), indent=2)
        self._beside(REQUEST_ENDING, self._secrets.hide(told.decode()).encode())

    def close(self) -> None:
        """No more reads come; a second time is nothing."""
        if self._out.closed:
            return
        with self._out as out:
            out.write(self._secrets.mask_all(self._seen)[self._written :])
        self._beside(READS_ENDING, msgspec.json.encode(Recording(self._lens, self._ms)))

    def _beside(self, ending: str, data: bytes) -> None:
        self._path.with_name(self._path.name + ending).write_bytes(data)
