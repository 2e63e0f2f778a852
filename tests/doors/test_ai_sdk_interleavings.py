"""Chats of the AI SDK in random orders: questions that are sent twice, pages that come, go and
resume, approvals that two tabs answer, and stops. All who see the end see the same message."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headrace.testing import call, say, think, turn
from tests.doors.ui_agents import agent, pay, staged
from tests.phases.ui_order import DONE, Chunk, UIMessageReader, read_ui_message
from tests.server.serving import Served, frames, served

INTERLEAVINGS = int(os.environ.get("HEADRACE_SOAK_INTERLEAVINGS", "200"))
_AT_ONCE = 6
_WORDS = say(" ".join(f"word-{n}" for n in range(30)))
AGENTS = {
    "plain": agent(staged(turn(think("Let me see."), _WORDS, pace_s=0.003))),
    "approval": agent(
        staged(
            turn(say("I pay."), call("pay", amount=5), pace_s=0.003),
            turn(_WORDS, pace_s=0.003),
        ),
        [pay],
    ),
}


def chunks_of(data: bytes) -> list[Any]:
    """The payloads of a stream; comments are left out."""
    return [DONE if sent == DONE else msgspec.json.decode(sent) for _, sent in frames(data)]


class Interleaving:
    """One question, and everybody who has to do with its answer."""

    def __init__(self, server: Served, seed: int) -> None:
        self._server = server
        self._chance = random.Random(seed)
        self._id = f"chat-{seed}"
        self._model = self._chance.choice(list(AGENTS))
        self._question: Chunk = {
            "id": "u1",
            "role": "user",
            "parts": [{"type": "text", "text": "Go."}],
        }
        self._asked = asyncio.Event()
        self._waits: asyncio.Future[Chunk] = asyncio.get_running_loop().create_future()
        self.ends: list[tuple[str, list[Chunk]]] = []
        """How each stream that was read to the end of the run ended, and the parts of its
        message."""

    async def run(self) -> None:
        chance = self._chance
        doing = [self._ask() for _ in range(chance.randint(1, 2))]
        doing += [self._watch() for _ in range(chance.randint(1, 5))]
        doing += [self._answer() for _ in range(chance.randint(1, 2))]
        if chance.random() < 0.6:
            doing.append(self._stop())
        chance.shuffle(doing)
        await asyncio.gather(*doing)
        async with self._get("stream") as response:
            assert response.status == 204
        assert len({end for end, _ in self.ends}) <= 1
        assert all(parts == self.ends[0][1] for _, parts in self.ends)

    def _get(self, name: str) -> Any:
        return self._server.http.get(f"{self._server.url}/api/ai-sdk/chat/{self._id}/{name}")

    def _post(self, *messages: Chunk) -> Any:
        body = {"id": self._id, "model": self._model, "messages": messages}
        return self._server.http.post(f"{self._server.url}/api/ai-sdk/chat", json=body)

    def _note(self, reader: UIMessageReader, stream: list[Any]) -> None:
        """Note the end of the run, or what it waits for."""
        last = stream[-2]
        asked = [part for part in reader.parts if part.get("state") == "approval-requested"]
        if last.get("finishReason") == "tool-calls":
            assert asked
            if not self._waits.done():
                message = {"id": reader.message_id, "role": "assistant"}
                self._waits.set_result({**message, "part": asked[0]})
            return
        if not self._waits.done():
            self._waits.cancel()
        self.ends.append((last["type"], reader.parts))

    async def _ask(self) -> None:
        """Send the question that all tabs have."""
        await asyncio.sleep(self._chance.random() * 0.05)
        async with self._post(self._question) as response:
            assert response.status == 200, await response.text()
            self._asked.set()
            stream = chunks_of(await response.read())
        self._note(read_ui_message(stream), stream)

    async def _watch(self) -> None:
        """Read the stream, and go away and resume some times."""
        await self._asked.wait()
        for _ in range(self._chance.randint(0, 3)):
            await asyncio.sleep(self._chance.random() * 0.05)
            async with self._get("stream") as response:
                for _ in range(self._chance.randint(0, 12) if response.status == 200 else 0):
                    await response.content.readany()
        async with self._get("stream") as response:
            if response.status == 204:
                return
            stream = chunks_of(await response.read())
        self._note(read_ui_message(stream), stream)

    async def _answer(self) -> None:
        """Approve what the run waits for, if it waits, and read how it goes on."""
        try:
            waiting = dict(await asyncio.shield(self._waits))
        except asyncio.CancelledError:
            return
        part = waiting.pop("part")
        approval = {"id": part["approval"]["id"], "approved": True}
        tool = {"type": "tool-pay", "toolCallId": part["toolCallId"], "input": part["input"]}
        tool |= {"state": "approval-responded", "approval": approval}
        async with self._post(self._question, {**waiting, "parts": [tool]}) as response:
            if response.status == 409:
                # It was stopped before.
                return
            assert response.status == 200, await response.text()
            stream = chunks_of(await response.read())
        assert stream[0] == {"type": "start", "messageId": waiting["id"]}
        assert stream[-1] == DONE

    async def _stop(self) -> None:
        await self._asked.wait()
        await asyncio.sleep(self._chance.random() * 0.15)
        url = f"{self._server.url}/api/ai-sdk/chat/{self._id}/stop"
        async with self._server.http.post(url) as response:
            assert response.status == 200
        # A stop stops: nothing is being written any more.
        async with self._get("stream") as response:
            assert response.status == 204
        if not self._waits.done():
            self._waits.cancel()


@pytest.mark.timeout(120 + INTERLEAVINGS)
def test_all_who_see_the_end_see_the_same_message(tmp_path: Path, record_property: Any) -> None:
    async def main() -> list[Interleaving]:
        async with served(AGENTS, tmp_path, heartbeat_s=0.02) as server:
            at_once = asyncio.Semaphore(_AT_ONCE)
            made = [Interleaving(server, seed) for seed in range(INTERLEAVINGS)]

            async def run(one: Interleaving) -> None:
                async with at_once:
                    await asyncio.wait_for(one.run(), 60)

            await asyncio.gather(*map(run, made))
            await server.idle()
            return made

    made = asyncio.run(main())
    ends = [end for one in made for end, _ in one.ends]
    assert {"finish", "abort"} <= set(ends)
    record_property("summary", f"AI SDK: {len(made)} interleavings, {len(ends)} ends")
