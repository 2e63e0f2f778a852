"""What users say while an answer is being written: it steers the answer, follows it, or is
refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import headrace
from headrace.engine import Agent
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.transport import ScriptedTransport
from headrace.testing import call, say, turn
from headrace.transport.retry import NEVER
from tests.server.serving import Served, served
from tests.server.test_input_requests import wait_until_over


class Gate:
    """A tool that waits until the test opens it."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.entered = asyncio.Event()

    def agent(self) -> Agent:
        async def wait() -> str:
            """Wait."""
            self.entered.set()
            await self.opened.wait()
            return "waited"

        def play(heard: Heard) -> Any:
            said = [m.text for m in heard.messages if m.role == "user"]
            if not any(m.result for m in heard.messages):
                return turn(call("wait"))
            return turn(say(" | ".join(said)))

        transport = ScriptedTransport(play)
        return Agent("vllm:any", transport=transport, tools=[wait], policy=NEVER)


async def _begin(site: Served, gate: Gate) -> tuple[str, str]:
    async with site.open("First.") as answer:
        await gate.entered.wait()
        return answer.headers["x-event-id"], answer.headers["x-conversation-id"]


async def _say(site: Served, text: str, conversation: str, **body: Any) -> tuple[int, str]:
    headers = {"idempotency-key": body.pop("key")} if "key" in body else None
    async with site.open(text, headers, conversation_id=conversation, **body) as answer:
        return answer.status, answer.headers.get("x-event-id", "")


async def _answers(site: Served, conversation: str) -> list[str]:
    _, body = await site.get(f"/api/conversations/{conversation}")
    return [message["role"] for message in body["messages"]]


def test_a_message_steers_the_answer_that_is_being_written(tmp_path: Path) -> None:
    async def main() -> None:
        gate = Gate()
        async with served(gate.agent(), tmp_path) as site:
            event_id, conversation = await _begin(site, gate)
            assert (await _say(site, "No.", conversation))[0] == 409
            said = await _say(site, "Hurry.", conversation, mode="steer", key="k1")
            assert said == (200, event_id)
            # Sent again after a lost response, it counts once.
            assert await _say(site, "Hurry.", conversation, mode="steer", key="k1") == said
            gate.opened.set()
            message = await wait_until_over(site, event_id)
            assert message.text == "First. | Hurry."
            (added,) = message.turns[0].added
            assert added.content == (headrace.TextContent("Hurry."),)
            await site.idle()
            assert await _answers(site, conversation) == ["user", "assistant"]

    asyncio.run(main())


def test_a_queued_message_is_asked_when_the_answer_is_there(tmp_path: Path) -> None:
    async def main() -> None:
        gate = Gate()
        async with served(gate.agent(), tmp_path) as site:
            event_id, conversation = await _begin(site, gate)
            for text in ("Second.", "Third."):
                assert await _say(site, text, conversation, mode="queue") == (200, event_id)
            gate.opened.set()
            first = await wait_until_over(site, event_id)
            assert first.text == "First."
            for _ in range(300):
                roles = await _answers(site, conversation)
                if roles == ["user", "assistant"] * 3 and not site.service.runs.count:
                    break
                await asyncio.sleep(0.02)
            status, body = await site.get(f"/api/conversations/{conversation}")
            assert status == 200
            texts = [m["text"] for m in body["messages"] if m["role"] == "user"]
            assert texts == ["First.", "Second.", "Third."]

    asyncio.run(main())


def test_after_a_cancel_nothing_that_waits_is_asked(tmp_path: Path) -> None:
    async def main() -> None:
        gate = Gate()
        async with served(gate.agent(), tmp_path) as site:
            event_id, conversation = await _begin(site, gate)
            await asyncio.gather(
                _say(site, "Second.", conversation, mode="queue"),
                _say(site, "Hurry.", conversation, mode="steer"),
            )
            async with site.http.post(f"{site.url}/api/chat/{event_id}/cancel") as response:
                assert response.status == 200
            message = await wait_until_over(site, event_id)
            assert message.finish is not None
            assert message.finish.kind == "cancelled"
            await site.idle()
            assert await _answers(site, conversation) == ["user", "assistant"]

    asyncio.run(main())


def test_a_queued_message_survives_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        gate = Gate()
        async with served(gate.agent(), tmp_path) as site:
            event_id, conversation = await _begin(site, gate)
            await _say(site, "Second.", conversation, mode="queue")
            site.service.runs.on_end = None  # as if killed right after the commit
            gate.opened.set()
            await wait_until_over(site, event_id)
        async with served(Gate().agent(), tmp_path) as site:
            for _ in range(300):
                roles = await _answers(site, conversation)
                if roles == ["user", "assistant"] * 2 and not site.service.runs.count:
                    return
                await asyncio.sleep(0.02)
            raise AssertionError(roles)

    asyncio.run(main())
