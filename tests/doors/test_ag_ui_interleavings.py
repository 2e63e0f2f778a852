"""Runs of AG-UI clients in random orders: the same run that is asked for by several clients, who go
away and come back, interrupts that two of them answer, and stops. All see the same events."""

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
from tests.phases.ui_order import check_ag_ui
from tests.server.serving import Served, frames, served

INTERLEAVINGS = int(os.environ.get("HEADRACE_SOAK_INTERLEAVINGS", "200"))
_AT_ONCE = 6
_WORDS = say(" ".join(f"word-{n}" for n in range(30)))
AGENTS = {
    "plain": agent(staged(turn(think("Let me see."), _WORDS, pace_s=0.003))),
    "approval": agent(
        staged(
            turn(say("I pay."), call("pay", amount=5), pace_s=0.003), turn(_WORDS, pace_s=0.003)
        ),
        [pay],
    ),
}


def events_of(data: bytes) -> list[dict[str, Any]]:
    """The events of a stream, which must be a legal one."""
    events = [msgspec.json.decode(sent) for _, sent in frames(data)]
    check_ag_ui(events)
    return events


def how_it_ended(events: list[dict[str, Any]]) -> str:
    last = events[-1]
    return str(last["outcome"]["type"]) if last["type"] == "RUN_FINISHED" else "error"


class Interleaving:
    """One question, and everybody who has to do with its answer."""

    def __init__(self, server: Served, seed: int) -> None:
        self._server = server
        self._chance = random.Random(seed)
        self._thread_id = f"thread-{seed}"
        self._model = self._chance.choice(list(AGENTS))
        self._asked = asyncio.Event()
        self._interrupt: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.first: list[list[dict[str, Any]]] = []
        """The events of the run, as far as it goes without an answer, as each client saw them."""
        self.ends: list[str] = []

    async def run(self) -> None:
        chance = self._chance
        doing = [self._watch() for _ in range(chance.randint(2, 5))]
        doing += [self._answer(number) for number in range(chance.randint(1, 2))]
        if chance.random() < 0.6:
            doing.append(self._stop())
        chance.shuffle(doing)
        await asyncio.gather(*doing)
        assert all(events == self.first[0] for events in self.first)

    def _post(self, run_id: str, **more: Any) -> Any:
        question = {"id": "u1", "role": "user", "content": "Go."}
        body = {"threadId": self._thread_id, "runId": run_id, "messages": [question]} | more
        body |= {"tools": [], "context": [], "forwardedProps": {"model": self._model}}
        return self._server.http.post(f"{self._server.url}/api/ag-ui", json=body)

    async def _watch(self) -> None:
        """Ask, and go away and come back some times."""
        for _ in range(self._chance.randint(0, 3)):
            await asyncio.sleep(self._chance.random() * 0.05)
            async with self._post("r1") as response:
                assert response.status == 200, await response.text()
                self._asked.set()
                for _ in range(self._chance.randint(0, 12)):
                    await response.content.readany()
        async with self._post("r1") as response:
            assert response.status == 200, await response.text()
            self._asked.set()
            events = events_of(await response.read())
        self.first.append(events)
        end = how_it_ended(events)
        if end == "interrupt" and not self._interrupt.done():
            self._interrupt.set_result(events[-1]["outcome"]["interrupts"][0]["id"])
        elif end != "interrupt":
            self._interrupt.cancel()
            self.ends.append(end)

    async def _answer(self, number: int) -> None:
        """Approve what the run waits for, if it waits, and read how it goes on."""
        try:
            asked_id = await asyncio.shield(self._interrupt)
        except asyncio.CancelledError:
            return
        entry = {"interruptId": asked_id, "status": "resolved", "payload": {"approved": True}}
        async with self._post(f"r2-{number}", messages=[], resume=[entry]) as response:
            if response.status == 409:
                # It was stopped before.
                return
            assert response.status == 200, await response.text()
            events = events_of(await response.read())
        assert events[0]["runId"] == f"r2-{number}"
        self.ends.append(how_it_ended(events))

    async def _stop(self) -> None:
        await self._asked.wait()
        await asyncio.sleep(self._chance.random() * 0.15)
        url = f"{self._server.url}/api/ag-ui/{self._thread_id}/stop"
        async with self._server.http.post(url) as response:
            assert response.status == 200
        # A stop stops: there is nothing more to stop.
        async with self._server.http.post(url) as response:
            assert (await response.json()) == {"was_live": False}


@pytest.mark.timeout(120 + INTERLEAVINGS)
def test_all_who_read_a_run_see_the_same_events(tmp_path: Path, record_property: Any) -> None:
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
    ends = [end for one in made for end in one.ends]
    assert {"success", "cancelled"} <= set(ends)
    record_property("summary", f"AG-UI: {len(made)} interleavings, {len(ends)} ends")
