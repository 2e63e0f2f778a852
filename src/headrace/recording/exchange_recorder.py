"""Writes the exchanges of a proxy to files that `headrace decode` and `headrace replay` can read.

Keys never reach the disk, not even half of one that arrived in two reads.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import parse_qsl, urlsplit

import msgspec

from headrace.errors import UsageError
from headrace.recording.file import MaskedFile
from headrace.secrets.known import HIDDEN
from headrace.transport.body.decompression import ENCODINGS, Inflation
from headrace.transport.call_secrets import address_of, recordable_body, secrets_of, shown_headers
from headrace.transport.stream_error import StreamBroken
from headrace.transport.transport import HTTPCall

Hide = Callable[[Any], Any]
"""Removes what looks like a key from a JSON value."""

_WHOLE = "whole"
# These headers do not identify the caller, and their values are common words.
_HARMLESS = frozenset(
    "host connection keep-alive transfer-encoding te trailer upgrade expect content-length"
    " content-encoding accept-language cache-control pragma origin referer priority".split()
)
_HARMLESS_STARTS = ("x-stainless-", "sec-fetch-", "sec-ch-")
_SHOWN_PARAMETERS = frozenset({"alt", "api-version", "beta"})
_SHOWN_ANSWER = ("content-type", "content-encoding", "request-id", "x-request-id", "retry-after")
_ENDINGS = {
    "text/event-stream": ".sse",
    "application/x-ndjson": ".ndjson",
    "application/ndjson": ".ndjson",
    "application/jsonl": ".jsonl",
    "application/json": ".json",
    "application/vnd.amazon.eventstream": ".eventstream",
}
_SSE_STARTS = (b"data:", b"event:", b"id:", b"retry:", b": ", b":\n")
_NAME_CHARS = 40
_NUMBERED = re.compile(r"(\d{3,9})-")
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class RecordingLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is recorded. Traffic beyond these limits still passes through."""

    max_exchanges: int = 1_000
    """Number of responses in one recording."""
    max_response_bytes: int = 64 * 1024 * 1024
    """Bytes of one response."""
    max_reads: int = 1_000_000
    """Reads of one response."""
    max_request_bytes: int = 16 * 1024 * 1024
    """Bytes of one request body."""


DEFAULT_TAPE_LIMITS = RecordingLimits()


