"""The data folder of a server: private to its user, and locked by one process at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import msgspec

from headrace.errors import UsageError

LOCK = "server.lock"
DATABASE = "headrace.db"
_PROC_LOCKS = Path("/proc/locks")
_MAX_LOCK_BYTES = 4096
_MIN_FREE_BYTES = 262_144
"""Free space without which a question may not fit although a shorter write still does."""


class Holder(msgspec.Struct, frozen=True):
    """The process that has locked a data folder."""

    pid: int
    """Process id, or 0 if the lock file does not say."""
    address: str = ""
    """URL at which it serves, or empty if it does not listen."""


class FolderHeld(UsageError):
    """Another process has locked the data folder; `holder` is that process."""

    def __init__(self, path: Path, holder: Holder) -> None:
        super().__init__(f"{path} is in use by another server: {_describe(holder)}")
        self.holder = holder


class DataFolder:
    """Creates and locks a data folder, until `close()` or the end of the process.

    Raises `FolderHeld` if another process has locked it, and `UsageError` if it cannot be used.
    """

    def __init__(self, path: Path, *, address: str = "") -> None:
        # The program around the server may change its working directory later.
        path = self.path = path.absolute()
        try:
            _create_private(path)
            self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._file = os.open(path / LOCK, flags, 0o600)
        except OSError as error:
            text = f"cannot use {path} as the data folder: {error.strerror}"
            raise UsageError(text) from None
        before = os.pread(self._file, _MAX_LOCK_BYTES, 0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The folder as well: a lock file can be removed while a server runs.
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._release()
            raise FolderHeld(path, _decode_holder(before)) from None
        self.was_killed = bool(before)
        """Whether the last process that had locked the folder did not call `close()`."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, msgspec.json.encode(Holder(os.getpid(), address)), 0)

    @property
    def database(self) -> Path:
        """Path of the database file."""
        return self.path / DATABASE

    def find_problem(self) -> str:
        """Return what is wrong with the folder: it was removed or replaced since it was locked, or
        its disk is full. Otherwise an empty string."""
        if not _is_same(self._folder, self.path):
            return "the data folder was removed or replaced"
        if not _is_same(self._file, self.path / LOCK):
            return "the lock file of the data folder was removed"
        disk = os.fstatvfs(self._folder)
        if disk.f_bavail * disk.f_frsize < _MIN_FREE_BYTES:
            return "the disk of the data folder is full"
        return ""

    def close(self) -> None:
        """Note that the folder is complete, and release the lock."""
        os.ftruncate(self._file, 0)
        self._release()

    def _release(self) -> None:
        os.close(self._file)
        os.close(self._folder)


def _create_private(path: Path) -> None:
    """Create a folder, or make an existing one of this user private."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = path.stat()
    if found.st_mode & 0o077 and found.st_uid == os.geteuid():
        path.chmod(0o700)


def _is_same(descriptor: int, path: Path) -> bool:
    """Return whether an open file is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def find_holder(folder: Path) -> Holder | None:
    """Return the process that has locked a folder, or None.

    The lock itself is not tried: a server that starts at this moment would find it taken.
    """
    path = folder / LOCK
    try:
        holder = _decode_holder(path.read_bytes()[:_MAX_LOCK_BYTES])
    except OSError:
        return None
    return holder if _is_locked(path, holder.pid) else None


def _is_locked(path: Path, pid: int) -> bool:
    """Look for the lock in Linux's table of locks; elsewhere, whether the process exists."""
    try:
        rows = [line.split() for line in _PROC_LOCKS.read_text().splitlines()]
        inode = str(path.stat().st_ino)
    except OSError:
        return _is_alive(pid)
    # 1: FLOCK ADVISORY WRITE 4711 08:01:123456 0 EOF
    places = [row[5] for row in rows if len(row) > 5 and row[1] == "FLOCK"]
    return any(place.rpartition(":")[2] == inode for place in places)


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _decode_holder(data: bytes) -> Holder:
    try:
        return msgspec.json.decode(data, type=Holder)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Holder(0)


def _describe(holder: Holder) -> str:
    if not holder.pid:
        return "its lock file does not say which"
    where = f" at {holder.address}" if holder.address else ""
    return f"process {holder.pid}{where}. Stop it, or choose another folder with --data"
