"""The client over HTTP, in process and for a data folder, asynchronous and synchronous."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.client import AsyncClient, Client, ClientError
from headrace.engine import Agent
from headrace.projections.ux.frame import MessageCancelled, MessageFinal
from headrace.projections.ux.segment import MessageEvent, TextSegment
from headrace.rehearsal.script import say, turn
from headrace.server import create_app
from headrace.server.api import InputRequestList
from headrace.server.storage.data_folder import DataFolder
from tests.server.serving import running, scripted, served
from tests.server.test_input_requests import paying
from tests.server.tokens import create_token

ANSWER = "one two three four five six seven eight"
SLOW = turn(say(ANSWER * 10), pace_s=0.02)


def agent() -> Agent:
    return scripted(turn(say(ANSWER)))


@asynccontextmanager
async def _over_http(data: Path, agent: Agent) -> AsyncIterator[AsyncClient]:
    async with served(agent, data) as server, AsyncClient(server.url) as client:
        yield client


@asynccontextmanager
async def _in_process(data: Path, agent: Agent) -> AsyncIterator[AsyncClient]:
    async with AsyncClient.in_process(create_app(agent, data=data, drain_s=0.1)) as client:
        yield client


@asynccontextmanager
async def _for_folder(data: Path, agent: Agent) -> AsyncIterator[AsyncClient]:
    async with AsyncClient.for_folder(data, lambda: agent) as client:
        yield client


CLIENTS = {"http": _over_http, "in_process": _in_process, "folder": _for_folder}


@pytest.fixture(params=CLIENTS)
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Agent], Any]:
    """Return a function that opens each kind of client."""
    return lambda agent: CLIENTS[request.param](tmp_path, agent)


def text_of(event: MessageEvent) -> str:
    return "".join(part.text for part in event.segments if isinstance(part, TextSegment))


def test_an_answer_is_read_frame_by_frame(connect: Callable[[Agent], Any]) -> None:
    async def main() -> None:
        async with connect(agent()) as client:
            async with client.ask("Count.") as answer:
                frames = [frame async for frame in answer]
            assert isinstance(frames[-1], MessageFinal)
            assert answer.event is not None
            assert text_of(answer.event) == ANSWER
            async with client.ask("Again.", conversation_id=answer.conversation_id) as second:
                assert text_of(await second.wait()) == ANSWER
            assert second.conversation_id == answer.conversation_id
            detail = await client.conversation(answer.conversation_id)
            assert [message.role for message in detail.branch] == ["user", "assistant"] * 2

    asyncio.run(main())


def test_a_stored_answer_is_watched_from_any_frame(connect: Callable[[Agent], Any]) -> None:
    async def main() -> None:
        async with connect(agent()) as client:
            ids = []
            async with client.ask("Count.") as answer:
                frames = []
                async for frame in answer:
                    frames.append(frame)
                    ids.append(answer.last_frame_id)
            async with client.watch(answer.event_id) as again:
                assert [frame async for frame in again] == frames
            async with client.watch(answer.event_id, after=ids[0]) as rest:
                later = [frame async for frame in rest]
            assert later == frames[len(frames) - len(later) :]
            assert 0 < len(later) < len(frames)

    asyncio.run(main())


def test_a_run_goes_on_without_its_client_and_can_be_cancelled(
    connect: Callable[[Agent], Any],
) -> None:
    async def main() -> None:
        async with connect(scripted(SLOW)) as client, client.ask("Go.") as answer:
            async for _ in answer:
                break
            assert (await client.conversation(answer.conversation_id)).live
            assert await client.cancel(answer.event_id)
            async with client.watch(answer.event_id) as rest:
                frames = [frame async for frame in rest]
            assert isinstance(frames[-1], MessageCancelled)
            assert not await client.cancel(answer.event_id)

    asyncio.run(main())


def test_requests_are_listed_and_answered(connect: Callable[[Agent], Any]) -> None:
    paid: list[int] = []

    async def main() -> None:
        async with connect(paying(paid)) as client:
            assert await client.waiting_runs() == []
            async with client.ask("Pay.") as answer:
                run = await wait_for_request(client)
                assert (run.event_id, run.conversation_id) == (
                    answer.event_id,
                    answer.conversation_id,
                )
                assert await client.requests(run.run_id) == run.requests
                (request,) = run.requests
                assert (request.kind, request.args) == ("approval", {"amount": 5})
                with pytest.raises(ClientError) as refused:
                    await client.answer_request(run.run_id, request.request_id, value=3)
                assert refused.value.code == "bad_value"
                ids = run.run_id, request.request_id
                result = await client.answer_request(*ids, value={"amount": 7})
                assert result.decision == "accepted"
                assert "paid 7" in text_of(await answer.wait())
                with pytest.raises(ClientError) as late:
                    await client.answer_request(*ids, decision="denied", reason="no")
                assert late.value.code == "already_answered"
            assert await client.waiting_runs() == await client.requests(run.run_id) == []

    asyncio.run(main())
    assert paid == [7]


def test_the_synchronous_client_denies_a_request(tmp_path: Path) -> None:
    paid: list[int] = []
    app = create_app(paying(paid), data=tmp_path)
    with Client.in_process(app) as client, client.ask("Pay.") as answer:
        while not (runs := client.waiting_runs()):
            pass
        (request,) = client.requests(runs[0].run_id)
        ids = runs[0].run_id, request.request_id
        client.answer_request(*ids, decision="denied", reason="too much")
        assert "too much" in text_of(answer.wait())
    assert paid == []


async def wait_for_request(client: AsyncClient) -> InputRequestList:
    while not (runs := await client.waiting_runs()):
        await asyncio.sleep(0.01)
    return runs[0]


def test_a_question_is_queued_behind_a_live_answer(connect: Callable[[Agent], Any]) -> None:
    async def main() -> None:
        async with connect(scripted(SLOW)) as client, client.ask("First.") as answer:
            place = {"conversation_id": answer.conversation_id}
            with pytest.raises(ClientError) as refused:
                async with client.ask("Second.", **place):
                    pass
            assert refused.value.status == 409
            async with client.ask("Second.", **place, mode="queue") as same:
                assert same.event_id == answer.event_id
            await answer.wait()
            while True:
                detail = await client.conversation(answer.conversation_id)
                if [message.text for message in detail.branch[2:3]] == ["Second."]:
                    break
                await asyncio.sleep(0.01)

    asyncio.run(main())


def test_conversations_are_listed_searched_renamed_exported_and_deleted(
    connect: Callable[[Agent], Any],
) -> None:
    async def main() -> None:
        async with connect(agent()) as client:
            for question in ("About weirs.", "About mills."):
                async with client.ask(question) as answer:
                    await answer.wait()
            weirs, mills = sorted(await client.conversations(), key=lambda one: one.created_ms)
            assert len(await client.conversations(limit=1)) == 1
            assert [one.id for one in await client.search("weirs")] == [weirs.id]
            assert (await client.rename(mills.id, "Millraces")).title == "Millraces"
            assert json.loads(await client.export(mills.id))["conversation"]["id"] == mills.id
            assert ANSWER in await client.export(mills.id, "markdown")
            await client.delete(weirs.id)
            assert [one.id for one in await client.conversations()] == [mills.id]
            with pytest.raises(ClientError) as raised:
                await client.conversation(weirs.id)
            assert (raised.value.status, raised.value.code) == (404, "not_found")
            assert [model.name for model in await client.models()] == ["default"]

    asyncio.run(main())


def test_a_stream_that_is_cut_is_resumed(tmp_path: Path) -> None:
    """A proxy in front of the server drops the first streams in their middle."""

    async def main() -> None:
        app = create_app(scripted(SLOW), data=tmp_path)
        cuts = 0

        async def proxy(scope: Any, receive: Any, send: Any) -> None:
            sent = 0

            async def cut(message: Any) -> None:
                nonlocal cuts, sent
                sent += len(message.get("body", b""))
                if sent > 500 and cuts < 3:
                    cuts += 1
                    raise OSError("cut")
                await send(message)

            await app(scope, receive, cut if "/api/chat" in scope.get("path", "") else send)

        async with running(proxy) as url, AsyncClient(url) as client:
            async with client.ask("Go.") as answer:
                frames = [frame async for frame in answer]
            assert cuts == 3
            assert isinstance(frames[-1], MessageFinal)
            async with client.watch(answer.event_id) as again:
                assert [frame async for frame in again] == frames

    asyncio.run(main())


def test_a_server_that_is_not_there_is_an_error() -> None:
    with Client("http://127.0.0.1:9") as client, pytest.raises(ClientError) as raised:
        client.models()
    assert (raised.value.status, raised.value.code) == (None, "network")


def test_an_access_token_is_sent(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(agent(), tmp_path, needs_token=True) as server:
            async with AsyncClient(server.url) as stranger:
                with pytest.raises(ClientError) as raised:
                    await stranger.models()
                assert raised.value.status == 401
            token = create_token(server.service, "anna", "", 0)
            async with AsyncClient(server.url, access_token=token) as anna:
                assert await anna.models()

    asyncio.run(main())


def test_a_folder_that_a_server_uses_is_asked_there(tmp_path: Path) -> None:
    async def main() -> None:
        app = create_app(agent(), data=tmp_path, address="")
        async with running(app) as url:
            # The address of a server is known only when it listens.
            (tmp_path / "server.lock").write_text(json.dumps({"pid": 1, "address": url}))
            async with AsyncClient.for_folder(tmp_path, agent) as client:
                assert (await client.models())[0].name == "default"
                assert client.address == url
                async with client.ask("Count.") as answer:
                    assert text_of(await answer.wait()) == ANSWER

    asyncio.run(main())


def test_the_models_of_a_folder_are_known_while_another_client_uses_it(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    try:
        with Client.for_folder(tmp_path, agent) as client:
            assert [model.model for model in client.models()] == ["openai-chat:test"]
    finally:
        folder.close()


# --- the synchronous client -----------------------------------------------------------


def test_the_synchronous_client_works_in_process(tmp_path: Path) -> None:
    with Client.in_process(create_app(agent(), data=tmp_path)) as client:
        _use(client)


def test_the_synchronous_client_works_for_a_folder(tmp_path: Path) -> None:
    with Client.for_folder(tmp_path, agent) as client:
        _use(client)


def test_the_synchronous_client_works_over_http(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(agent(), tmp_path) as server:
            with Client(server.url) as client:
                await asyncio.to_thread(_use, client)

    asyncio.run(main())


def _use(client: Client) -> None:
    with client.ask("Count.") as answer:
        frames = list(answer)
    assert isinstance(frames[-1], MessageFinal)
    with client.watch(answer.event_id, after=answer.last_frame_id) as rest:
        assert list(rest) == []
    with client.watch(answer.event_id) as again:
        assert text_of(again.wait()) == ANSWER
    assert not client.cancel(answer.event_id)
    (conversation,) = client.conversations()
    assert conversation.id == answer.conversation_id
    assert client.search("Count") == [conversation]
    assert client.rename(conversation.id, "Counting").title == "Counting"
    assert client.select(conversation.id, answer.question_id).leaf_id == answer.question_id
    assert [message.id for message in client.conversation(conversation.id).branch] == [
        answer.question_id
    ]
    assert client.export(conversation.id, "markdown").startswith("# Counting")
    client.delete(conversation.id)
    assert client.conversations() == []


def test_the_synchronous_client_cancels_what_it_reads(tmp_path: Path) -> None:
    app = create_app(scripted(SLOW), data=tmp_path, drain_s=0.1)
    with Client.in_process(app) as client, client.ask("Go.") as answer:
        frames = []
        for frame in answer:
            frames.append(frame)
            if len(frames) == 2:
                answer.cancel()
    assert isinstance(frames[-1], MessageCancelled)
