"""What was typed at the prompt, kept from one chat to the next."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

import msgspec
from prompt_toolkit.history import History

MAX_ENTRIES: Final = 1_000
"""Most entries that are kept; the oldest are dropped."""
_MAX_CHARS: Final = 20_000


class PromptHistory(History):
    """The history of the arrow keys, in a file that only its owner can read. A file that cannot be
    read or written is ignored: the history then lasts as long as the chat."""

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self._path = path
        self._is_storing = True

    def load_history_strings(self) -> Iterable[str]:
        """Return the entries, the newest first."""
        return reversed(self._read())

    def store_string(self, string: str) -> None:
        """Add an entry to the file."""
        if not self._is_storing or self._path is None or len(string) > _MAX_CHARS:
            return
        try:
            with os.fdopen(self._open(os.O_APPEND), "ab") as file:
                file.write(msgspec.json.encode(string) + b"\n")
            if self._path.stat().st_size > MAX_ENTRIES * 200:
                self._write(self._read())
        except OSError:
            self._path = None

    def remember(self, text: str) -> None:
        """Add an entry for this chat alone: it is stored elsewhere already."""
        self._is_storing = False
        self.append_string(text)
        self._is_storing = True

    def forget(self, texts: Collection[str]) -> None:
        """Remove entries from the file, for questions that are deleted."""
        kept = [entry for entry in self._read() if entry not in texts]
        try:
            self._write(kept)
        except OSError:
            self._path = None

    def _read(self) -> list[str]:
        if self._path is None:
            return []
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return []
        entries: list[str] = []
        for line in lines[-MAX_ENTRIES:]:
            try:
                entries.append(msgspec.json.decode(line, type=str))
            except (msgspec.DecodeError, UnicodeDecodeError):
                # A line that was cut when the disk was full.
                continue
        return entries

    def _write(self, entries: list[str]) -> None:
        if self._path is None or not self._path.exists():
            return
        with os.fdopen(self._open(os.O_TRUNC), "wb") as file:
            file.writelines(msgspec.json.encode(entry) + b"\n" for entry in entries)

    def _open(self, flags: int) -> int:
        assert self._path is not None
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | flags, 0o600)
