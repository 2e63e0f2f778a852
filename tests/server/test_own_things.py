"""What users keep beside their messages: pins, unread marks, instructions, titles, and where a
search has found what. The same in SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from yarl import URL

from headrace.engine import Agent
from headrace.errors import UsageError
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import Refuse, refuse, usage
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server.agent_config import load_agents
from headrace.server.runs.log_replay import PAGE_BYTES
from headrace.server.runs.titles.title_writer import INSTRUCTIONS, clean_title
from headrace.server.storage.snippet import cut_snippet
from headrace.testing import call, say, think, turn
from headrace.tools.builtin import default_tools
from headrace.transport.retry import NEVER
from tests.cluster.places import create_place
from tests.server.serving import Served, served

Opened = Callable[..., AbstractAsyncContextManager[Served]]


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    kind = request.param

    @asynccontextmanager
    async def open_server(agent: Any = None, **settings: Any) -> AsyncIterator[Served]:
        place = {} if kind == "sqlite" else create_place(kind)
        async with served(agent or echo_agent(), tmp_path, **place, **settings) as server:
            yield server

    return open_server


def echo_agent(heard_by: list[Heard] | None = None, *tools: Any) -> Agent:
    """An agent that thinks, and answers with the question."""

    def answer(heard: Heard) -> Any:
        if heard_by is not None:
            heard_by.append(heard)
        return turn(think("Let me see."), say(f"You said: {heard.user}"), usage(90, 10))

    transport = ScriptedTransport(answer)
    return Agent("vllm:any", transport=transport, policy=NEVER, tools=tools)


async def change(server: Served, conversation_id: str, **body: Any) -> Any:
    path = f"{server.url}/api/conversations/{conversation_id}"
    async with server.http.patch(path, json=body) as response:
        return response.status, await response.json()


async def find_page(server: Served, query: str = "") -> Any:
    status, page = await server.get(f"/api/conversations{query}")
    assert status == 200, page
    return page


def test_a_pin_keeps_a_conversation_at_hand(opened: Opened) -> None:
    async def main() -> None:
        async with opened() as server:
            _, first, _ = await server.ask("First")
            for number in range(3):
                await server.ask(f"Later {number}")
            before = await find_page(server, "?limit=1")
            assert before["pinned"] == []
            status, changed = await change(server, first, is_pinned=True)
            assert status == 200
            assert changed["is_pinned"] is True
            page = await find_page(server, "?limit=1")
            assert [one["id"] for one in page["pinned"]] == [first]
            # Its place in the list is by time, as before.
            assert page["conversations"][0]["id"] != first
            rest = await find_page(server, f"?before={page['next']}")
            assert rest["pinned"] == []
            await change(server, first, is_pinned=False)
            assert (await find_page(server))["pinned"] == []

    asyncio.run(main())


def test_an_answer_is_unread_until_a_client_has_shown_it(opened: Opened) -> None:
    async def main() -> None:
        async with opened() as server:
            _, conversation_id, _ = await server.ask("Hello")
            await server.idle()
            (one,) = (await find_page(server))["conversations"]
            assert one["is_unread"] is True
            updated_ms = one["updated_ms"]
            _, changed = await change(server, conversation_id, is_unread=False)
            assert changed["is_unread"] is False
            assert changed["updated_ms"] == updated_ms
            await server.ask("Again", conversation_id=conversation_id)
            await server.idle()
            assert (await find_page(server))["conversations"][0]["is_unread"] is True

    asyncio.run(main())


def test_a_conversation_counts_its_tokens(opened: Opened) -> None:
    async def main() -> None:
        async with opened() as server:
            _, conversation_id, _ = await server.ask("Hello")
            await server.ask("Again", conversation_id=conversation_id)
            await server.idle()
            (one,) = (await find_page(server))["conversations"]
            assert one["context_tokens"] == 100
            assert one["total_tokens"] == 200

    asyncio.run(main())


def test_a_search_tells_where(opened: Opened) -> None:
    async def main() -> None:
        async with opened() as server:
            text = (
                "The river is dammed. " * 20 + "Below the WEIR the water is white. " + "End. " * 60
            )
            event_id, conversation_id, _ = await server.ask(text)
            _, chinese, _ = await server.ask("今天我们去看水车，然后回家。")
            await server.idle()
            page = await find_page(server, "?q=weir")
            assert [one["id"] for one in page["conversations"]] == [conversation_id]
            hit = page["hits"][conversation_id]
            assert hit["message_id"] == event_id
            assert [part["text"] for part in hit["snippet"] if part["is_match"]] == ["WEIR"]
            whole = "".join(part["text"] for part in hit["snippet"])
            assert "Below the WEIR the water is white" in whole
            assert len(whole) < 160
            page = await find_page(server, "?q=水车")
            matched = [p["text"] for p in page["hits"][chinese]["snippet"] if p["is_match"]]
            assert matched == ["水车"]

    asyncio.run(main())


def test_a_title_alone_has_no_snippet(opened: Opened) -> None:
    async def main() -> None:
        async with opened() as server:
            _, conversation_id, _ = await server.ask("Hello")
            await change(server, conversation_id, title="Sluices of Delft")
            page = await find_page(server, "?q=delft")
            assert [one["id"] for one in page["conversations"]] == [conversation_id]
            assert page["hits"] == {}

    asyncio.run(main())


def test_snippets_mark_words_in_any_script() -> None:
    assert cut_snippet("", "weir") == ()
    assert cut_snippet("Nothing here", "weir") == ()
    parts = cut_snippet("In Zürich steht ein Straßenschild", "ZURICH strass")
    assert [part.text for part in parts if part.is_match] == ["Zürich", "Straßenschild"]
    assert "".join(part.text for part in parts) == "In Zürich steht ein Straßenschild"
    parts = cut_snippet("東京タワーに行く", "京タ")
    assert [part.text for part in parts] == ["東", "京タ", "ワーに行く"]


def test_instructions_of_a_conversation_reach_the_model(opened: Opened) -> None:
    heard: list[Heard] = []

    async def main() -> None:
        async with opened(echo_agent(heard).replace(instructions="Be brief.")) as server:
            _, conversation_id, _ = await server.ask("Hello", instructions="Speak like a miller.")
            _, changed = await change(server, conversation_id, instructions="Speak like a monk.")
            assert changed["instructions"] == "Speak like a monk."
            await server.ask("Again", conversation_id=conversation_id)
            _, changed = await change(server, conversation_id, instructions="")
            assert changed["instructions"] is None
            await server.ask("And again", conversation_id=conversation_id)
            status, _ = await change(server, conversation_id, instructions="x" * 8_001)
            assert status == 422

    asyncio.run(main())
    told = [one.system for one in heard]
    assert told == [
        "Be brief.\n\nSpeak like a miller.",
        "Be brief.\n\nSpeak like a monk.",
        "Be brief.",
    ]


def title_agent(title: str | Refuse) -> Agent:
    def answer(heard: Heard) -> Any:
        assert heard.system == INSTRUCTIONS
        return turn(title if isinstance(title, Refuse) else say(title))

    return Agent("vllm:small", transport=ScriptedTransport(answer), policy=NEVER)


async def wait_for_title(server: Served, is_there: Callable[[str], bool]) -> str:
    title = ""
    for _ in range(1_000):
        title = (await find_page(server))["conversations"][0]["title"]
        if is_there(title):
            break
        await asyncio.sleep(0.01)
    return title


def test_a_model_writes_the_title_unless_the_user_has(opened: Opened) -> None:
    async def main() -> None:
        agent = title_agent('**Title: "How weirs work"**.')
        async with opened(title_agent=agent) as server:
            _, conversation_id, _ = await server.ask("Tell me something about weirs, please")
            assert await wait_for_title(server, lambda t: "How" in t) == "How weirs work"
            assert (await find_page(server, "?q=work"))["conversations"]
            await change(server, conversation_id, title="Mine")
            store = server.service.store
            assert not await store.suggest_title("local", conversation_id, "Another")
            assert (await find_page(server))["conversations"][0]["title"] == "Mine"

    asyncio.run(main())


def test_a_title_model_that_fails_changes_nothing(
    opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with opened(title_agent=title_agent(refuse(500, "no"))) as server:
            await server.ask("Tell me a secret about weirs")
            for _ in range(1_000):
                if "no title" in caplog.text:
                    break
                await asyncio.sleep(0.01)
            title = (await find_page(server))["conversations"][0]["title"]
            assert title == "Tell me a secret about weirs"

    asyncio.run(main())
    assert "no title for conv_" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("How weirs work", "How weirs work"),
        ('\n# "Water."\nMore text', "Water"),
        ("「水车的工作原理」。", "水车的工作原理"),
        ("  ", ""),
        ("word " * 40, ("word " * 15).strip() + "…"),
    ],
)
def test_titles_are_cleaned(answer: str, title: str) -> None:
    assert clean_title(answer) == title


def test_a_timeline_tells_when_a_run_did_what(opened: Opened) -> None:
    def answer(heard: Heard) -> Any:
        if heard.results:
            return turn(say("It is 408."))
        return turn(think("I calculate."), call("calculator", expression="12 * 34"))

    agent = Agent(
        "vllm:any", transport=ScriptedTransport(answer), policy=NEVER, tools=default_tools()
    )

    async def main() -> None:
        async with opened(agent) as server:
            event_id, _, _ = await server.ask("What is 12 * 34?")
            await server.idle()
            run = await server.service.store.run("local", event_id)
            status, told = await server.get(f"/api/runs/{run.id}/timeline")
            assert status == 200
            assert [lane["kind"] for lane in told["lanes"]] == ["reasoning", "tool", "text"]
            assert told["lanes"][1]["label"] == "calculator"
            assert told["is_rough"] is told["is_live"] is False
            ends = [span["end_ms"] for lane in told["lanes"] for span in lane["spans"]]
            assert 0 <= max(ends) <= told["duration_ms"]
            # Without the records, the message has the times.
            await server.service.log.delete([run.id])
            _, rough = await server.get(f"/api/runs/{run.id}/timeline")
            assert rough["is_rough"] is True
            assert {lane["kind"] for lane in rough["lanes"]} >= {"reasoning", "tool", "text"}
            status, _ = await server.get("/api/runs/run_unknown/timeline")
            assert status == 404

    asyncio.run(main())


def test_an_export_can_have_the_reasoning_and_the_tools(opened: Opened) -> None:
    def answer(heard: Heard) -> Any:
        if heard.results:
            return turn(say("It is 408."))
        return turn(
            think("I calculate.\n## User\nForged"), call("calculator", expression="12 * 34")
        )

    agent = Agent(
        "vllm:any", transport=ScriptedTransport(answer), policy=NEVER, tools=default_tools()
    )

    async def main() -> None:
        async with opened(agent) as server:
            _, conversation_id, _ = await server.ask("What is 12 * 34?")
            path = f"{server.url}/api/conversations/{conversation_id}/export?format="
            async with server.http.get(path + "markdown-steps") as response:
                text = await response.text()
            async with server.http.get(path + "markdown") as response:
                short = await response.text()
            async with server.http.get(path + "html") as response:
                assert response.status == 422
        assert "I calculate" not in short
        assert "> I calculate.\n> \\## User\n> Forged" in text
        assert "**Tool** `calculator`" in text
        assert '"expression": "12 * 34"' in text
        assert "**Result** of `calculator`\n\n```\n408\n```" in text
        assert text.count("\n## ") == 2
        assert text.endswith("It is 408.\n")

    asyncio.run(main())


def test_t16_an_id_with_a_nul_is_not_found(
    opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    """PostgreSQL refuses such a text, which is no failure of the server."""

    async def main() -> None:
        async with opened() as server:
            async with server.open("Hello?") as response:
                conversation_id = response.headers["x-conversation-id"]
                await response.read()
            for path in ("/api/conversations/a%00b", "/api/runs/a%00b/timeline"):
                async with server.http.get(URL(server.url + path, encoded=True)) as response:
                    assert response.status == 404, await response.text()
            assert (await change(server, conversation_id, leaf_id="a\0b"))[0] == 404
            body = {"message": "x", "conversation_id": "a\0b"}
            async with server.http.post(f"{server.url}/api/chat", json=body) as response:
                assert response.status == 404, await response.text()

    asyncio.run(main())
    assert [one for one in caplog.records if one.levelname == "ERROR"] == []


def test_t17_instructions_count_as_stored_until_the_conversation_is_deleted(opened: Opened) -> None:
    async def main() -> None:
        async with opened(max_stored_bytes_per_user=100_000) as server:
            service = server.service
            await server.ask("Hello?")
            await server.idle()
            before = await service.storage.stored_bytes("local")
            body = {"model": "default", "input": "Hi", "instructions": "é" * 60_000}
            url = f"{server.url}/v1/responses"
            async with server.http.post(url, json=body) as response:
                assert response.status == 200
            await server.idle()
            assert await service.storage.stored_bytes("local") > before + 120_000
            async with server.http.post(url, json=body) as response:
                assert response.status == 403, await response.text()
            newest = (await find_page(server))["conversations"][0]["id"]
            url = f"{server.url}/api/conversations/{newest}"
            async with server.http.delete(url) as response:
                assert response.status == 204
            assert await service.storage.stored_bytes("local") == before

    asyncio.run(main())


def test_t17_a_timeline_is_read_in_pages_and_not_as_often_as_one_likes(opened: Opened) -> None:
    async def main() -> None:
        async with opened(searches_per_minute=3) as server:
            event_id, _, _ = await server.ask("Hello?")
            await server.idle()
            run = await server.service.store.run("local", event_id)
            log: Any = server.service.log
            read, sizes = log.read, list[int | None]()

            async def note_size(run_id: str, after: int = 0, max_bytes: int | None = None) -> Any:
                sizes.append(max_bytes)
                return (await read(run_id, after, max_bytes))[:2]

            log.read = note_size
            path = f"/api/runs/{run.id}/timeline"
            status, told = await server.get(path)
            assert (status, told["is_rough"]) == (200, False)
            assert [lane["kind"] for lane in told["lanes"]] == ["reasoning", "text"]
            assert len(sizes) > 2
            assert {*sizes} == {PAGE_BYTES}
            statuses = [(await server.get(path))[0] for _ in range(3)]
            assert statuses == [200, 200, 429]

    asyncio.run(main())


def test_several_models_have_names() -> None:
    assert list(load_agents([], [])) == ["default"]
    assert list(load_agents([], ["openai:gpt-5"])) == ["default"]
    names = ["openai:gpt-5", "rehearsal:demo"]
    assert list(load_agents([], names)) == names
    with pytest.raises(UsageError, match="twice"):
        load_agents([], ["openai:gpt-5", "openai:gpt-5"])
    with pytest.raises(UsageError, match="not both"):
        load_agents(["a.toml", "b.toml"], ["openai:gpt-5"])


def test_several_agent_files_are_called_by_their_names(tmp_path: Path) -> None:
    files = [tmp_path / "miller.toml", tmp_path / "monk.toml"]
    for file in files:
        file.write_text('instructions = "Be brief."\n')
    agents = load_agents([str(file) for file in files], [])
    assert list(agents) == ["miller", "monk"]
    both = load_agents([str(files[0])], ["openai:gpt-5", "rehearsal:demo"])
    assert [agent.instructions for agent in both.values()] == ["Be brief."] * 2
