"""What is particular to the log in Valkey: fences that a power cut can take, records that are kept
until they are on the disk, and the way of a log into the store."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.content import TextContent
from headrace.errors import UsageError
from headrace.events import Record
from headrace.messages import Message
from headrace.server import create_app
from headrace.server.runs.waiting.waiting_runs import WaitingRuns
from headrace.server.sse import START, View
from headrace.server.storage.errors import RunTaken, StorageFailed
from headrace.server.storage.open_storage import open_storage
from headrace.server.storage.outage import ConnectionLost
from headrace.server.storage.postgres.storage import PostgresStorage
from headrace.server.storage.postgres.tables.nodes import Nodes
from headrace.server.storage.store import RunRow, RunStart, StoredMessage
from headrace.server.storage.valkey import scripts, writer
from tests.cluster.test_any_server import paying
from tests.conformance.test_log import closed, records
from tests.postgres import shared_server
from tests.server.serving import served
from tests.valkey import ValkeyServer, open_valkey, shared_valkey


@asynccontextmanager
async def opened(url: str, valkey: ValkeyServer, node: str) -> AsyncIterator[PostgresStorage]:
    """The storage of one of several servers."""
    async with open_valkey(url, valkey.url, node) as storage:
        await Nodes(storage.pool).renew(node, 15.0)
        store: Any = storage.store
        store.may_take_over = lambda: True
        yield storage


async def begin(storage: PostgresStorage, name: str = "1") -> RunRow:
    """Begin a run."""
    message = Message(role="user", content=(TextContent("Go."),), created_at_ms=1)
    prompt = StoredMessage(
        id=f"ask_{name}", conversation_id=f"conv_{name}", parent_id=None, message=message
    )
    start = RunStart(
        owner="anna",
        run_id=f"run_{name}",
        message_id=f"msg_{name}",
        model="test",
        now_ms=1,
        fingerprint="",
        conversation_id=f"conv_{name}",
        is_new=True,
        prompt=prompt,
    )
    return (await storage.store.begin(start)).run


async def take(storage: PostgresStorage, run: RunRow) -> RunRow:
    """Claim a run whose server is gone."""

    await Nodes(storage.pool).remove(run.holder or "")
    epoch = await storage.store.claim(run, even_if_live=True)
    assert epoch is not None
    return msgspec.structs.replace(run, epoch=epoch, holder=storage.node)


def unknown(first: int, last: int, text: str = "") -> list[Record]:
    """Records that mean nothing to a reader."""
    event = ev.UnknownEvent("of_tomorrow", f'{{"type":"of_tomorrow","text":"{text}"}}'.encode())
    return [Record(seq, 1_000 + seq, event) for seq in range(first, last + 1)]


def keys(valkey: ValkeyServer, pattern: str) -> int:
    """Return how many keys there are."""
    with socket.create_connection(("127.0.0.1", valkey.port), 5) as connection:
        connection.sendall(f"KEYS {pattern}\r\n".encode())
        return int(connection.recv(65_536).split(b"\r\n")[0][1:])


# --- start --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (("--appendonly", "no"), "appendonly yes"),
        (("--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"), "noeviction"),
    ],
)
def test_a_log_that_would_forget_records_is_refused(options: tuple[str, ...], advice: str) -> None:
    valkey = ValkeyServer(*options)

    async def main() -> None:
        with pytest.raises(UsageError, match=advice):
            async with open_valkey(shared_server().create_database(), valkey.url):
                pass

    asyncio.run(main())


def test_a_log_that_cannot_be_reached_is_named_without_its_password() -> None:
    async def main() -> None:
        url = "valkey://user:secret@127.0.0.1:1/0"
        with pytest.raises(UsageError, match=r"127\.0\.0\.1:1") as raised:
            async with open_valkey(shared_server().create_database(), url):
                pass
        assert "secret" not in str(raised.value)

    asyncio.run(main())


def test_the_log_must_be_an_address_beside_a_store(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="valkey://"):
        open_storage("postgresql://localhost/x", 15.0, "http://localhost")
    with pytest.raises(UsageError, match="store"):
        create_app(paying(), data=tmp_path, log="valkey://localhost")


def test_servers_of_one_database_use_the_same_log() -> None:
    async def main() -> None:
        url = shared_server().create_database()
        async with opened(url, shared_valkey(), "a"):
            other = PostgresStorage(url, node="b")
            with pytest.raises(UsageError, match="--log"):
                await other.open()
            await other.close()
            await _forget(url)
        # Nobody uses it any more.
        await other.open()
        await other.close()

    asyncio.run(main())


async def _forget(url: str) -> None:
    storage = PostgresStorage(url, log_url=shared_valkey().url, node="c")
    await storage.open()
    await Nodes(storage.pool).remove("a")
    await storage.close()


# --- fences -------------------------------------------------------------------------------


def test_a_server_that_has_lost_a_run_cannot_append() -> None:
    async def main() -> None:
        url, valkey = shared_server().create_database(), shared_valkey()
        valkey.empty()
        async with opened(url, valkey, "a") as first, opened(url, valkey, "b") as second:
            run = await begin(first)
            await first.log.append(run.id, records(1, 3))
            taken = await take(second, run)
            with pytest.raises(RunTaken):
                await first.log.append(run.id, records(4, 4))
            await second.log.append(run.id, records(4, 5), taken.epoch)
            # Also where its number would fit again.
            with pytest.raises(RunTaken):
                await first.log.append(run.id, records(6, 6))
            assert await first.log.read(run.id) == records(1, 5)
            assert first._log.refused == 2

    asyncio.run(main())


def test_a_claim_that_a_power_cut_has_taken_holds_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server that had the run before finds its own epoch in the log again, and appends. The
    server that has the run now takes its log back."""
    monkeypatch.setattr(writer, "CONFIRM_S", 3600.0)
    valkey = ValkeyServer()

    async def main() -> None:
        url = shared_server().create_database()
        async with opened(url, valkey, "a") as first, opened(url, valkey, "b") as second:
            run = await begin(first)
            await first.log.append(run.id, records(1, 3))
            size = valkey.aof.stat().st_size
            taken = await take(second, run)
            await second.log.append(run.id, records(4, 5, "right"), taken.epoch)
            valkey.cut_power(size)
            valkey.start()
            await first.log.append(run.id, records(4, 4, "wrong"))
            await second.log.append(run.id, records(6, 6, "right"), taken.epoch)
            expected = [*records(1, 3), *records(4, 6, "right")]
            assert await second.log.read(run.id) == expected
            with pytest.raises(RunTaken):
                await first.log.append(run.id, records(5, 5, "wrong"))
            # Nor can it bring its log back where nothing is left of either.
            valkey.empty()
            with pytest.raises(StorageFailed):
                await first.log.append(run.id, records(5, 5, "wrong"))

    asyncio.run(main())


