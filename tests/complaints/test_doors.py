"""Complaints of users about servers of the AI SDK, AG-UI and OpenAI's API, as tests through these
protocols: runs that die with their connection, stops that do not stop, and tokens that are paid
after the client has gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headrace.engine import Agent
from headrace.rehearsal.script import say, think, turn, wait
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server.storage.usage.usage_table import UsageTable
from headrace.transport.retry import NEVER
from tests.server.serving import Served, frames, served

WORDS = [f"word-{number} " for number in range(40)]
ANSWER = "".join(WORDS)


class Model:
    """A model that answers word by word, and stops in the middle until it is released."""

    def __init__(self) -> None:
        self.is_released = False
        self.transport = ScriptedTransport(self._play, dialect="anthropic", sleep=self._sleep)

    def _play(self, heard: Any) -> Any:
        half = len(WORDS) // 2
        return turn(think("hm"), say(pieces=WORDS[:half]), wait(1_000), say(pieces=WORDS[half:]))

    async def _sleep(self, seconds: float) -> None:
        while seconds >= 1_000 and not self.is_released and self.transport.open_streams:
            await asyncio.sleep(0.005)

    def agent(self) -> Agent:
        return Agent("anthropic:test", transport=self.transport, api_key="k", policy=NEVER)


@asynccontextmanager
async def serving(folder: Path, **settings: Any) -> AsyncIterator[tuple[Served, Model]]:
    model = Model()
    async with served(model.agent(), folder, **settings) as site:
        yield site, model


async def wait_for(holds: Callable[[], bool]) -> None:
    for _ in range(4_000):
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it does not come true")


def ask_with(site: Served, door: str) -> Any:
    """Send a question through a protocol, and stream the answer."""
    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Go."}]}
    said = {"id": "u1", "role": "user", "content": "Go."}
    plain = [{"role": "user", "content": "Go."}]
    bodies: dict[str, tuple[str, Any]] = {
        "ai-sdk": ("/api/ai-sdk/chat", {"id": "c1", "messages": [message]}),
        "ag-ui": (
            "/api/ag-ui",
            {"threadId": "t1", "runId": "r1", "messages": [said], "tools": [], "context": []},
        ),
        "background": (
            "/v1/responses",
            {"model": "default", "input": "Go.", "stream": True, "background": True},
        ),
        "chat": ("/v1/chat/completions", {"model": "default", "messages": plain, "stream": True}),
        "messages": (
            "/v1/messages",
            {"model": "default", "max_tokens": 99, "messages": plain, "stream": True},
        ),
    }
    path, body = bodies[door]
    return site.http.post(site.url + path, json=body)


STORED = ("ai-sdk", "ag-ui", "background")
UNSTORED = ("chat", "messages")


async def leave_in_the_middle(site: Served, door: str) -> bytes:
    """Ask, read until some words have come, and drop the connection."""
    data = b""
    async with ask_with(site, door) as response:
        assert response.status == 200, await response.text()
        while b"word-5" not in data:
            data += await response.content.readany()
    return data


async def stored_text(site: Served) -> str:
    await wait_for(lambda: not site.service.runs.count)
    _, page = await site.get("/api/conversations")
    (conversation,) = page["conversations"]
    _, detail = await site.get(f"/api/conversations/{conversation['id']}")
    segments = detail["messages"][-1]["event"]["segments"]
    return "".join(segment.get("text", "") for segment in segments)


@pytest.mark.parametrize("door", STORED)
def test_agent_framework_7230_mastra_6718_copilotkit_3553_a_run_outlives_its_connection(
    tmp_path: Path, door: str
) -> None:
    async def main() -> None:
        async with serving(tmp_path) as (site, model):
            await leave_in_the_middle(site, door)
            model.is_released = True
            assert await stored_text(site) == ANSWER

    asyncio.run(main())


def resume_with(site: Served, door: str, seen: bytes) -> Any:
    """Come back to an answer, as the client of a protocol does."""
    if door == "ag-ui":
        # The same run that is sent again is the same run.
        return ask_with(site, door)
    path = "/api/ai-sdk/chat/c1/stream"
    if door == "background":
        path = f"/v1/responses/{find_response_id(seen)}?stream=true"
    return site.http.get(site.url + path)


def stop_with(site: Served, door: str, seen: bytes) -> Any:
    paths = {"ai-sdk": "/api/ai-sdk/chat/c1/stop", "ag-ui": "/api/ag-ui/t1/stop"}
    if door == "background":
        paths[door] = f"/v1/responses/{find_response_id(seen)}/cancel"
    return site.http.post(site.url + paths[door])


def find_response_id(seen: bytes) -> str:
    (_, first), *_ = frames(seen)
    return str(msgspec.json.decode(first)["response"]["id"])


STOPPED = {
    "ai-sdk": b'"type":"abort"',
    "ag-ui": b'"outcome":{"type":"cancelled"}',
    "background": b'"status":"cancelled"',
}
SUCCESS = {
    "ai-sdk": b'"finishReason":"stop"',
    "ag-ui": b'"outcome":{"type":"success"}',
    "background": b"response.completed",
}


@pytest.mark.parametrize("door", STORED)
def test_vercel_ai_6502_8390_ag_ui_733_a_stop_stops_a_resumed_stream(
    tmp_path: Path, door: str
) -> None:
    """Stop and resume work together: the tab that resumes sees the stop of another one."""

    async def main() -> None:
        async with serving(tmp_path) as (site, model):
            seen = await leave_in_the_middle(site, door)
            async with resume_with(site, door, seen) as resumed:
                assert resumed.status == 200
                assert b"word-5" in await resumed.content.readuntil(b"word-5")
                async with stop_with(site, door, seen) as stopped:
                    assert stopped.status == 200
                rest = await resumed.read()
            assert STOPPED[door] in rest
            assert SUCCESS[door] not in rest
            await wait_for(lambda: model.transport.open_streams == 0)
            assert not model.is_released
            # Whoever comes later sees the same end, or that nothing is being written.
            async with resume_with(site, door, seen) as again:
                assert again.status == 204 or STOPPED[door] in await again.read()

    asyncio.run(main())


def test_mastra_22096_streams_can_be_resumed_after_any_event(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path) as (site, model):
            seen = await leave_in_the_middle(site, "background")
            model.is_released = True
            events = [msgspec.json.decode(data) for _, data in frames(seen)]
            response_id = events[0]["response"]["id"]
            url = f"{site.url}/v1/responses/{response_id}?stream=true&starting_after="
            for event in (events[0], events[-1]):
                number = event["sequence_number"]
                async with site.http.get(url + str(number)) as resumed:
                    rest = [msgspec.json.decode(data) for _, data in frames(await resumed.read())]
                assert rest[0]["sequence_number"] == number + 1
                whole = [*events[: events.index(event) + 1], *rest]
                deltas = [e["delta"] for e in whole if e["type"] == "response.output_text.delta"]
                assert "".join(deltas) == ANSWER

    asyncio.run(main())


def test_open_webui_29596_a_reload_in_the_middle_shows_the_whole_answer(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path) as (site, model):
            await leave_in_the_middle(site, "ai-sdk")
            model.is_released = True
            async with site.http.get(f"{site.url}/api/ai-sdk/chat/c1/stream") as resumed:
                sent = [data for _, data in frames(await resumed.read())]
            chunks = [msgspec.json.decode(data) for data in sent if data != "[DONE]"]
            assert "".join(c["delta"] for c in chunks if c["type"] == "text-delta") == ANSWER

    asyncio.run(main())


@pytest.mark.parametrize("door", UNSTORED)
def test_litellm_13774_31499_a_client_that_has_gone_costs_nothing_more(
    tmp_path: Path, door: str
) -> None:
    async def main() -> None:
        async with serving(tmp_path) as (site, model):
            await leave_in_the_middle(site, door)
            await wait_for(lambda: model.transport.open_streams == 0)
            assert not model.is_released

    asyncio.run(main())


@pytest.mark.parametrize("door", UNSTORED)
def test_openai_agents_js_995_bifrost_3709_llmgateway_3331_a_stream_that_was_left_has_usage(
    tmp_path: Path, door: str
) -> None:
    async def main() -> None:
        async with serving(tmp_path) as (site, _):
            await leave_in_the_middle(site, door)
            await wait_for(lambda: not site.service.unstored.count)
            (used,) = UsageTable(site.service.database).sum_up(["outcome"])
            assert used.answers == 1
            assert used.output_tokens > 0
            assert used.input_tokens > 0

    asyncio.run(main())


@pytest.mark.parametrize("door", [*STORED, *UNSTORED])
def test_copilotkit_6980_litellm_32763_claude_code_70017_quiet_thinking_is_not_cut(
    tmp_path: Path, door: str
) -> None:
    """While the model is silent, before and in the answer, something is sent now and then."""

    async def main() -> None:
        async with serving(tmp_path, heartbeat_s=0.02) as (site, model):
            data = b""
            async with ask_with(site, door) as response:
                while data.count(b": \n\n") < 3:
                    data += await response.content.readany()
                model.is_released = True
                data += await response.read()
            assert WORDS[-1].strip().encode() in data

    asyncio.run(main())


@pytest.mark.parametrize("door", UNSTORED)
def test_litellm_32763_neither_is_a_model_that_thinks_before_its_first_event(
    tmp_path: Path, door: str
) -> None:
    async def main() -> None:
        released = asyncio.Event()

        async def sleep(seconds: float) -> None:
            await released.wait()

        play = turn(wait(1_000), say("Finally."))
        transport = ScriptedTransport(lambda _: play, dialect="anthropic", sleep=sleep)
        agent = Agent("anthropic:test", transport=transport, api_key="k", policy=NEVER)
        async with served(agent, tmp_path, heartbeat_s=0.02) as site:
            data = b""
            async with ask_with(site, door) as response:
                assert response.status == 200
                while data.count(b": \n\n") < 2:
                    data += await response.content.readany()
                released.set()
                data += await response.read()
            assert b"Finally." in data

    asyncio.run(main())
