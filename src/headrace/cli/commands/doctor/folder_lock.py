"""Who holds a data folder. Nothing is locked to find out: a server that starts at the same
moment must not find the lock taken by us."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import msgspec

from headrace.server.storage.data_folder import LOCK, Holder

_LOCKS = Path("/proc/locks")


class Holding(NamedTuple):
    """A process that holds a folder; `pid` is 0 where it does not say."""

    pid: int
    address: str = ""


def holding(folder: Path) -> Holding | None:
    """The one that holds the folder, if somebody does."""
    path = folder / LOCK
    try:
        holder = msgspec.json.decode(path.read_bytes()[:4096], type=Holder)
    except OSError:
        return None
    except msgspec.DecodeError:
        holder = Holder(0)
    if not _is_locked(path, holder.pid):
        return None
    return Holding(holder.pid, holder.address)


def _is_locked(path: Path, pid: int) -> bool:
    """Linux lists its locks; elsewhere the process is looked for."""
    try:
        rows = [line.split() for line in _LOCKS.read_text().splitlines()]
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
