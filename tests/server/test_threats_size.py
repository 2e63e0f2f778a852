"""T17: a request that is too much is refused at once, over a real socket, in a process whose
memory is measured, and the others do not notice."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.rehearsal.script import say, turn
from headrace.server.budgets.upload_budget import UploadBudget
from tests.memory import resident_kb
from tests.server.nursery import Nursery, Victim, nursery
from tests.server.raw import Answer, head, send
from tests.server.serving import scripted, served

JSON = "Content-Type: application/json"
CHUNKED = "Transfer-Encoding: chunked"
MEGABYTE = b"x" * 1_000_000


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def of_length(body: bytes) -> list[bytes]:
    return [head("POST", "/api/chat", JSON, f"Content-Length: {len(body)}"), body]


def told_100_mb() -> Iterator[bytes]:
    yield head("POST", "/api/chat", JSON, "Content-Length: 100000000")
    yield from [MEGABYTE] * 100


def sent_100_mb() -> Iterator[bytes]:
    yield head("POST", "/api/chat", JSON, CHUNKED)
    yield from [chunk(MEGABYTE)] * 100


def one_by_one() -> Iterator[bytes]:
    yield head("POST", "/api/chat", JSON, CHUNKED)
    yield from [chunk(b" ") * 10_000] * 110


def digits() -> list[bytes]:
    return of_length(b'{"message": %b}' % (b"9" * 10_000))


def many_keys() -> list[bytes]:
    return of_length(json.dumps({f"key_{n}": n for n in range(40_000)}).encode())


def long_header() -> list[bytes]:
    return [head("POST", "/api/chat", JSON, "Idempotency-Key: " + "k" * 200_000)]


def many_headers() -> list[bytes]:
    return [head("POST", "/api/chat", JSON, *(f"X-{n}: y" for n in range(20_000)))]


def no_number() -> list[bytes]:
    return [head("POST", "/api/chat", JSON, "Content-Length: " + "9" * 5_000), b"x"]


# Whoever goes on sending is cut off, and may lose the answer that came before that.
CUT_OR_413 = (0, 413)
TOO_MUCH: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "100 MB, as told": (told_100_mb, CUT_OR_413),
    "100 MB, not told": (sent_100_mb, CUT_OR_413),
    "a megabyte in chunks of one byte": (one_by_one, CUT_OR_413),
    "100,000 brackets": (lambda: of_length(b"[" * 100_000), (400, 422)),
    "100,000 objects": (lambda: of_length(b'{"message":' * 90_000), (400, 422)),
    "a number of 10,000 digits": (digits, (400, 422)),
    "40,000 keys": (many_keys, (400, 422)),
    "a long header": (long_header, (0, 400, 431)),
    "many headers": (many_headers, (0, 400, 415, 431)),
    "a length that is none": (no_number, (0, 400, 413)),
}


@pytest.fixture(scope="module")
def born() -> Iterator[Nursery]:
    with nursery() as found:
        yield found


@pytest.fixture
def victim(born: Nursery, tmp_path: Path) -> Victim:
    return born.serve(tmp_path)


@pytest.mark.parametrize("kind", TOO_MUCH)
def test_t17_what_is_too_much_is_refused_at_once(
    kind: str, victim: Victim, record_property: Any
) -> None:
    made, statuses = TOO_MUCH[kind]

    async def main() -> tuple[Answer, float, float]:
        pieces = made()
        await send(victim.url, of_length(b'{"message": "Go."}'))
        watching = asyncio.ensure_future(gap(victim))
        await asyncio.sleep(0.02)
        began = time.monotonic()
        answer = await send(victim.url, pieces)
        return answer, time.monotonic() - began, await watching

    before = resident_kb(victim.pid)
    answer, took, longest = asyncio.run(main())
    grown = resident_kb(victim.pid) - before
    assert answer.status in statuses, answer
    assert grown < 32 * 1024
    told = f"{answer.status} after {took * 1000:.0f} ms, {grown / 1024:.1f} MB more"
    record_property("summary", f"T17: {kind}: {told}, longest gap {longest * 1000:.0f} ms")


async def gap(victim: Victim) -> float:
    """The longest silence in another's stream."""
    host, _, port = victim.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.writelines(of_length(b'{"message": "Go."}'))
    longest, last = 0.0, time.monotonic()
    while await reader.read(65_536):
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    writer.close()
    return longest


def test_a_body_that_never_comes_is_given_up(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(scripted(turn(say("Hi."))), tmp_path, body_timeout_s=0.1) as server:
            start = head("POST", "/api/chat", JSON, "Content-Length: 20")
            answer = await send(server.url, [start, b'{"mess'])
            assert answer.status == 408
            assert b'"code":"too_slow"' in answer.body

    asyncio.run(main())


def test_large_bodies_that_arrive_slowly_are_bounded_together(tmp_path: Path) -> None:
    """Each is within its limit; all of them together would fill the memory."""

    async def main() -> None:
        async with served(scripted(turn(say("Hi."))), tmp_path) as site:
            site.service.uploads = UploadBudget(3_000_000)
            released = asyncio.Event()

            async def body() -> AsyncIterator[bytes]:
                yield b'{"model": "default", "padding": "' + b"x" * 900_000
                await released.wait()
                yield b'", "messages": [{"role": "user", "content": "Hi."}]}'

            async def send_one() -> int:
                headers = {"content-type": "application/json"}
                url = f"{site.url}/v1/chat/completions"
                async with site.http.post(url, data=body(), headers=headers) as response:
                    return response.status

            sending = [asyncio.create_task(send_one()) for _ in range(4)]
            done, _ = await asyncio.wait(sending, return_when=asyncio.FIRST_COMPLETED)
            assert [task.result() for task in done] == [503]
            released.set()
            statuses = sorted(await asyncio.gather(*sending))
            assert statuses == [200, 200, 200, 503]
            assert site.service.uploads.used_bytes == 0

    asyncio.run(main())
