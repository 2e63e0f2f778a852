"""A conversation is read page by page, and a client that does not read takes little memory."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from headrace.client import AsyncClient
from headrace.rehearsal.script import say, turn
from headrace.server.api import MAX_PAGE_BYTES
from headrace.server.budgets.response_budget import ResponseBudget
from headrace.server.http_error import HTTPError
from tests.memory import resident_kb
from tests.server.filled import fill_conversation
from tests.server.server_process import ServerProcess, serve
from tests.server.serving import Served, scripted, served

LARGE = "w" * 900_000


async def _talk(server: Served, *questions: str) -> str:
    conversation_id = ""
    for text in questions:
        more = {"conversation_id": conversation_id} if conversation_id else {}
        _, conversation_id, _ = await server.ask(text, **more)
    return conversation_id


def test_the_newest_page_comes_first_and_the_others_follow(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(scripted(turn(say("Yes."))), tmp_path) as server:
            conversation_id = await _talk(server, *(f"Question {n}?" for n in range(6)))
            path = f"/api/conversations/{conversation_id}"
            _, whole = await server.get(path)
            assert len(whole["messages"]) == 12
            assert whole["earlier"] is None
            _, newest = await server.get(f"{path}?limit=5")
            assert newest["messages"] == whole["messages"][-5:]
            _, earlier = await server.get(f"{path}?limit=5&before={newest['earlier']}")
            assert earlier["messages"] == whole["messages"][-10:-5]
            _, first = await server.get(f"{path}?limit=5&before={earlier['earlier']}")
            assert first["messages"] == whole["messages"][:2]
            assert first["earlier"] is None
            for bad in ("limit=0", "limit=101", "limit=x"):
                assert (await server.get(f"{path}?{bad}"))[0] == 422
            assert (await server.get(f"{path}?before=msg_none"))[0] == 404

    asyncio.run(main())


def test_a_page_is_bounded_in_bytes_and_a_large_message_still_arrives(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(scripted(turn(say("Yes."))), tmp_path) as server:
            conversation_id = await _talk(server, "Small?", LARGE, *["x" * 200_000] * 4)
            before, sizes, texts = None, list[int](), list[str]()
            while True:
                query = f"?before={before}" if before else ""
                _, page = await server.get(f"/api/conversations/{conversation_id}{query}")
                sizes.append(len(json.dumps(page["messages"])))
                texts = [one.get("text", "") for one in page["messages"]] + texts
                before = page["earlier"]
                if before is None:
                    break
            assert len(sizes) >= 4
            assert sum(size > MAX_PAGE_BYTES + 20_000 for size in sizes) == 1
            assert [text[:6] for text in texts if text] == ["Small?", "wwwwww", *["xxxxxx"] * 4]

    asyncio.run(main())


def test_the_client_reads_all_pages_unless_it_is_given_a_limit(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(scripted(turn(say("Yes."))), tmp_path) as server:
            conversation_id = await _talk(server, *["x" * 200_000] * 8)
            async with AsyncClient(server.url) as client:
                whole = await client.conversation(conversation_id)
                assert len(whole.messages) == len(whole.branch) == 16
                assert whole.earlier is None
                some = await client.conversation(conversation_id, limit=5)
                assert some.messages == whole.messages[-5:]
                more = await client.conversation(conversation_id, limit=99, before=some.earlier)
                assert more.messages == whole.messages[:-5]

    asyncio.run(main())


# --- clients that do not read ------------------------------------------------------------


def _request_and_never_read(server: ServerProcess, path: str) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    peer = socket.socket()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    peer.connect((host, int(port)))
    peer.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    return peer


@pytest.mark.parametrize("suffix", ["", "/export", "/export?format=markdown"])
def test_responses_that_are_not_read_take_little_memory(suffix: str, tmp_path: Path) -> None:
    """60 of them, of a conversation of 25 MB: they took 1.3 GB."""
    fill_conversation(tmp_path, *[LARGE] * 28)
    with serve(tmp_path) as server:
        path = f"/api/conversations/conv_0{suffix}"
        assert len(server.http.get(path).content) >= len(LARGE)
        before_kb = resident_kb(server.process.pid)
        peers = [_request_and_never_read(server, path) for _ in range(60)]
        most_kb = 0
        for _ in range(20):
            assert server.http.get("/readyz").status_code == 200
            most_kb = max(most_kb, resident_kb(server.process.pid))
        for peer in peers:
            peer.close()
        assert most_kb - before_kb < 64 * 1024


def test_a_client_that_reads_a_response_slowly_gets_all_of_it(tmp_path: Path) -> None:
    """It needs longer for the whole than it may need for one part."""

    fill_conversation(tmp_path, *[LARGE] * 6)

    async def main() -> None:
        agent = scripted(turn(say("Yes.")))
        async with served(agent, tmp_path, send_timeout_s=2.0) as server:
            path = "/api/conversations/conv_0/export"
            async with server.http.get(server.url + path) as response:
                data = bytearray()
                while piece := await response.content.read(1_000_000):
                    data += piece
                    await asyncio.sleep(0.5)
            assert len(json.loads(data)["messages"]) == 6

    asyncio.run(main())


def test_a_client_that_does_not_read_a_json_response_is_disconnected(tmp_path: Path) -> None:
    fill_conversation(tmp_path, *[LARGE] * 10)

    async def main() -> None:
        agent = scripted(turn(say("Yes.")))
        async with served(agent, tmp_path, send_timeout_s=0.5) as server:
            path = "/api/conversations/conv_0/export"
            host, port = server.url.removeprefix("http://").split(":")
            peer = socket.socket()
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            peer.connect((host, int(port)))
            peer.setblocking(False)
            peer.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            budget = server.service.response_budget
            await _until(lambda: budget.used_bytes > 0)
            await _until(lambda: budget.used_bytes == 0)
            size = 0
            try:
                while piece := await asyncio.get_running_loop().sock_recv(peer, 1_000_000):
                    size += len(piece)
            except ConnectionError:
                pass
            peer.close()
            assert size < 9_000_000

    asyncio.run(main())


async def _until(is_so: Any) -> None:
    for _ in range(6_000):
        if is_so():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never is")


def test_the_budget_lets_each_user_have_a_part_and_makes_the_others_wait() -> None:
    async def main() -> None:
        budget = ResponseBudget(0.05, max_bytes=100, max_bytes_per_user=40)
        async with budget.reserve("a", 30), budget.reserve("b", 999):
            assert budget.used_bytes == 70
            with pytest.raises(HTTPError) as refused:
                await budget.reserve("a", 20).__aenter__()
            assert (refused.value.status, refused.value.code) == (429, "too_many_unread")
            with pytest.raises(HTTPError):
                await budget.reserve("c", 40).__aenter__()
            async with budget.reserve("c", 30):
                assert budget.used_bytes == 100
        assert budget.used_bytes == 0

    asyncio.run(main())


def test_a_request_goes_on_when_an_earlier_response_is_read() -> None:
    async def main() -> None:
        budget = ResponseBudget(60, max_bytes=100, max_bytes_per_user=40)
        first = budget.reserve("a", 40)
        await first.__aenter__()
        second = asyncio.ensure_future(budget.reserve("a", 40).__aenter__())
        await asyncio.sleep(0)
        assert not second.done()
        await first.__aexit__(None, None, None)
        await second
        assert budget.used_bytes == 40

    asyncio.run(main())
