"""Honest users of a server under attack, in their own process: `python -m tests.load.honest`.

Each asks one scheduled question after the other, reads the answer, and compares it with the stored
one. Told by an `HonestJob` as its only argument; prints an `HonestResult`, both as JSON.
"""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import msgspec

from bench.load.mark import Marks, now_ns
from tests.load.attack_agent import SCHEDULED
from tests.server.serving import frames

_TRIES = 50


class HonestJob(msgspec.Struct):
    """What the honest users do."""

    url: str
    access_tokens: list[str]
    """One per user; the streams are distributed over them."""
    streams: int
    events: int
    """Events of each answer."""
    seconds: float
    """No question is asked later."""


class HonestResult(msgspec.Struct):
    """What the honest users have seen."""

    answers: int = 0
    events: int = 0
    retries: int = 0
    """Requests that were sent again after a refusal or a broken connection."""
    losses: list[str] = msgspec.field(default_factory=list[str])
    """Answers that were incomplete, or not the same when they were read again."""
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    max_ms: float = 0.0


class Honest:
    """All honest users."""

    def __init__(self, job: HonestJob, http: aiohttp.ClientSession) -> None:
        self._job = job
        self._http = http
        self._delays_ns: list[int] = []
        self.result = HonestResult()

    async def run(self) -> HonestResult:
        until_s = asyncio.get_running_loop().time() + self._job.seconds
        await asyncio.gather(*(self._user(n, until_s) for n in range(self._job.streams)))
        delays = sorted(self._delays_ns) or [0]
        result = self.result
        result.p50_ms, result.p99_ms = (
            delays[int(len(delays) * share)] / 1e6 for share in (0.5, 0.99)
        )
        result.max_ms = delays[-1] / 1e6
        return result

    async def _user(self, number: int, until_s: float) -> None:
        tokens = self._job.access_tokens
        headers = {"authorization": f"Bearer {tokens[number % len(tokens)]}"}
        loop = asyncio.get_running_loop()
        # Not all at the same moment.
        await asyncio.sleep(number * 0.05)
        while loop.time() < until_s:
            await self._ask(headers)

    async def _ask(self, headers: dict[str, str]) -> None:
        marks, live, last = Marks(), b"", 0
        keyed = {**headers, "idempotency-key": uuid.uuid4().hex}
        async with self._open("POST", "/api/chat", keyed) as response:
            event_id = response.headers["x-event-id"]
            try:
                async for data in response.content.iter_any():
                    now = now_ns()
                    live += data
                    for sent in marks.feed(data):
                        # The end of the answer repeats its text.
                        if sent > last:
                            last = sent
                            self._delays_ns.append(now - sent)
            except aiohttp.ClientError as error:
                self.result.losses.append(f"{event_id}: the stream broke off: {error!r}")
                return
        async with self._open("GET", f"/api/chat/{event_id}/stream", headers) as again:
            stored = await again.read()
        self._check(event_id, live, stored)

    def _check(self, event_id: str, live: bytes, stored: bytes) -> None:
        result = self.result
        result.answers += 1
        found = len(set(Marks().feed(live)))
        result.events += found
        if found != self._job.events:
            result.losses.append(f"{event_id}: {found} of {self._job.events} events")
        if sum('"type":"message_final"' in payload for _, payload in frames(live)) != 1:
            result.losses.append(f"{event_id}: no end: {live[-200:]!r}")
        if frames(live) != frames(stored):
            result.losses.append(f"{event_id}: the stored stream differs from the live one")

    @asynccontextmanager
    async def _open(
        self, verb: str, path: str, headers: dict[str, str]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request, again if it is refused for now."""
        body = {"message": SCHEDULED} if verb == "POST" else None
        last = ""
        for _ in range(_TRIES):
            try:
                url = f"{self._job.url}{path}"
                response = await self._http.request(verb, url, json=body, headers=headers)
            except aiohttp.ClientError as error:
                last = repr(error)
            else:
                if response.status == 200:
                    async with response:
                        yield response
                    return
                last = await response.text()
            self.result.retries += 1
            await asyncio.sleep(0.2)
        raise AssertionError(f"an honest request was refused {_TRIES} times: {last}")


async def _main(job: HonestJob) -> None:
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=30)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as http:
        result = await Honest(job, http).run()
    sys.stdout.buffer.write(msgspec.json.encode(result) + b"\n")


if __name__ == "__main__":
    asyncio.run(_main(msgspec.json.decode(sys.argv[1], type=HonestJob)))
