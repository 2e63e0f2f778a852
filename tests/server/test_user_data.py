"""Everything of a user can be exported and deleted, and what is deleted is nowhere any more."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.engine import Agent
from headrace.rehearsal.script import say, stall, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server.http.user_export import export_user
from headrace.server.service import now_ms
from headrace.server.storage.access_tokens import User
from headrace.server.storage.accounts.account import DELETED_USER
from headrace.server.storage.postgres.pool import Pool
from tests.postgres import shared_server
from tests.server.accounts import PASSWORD, password_hash
from tests.server.serving import Served, served
from tests.server.users import FROM_PAGE

NAME = "quillfeather"
MARK = "zanzibarine"
KINDS = ("sqlite", "postgres")


class Place:
    """Where a server stores its data, and what of it contains some bytes."""

    def __init__(self, kind: str, data: Path) -> None:
        self.kind = kind
        self.data = data
        self.store = shared_server().create_database() if kind == "postgres" else None

    @property
    def options(self) -> list[str]:
        return ["--data", str(self.data), *(["--store", self.store] if self.store else [])]

    async def find(self, text: str) -> list[str]:
        """Return the files and tables that contain a text."""
        found = [
            path.name
            for path in self.data.rglob("*")
            if path.is_file() and text.encode() in path.read_bytes()
        ]
        return found if self.store is None else [*found, *await self._find_rows(text)]

    async def _find_rows(self, text: str) -> list[str]:
        pool = Pool(self.store or "")
        await pool.open()
        try:
            query = "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'"
            names = [row["name"] for row in await pool.fetch(query)]
            assert "messages" in names
            rows = {
                name: await pool.fetch(f"SELECT t::text AS row FROM {name} t") for name in names
            }
        finally:
            await pool.close()
        # Bytes are written as hexadecimal digits.
        parts = (text, text.encode().hex())
        return [
            name
            for name, found in rows.items()
            for part in parts
            if part in str([*map(str, found)])
        ]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `headrace user` in another process."""
        command = [sys.executable, "-m", "headrace", "user", *words, *self.options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    @asynccontextmanager
    async def serve(self, **settings: Any) -> AsyncIterator[Served]:
        def play(heard: Any) -> Any:
            text = str(heard)
            word = MARK if MARK in text else "nothing"
            return turn(say(f"An answer about {word}. "), *([stall()] if "slow" in text else []))

        transport = ScriptedTransport(play, dialect="chat")
        agent = Agent("openai-chat:test", transport=transport, api_key="k")
        options = {"needs_sign_in": True, "drain_s": 0.2, "store": self.store, **settings}
        async with served(agent, self.data, **options) as server:
            server.service.user_chores.deletion_grace_s = 0.0
            yield server


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(request.param, tmp_path / "data")


class Person:
    """Somebody who is signed in."""

    def __init__(self, server: Served, headers: dict[str, str]) -> None:
        self.server = server
        self.headers = headers

    @classmethod
    async def enter(cls, server: Served, name: str) -> Person:
        await server.service.accounts.add(name, "user", password_hash(), 1)
        headers = {**FROM_PAGE, "origin": server.url, "user-agent": f"Browser of {name}"}
        body = {"user": name, "password": PASSWORD}
        url = f"{server.url}/api/sign-in"
        async with server.http.post(url, json=body, headers=headers) as response:
            assert response.status == 200, await response.text()
            headers["cookie"] = response.headers["set-cookie"].partition(";")[0]
        server.http.cookie_jar.clear()
        return cls(server, headers)

    async def send(self, verb: str, path: str, **options: Any) -> tuple[int, str]:
        url = f"{self.server.url}{path}"
        headers = {**self.headers, **options.pop("headers", {})}
        async with self.server.http.request(verb, url, headers=headers, **options) as response:
            return response.status, await response.text()

    async def fill(self, mark: str) -> None:
        """Leave something in every place."""
        async with self.server.open(f"One {mark}?", headers=self.headers) as response:
            conversation = response.headers["x-conversation-id"]
            await response.read()
        path = f"/api/conversations/{conversation}"
        assert (await self.send("PATCH", path, json={"title": f"About {mark}"}))[0] == 200
        settings = {"instructions": f"Mention {mark}."}
        assert (await self.send("PATCH", "/api/account/settings", json=settings))[0] == 200
        sent = {"content-type": "application/octet-stream", "x-file-name": f"{mark}.txt"}
        status, _ = await self.send("POST", "/api/files", data=mark.encode(), headers=sent)
        assert status == 200
        status, _ = await self.send(
            "POST", "/v1/responses", json={"model": "default", "input": mark}
        )
        assert status == 200


async def until_gone(place: Place, *texts: str) -> None:
    """Wait until nothing contains one of these texts."""
    found: list[str] = []
    for _ in range(300):
        found = [where for text in texts for where in await place.find(text)]
        if not found:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"still in {found}")


