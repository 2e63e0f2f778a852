"""Attackers, in a process of their own: `python -m tests.load.attackers`.

Told by an `AttackJob` as its only argument. At the end it prints how often each attack was made, as
JSON. They come from many addresses of the loopback network, as strangers would.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import quote, urlsplit

import msgspec

from headrace.server.connections import raise_descriptor_limit

_ADDRESSES = [f"127.0.1.{n}" for n in range(1, 21)]
_DIGITS, _BRACKETS = "7" * 20_000, "(" * 20_000
_LARGE = "weir " * 180_000
MESSAGES = (
    _DIGITS,
    _BRACKETS,
    "1 + " * 5_000,
    "What is " + "(1" * 5_000 + ")" * 5_000,
    "note: " * 4_000,
    "at 12:30 " * 3_000,
    "long",
    "parallel, think again, slow " * 500,
    "[" * 20_000 + "]" * 20_000,
    _LARGE,
)
"""Messages that are meant to keep the rehearsal model busy."""
SEARCHES = (
    "a",
    "a b c d e f g h i j k l m n o p",
    " ".join("abcdefghijklmnopqrstuvwxyz" * 100),
    "weir " * 400,
    '"' * 2_000,
    "(" * 2_000,
    "a* OR b* NEAR c*",
    "今" * 1_000,
    "\u0301" * 1_000,
)
"""Searches that are meant to keep the database busy."""
_WANTED = 4.0
_PAUSE_S = 0.5


class AttackJob(msgspec.Struct):
    """What the attackers do."""

    url: str
    access_tokens: list[str]
    """Of users who attack with what they may do."""
    seconds: float
    idle: int = 2_000
    """Connections on which nothing is sent."""
    slow: int = 100
    """Connections whose request head comes byte by byte, and as many with such a body."""
    endless: int = 4
    """Connections with a request head that does not end."""
    deaf: int = 10
    """Clients per user that never read a stream, and as many that never read a conversation."""


class Peer:
    """One raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def wait_closed(self, timeout_s: float = 60.0) -> None:
        """Wait until the server closes the connection; read what it sends."""
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(timeout_s):
                while await self.reader.read(65_536):
                    pass


