"""What every place for uploads promises. A second implementation is one more row of `PLACES`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.server.storage.files import FileRefused, Files, FolderFiles
from headrace.server.storage.postgres.files import PostgresFiles
from headrace.server.storage.postgres.pool import Pool
from headrace.server.storage.postgres.schema import migrate
from tests.postgres import shared_server

TEXT = b"A headrace brings a stream to the wheel.\n"
MAX_BYTES = 3_000_000
Opened = Callable[[], Any]


def _folder(data: Path) -> Opened:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Files]:
        yield FolderFiles(data / "files", max_bytes=MAX_BYTES)

    return opened


def _postgres(data: Path) -> Opened:
    url = shared_server().create_database()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Files]:
        pool = Pool(url)
        await pool.open()
        await migrate(pool)
        try:
            yield PostgresFiles(pool, max_bytes=MAX_BYTES)
        finally:
            await pool.close()

    return opened


PLACES: dict[str, Callable[[Path], Opened]] = {"folder": _folder, "postgres": _postgres}


@pytest.fixture(params=PLACES)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    return PLACES[request.param](tmp_path)


def play(opened: Opened, body: Callable[[Files], Awaitable[None]]) -> None:
    async def main() -> None:
        async with opened() as files:
            await body(files)

    asyncio.run(main())


async def arriving(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def test_a_file_comes_back_as_it_was_sent_also_in_many_chunks(opened: Opened) -> None:
    async def body(files: Files) -> None:
        sent = [TEXT * 1_000 for _ in range(60)]
        info = await files.save("anna", "../a \n.txt", arriving(*sent), 7)
        assert info.size == len(b"".join(sent))
        assert info.media_type == "text/plain"
        assert "/" not in info.name
        assert await files.load("anna", info.id) == (info, b"".join(sent))

    play(opened, body)


def test_a_file_exists_for_its_owner_alone(opened: Opened) -> None:
    async def body(files: Files) -> None:
        info = await files.save("anna", "a.txt", arriving(TEXT), 7)
        for owner, file_id in (("ben", info.id), ("anna", "../x"), ("anna", "file_" + "0" * 32)):
            with pytest.raises(FileRefused, match="no such file"):
                await files.load(owner, file_id)
            assert not await files.delete(owner, file_id)
        assert (await files.load("anna", info.id))[1] == TEXT
        assert await files.delete("anna", info.id)
        assert not await files.delete("anna", info.id)

    play(opened, body)


def test_what_is_refused_leaves_nothing(opened: Opened) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield TEXT
        raise ConnectionResetError

    async def body(files: Files) -> None:
        with pytest.raises(FileRefused, match="larger than"):
            await files.save("anna", "a.txt", arriving(*[TEXT * 1_000] * 100), 7)
        with pytest.raises(FileRefused):
            await files.save("anna", "a.exe", arriving(b"MZ\x90\0" + bytes(100)), 7)
        with pytest.raises(ConnectionResetError):
            await files.save("anna", "a.txt", broken(), 7)
        for number in range(100):
            await files.save("anna", f"{number}.txt", arriving(TEXT), 7)
        with pytest.raises(FileRefused, match="too many files"):
            await files.save("anna", "more.txt", arriving(TEXT), 7)
        await files.save("ben", "his.txt", arriving(TEXT), 7)

    play(opened, body)


def test_old_files_are_deleted(opened: Opened) -> None:
    async def body(files: Files) -> None:
        info = await files.save("anna", "a.txt", arriving(TEXT), 7)
        assert await files.expire(0) == 0
        assert await files.expire(2**42) == 1
        with pytest.raises(FileRefused):
            await files.load("anna", info.id)

    play(opened, body)


def test_all_files_of_an_owner_are_listed_and_deleted_and_no_others(opened: Opened) -> None:
    async def body(files: Files) -> None:
        assert list(await files.list("anna")) == []
        infos = [await files.save("anna", f"{n}.txt", arriving(TEXT), n) for n in range(3)]
        other = await files.save("bert", "b.txt", arriving(TEXT), 1)
        listed = await files.list("anna")
        assert sorted(listed, key=lambda one: one.created_ms) == infos
        await files.delete_all("anna")
        assert list(await files.list("anna")) == []
        with pytest.raises(FileRefused):
            await files.load("anna", infos[0].id)
        assert [one.id for one in await files.list("bert")] == [other.id]
        await files.delete_all("nobody")

    play(opened, body)