def test_a_server_that_has_lost_a_run_cannot_bring_its_log_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing in Valkey says any more that another server has the run, but the store does."""
    monkeypatch.setattr(writer, "CONFIRM_S", 3600.0)

    async def main() -> None:
        url, valkey = shared_server().create_database(), shared_valkey()
        valkey.empty()
        async with opened(url, valkey, "a") as first, opened(url, valkey, "b") as second:
            run = await begin(first)
            await first.log.append(run.id, records(1, 3))
            await take(second, run)
            valkey.empty()
            with pytest.raises(RunTaken):
                await first.log.append(run.id, records(4, 4))
            assert await second.log.read(run.id) == []

    asyncio.run(main())


def test_a_server_that_follows_a_run_does_not_go_on_after_records_that_were_lost() -> None:
    valkey = ValkeyServer()

    async def main() -> None:
        url = shared_server().create_database()
        async with opened(url, valkey, "b") as watching, opened(url, valkey, "c") as next_one:
            async with opened(url, valkey, "a") as lost:
                run = await begin(lost)
                await lost.log.append(run.id, unknown(1, 3))
                size = valkey.aof.stat().st_size
                await lost.log.append(run.id, unknown(4, 6))
            waiting = WaitingRuns(watching.log, {}, watching.cluster)
            live = waiting.open(run, await watching.log.read(run.id))
            assert live.last_seq == 6
            valkey.cut_power(size)
            valkey.start()
            taken = await take(next_one, run)
            await next_one.log.append(run.id, unknown(4, 9, "other"), taken.epoch)
            follower: Any = waiting._follower
            async with asyncio.timeout(20):
                while follower._followed:
                    waiting.wake([run.id])
                    await asyncio.sleep(0.05)
            # It has sent the lost records, and nothing after them.
            assert live.last_seq == 6
            waiting.close()

    asyncio.run(main())


# --- records that are kept until they are on the disk ---------------------------------------


def test_records_are_kept_until_they_are_on_the_disk() -> None:
    async def main() -> None:
        url, valkey = shared_server().create_database(), shared_valkey()
        valkey.empty()
        async with opened(url, valkey, "a") as storage:
            run = await begin(storage)
            await storage.log.append(run.id, records(1, 3))
            log: Any = storage.log
            assert log.held_bytes > 0
            async with asyncio.timeout(10):
                while log.held_bytes:
                    await asyncio.sleep(0.05)

    asyncio.run(main())


def test_a_run_that_writes_nothing_gets_its_records_back_too() -> None:
    valkey = ValkeyServer()

    async def main() -> None:
        url = shared_server().create_database()
        async with opened(url, valkey, "a") as storage:
            run = await begin(storage)
            size = valkey.aof.stat().st_size
            await storage.log.append(run.id, records(1, 3))
            valkey.cut_power(size)
            valkey.start()
            assert await storage.log.read(run.id) == []
            async with asyncio.timeout(20):
                while await storage.log.read(run.id) != records(1, 3):
                    await asyncio.sleep(0.05)
            log: Any = storage.log
            assert log.restored == 3

    asyncio.run(main())


def test_appends_wait_while_too_much_is_not_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MAX_HELD_BYTES", 10)

    async def main() -> None:
        url, valkey = shared_server().create_database(), shared_valkey()
        valkey.empty()
        async with opened(url, valkey, "a") as storage:
            run = await begin(storage)
            await storage.log.append(run.id, records(1, 1))
            log: Any = storage.log
            appending = asyncio.create_task(storage.log.append(run.id, records(2, 2)))
            await asyncio.sleep(0.1)
            assert log.held_bytes > 10
            assert not appending.done()
            async with asyncio.timeout(20):
                await appending

    asyncio.run(main())


# --- the way into the store ------------------------------------------------------------------


def test_a_closed_log_moves_into_the_store() -> None:
    async def main() -> None:
        url, valkey = shared_server().create_database(), shared_valkey()
        valkey.empty()
        async with opened(url, valkey, "a") as storage:
            run = await begin(storage)
            await storage.log.append(run.id, records(1, 300))
            assert keys(valkey, "headrace:*:log") == 1
            message = Message(role="assistant", created_at_ms=1)
            await storage.store.commit(run, message, [closed(301)])
            assert keys(valkey, "headrace:*:log") == 0
            expected = [*records(1, 300), closed(301)]
            for after in (0, 1, 299, 300, 301):
                assert await storage.log.read(run.id, after) == expected[after:]
            assert await storage.pool.fetch("SELECT 1 FROM log_chunks WHERE first_seq = 301")
            with pytest.raises(StorageFailed):
                await storage.log.append(run.id, records(302, 302))

    asyncio.run(main())


def test_everyone_sees_the_end_of_a_run_whose_server_was_lost_before_it_removed_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The answer is stored, and its earlier records are still in Valkey."""

    async def main() -> None:
        url, valkey = shared_server().create_database(), shared_valkey()
        valkey.empty()
        async with opened(url, valkey, "b") as watching:
            async with opened(url, valkey, "a") as lost:
                run = await begin(lost)
                await lost.log.append(run.id, unknown(1, 3))
                waiting = WaitingRuns(watching.log, {}, watching.cluster)
                live = waiting.open(run, await watching.log.read(run.id))
                subscription = live.subscribe(View("ux"), START)
                monkeypatch.setattr(lost._live_log, "retire", _do_nothing)
                message = Message(role="assistant", created_at_ms=1)
                await lost.store.commit(run, message, [closed(4)])
            assert keys(valkey, "headrace:*:log") == 1
            expected = [*unknown(1, 3), closed(4)]
            for after in range(5):
                assert await watching.log.read(run.id, after) == expected[after:]
            follower: Any = waiting._follower
            async with asyncio.timeout(20):
                while follower._followed:
                    await asyncio.sleep(0.05)
            assert live.last_seq == 4
            await subscription.aclose()

    asyncio.run(main())