def test_a_deleted_user_is_nowhere_after_the_housekeeping(place: Place) -> None:
    async def main() -> None:
        async with place.serve() as server:
            person, other = await Person.enter(server, NAME), await Person.enter(server, "bert")
            await person.fill(MARK)
            await other.fill("cormorant")
            async with server.open(f"A slow one, {MARK}.", headers=person.headers) as live:
                await live.content.readline()
                for text in (NAME, f"One {MARK}", f"about {MARK}", f"Mention {MARK}"):
                    assert await place.find(text), text
                done = await asyncio.to_thread(place.run, "delete", NAME, "--yes")
                assert (done.returncode, done.stdout) == (0, ""), done.stderr
                async with asyncio.timeout(60):
                    await live.content.read()
            assert (await person.send("GET", "/api/account"))[0] == 401
            await until_gone(place, NAME, MARK)
            status, text = await other.send("GET", "/api/conversations?q=cormorant")
            assert (status, len(json.loads(text)["conversations"])) == (200, 2)
            again = await asyncio.to_thread(place.run, "delete", NAME, "--yes")
            assert f"nothing is stored of a user {NAME}" in again.stderr

    asyncio.run(main())


def test_what_arrives_of_a_deleted_user_a_little_later_is_deleted_too(place: Place) -> None:
    async def main() -> None:
        async with place.serve() as server:
            await Person.enter(server, NAME)
            service: Any = server.service
            service.user_chores.deletion_grace_s = 3600.0
            data, accounts = service.storage.user_data, service.accounts
            assert await data.request_deletion(NAME, now_ms())
            async with asyncio.timeout(60):
                while not all(one.is_emptied for one in await data.requested_deletions()):
                    await asyncio.sleep(0.05)
            # A request that was accepted before, and whose body has taken so long.
            service.identity.find_user = take_for(NAME)
            async with server.open(f"One {MARK}?") as response:
                assert response.status == 200
                await response.read()
            settings = {"instructions": f"Mention {MARK}."}
            url = f"{server.url}/api/account/settings"
            async with server.http.patch(url, json=settings) as response:
                assert response.status == 200
            assert not await accounts.add(NAME, "user", password_hash(), 1)
            await until_gone(place, f"One {MARK}", f"Mention {MARK}")
            service.user_chores.deletion_grace_s = 0.0
            await until_gone(place, NAME)
            assert await accounts.add(NAME, "user", password_hash(), 1)

    asyncio.run(main())


def take_for(name: str) -> Any:
    """Take everybody for this user."""

    async def find(request: Any, scope: Any) -> User:
        return User(name)

    return find


def test_the_usage_of_a_deleted_user_stays_without_the_name(place: Place) -> None:
    async def main() -> None:
        async with place.serve() as server:
            person = await Person.enter(server, NAME)
            await person.fill(MARK)
            data = server.service.storage.user_data
            count = len(await data.usage(NAME))
            assert count >= 2
            await data.request_deletion(NAME, 1)
            async with asyncio.timeout(60):
                while await data.requested_deletions():
                    await asyncio.sleep(0.05)
            assert await data.usage(NAME) == []
            assert len(await data.usage(DELETED_USER)) == count

    asyncio.run(main())


def test_without_a_server_the_command_deletes_by_itself(tmp_path: Path) -> None:
    place = Place("sqlite", tmp_path / "data")

    async def main() -> None:
        async with place.serve(on_interrupt="continue") as server:
            person = await Person.enter(server, NAME)
            await person.fill(MARK)

    asyncio.run(main())
    assert asyncio.run(place.find(MARK))
    refused = place.run("delete", NAME)
    assert "confirm it with --yes" in refused.stderr
    assert asyncio.run(place.find(NAME))
    done = place.run("delete", NAME, "--yes")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert asyncio.run(place.find(NAME)) == []
    assert asyncio.run(place.find(MARK)) == []


