"""Stores uploaded files until they are part of a message, by default in a folder."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import uuid
from collections.abc import AsyncIterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import msgspec

from headrace.attachment import MAX_BYTES
from headrace.server.storage.files.file_type import FileRefused, check_file, clean_name

KEEP_MS: Final = 24 * 3600 * 1000
"""How long a file is kept that nobody sends. A message has a copy of its own."""
_ID: Final = re.compile(r"file_[0-9a-f]{32}")


class FileInfo(msgspec.Struct, frozen=True, kw_only=True):
    """An uploaded file."""

    id: str
    """Id of the file, for `ChatRequest.attachments`."""
    name: str
    """Name to display."""
    media_type: str
    """Type, by its bytes."""
    size: int
    """Number of bytes."""
    sha256: str
    """Hash of the bytes."""
    created_ms: int
    """Time of the upload."""


class Files(Protocol):
    """Where uploaded files are kept. Each belongs to its owner; nobody else can find it."""

    async def save(
        self, owner: str, name: str, chunks: AsyncIterable[bytes], now_ms: int
    ) -> FileInfo:
        """Store a file as it arrives. Raises `FileRefused`; then nothing of it is kept."""
        ...

    async def load(self, owner: str, file_id: str) -> tuple[FileInfo, bytes]:
        """Return a file. Raises `FileRefused` if the owner has none with this id."""
        ...

    async def delete(self, owner: str, file_id: str) -> bool:
        """Delete a file. Return False if the owner has none with this id."""
        ...

    async def list(self, owner: str) -> Sequence[FileInfo]:
        """Return the files of an owner."""
        ...

    async def delete_all(self, owner: str) -> None:
        """Delete the files of an owner, also those that are still arriving."""
        ...

    async def expire(self, before_ms: int) -> int:
        """Delete files that are older, and return how many."""
        ...


class FolderFiles:
    """Files in a folder, under ids that the server makes: nothing that a client sends is part of a
    path. Only this process uses the folder.

    A file has at most `max_bytes`; a user has at most `max_files` files that were not sent, and
    `max_user_bytes` of them together.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int = MAX_BYTES,
        max_files: int = 100,
        max_user_bytes: int = 200_000_000,
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._max_files = max_files
        self._max_user_bytes = max_user_bytes
        # Bytes of the uploads that are arriving, by owner.
        self._arriving: dict[str, int] = {}

    async def save(
        self, owner: str, name: str, chunks: AsyncIterable[bytes], now_ms: int
    ) -> FileInfo:
        place = self._place(owner)
        used, count = await asyncio.to_thread(_measure, place)
        if count >= self._max_files:
            raise files_full()
        part = place / f"{uuid.uuid4().hex}.part"
        try:
            await asyncio.to_thread(place.mkdir, 0o700, parents=True, exist_ok=True)
            await self._receive(owner, part, chunks, used)
            return await asyncio.to_thread(_keep, part, clean_name(name), now_ms)
        finally:
            await asyncio.to_thread(part.unlink, missing_ok=True)

    async def _receive(
        self, owner: str, part: Path, chunks: AsyncIterable[bytes], used: int
    ) -> None:
        size = 0
        file: BinaryIO = await asyncio.to_thread(_create, part)
        try:
            async for chunk in chunks:
                size += len(chunk)
                arriving = self._arriving.get(owner, 0) + len(chunk)
                self._arriving[owner] = arriving
                if size > self._max_bytes:
                    raise too_large(self._max_bytes)
                if used + arriving > self._max_user_bytes:
                    raise files_full()
                await asyncio.to_thread(file.write, chunk)
        finally:
            file.close()
            left = self._arriving.get(owner, 0) - size
            self._arriving[owner] = left
            if left <= 0:
                self._arriving.pop(owner, None)

    async def load(self, owner: str, file_id: str) -> tuple[FileInfo, bytes]:
        if _ID.fullmatch(file_id) is None:
            raise no_file()
        place = self._place(owner)
        try:
            return await asyncio.to_thread(_load, place / file_id)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            raise no_file() from None

    async def delete(self, owner: str, file_id: str) -> bool:
        if _ID.fullmatch(file_id) is None:
            return False
        return await asyncio.to_thread(_remove, self._place(owner) / file_id)

    async def list(self, owner: str) -> Sequence[FileInfo]:
        return await asyncio.to_thread(_list, self._place(owner))

    async def delete_all(self, owner: str) -> None:
        await asyncio.to_thread(shutil.rmtree, self._place(owner), ignore_errors=True)

    async def expire(self, before_ms: int) -> int:
        return await asyncio.to_thread(self._expire, before_ms)

    def _expire(self, before_ms: int) -> int:
        gone = 0
        for path in _walk(self._folder):
            try:
                if path.stat().st_mtime * 1000 < before_ms:
                    path.unlink(missing_ok=True)
                    gone += path.suffix == ""
            except OSError:
                continue
        return gone

    def _place(self, owner: str) -> Path:
        """Return the folder of a user, whose name is in it as a hash."""
        return self._folder / hashlib.sha256(owner.encode()).hexdigest()[:32]


def _create(part: Path) -> BinaryIO:
    return os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _keep(part: Path, name: str, now_ms: int) -> FileInfo:
    """Check a file that has arrived, and keep it under an id."""
    data = part.read_bytes()
    info = FileInfo(
        id=f"file_{uuid.uuid4().hex}",
        name=name,
        media_type=check_file(data, name),
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        created_ms=now_ms,
    )
    told = part.with_name(f"{info.id}.json")
    with _create(told) as file:
        file.write(msgspec.json.encode(info))
    # A file without a description is not found; so it comes second.
    os.replace(part, part.with_name(info.id))
    return info


def _load(path: Path) -> tuple[FileInfo, bytes]:
    info = msgspec.json.decode(path.with_name(f"{path.name}.json").read_bytes(), type=FileInfo)
    return info, path.read_bytes()


def _list(place: Path) -> Sequence[FileInfo]:
    found: list[FileInfo] = []
    for path in sorted(place.glob("file_*.json")):
        with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
            found.append(msgspec.json.decode(path.read_bytes(), type=FileInfo))
    return found


def _remove(path: Path) -> bool:
    was_there = path.exists()
    for one in (path, path.with_name(f"{path.name}.json")):
        one.unlink(missing_ok=True)
    return was_there


def _measure(place: Path) -> tuple[int, int]:
    """Return the bytes and the number of files of a user, without those that are arriving."""
    sizes = [path.stat().st_size for path in _walk(place) if path.suffix == ""]
    return sum(sizes), len(sizes)


def _walk(folder: Path) -> Iterator[Path]:
    return (path for path in folder.glob("**/*") if path.is_file())


def too_large(max_bytes: int) -> FileRefused:
    """Return the error for a file that is too large."""
    return FileRefused("too_large", f"the file is larger than {max_bytes // 1024 // 1024} MB")


def files_full() -> FileRefused:
    """Return the error for a user who has uploaded too much that was not sent."""
    return FileRefused("too_many_files", "too many files wait to be sent: send or remove some")


def no_file() -> FileRefused:
    """Return the error for an id that the user has no file with."""
    return FileRefused("no_file", "there is no such file: upload it again")
