"""A recorded stream on disk: FILE has its bytes, FILE.chunks.json its reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from headrace.errors import UsageError

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
