"""What every store promises. A second implementation is one more row of `STORES`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headrace.content import TextContent
from headrace.events import Record, RunClosed, RunFailed
from headrace.messages import Message, TextPart, Turn
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.log import Log, SQLiteLog
from headrace.server.storage.postgres.tables.nodes import Nodes
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.store import (
    ConversationNote,
    InboxEntry,
    KeyTaken,
    MessageQuery,
    NotFound,
    PageCursor,
    RunLive,
    RunRow,
    SQLiteStore,
    Store,
    StoredMessage,
)
from headrace.server.storage.store.store import RunStart
from tests.postgres import open_postgres, shared_server
from tests.server.memory_storage import MemoryLog, MemoryStore
from tests.valkey import open_valkey, shared_valkey

Opened = Callable[[], Any]
"""A store with its log on the same data, as often as it is called; as a context."""


def _sqlite(data: Path) -> Opened:
    @asynccontextmanager
    async def opened() -> AsyncIterator[tuple[Store, Log]]:
        database = Database(data / "store.db")
        try:
            yield SQLiteStore(database), SQLiteLog(database)
        finally:
            database.close()

    return opened


def _memory(data: Path) -> Opened:
    log = MemoryLog()
    store = MemoryStore(log)

    @asynccontextmanager
    async def opened() -> AsyncIterator[tuple[Store, Log]]:
        yield store, log

    return opened


def _postgres(data: Path) -> Opened:
    url = shared_server().create_database()

    @asynccontextmanager
    async def opened() -> AsyncIterator[tuple[Store, Log]]:
        async with open_postgres(url) as (store, log):
            yield store, log

    return opened


def _valkey(data: Path) -> Opened:
    url = shared_server().create_database()
    log_url = shared_valkey().empty()

    @asynccontextmanager
    async def opened() -> AsyncIterator[tuple[Store, Log]]:
        async with open_valkey(url, log_url) as storage:
            await Nodes(storage.pool).renew(storage.node, 15.0)
            yield storage.store, storage.log

    return opened


STORES: dict[str, Callable[[Path], Opened]] = {
    "sqlite": _sqlite,
    "memory": _memory,
    "postgres": _postgres,
    "valkey": _valkey,
}


@pytest.fixture(params=STORES)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    return STORES[request.param](tmp_path)


def play(opened: Opened, body: Callable[[Store, Log], Awaitable[None]]) -> None:
    async def main() -> None:
        async with opened() as (store, log):
            await body(store, log)

    asyncio.run(main())


def asked(name: str, text: str = "Go.", owner: str = "anna", **more: Any) -> RunStart:
    """A start whose ids are made of a name; in a new conversation unless one is given."""
    conversation_id = more.get("conversation_id") or f"conv_{name}"
    now_ms = more.pop("now_ms", 100)
    message = Message(role="user", content=(TextContent(text),), created_at_ms=now_ms)
    given: dict[str, Any] = {
        "conversation_id": conversation_id,
        "is_new": "conversation_id" not in more,
        "fingerprint": text,
        "prompt": StoredMessage(
            id=f"ask_{name}", conversation_id=conversation_id, parent_id=None, message=message
        ),
    }
    return RunStart(
        owner=owner,
        run_id=f"run_{name}",
        message_id=f"msg_{name}",
        model="test",
        now_ms=now_ms,
        **{**given, **more},
    )


def answer(text: str, at_ms: int = 200) -> Message:
    part = TextPart(part=0, output=0, item=0, started_ms=150, text=text)
    return Message(role="assistant", created_at_ms=at_ms, turns=(Turn(parts=(part,)),))


def closing(run: RunRow, first: int = 1) -> list[Record]:
    failed = RunFailed(category="unknown", message="x")
    return [
        Record(first, 200, failed),
        Record(first + 1, 200, RunClosed("committed", run.message_id)),
    ]


async def answered(store: Store, start: RunStart, text: str = "Yes.") -> RunRow:
    run = (await store.begin(start)).run
    await store.commit(run, answer(text), closing(run))
    return run


# --- beginning --------------------------------------------------------------------------


def test_a_run_begins_with_its_question(opened: Opened) -> None:
    async def body(store: Store, _: Log) -> None:
        begun = await store.begin(asked("a", "What is a weir?"))
        run = begun.run
        assert not begun.is_repeated
        assert run.is_live
        assert (run.id, run.message_id, run.parent_id) == ("run_a", "msg_a", "ask_a")
        assert await store.run("anna", "msg_a") == run
        assert await store.live_runs() == await store.live_under("anna", "conv_a") == [run]
        (asking,) = (await store.messages("anna", "conv_a")).messages
        assert asking.id == "ask_a"
        found = await store.conversation("anna", "conv_a")
        assert (found.title, found.leaf_id) == ("What is a weir?", "ask_a")
        assert not await store.is_committed(run)

    play(opened, body)


def test_the_same_key_is_the_same_run(opened: Opened) -> None:
    async def body(store: Store, _: Log) -> None:
        first = await store.begin(asked("a", idempotency_key="k"))
        again = asked("b", idempotency_key="k")
        assert await store.find_repeated(asked("c", idempotency_key="other")) is None
        assert await store.find_repeated(asked("c")) is None
        for begun in (await store.begin(again), await store.find_repeated(again)):
            assert begun is not None
            assert (begun.run, begun.is_repeated) == (first.run, True)
        for refused in (store.begin, store.find_repeated):
            with pytest.raises(KeyTaken):
                await refused(asked("c", "Stop.", idempotency_key="k"))
        other = await store.begin(asked("d", owner="bert", idempotency_key="k"))
        assert other.run.id == "run_d"
        assert len(await store.conversations("anna")) == 1

    play(opened, body)


def test_of_many_with_the_same_key_at_once_one_begins(opened: Opened) -> None:
    async def body(store: Store, _: Log) -> None:
        starts = (asked(f"r{n}", idempotency_key="k") for n in range(30))
        begun = await asyncio.gather(*(store.begin(start) for start in starts))
        assert sum(not one.is_repeated for one in begun) == 1
        assert len({one.run.id for one in begun}) == 1
        assert len(await store.live_runs()) == 1

    play(opened, body)


def test_what_cannot_begin_leaves_nothing(opened: Opened) -> None:
    async def body(store: Store, _: Log) -> None:
        await answered(store, asked("a"))
        for wrong in (
            asked("x", conversation_id="conv_none"),
            asked("x", conversation_id="conv_a", owner="bert"),
            asked("x", conversation_id="conv_a", parent_id="msg_none"),
            asked("x", conversation_id="conv_a", beside_id="msg_none"),
            asked("x", conversation_id=None, is_new=False, prompt=None, parent_id="msg_none"),
            asked("x", conversation_id=None, is_new=False, prompt=None, parent_id="msg_a"),
        ):
            with pytest.raises(NotFound):
                await store.begin(wrong)
        assert await store.live_runs() == []
        assert len((await store.messages("anna", "conv_a")).messages) == 2
        assert await store.conversations("bert") == []

    play(opened, body)


def test_under_a_live_run_only_a_branch_begins(opened: Opened) -> None:
    async def body(store: Store, _: Log) -> None:
        await store.begin(asked("a"))
        with pytest.raises(RunLive) as refused:
            await store.begin(asked("b", conversation_id="conv_a"))
        assert refused.value.message_id == "msg_a"
        await store.begin(asked("c", conversation_id="conv_a", is_branch=True))
        assert {run.id for run in await store.live_runs()} == {"run_a", "run_c"}

    play(opened, body)


# --- the one commit ---------------------------------------------------------------------


def test_a_message_is_committed_once_with_the_end_of_its_log(opened: Opened) -> None:
    async def body(store: Store, log: Log) -> None:
        run = (await store.begin(asked("a"))).run
        await store.commit(run, answer("Yes."), closing(run))
        assert await store.is_committed(run)
        assert await log.read(run.id) == closing(run)
        await store.commit(run, answer("Another."), [])
        asking, said = (await store.messages("anna", "conv_a")).messages
        assert (said.id, said.parent_id, said.message) == ("msg_a", asking.id, answer("Yes."))
        assert await store.live_runs() == []
        assert not (await store.run("anna", "msg_a")).is_live
        assert (await store.conversation("anna", "conv_a")).leaf_id == "msg_a"

    play(opened, body)


def test_a_commit_whose_records_do_not_follow_is_none(opened: Opened) -> None:
    async def body(store: Store, log: Log) -> None:
        run = (await store.begin(asked("a"))).run
        with pytest.raises(StorageFailed):
            await store.commit(run, answer("Yes."), closing(run, first=3))
        assert not await store.is_committed(run)
        assert await log.read(run.id) == []
        assert await store.live_runs() == [run]
        assert len((await store.messages("anna", "conv_a")).messages) == 1

    play(opened, body)


def test_runs_that_ended_long_ago_are_told_until_their_records_are_gone(opened: Opened) -> None:
    async def body(store: Store, log: Log) -> None:
        run = await answered(store, asked("a"))
        await store.begin(asked("b"))
        assert await store.closed_runs(200) == []
        assert await store.closed_runs(201) == [run.id]
        await log.delete([run.id])
        await store.mark_expired([run.id])
        assert await store.closed_runs(201) == []

    play(opened, body)


# --- conversations ----------------------------------------------------------------------


def test_messages_form_a_tree_and_a_branch_is_a_way_down(opened: Opened) -> None:
    async def body(store: Store, _: Log) -> None:
        await answered(store, asked("a"))
        await answered(store, asked("b", conversation_id="conv_a", now_ms=300))
        again = asked("c", conversation_id=None, is_new=False, prompt=None, parent_id="ask_a")
        await answered(store, again)
        beside = asked("d", conversation_id="conv_a", beside_id="ask_b", now_ms=400)
        await answered(store, beside)
        tree = {one.id: one.parent_id for one in (await store.messages("anna", "conv_a")).messages}
        assert tree == {
            "ask_a": None,
            "msg_a": "ask_a",
            "msg_c": "ask_a",
            "ask_b": "msg_a",
            "msg_b": "ask_b",
            "ask_d": "msg_a",
            "msg_d": "ask_d",
        }
        way = [one.id for one in await store.branch("anna", "msg_d")]
        assert way == ["ask_a", "msg_a", "ask_d", "msg_d"]

    play(opened, body)


def test_a_clock_that_is_set_back_does_not_change_the_order(opened: Opened) -> None:
    async def body(store: Store, _: Log) -> None:
        first = asked("a", now_ms=10_000)
        await answered(store, first)  # at 200 ms
        second = asked("b", conversation_id="conv_a", parent_id="msg_a", now_ms=100)
        await answered(store, second)
        third = asked("c", conversation_id="conv_a", beside_id="ask_b", now_ms=50)
        await answered(store, third)
        seen: set[str | None] = {None}
        for stored in (await store.messages("anna", "conv_a")).messages:
            assert stored.parent_id in seen, "a message is listed before the one it follows"
            seen.add(stored.id)
        assert len(seen) == 7

    play(opened, body)


def test_the_newest_conversation_is_the_first(opened: Opened) -> None:
    async def body(store: Store, _: Log) -> None:
        for number, name in enumerate("abc"):
            await store.begin(asked(name, now_ms=number))
        assert [one.id[-1] for one in await store.conversations("anna")] == ["c", "b", "a"]
        assert [one.id[-1] for one in await store.conversations("anna", 2)] == ["c", "b"]

    play(opened, body)


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_page_by_page_is_all_of_them_once(opened: Opened, size: int) -> None:
    """Several are of the same moment."""

    async def body(store: Store, _: Log) -> None:
        for number, name in enumerate("abcdefgh"):
            await store.begin(asked(name, now_ms=100 + number // 3))
        await store.begin(asked("x", owner="bert"))
        whole, pages = await store.conversations("anna"), []
        before: PageCursor | None = None
        while page := await store.conversations("anna", size, before):
            assert len(page) <= size
            pages += page
            before = PageCursor(page[-1].updated_ms, page[-1].id)
        assert pages == whole
        assert len(whole) == 8

    play(opened, body)


def test_a_title_and_a_branch_are_chosen(opened: Opened) -> None:
    async def body(store: Store, _: Log) -> None:
        await answered(store, asked("a"))
        assert (await store.rename("anna", "conv_a", "Weirs")).title == "Weirs"
        assert (await store.select("anna", "conv_a", "ask_a")).leaf_id == "ask_a"
        with pytest.raises(NotFound):
            await store.select("anna", "conv_a", "msg_none")
        found = await store.conversation("anna", "conv_a")
        assert (found.title, found.leaf_id) == ("Weirs", "ask_a")

    play(opened, body)


def test_a_conversation_is_forgotten_whole_once_nothing_is_written_to_it(opened: Opened) -> None:
    async def body(store: Store, log: Log) -> None:
        run = (await store.begin(asked("a"))).run
        with pytest.raises(RunLive):
            await store.delete("anna", "conv_a")
        await store.commit(run, answer("A salmon leap."), closing(run))
        kept = await answered(store, asked("b"))
        assert await store.delete("anna", "conv_a") == [run.id]
        assert await log.read(run.id) == []
        assert await log.read(kept.id) != []
        assert await store.search("anna", "salmon") == []
        for lookup in (store.conversation, store.messages):
            with pytest.raises(NotFound):
                await lookup("anna", "conv_a")
        with pytest.raises(NotFound):
            await store.run("anna", "msg_a")
        assert [one.id for one in await store.conversations("anna")] == ["conv_b"]

    play(opened, body)


def test_marks_titles_and_hits_are_kept(opened: Opened) -> None:
    async def body(store: Store, _: Log) -> None:
        await answered(store, asked("a", "What is a weir?"), "A low dam across a river.")
        await answered(store, asked("b", "What is a lock?"), "A gate.")
        assert (await store.conversation("anna", "conv_a")).is_unread
        note = ConversationNote(is_pinned=True, is_unread=False, instructions="Be brief.")
        changed = await store.annotate("anna", "conv_a", note)
        assert (changed.is_pinned, changed.is_unread, changed.instructions) == (
            True, False, "Be brief.",
        )  # fmt: skip
        assert changed == await store.conversation("anna", "conv_a")
        assert await store.pinned("anna") == [changed]
        assert await store.pinned("bert") == []
        with pytest.raises(NotFound):
            await store.annotate("bert", "conv_a", note)
        cleared = await store.annotate("anna", "conv_a", ConversationNote(instructions=""))
        assert cleared.instructions is None
        assert cleared.is_pinned
        assert await store.suggest_title("anna", "conv_a", "Of weirs")
        assert not await store.suggest_title("anna", "conv_a", "Once more")
        assert not await store.suggest_title("bert", "conv_b", "Mine")
        assert (await store.conversation("anna", "conv_a")).title == "Of weirs"
        (hit,) = await store.search("anna", "dam")
        assert (hit.conversation.id, hit.message_id) == ("conv_a", "msg_a")
        assert [part.text for part in hit.snippet if part.is_match] == ["dam"]

    play(opened, body)


@pytest.mark.parametrize("words", ["salmon", "SALM", "leap salmon", "weir", "Straße 2"])
def test_words_are_found_in_questions_and_answers(opened: Opened, words: str) -> None:
    async def body(store: Store, _: Log) -> None:
        await answered(store, asked("a", "What is a weir in Straße 2?"), "A salmon leap.")
        await answered(store, asked("b", "What is a lock?"), "A gate.")
        await answered(store, asked("c", "What is a weir in Straße 2?", "bert"), "A salmon leap.")
        assert [one.conversation.id for one in await store.search("anna", words)] == ["conv_a"]

    play(opened, body)


def test_a_title_is_found_as_long_as_it_is_the_title(opened: Opened) -> None:
    async def body(store: Store, _: Log) -> None:
        await answered(store, asked("a", "What is a weir?"))
        await answered(store, asked("b", "A weir, a weir, a weir."), "Of weirs.")
        await answered(store, asked("c", "What is a weir?", "bert"))
        await store.rename("anna", "conv_a", "Salmon stairs")
        assert await ids(store, "stairs SALM") == ["conv_a"]
        await store.rename("bert", "conv_c", "Salmon stairs")
        await store.rename("anna", "conv_a", "Weir")
        assert await ids(store, "salmon") == []
        assert set(await ids(store, "weir")) == {"conv_a", "conv_b"}
        assert len(await store.search("anna", "weir", 1)) == 1
        await store.delete("anna", "conv_a")
        assert await ids(store, "weir") == ["conv_b"]

    async def ids(store: Store, words: str) -> list[str]:
        return [one.conversation.id for one in await store.search("anna", words)]

    play(opened, body)


@pytest.mark.parametrize("words", ["", " ", '"', "* OR 1", "owner:anna", "text : x", "NEAR(", "\0"])
def test_words_are_nothing_but_words(opened: Opened, words: str) -> None:
    async def body(store: Store, _: Log) -> None:
        await answered(store, asked("a", owner="bert"))
        assert await store.search("anna", words) == []

    play(opened, body)


# --- owners -----------------------------------------------------------------------------

THEIRS: dict[str, tuple[Any, ...]] = {
    "run": ("msg_a",),
    "find_run": ("run_a",),
    "conversation": ("conv_a",),
    "messages": ("conv_a",),
    "message_bytes": ("conv_a",),
    "branch_ids": ("msg_a",),
    "branch": ("msg_a",),
    "rename": ("conv_a", "mine"),
    "annotate": ("conv_a", ConversationNote(is_pinned=True)),
    "select": ("conv_a", "ask_a"),
    "delete": ("conv_a",),
}
EMPTY: dict[str, tuple[Any, ...]] = {
    "conversations": (),
    "search": ("Go",),
    "live_under": ("conv_a",),
    "open_runs": (10,),
    "pinned": (),
    "suggest_title": ("conv_a", "mine"),
}


def test_every_method_that_takes_an_owner_is_in_the_tables() -> None:
    methods = inspect.getmembers(Store, inspect.isfunction)
    taking = {name for name, method in methods if "owner" in inspect.signature(method).parameters}
    assert taking == {*THEIRS, *EMPTY}


def test_what_belongs_to_another_does_not_exist(opened: Opened) -> None:
    async def body(store: Store, _: Log) -> None:
        await answered(store, asked("a"))
        before = await store.messages("anna", "conv_a"), await store.conversations("anna")
        for name, args in THEIRS.items():
            with pytest.raises(NotFound) as theirs:
                await getattr(store, name)("bert", *args)
            with pytest.raises(NotFound) as nobodys:
                await getattr(store, name)("bert", "none", *args[1:])
            assert str(theirs.value) == str(nobodys.value)
        for name, args in EMPTY.items():
            assert not await getattr(store, name)("bert", *args)
        after = await store.messages("anna", "conv_a"), await store.conversations("anna")
        assert after == before

    play(opened, body)


def test_everything_is_there_when_the_store_is_opened_again(opened: Opened) -> None:
    async def write(store: Store, _: Log) -> None:
        await answered(store, asked("a"))
        await store.begin(asked("b", idempotency_key="k"))

    async def read(store: Store, _: Log) -> None:
        assert len((await store.messages("anna", "conv_a")).messages) == 2
        assert [run.id for run in await store.live_runs()] == ["run_b"]
        assert (await store.begin(asked("c", idempotency_key="k"))).is_repeated

    play(opened, write)
    play(opened, read)


# --- pages of messages -------------------------------------------------------------------


async def _fill(store: Store, sizes: Sequence[int]) -> list[str]:
    """A conversation with one question of each size, some at the same time; their ids."""
    for number, size in enumerate(sizes):
        more = {} if not number else {"conversation_id": "conv_0"}
        # Two of three have the time of the one before.
        start = asked(str(number), "w" * size, now_ms=100 + number // 3, is_branch=True, **more)
        await store.begin(start)
    return [f"ask_{number}" for number in range(len(sizes))]


async def _page(store: Store, **query: Any) -> tuple[list[str], bool]:
    page = await store.messages("anna", "conv_0", MessageQuery(**query))
    return [one.id for one in page.messages], page.has_more


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("max_bytes", [1, 3_000, 100_000])
def test_the_pages_are_all_messages_once_in_both_directions(
    opened: Opened, limit: int, max_bytes: int
) -> None:
    async def body(store: Store, _: Log) -> None:
        ids = await _fill(store, [10, 1_000, 50_000, 10, 10, 2_000, 2_000, 10])
        size: dict[str, Any] = {"limit": limit, "max_bytes": max_bytes}
        backward, before, has_more = list[str](), None, True
        while has_more:
            page, has_more = await _page(store, before=before, **size)
            assert 0 < len(page) <= limit
            backward, before = page + backward, page[0]
        forward, after, has_more = list[str](), "", True
        while has_more:
            page, has_more = await _page(store, after=after, **size)
            assert 0 < len(page) <= limit
            forward, after = forward + page, page[-1]
        assert backward == forward == ids

    play(opened, body)


def test_a_page_is_bounded_in_bytes_but_has_one_message_at_least(opened: Opened) -> None:
    async def body(store: Store, _: Log) -> None:
        await _fill(store, [100, 50_000, 100, 100])
        assert await _page(store, max_bytes=10_000) == (["ask_2", "ask_3"], True)
        assert await _page(store, max_bytes=10_000, before="ask_2") == (["ask_1"], True)
        query = MessageQuery(max_bytes=10_000, before="ask_2")
        assert 50_000 < await store.message_bytes("anna", "conv_0", query) < 51_000

    play(opened, body)


def test_a_new_message_does_not_change_earlier_pages(opened: Opened) -> None:
    async def body(store: Store, _: Log) -> None:
        await _fill(store, [10] * 6)
        newest, _more = await _page(store, limit=2)
        earlier = await _page(store, limit=2, before=newest[0])
        await store.begin(asked("new", conversation_id="conv_0", now_ms=999, is_branch=True))
        assert (await _page(store, limit=1))[0] == ["ask_new"]
        assert await _page(store, limit=2, before=newest[0]) == earlier

    play(opened, body)


def test_a_page_before_a_message_of_another_conversation_is_not_found(opened: Opened) -> None:
    async def body(store: Store, _: Log) -> None:
        await _fill(store, [10])
        await store.begin(asked("b"))
        await store.begin(asked("c", owner="bob"))
        for before in ("ask_b", "ask_c", "nothing"):
            with pytest.raises(NotFound):
                await _page(store, before=before)
        with pytest.raises(NotFound):
            await store.branch_ids("anna", "ask_c")
        assert await store.branch_ids("anna", "ask_b") == ["ask_b"]

    play(opened, body)


# --- suspended runs ------------------------------------------------------------------


def test_a_suspended_run_is_claimed_once_and_its_epoch_grows(opened: Opened) -> None:
    async def body(store: Store, log: Log) -> None:
        run = (await store.begin(asked("a"))).run
        assert (run.epoch, run.is_suspended) == (0, False)
        assert await store.claim(run) is None
        assert await store.suspend(run, 200, 900)
        assert await store.live_runs() == []
        found = await asyncio.gather(*(store.claim(run) for _ in range(5)))
        assert sorted(found, key=lambda epoch: epoch or 0) == [None] * 4 + [1]
        (live,) = await store.live_runs()
        assert (live.epoch, live.is_suspended) == (1, False)
        assert await store.expired_runs(1_000, 10) == []
        assert await store.claim(run, even_if_live=True) == 2
        run = msgspec.structs.replace(run, epoch=2)
        await store.commit(run, Message(role="assistant"), [])
        assert await store.claim(run, even_if_live=True) is None

    play(opened, body)


def test_runs_with_expired_requests_come_in_order(opened: Opened) -> None:
    async def body(store: Store, log: Log) -> None:
        times = {"a": 300, "b": 100, "c": 200, "d": 900, "e": None}
        for name, expires_ms in times.items():
            run = (await store.begin(asked(name))).run
            assert await store.suspend(run, 50, expires_ms)
        found = [run.conversation_id for run in await store.expired_runs(500, 10)]
        assert found == ["conv_b", "conv_c", "conv_a"]
        found = [run.conversation_id for run in await store.expired_runs(500, 1, skip=1)]
        assert found == ["conv_c"]

    play(opened, body)


@pytest.mark.parametrize("kind", ["answer", "cancel", "steer", "queue"])
def test_a_run_whose_inbox_can_wake_it_is_not_suspended(opened: Opened, kind: Any) -> None:
    async def body(store: Store, log: Log) -> None:
        run = (await store.begin(asked("a"))).run
        entry = InboxEntry(id="e1", run_id=run.id, kind=kind, body={}, created_ms=1)
        assert await store.add_entry(entry) == entry
        wakes = kind in ("answer", "cancel")
        assert await store.suspend(run, 200, None) is not wakes
        assert await store.suspend(run, 200, None, even_with_input=True)
        epoch = await store.claim(run)
        assert epoch == 1
        run = msgspec.structs.replace(run, epoch=epoch)
        await store.take_entries(["e1"])
        assert await store.suspend(run, 200, None)

    play(opened, body)


def test_the_first_answer_to_a_request_counts(opened: Opened) -> None:
    async def body(store: Store, log: Log) -> None:
        run = (await store.begin(asked("a"))).run
        entries = [
            InboxEntry(
                id=f"e{number}",
                run_id=run.id,
                kind="answer",
                request_id="q",
                body={"number": number},
                created_ms=number,
            )
            for number in range(100)
        ]
        counted = await asyncio.gather(*(store.add_entry(entry) for entry in entries))
        assert all(entry == counted[0] for entry in counted)
        assert await store.open_entries(run.id) == [counted[0]]

    play(opened, body)
