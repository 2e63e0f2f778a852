"""The data folder: made with its owner's rights alone, and held by one server at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import msgspec

from headrace.errors import UsageError

LOCK = "server.lock"


class Holder(msgspec.Struct, frozen=True):
    """Who holds a data folder."""

    pid: int
    address: str = ""


class FolderHeld(UsageError):
    """Another process holds the folder; `holder` is None where it does not say who it is."""

    def __init__(self, path: Path, holder: Holder | None) -> None:
        super().__init__(f"{path} is held by another server: {_told(holder)}")
        self.holder = holder


class DataFolder:
    """Holds the folder until `close()`, or until the process is gone, however it went."""

    def __init__(self, path: Path, *, address: str = "") -> None:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path = path
        self._file = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(self._file)
            os.close(self._file)
            raise FolderHeld(path, holder) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, msgspec.json.encode(Holder(os.getpid(), address)), 0)

    @property
    def database(self) -> Path:
        """The file that everything is kept in."""
        return self.path / "headrace.db"

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._file)


def _holder(file: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(file, 4096, 0), type=Holder)
    except msgspec.DecodeError:
        return None


def _told(holder: Holder | None) -> str:
    if holder is None:
        return "it does not say which"
    where = f" at {holder.address}" if holder.address else ""
    return f"process {holder.pid}{where}; stop it, or choose another folder with --data"