def test_own_data_is_deleted_and_the_account_stays(place: Place) -> None:
    async def main() -> None:
        async with place.serve() as server:
            person, other = await Person.enter(server, NAME), await Person.enter(server, "bert")
            await person.fill(MARK)
            await other.fill("cormorant")
            async with server.open(f"A slow one, {MARK}.", headers=person.headers) as live:
                await live.content.readline()
                assert (await person.send("DELETE", "/api/account/data"))[0] == 204
            await until_gone(place, MARK)
            _, text = await person.send("GET", "/api/account")
            assert json.loads(text)["settings"] == {}
            _, text = await person.send("GET", "/api/conversations")
            assert json.loads(text)["conversations"] == []
            _, text = await other.send("GET", "/api/conversations")
            assert len(json.loads(text)["conversations"]) == 2

    asyncio.run(main())


def test_an_export_has_everything_of_a_user_and_of_no_other(place: Place, tmp_path: Path) -> None:
    async def main() -> list[str]:
        async with place.serve() as server:
            person, other = await Person.enter(server, NAME), await Person.enter(server, "bert")
            await person.fill(MARK)
            await other.fill("cormorant")
            status, text = await person.send("GET", "/api/account/export")
            assert status == 200
            file = tmp_path / "out.jsonl"
            done = await asyncio.to_thread(place.run, "export", NAME, str(file))
            assert done.returncode == 0, done.stderr
            assert file.stat().st_mode & 0o077 == 0
            assert (await asyncio.to_thread(place.run, "export", NAME, str(file))).returncode == 1
            return [text, file.read_text("utf-8")]

    for text in asyncio.run(main()):
        lines = [json.loads(line) for line in text.splitlines()]
        kinds = [line["type"] for line in lines]
        assert kinds.count("conversation") == 2
        assert kinds.count("message") == 4
        assert {"user", "settings", "sign_in", "file", "usage"} <= set(kinds)
        assert lines[0] == {
            "type": "user",
            "user": {"name": NAME, "role": "user", "created_ms": 1},
        }
        assert lines[1]["settings"] == {"instructions": f"Mention {MARK}."}
        assert "cormorant" not in text
        assert "argon2" not in text
        assert "hrs_" not in text


def test_t17_an_export_writes_large_files_in_pieces(place: Place) -> None:
    data = b"A line of text.\n" * 60_000 + b"end"

    async def main() -> None:
        async with place.serve() as server:
            person = await Person.enter(server, NAME)
            sent = {"content-type": "application/octet-stream", "x-file-name": 'a"b.txt'}
            status, _ = await person.send("POST", "/api/files", data=data, headers=sent)
            assert status == 200
            storage = server.service.user_chores.storage
            pieces = [piece async for piece in export_user(storage, NAME)]
            assert max(map(len, pieces)) <= 65_536
            lines = [json.loads(line) for line in b"".join(pieces).splitlines()]
            (file,) = [line["file"] for line in lines if line["type"] == "file"]
            assert base64.b64decode(file.pop("data"), validate=True) == data
            assert file["size"] == len(data)
            status, text = await person.send("GET", "/api/account/export")
            assert status == 200
            assert [json.loads(line)["type"] for line in text.splitlines()].count("file") == 1

    asyncio.run(main())


def test_old_conversations_are_deleted_and_nowhere_any_more(place: Place) -> None:
    async def main() -> None:
        day_s = 86_400.0
        async with place.serve(keep_conversations_s=30 * day_s) as server:
            person = await Person.enter(server, NAME)
            await person.fill(MARK)
            chores = server.service.user_chores
            service: Any = server.service
            assert await chores.expire_conversations() == 0
            start_ms = now_ms()
            trusted = service.storage.is_clock_trusted

            async def trust(given_ms: int) -> bool:
                return await trusted(start_ms)

            service.storage.is_clock_trusted = trust
            service.clock = lambda: start_ms + int(29 * day_s * 1000)
            assert await chores.expire_conversations() == 0
            service.clock = lambda: start_ms + int(31 * day_s * 1000)
            assert await chores.expire_conversations() == 2
            # The settings and files of the user stay.
            await until_gone(place, f"One {MARK}", f"about {MARK}", f"About {MARK}")

    asyncio.run(main())