class Attackers:
    """All attackers of one job; `counts` says how often each attack was made."""

    def __init__(self, job: AttackJob) -> None:
        self._job = job
        where = urlsplit(job.url)
        self._host, self._port = where.hostname or "", where.port or 0
        self._chance = random.Random(1)
        self.counts: Counter[str] = Counter()

    async def run(self) -> None:
        job = self._job
        attacks: list[tuple[str, int, Callable[[int], Awaitable[None]]]] = [
            ("idle", job.idle, self._idle),
            ("slow head", job.slow, self._slow_head),
            ("slow body", job.slow, self._slow_body),
            ("endless head", job.endless, self._endless_head),
            ("wrong token", 4, self._wrong_token),
            ("worst search", 2 * len(job.access_tokens), self._search),
            ("worst message", len(job.access_tokens), self._ask),
            ("never-read stream", job.deaf * len(job.access_tokens), self._deaf_stream),
            ("never-read JSON", job.deaf * len(job.access_tokens), self._deaf_json),
        ]
        with suppress(TimeoutError):
            async with asyncio.timeout(job.seconds):
                await asyncio.gather(
                    *(
                        self._repeat(name, number, attack)
                        for name, count, attack in attacks
                        for number in range(count)
                    )
                )

    async def _repeat(
        self, name: str, number: int, attack: Callable[[int], Awaitable[None]]
    ) -> None:
        # Connections are opened over some seconds, as a real attack would.
        await asyncio.sleep(self._chance.random() * 5)
        while True:
            self.counts[name] += 1
            with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                await attack(number)
            await asyncio.sleep(_PAUSE_S)

    async def _connect(self, receive_bytes: int = 0) -> Peer:
        peer = socket.socket()
        peer.setblocking(False)
        if receive_bytes:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        try:
            peer.bind((self._chance.choice(_ADDRESSES), 0))
            loop = asyncio.get_running_loop()
            await loop.sock_connect(peer, (self._host, self._port))
            limit = 4_096 if receive_bytes else 65_536
            return Peer(*await asyncio.open_connection(sock=peer, limit=limit))
        except BaseException:
            peer.close()
            raise

    def _head(self, verb: str, target: str, number: int | None = None, length: int = 0) -> bytes:
        lines = [f"{verb} {target} HTTP/1.1", "Host: 127.0.0.1"]
        if number is not None:
            token = self._job.access_tokens[number % len(self._job.access_tokens)]
            lines.append(f"Authorization: Bearer {token}")
        if length:
            lines += ["Content-Type: application/json", f"Content-Length: {length}"]
        return "\r\n".join([*lines, "", ""]).encode()

    # -- strangers

    async def _idle(self, _: int) -> None:
        peer = await self._connect()
        try:
            await peer.wait_closed()
        finally:
            peer.writer.close()

    async def _slow_head(self, number: int) -> None:
        await self._send_slowly(self._head("GET", "/api/conversations")[:-2] + b"X-Slow: ")

    async def _slow_body(self, number: int) -> None:
        await self._send_slowly(self._head("POST", "/api/chat", number, 100_000) + b'{"message": "')

    async def _send_slowly(self, start: bytes) -> None:
        peer = await self._connect()
        try:
            await peer.send(start)
            while not peer.reader.at_eof():
                await peer.send(b"a")
                with suppress(TimeoutError):
                    await asyncio.wait_for(peer.reader.read(65_536), 1.0)
        finally:
            peer.writer.close()

    async def _endless_head(self, _: int) -> None:
        peer = await self._connect()
        try:
            await peer.send(self._head("GET", "/healthz")[:-2])
            for _ in range(10_000):
                await peer.send((b"x-endless: " + b"a" * 1_000 + b"\r\n") * 16)
        finally:
            peer.writer.close()

    async def _wrong_token(self, _: int) -> None:
        peer = await self._connect()
        try:
            head = self._head("GET", "/api/conversations")[:-2]
            guess = f"hr_{self._chance.randbytes(30).hex()}"
            await peer.send(
                head + f"Authorization: Bearer {guess}\r\nConnection: close\r\n\r\n".encode()
            )
            await peer.wait_closed()
        finally:
            peer.writer.close()

    # -- users

    async def _search(self, number: int) -> None:
        words = self._chance.choice(SEARCHES)
        await self._get(f"/api/conversations?q={quote(words)}", number)

    async def _get(self, target: str, number: int) -> bytes:
        peer = await self._connect()
        try:
            head = self._head("GET", target, number)[:-2]
            await peer.send(head + b"Connection: close\r\n\r\n")
            data = await asyncio.wait_for(peer.reader.read(), 60)
        finally:
            peer.writer.close()
        if data.startswith(b"HTTP/1.1 429"):
            await asyncio.sleep(_WANTED)
        return data

    async def _ask(self, number: int) -> None:
        """Ask, and cancel by going away after a while."""
        peer = await self._start_answer(number, self._chance.choice(MESSAGES))
        try:
            await peer.wait_closed(_WANTED)
        finally:
            peer.writer.close()

    async def _start_answer(self, number: int, message: str, receive_bytes: int = 0) -> Peer:
        peer = await self._connect(receive_bytes)
        body = json.dumps({"message": message}).encode()
        await peer.send(self._head("POST", "/api/chat", number, len(body)) + body)
        return peer

    async def _deaf_stream(self, number: int) -> None:
        """Ask for an answer, or watch one, and never read it."""
        users = len(self._job.access_tokens)
        is_asking = number // users < 2
        if is_asking:
            peer = await self._start_answer(number, "long" if number < users else "slow", 4_096)
        else:
            event_id = await self._find_event(number)
            if not event_id:
                return
            peer = await self._connect(4_096)
            await peer.send(self._head("GET", f"/api/chat/{event_id}/stream", number))
        try:
            await asyncio.sleep(40)
        finally:
            peer.writer.transport.abort()

    async def _deaf_json(self, number: int) -> None:
        """Ask for the largest conversation, and never read it."""
        found = await self._get("/api/conversations?q=weir", number)
        conversation_id = _find_id(found, b'"id":"')
        if not conversation_id:
            await asyncio.sleep(_WANTED)
            return
        peer = await self._connect(4_096)
        try:
            for _ in range(4):
                await peer.send(self._head("GET", f"/api/conversations/{conversation_id}", number))
            await asyncio.sleep(40)
        finally:
            peer.writer.transport.abort()

    async def _find_event(self, number: int) -> str:
        found = await self._get("/api/conversations", number)
        return _find_id(found, b'"leaf_id":"')


def _find_id(answer: bytes, before: bytes) -> str:
    """Return the first id after these bytes, or an empty text."""
    return answer.partition(before)[2].partition(b'"')[0].decode()


if __name__ == "__main__":
    raise_descriptor_limit()
    # What is measured is the server: the attackers get the time that others leave.
    os.nice(10)
    attackers = Attackers(msgspec.json.decode(sys.argv[1], type=AttackJob))
    asyncio.run(attackers.run())
    print(json.dumps(attackers.counts))