class RecordingFolder:
    """A folder of numbered recordings. Existing files are never overwritten."""

    def __init__(
        self,
        folder: Path,
        *,
        hide: Hide,
        limits: RecordingLimits = DEFAULT_TAPE_LIMITS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            taken = [found for path in folder.iterdir() if (found := _number(path.name))]
        except OSError as error:
            raise UsageError(f"cannot record into {folder}: {error.strerror}") from None
        self.folder = folder
        self.hide = hide
        self.limits = limits
        self.clock = clock
        self.names: list[str] = []
        """What was written, in order."""
        self._last = max(taken, default=0)

    def open(self, name: str, ending: str) -> tuple[Path, BinaryIO]:
        """Create the next file."""
        self._last += 1
        path = self.folder / f"{self._last:03}-{name}{ending}"
        out = path.open("xb")
        self.names.append(path.name)
        return path, out


class ExchangeRecorder:
    """Records one request and its response. `feed()` the reads as they arrive, then `close()`.

    Errors of writing are never raised, so that the traffic passes anyway.
    """

    def __init__(
        self, shelf: RecordingFolder, method: str, url: str, headers: Sequence[tuple[str, str]]
    ) -> None:
        self.method = method
        self.path = str(shelf.hide(urlsplit(url).path))
        self.name: str | None = None
        """The file; None as long as nothing came, and where there was no room."""
        self.status: int | None = None
        self.bytes = 0
        self.reads = 0
        self.ended = ""
        """How it ended, once it has."""
        self._shelf = shelf
        self._url = url
        self._call = _call(url, headers)
        self._secrets = secrets_of(self._call)
        self._body = bytearray()
        self._body_bytes = 0
        self._answer: dict[str, str] = {}
        self._inflation: Inflation | None = None
        self._file: MaskedFile | None = None
        self._trouble = ""
        self._started_s = self._last_s = shelf.clock()

    @property
    def took_s(self) -> float:
        """Time from the request to the last read."""
        return self._last_s - self._started_s

    def ask(self, data: bytes) -> None:
        """Add a piece of the request body."""
        self._body_bytes += len(data)
        if self._body_bytes <= self._shelf.limits.max_request_bytes:
            self._body += data

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Start the response."""
        self.status = status
        self._answer = {name.lower(): value for name, value in headers.items()}
        encoding = self._answer.get("content-encoding", "").strip().lower()
        if encoding in ENCODINGS:
            self._inflation = Inflation(encoding, self._shelf.limits.max_response_bytes)

    def feed(self, data: bytes) -> None:
        """Add one read of the response."""
        self._last_s = self._shelf.clock()
        self.reads += 1
        self.bytes += len(data)
        if self._trouble:
            return
        try:
            inflation = self._inflation
            self._write(data if inflation is None else b"".join(inflation.feed(data)))
        except StreamBroken as error:
            self._trouble = str(error)
        except OSError as error:
            self._trouble = _describe_error(error)

    def close(self, ended: str = _WHOLE) -> None:
        """End the exchange, however it ended. A second call does nothing."""
        if self.ended:
            return
        self.ended = self._trouble or self._end(ended)
        if self._file is None:
            return
        try:
            self._file.close()
            self._file.tell(self._request())
        except OSError as error:
            self.ended = _describe_error(error)

    def _end(self, ended: str) -> str:
        """Return how the response ended; it may be truncated inside its compression."""
        if self._inflation is None or ended != _WHOLE:
            return ended
        try:
            self._inflation.close()
        except StreamBroken as error:
            return str(error)
        return ended

    def _write(self, data: bytes) -> None:
        self._trouble = self._full(len(data))
        if self._trouble:
            return
        file = self._file or self._open_file(data)
        file.feed(data, self._last_s)

    def _full(self, size: int) -> str:
        """Return which limit prevents more writing, or ""."""
        limits, file = self._shelf.limits, self._file
        if (file.bytes if file else 0) + size > limits.max_response_bytes:
            return f"cut at max_response_bytes={limits.max_response_bytes}"
        if (file.reads if file else 0) >= limits.max_reads:
            return f"cut at max_reads={limits.max_reads}"
        if file is None and len(self._shelf.names) >= limits.max_exchanges:
            return f"not kept: there are max_exchanges={limits.max_exchanges} of them"
        return ""

    def _open_file(self, start: bytes) -> MaskedFile:
        path, out = self._shelf.open(_name(self.path), _ending(self._answer, start))
        self.name = path.name
        file = self._file = MaskedFile(path, out, self._secrets, self._started_s)
        # Written at once, so that a killed process leaves the bytes with their request.
        file.tell(self._request())
        return file

    def _request(self) -> Any:
        told: dict[str, Any] = {
            "method": self.method,
            "url": address_of(self._url),
            "query": _query(self._url),
            "headers": shown_headers(self._call),
            "body": self._recorded_body(),
            "answer": {
                "status": self.status,
                "headers": {n: v for n, v in self._answer.items() if n in _SHOWN_ANSWER},
                "ended": self.ended or "the recording was stopped",
            },
        }
        return self._shelf.hide(told)

    def _recorded_body(self) -> Any:
        if self._body_bytes != len(self._body):
            return f"{self._body_bytes} bytes, more than max_request_bytes"
        return recordable_body(bytes(self._body)) if self._body else None


def _describe_error(error: OSError) -> str:
    return f"cannot be written: {error.strerror or error}"


def _call(url: str, headers: Sequence[tuple[str, str]]) -> HTTPCall:
    """Return the call with everything that may be secret."""
    kept: dict[str, str] = {}
    for number, (name, value) in enumerate(headers):
        lower = name.lower()
        if lower not in _HARMLESS and not lower.startswith(_HARMLESS_STARTS):
            # Both of two headers with the same name are secrets. Bytes that are not text are
            # ignored.
            key = f"{name} {number}" if name in kept else name
            kept[key] = value.encode("utf-8", "replace").decode()
    parts = urlsplit(url)
    given = parts.query.split("&")
    hidden = [one for one in given if one.partition("=")[0] not in _SHOWN_PARAMETERS]
    return HTTPCall(url=parts._replace(query="&".join(hidden)).geturl(), headers=kept, body=b"")


def _number(file: str) -> int:
    found = _NUMBERED.match(file)
    return int(found[1]) if found else 0


def _query(url: str) -> dict[str, str]:
    return {
        name: value if name in _SHOWN_PARAMETERS else HIDDEN
        for name, value in parse_qsl(urlsplit(url).query, keep_blank_values=True)
    }


def _name(path: str) -> str:
    """Build a safe file name from the last words of the path."""
    words = _NO_NAME.sub("-", path.rstrip("/").rpartition("/")[2])[-_NAME_CHARS:]
    return words.strip("-.") or "answer"


def _ending(headers: Mapping[str, str], start: bytes) -> str:
    """Choose the file ending by the bytes, or by the media type."""
    if start.lstrip().startswith(_SSE_STARTS):
        return ".sse"
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return _ENDINGS.get(kind, ".txt" if kind.startswith("text/") else ".bin")
