"""Several servers on one PostgreSQL, or on one PostgreSQL and one Valkey: any of them serves,
resumes, cancels, steers and answers any run, with the same bytes. One server on SQLite does the
same."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.engine import Agent
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.transport import ScriptedTransport
from headrace.testing import call, say, stall, think, turn
from headrace.tools import ToolContext
from headrace.transport.retry import NEVER
from tests.cluster.places import SHARED, create_place
from tests.server.serving import Served, frames, served

WORDS = "one two three four five six seven eight nine ten ".split(" ")[:-1]


Three = Callable[[Any], Any]
"""Opens three servers with an agent that a function creates, as a context."""


@pytest.fixture(params=["sqlite", *SHARED])
def three(request: pytest.FixtureRequest, tmp_path: Path) -> Three:
    kind = request.param

    @asynccontextmanager
    async def opened(create: Any) -> AsyncIterator[list[Served]]:
        async with AsyncExitStack() as stack:
            if kind == "sqlite":
                yield [await stack.enter_async_context(served(create(), tmp_path))] * 3
                return
            place = create_place(kind)
            yield [
                await stack.enter_async_context(served(create(), tmp_path / str(number), **place))
                for number in range(3)
            ]

    return opened


def slow_agent() -> Agent:
    """An agent that thinks and answers slowly enough to be watched."""
    transport = ScriptedTransport(
        lambda heard: turn(
            think("Let me count. " * 3), say(pieces=[f"{word} " for word in WORDS * 4]), pace_s=0.01
        )
    )
    return Agent("vllm:any", transport=transport, policy=NEVER)


def once_answering() -> Agent:
    """An agent whose provider answers "Go." and never ends any other answer."""

    def play(heard: Heard) -> Any:
        is_first = heard.messages[-1].text == "Go."
        return turn(say("Yes.")) if is_first else turn(say("Wait."), stall())

    return Agent("vllm:any", transport=ScriptedTransport(play), policy=NEVER)


def paying() -> Agent:
    """An agent that asks before it pays."""

    @headrace.tool(needs_approval=True)
    async def pay(amount: int, context: ToolContext) -> str:
        """Pay."""
        return f"paid {amount}"

    def play(heard: Heard) -> Any:
        results = [m.result.text for m in heard.messages if m.result is not None]
        return turn(say(results[-1])) if results else turn(call("pay", amount=5))

    return Agent("vllm:any", transport=ScriptedTransport(play), tools=[pay], policy=NEVER)


async def read_some(site: Served, event_id: str, after: str, count: int | None) -> list[Any]:
    """Read frames from a server: `count` of them, or all."""
    async with site.resume(event_id, after) as response:
        assert response.status == 200, await response.text()
        if count is None:
            return frames(await response.read())
        data = b""
        while len(frames(data[: data.rfind(b"\n\n") + 2])) < count:
            read = await response.content.readany()
            if not read:
                break
            data += read
        return frames(data[: data.rfind(b"\n\n") + 2])[:count]


def test_a_stream_goes_on_at_another_server_after_every_frame(three: Three) -> None:
    async def main() -> None:
        async with three(slow_agent) as sites:
            _, _, whole = await sites[0].ask("Go.")
            async with sites[0].open("Go again.") as response:
                event_id = response.headers["x-event-id"]
            choose = random.Random(7)
            seen: list[Any] = []
            after = "0"
            while True:
                some = await read_some(choose.choice(sites), event_id, after, 1 + len(seen) % 3)
                if not some:
                    break
                seen += some
                after = seen[-1][0]
            for site in sites:
                assert await read_some(site, event_id, "0", None) == seen
            assert [number for number, _ in seen] == [number for number, _ in frames(whole)]

    asyncio.run(main())


def test_a_cancel_at_another_server_ends_the_run_for_all(three: Three) -> None:
    async def main() -> None:
        async with three(slow_agent) as sites:
            async with sites[0].open("Go.", protocol="ux") as response:
                event_id = response.headers["x-event-id"]
                await response.content.readany()
                watching = asyncio.create_task(read_all(sites[1], event_id))
                await asyncio.sleep(0.05)
                url = f"{sites[2].url}/api/chat/{event_id}/cancel"
                async with sites[2].http.post(url) as cancelled:
                    assert (await cancelled.json())["was_live"] is True
                rest = await response.read()
            assert b"message_cancelled" in rest
            assert (await watching)[-1] == frames(rest)[-1]
            row = await sites[1].service.store.run("local", event_id)
            records = await sites[1].service.log.read(row.id)
            assert any(
                isinstance(record.event, headrace.events.CancelRequested) for record in records
            )

    asyncio.run(main())


async def read_all(site: Served, event_id: str) -> list[Any]:
    async with site.resume(event_id, protocol="ux") as response:
        return frames(await response.read())


def test_an_approval_is_answered_at_a_third_server_while_two_watch(three: Three) -> None:
    async def main() -> None:
        async with three(paying) as sites:
            async with sites[0].open("Pay.", protocol="ux") as response:
                event_id = response.headers["x-event-id"]
                data = b""
                while b"message_waiting" not in data:
                    data += await response.content.readany()
                watching = asyncio.create_task(read_all(sites[1], event_id))
                run = await sites[2].service.store.run("local", event_id)
                status, body = await sites[2].get(f"/api/runs/{run.id}/requests")
                assert status == 200
                (request,) = body["requests"]
                url = f"{sites[2].url}/api/runs/{run.id}/requests/{request['request_id']}"
                async with sites[2].http.post(url, json={"decision": "accepted"}) as answered:
                    assert answered.status == 200
                data += await response.read()
            assert b"message_final" in data
            assert b"paid 5" in data
            assert await watching == frames(data)
            stored = [await read_all(site, event_id) for site in sites]
            assert stored == [frames(data)] * 3

    asyncio.run(main())


def test_steering_at_another_server_reaches_the_model(three: Three) -> None:
    heard_texts: list[str] = []

    def create() -> Agent:
        @headrace.tool
        async def wait(context: ToolContext) -> str:
            """Wait."""
            await asyncio.sleep(0.5)
            return "done"

        def play(heard: Heard) -> Any:
            heard_texts.append(str(heard.messages))
            done = any(m.result is not None for m in heard.messages)
            return turn(say("Good.")) if done else turn(call("wait"))

        return Agent("vllm:any", transport=ScriptedTransport(play), tools=[wait], policy=NEVER)

    async def main() -> None:
        async with three(create) as sites:
            async with sites[0].open("Go.", protocol="ux") as response:
                conversation = response.headers["x-conversation-id"]
                data = b""
                while b"tool_call" not in data:
                    data += await response.content.readany()
                body = {"message": "Be brief.", "conversation_id": conversation, "mode": "steer"}
                url = f"{sites[1].url}/api/chat"
                async with sites[1].http.post(url, json=body) as steered:
                    assert steered.status in (200, 202), await steered.text()
                data += await response.read()
            assert b"message_final" in data
            assert "Be brief." in heard_texts[-1]

    asyncio.run(main())


def test_of_many_questions_under_one_message_one_begins(three: Three) -> None:
    async def main() -> None:
        async with three(once_answering) as sites:
            _, conversation, _ = await sites[0].ask("Go.")

            async def begin(number: int) -> int:
                site = sites[number % 3]
                body = {"message": f"And {number}?", "conversation_id": conversation}
                async with site.http.post(f"{site.url}/api/chat", json=body) as response:
                    return int(response.status)

            statuses = await asyncio.gather(*(begin(number) for number in range(200)))
            assert sorted(set(statuses)) == [200, 409]
            assert statuses.count(200) == 1

    asyncio.run(main())


def test_one_idempotency_key_at_three_servers_begins_one_run(three: Three) -> None:
    async def main() -> None:
        async with three(slow_agent) as sites:

            async def begin(site: Served) -> str:
                async with site.open("Go.", headers={"idempotency-key": "k1"}) as response:
                    assert response.status == 200, await response.text()
                    await response.read()
                    return str(response.headers["x-event-id"])

            found = await asyncio.gather(*(begin(site) for site in sites * 5))
            assert len(set(found)) == 1
            total = sum({site.url: site.service.runs.total for site in sites}.values())
            assert total == 1

    asyncio.run(main())


def test_a_file_that_one_server_has_received_is_sent_by_another(three: Three) -> None:
    async def main() -> None:
        async with three(slow_agent) as sites:
            url = f"{sites[0].url}/api/files?name=notes.txt"
            headers = {"content-type": "application/octet-stream"}
            async with sites[0].http.post(url, data=b"Water flows.\n", headers=headers) as sent:
                assert sent.status in (200, 201), await sent.text()
                file_id = (await sent.json())["id"]
            event_id, _, _ = await sites[1].ask("Read it.", attachments=[file_id])
            row = await sites[2].service.store.run("local", event_id)
            (question,) = await sites[2].service.store.branch("local", row.parent_id)
            assert len(question.message.content or ()) == 2

    asyncio.run(main())
