"""Uploaded files in PostgreSQL: any server can send what another one has received."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterable, Sequence
from tempfile import SpooledTemporaryFile
from typing import Final

import msgspec

from headrace.attachment import MAX_BYTES
from headrace.server.storage.files.file_type import check_file, clean_name
from headrace.server.storage.files.files import FileInfo, files_full, no_file, too_large
from headrace.server.storage.postgres.pool import Pool

MAX_FILES: Final = 100
"""Most files of one user that were not sent."""
MAX_USER_BYTES: Final = 200_000_000
"""Most bytes of the files of one user that were not sent."""
_CHUNK_BYTES: Final = 1_000_000


class PostgresFiles:
    """Files in the database that several servers share; see `Files`."""

    def __init__(self, pool: Pool, *, max_bytes: int = MAX_BYTES) -> None:
        self._pool = pool
        self._max_bytes = max_bytes

    async def save(
        self, owner: str, name: str, chunks: AsyncIterable[bytes], now_ms: int
    ) -> FileInfo:
        body, shown = await self._receive(chunks), clean_name(name)
        info = FileInfo(
            id=f"file_{uuid.uuid4().hex}",
            name=shown,
            media_type=check_file(body, shown),
            size=len(body),
            sha256=hashlib.sha256(body).hexdigest(),
            created_ms=now_ms,
        )
        await self._insert(owner, info, body)
        return info

    async def _receive(self, chunks: AsyncIterable[bytes]) -> bytes:
        """Collect what arrives on the disk: slow uploads must not fill the memory together."""
        size = 0
        with SpooledTemporaryFile(max_size=_CHUNK_BYTES) as file:
            async for chunk in chunks:
                size += len(chunk)
                if size > self._max_bytes:
                    raise too_large(self._max_bytes)
                await asyncio.to_thread(file.write, chunk)
            file.seek(0)
            return await asyncio.to_thread(file.read)

    async def _insert(self, owner: str, info: FileInfo, body: bytes) -> None:
        async with self._pool.transaction() as connection:
            # One upload of a user after another, so that they cannot pass the limit together.
            await connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", f"files {owner}"
            )
            used = await connection.fetchrow(
                "SELECT count(*) AS files, coalesce(sum(size), 0) AS bytes FROM files"
                " WHERE owner = $1",
                owner,
            )
            if used["files"] >= MAX_FILES or used["bytes"] + info.size > MAX_USER_BYTES:
                raise files_full()
            await connection.execute(
                "INSERT INTO files (id, owner, info, size, created_ms) VALUES ($1, $2, $3, $4, $5)",
                info.id,
                owner,
                msgspec.json.encode(info),
                info.size,
                info.created_ms,
            )
            for place, start in enumerate(range(0, len(body), _CHUNK_BYTES)):
                await connection.execute(
                    "INSERT INTO file_chunks VALUES ($1, $2, $3)",
                    info.id,
                    place,
                    body[start : start + _CHUNK_BYTES],
                )

    async def load(self, owner: str, file_id: str) -> tuple[FileInfo, bytes]:
        async with self._pool.transaction() as connection:
            found = await connection.fetchval(
                "SELECT info FROM files WHERE id = $1 AND owner = $2", file_id, owner
            )
            if found is None:
                raise no_file()
            rows = await connection.fetch(
                "SELECT body FROM file_chunks WHERE file_id = $1 ORDER BY place", file_id
            )
        info = msgspec.json.decode(found, type=FileInfo)
        return info, b"".join(row["body"] for row in rows)

    async def delete(self, owner: str, file_id: str) -> bool:
        query = "DELETE FROM files WHERE id = $1 AND owner = $2"
        return await self._pool.execute(query, file_id, owner) > 0

    async def list(self, owner: str) -> Sequence[FileInfo]:
        query = "SELECT info FROM files WHERE owner = $1 ORDER BY id"
        found = await self._pool.fetch(query, owner)
        return [msgspec.json.decode(row["info"], type=FileInfo) for row in found]

    async def delete_all(self, owner: str) -> None:
        await self._pool.execute("DELETE FROM files WHERE owner = $1", owner)

    async def expire(self, before_ms: int) -> int:
        return await self._pool.execute("DELETE FROM files WHERE created_ms < $1", before_ms)