async def _do_nothing(*values: Any, **options: Any) -> None:
    pass


def test_a_log_that_could_not_be_removed_is_removed_later(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        url, valkey = shared_server().create_database(), shared_valkey()
        valkey.empty()
        async with opened(url, valkey, "a") as storage:
            run = await begin(storage)
            await storage.log.append(run.id, records(1, 3))
            log: Any = storage.log
            run_script = log.client.run_script
            lost: list[Any] = []

            async def lose(script: str, calls: Any) -> Any:
                if script == scripts.RETIRE and not lost:
                    lost.append(calls)
                    raise ConnectionLost("the connection is lost")
                return await run_script(script, calls)

            monkeypatch.setattr(log.client, "run_script", lose)
            await storage.store.commit(run, Message(role="assistant"), [closed(4)])
            assert lost
            async with asyncio.timeout(20):
                while keys(valkey, "headrace:*:log"):
                    await asyncio.sleep(0.02)

    asyncio.run(main())


def test_a_suspended_log_moves_into_the_store_and_goes_on_in_the_log() -> None:
    async def main() -> None:
        url, valkey = shared_server().create_database(), shared_valkey()
        valkey.empty()
        async with opened(url, valkey, "a") as first, opened(url, valkey, "b") as second:
            run = await begin(first)
            waits = Record(4, 1_004, ev.RunSuspended("input"))
            await first.log.append(run.id, [*records(1, 3), waits])
            assert await first.store.suspend(run, 1, None)
            assert keys(valkey, "headrace:*:log") == 0
            assert await second.log.read(run.id) == [*records(1, 3), waits]
            epoch = await second.store.claim(run)
            assert epoch == 1
            await second.log.append(run.id, records(5, 6), 1)
            expected = [*records(1, 3), waits, *records(5, 6)]
            for after in range(7):
                assert await first.log.read(run.id, after) == expected[after:]
            assert await first.log.read(run.id, 0, 1) == expected[:1]
            with pytest.raises(RunTaken):
                await first.log.append(run.id, records(7, 7))

    asyncio.run(main())


def test_an_approval_leaves_no_records_in_valkey(tmp_path: Path) -> None:
    async def main() -> None:
        valkey = shared_valkey()
        place = {"store": shared_server().create_database(), "log": valkey.empty()}
        async with served(paying(), tmp_path, **place) as site:
            async with site.open("Pay.", protocol="ux") as response:
                event_id = response.headers["x-event-id"]
                data = b""
                while b"message_waiting" not in data:
                    data += await response.content.readany()
                run = await site.service.store.run("local", event_id)
                async with asyncio.timeout(10):
                    while keys(valkey, "headrace:*:log"):
                        await asyncio.sleep(0.05)
                _, body = await site.get(f"/api/runs/{run.id}/requests")
                (request,) = body["requests"]
                url = f"{site.url}/api/runs/{run.id}/requests/{request['request_id']}"
                async with site.http.post(url, json={"decision": "accepted"}) as answered:
                    assert answered.status == 200
                data += await response.read()
            assert b"paid 5" in data
            assert keys(valkey, "headrace:*:log") == 0
            # The second stretch names its epoch in the ids of its frames.
            assert b"\nid: " in data
            ids = [line[4:] for line in data.split(b"\n") if line.startswith(b"id: ")]
            assert ids[0].count(b".") == 1
            assert ids[-1].endswith(b".1-ux") or ids[-1].endswith(b".1")
            for wrong, status in ((ids[-1], 200), (ids[-1].replace(b".1.1", b".1.2"), 410)):
                async with site.resume(event_id, wrong.decode(), "ux") as resumed:
                    assert resumed.status == status

    asyncio.run(main())
