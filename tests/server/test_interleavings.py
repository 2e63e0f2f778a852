"""Watchers that come, go and resume, a cancellation, and requests that are sent twice, in random
orders and with the limits at work: all streams of an answer have the same bytes, and one end."""

from __future__ import annotations

import asyncio
import os
import random
import uuid
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from headrace.projections.registry import PROTOCOLS
from headrace.rehearsal.script import say, think, turn
from tests.server.serving import Served, frames, scripted, served
from tests.server.tokens import create_token

INTERLEAVINGS = int(os.environ.get("HEADRACE_SOAK_INTERLEAVINGS", "200"))
_AT_ONCE = 8
_ENDS = {name: protocol.ends for name, protocol in PROTOCOLS.items()}
ANSWER = turn(
    think("Let me see. " + " ".join(f"thought-{n}" for n in range(10))),
    say(" ".join(f"word-{n}" for n in range(30))),
    pace_s=0.003,
)
# Fewer live answers than are asked for at once, so that requests are refused and repeated.
LIMITS: dict[str, Any] = {
    "needs_token": True,
    "max_live_runs_per_user": 3,
    "asks_per_minute": 6_000,
    "heartbeat_s": 0.02,
}


class Interleaving:
    """One answer, and everybody who has to do with it."""

    def __init__(self, server: Served, token: str, seed: int) -> None:
        self._server = server
        self._chance = random.Random(seed)
        self._key = uuid.uuid4().hex
        self._headers = {"authorization": f"Bearer {token}"}
        self._event_id: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.refusals = 0
        self.streams: list[tuple[str, bytes]] = []
        """Protocol and bytes of what each watcher has read, from the first frame to the last."""

    async def run(self) -> None:
        chance = self._chance
        doing = [self._ask() for _ in range(chance.randint(1, 3))]
        doing += [self._watch() for _ in range(chance.randint(1, 6))]
        if chance.random() < 0.5:
            doing.append(self._cancel())
        chance.shuffle(doing)
        await asyncio.gather(*doing)
        await self._compare()

    async def _ask(self) -> None:
        """Ask with the key that all have, and read the answer."""
        await asyncio.sleep(self._chance.random() * 0.05)
        protocol = self._chance.choice(list(PROTOCOLS))
        headers = {**self._headers, "idempotency-key": self._key}
        while True:
            async with self._server.open("Go.", headers, protocol=protocol) as response:
                if response.status == 200:
                    if not self._event_id.done():
                        self._event_id.set_result(response.headers["x-event-id"])
                    self.streams.append((protocol, await response.read()))
                    return
                assert response.status == 429, await response.text()
            self.refusals += 1
            await asyncio.sleep(0.02)

    async def _watch(self) -> None:
        """Read the stream, and go away and resume after the last whole frame some times."""
        event_id = await asyncio.shield(self._event_id)
        protocol = self._chance.choice(list(PROTOCOLS))
        seen = b""
        for _ in range(self._chance.randint(0, 3)):
            await asyncio.sleep(self._chance.random() * 0.05)
            async with self._resume(event_id, protocol, seen) as response:
                seen += await self._read_some(response)
        async with self._resume(event_id, protocol, seen) as response:
            seen += await response.read()
        self.streams.append((protocol, seen))

    def _resume(self, event_id: str, protocol: str, seen: bytes) -> Any:
        found = frames(seen)
        after = found[-1][0] if found else "0"
        return self._server.http.get(
            f"{self._server.url}/api/chat/{event_id}/stream?protocol={protocol}",
            headers={**self._headers, "last-event-id": after},
        )

    async def _read_some(self, response: aiohttp.ClientResponse) -> bytes:
        """Return the whole frames of the first few reads."""
        data = b""
        for _ in range(self._chance.randint(0, 12)):
            data += await response.content.readany()
        return data[: data.rfind(b"\n\n") + 2] if b"\n\n" in data else b""

    async def _cancel(self) -> None:
        event_id = await asyncio.shield(self._event_id)
        await asyncio.sleep(self._chance.random() * 0.15)
        url = f"{self._server.url}/api/chat/{event_id}/cancel"
        async with self._server.http.post(url, json={}, headers=self._headers) as response:
            assert response.status == 200

    async def _compare(self) -> None:
        event_id = self._event_id.result()
        for protocol in PROTOCOLS:
            async with self._resume(event_id, protocol, b"") as response:
                whole = frames(await response.read())
            ends = [
                payload
                for _, payload in whole
                if any(f'"type":"{end}"' in payload for end in _ENDS[protocol])
            ]
            assert len(ends) == 1, ends
            for _, data in (one for one in self.streams if one[0] == protocol):
                assert frames(data) == whole


@pytest.mark.timeout(120 + INTERLEAVINGS)
def test_all_streams_of_an_answer_are_the_same_whatever_happens(
    tmp_path: Path, record_property: Any
) -> None:
    async def main() -> list[Interleaving]:
        agent = scripted(ANSWER, keeps_requests=False)
        async with served(agent, tmp_path, **LIMITS) as server:
            tokens = [create_token(server.service, f"user{n}", "", 0) for n in range(2)]
            at_once = asyncio.Semaphore(_AT_ONCE)
            made = [Interleaving(server, tokens[n % 2], n) for n in range(INTERLEAVINGS)]

            async def run(one: Interleaving) -> None:
                async with at_once:
                    await one.run()

            await asyncio.gather(*map(run, made))
            assert server.service.runs.total == INTERLEAVINGS
            return made

    made = asyncio.run(main())
    refusals = sum(one.refusals for one in made)
    assert refusals > 0
    streams = sum(len(one.streams) for one in made)
    text = f"{INTERLEAVINGS} interleavings, {streams} streams compared, {refusals} requests refused"
    record_property("summary", text)
