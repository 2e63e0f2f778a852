"""Who is put under load, and how each is asked."""

from __future__ import annotations

import json
import os
import re
import secrets
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.load.process import Process, running

SERVER_CORE, OTHER_CORE = 0, 1
_IDLE_S = 20
# Of one process, or of each worker.
_LIVE_RUNS = re.compile(rb"^headrace_live_runs(?:{.*})? (\d+)$", re.MULTILINE)


@dataclass
class Contestant:
    """A server to be loaded. `name` is what `bench.load.server` calls it."""

    name: str
    title: str
    path: str
    body: object
    key: str = ""
    """What it wants to be shown, if anything."""

    def request(self, port: int) -> str:
        """A whole HTTP request."""
        body = json.dumps(self.body)
        lines = [
            f"POST {self.path} HTTP/1.1",
            f"host: 127.0.0.1:{port}",
            "content-type: application/json",
            f"content-length: {len(body)}",
            *([f"authorization: Bearer {self.key}"] if self.key else []),
        ]
        return "\r\n".join([*lines, "", body])


_ASKED = {
    "model": "bench",
    "stream": True,
    "messages": [{"role": "user", "content": "How much water?"}],
}
HEADRACE = Contestant("headrace", "**Headrace**", "/api/chat", {"message": "How much water?"})
POSTGRES = Contestant(
    "postgres", "**Headrace** on PostgreSQL", "/api/chat", {"message": "How much water?"}
)
VALKEY = Contestant(
    "valkey", "**Headrace** on Valkey + PostgreSQL", "/api/chat", {"message": "How much water?"}
)
WORKERS = Contestant(
    "workers", "**Headrace**, 2 workers on PostgreSQL", "/api/chat", {"message": "How much water?"}
)
GATEWAY = Contestant(
    "gateway", "**Headrace** gateway, the same API", "/v1/chat/completions", _ASKED
)
MESSAGES = Contestant(
    "gateway-messages",
    "**Headrace** gateway, Messages API to chat provider",
    "/v1/messages",
    {**_ASKED, "max_tokens": 100_000},
)
RELAY = Contestant("relay", "aiohttp pass-through", "/v1/chat/completions", _ASKED)
BARE = Contestant("bare", "bare Starlette generator, no upstream", "/api/chat", {})
LITELLM = Contestant(
    "litellm", "LiteLLM proxy", "/v1/chat/completions", _ASKED, f"sk-{secrets.token_hex(32)}"
)


@dataclass
class Served:
    """A server that runs before an upstream of its own."""

    contestant: Contestant
    process: Process
    port: int

    @property
    def request(self) -> str:
        return self.contestant.request(self.port)

    def wait_idle(self) -> None:
        """Runs outlive their clients; the next load begins when they are over."""
        if self.contestant not in (HEADRACE, POSTGRES, VALKEY, WORKERS):
            time.sleep(1)
            return
        url = f"http://127.0.0.1:{self.port}/metrics"
        for _ in range(_IDLE_S * 10):
            with urllib.request.urlopen(url, timeout=10) as answer:
                live = _LIVE_RUNS.findall(answer.read())
            if live and not any(map(int, live)):
                return
            time.sleep(0.1)
        raise RuntimeError("the server does not come to rest")


def _start_postgres() -> str:
    """Return the address of a database on a server of its own, which ends with this process."""
    from tests.postgres import shared_server

    server = shared_server()
    os.sched_setaffinity(server.pid(), {OTHER_CORE})
    return server.create_database()


def _start_valkey() -> str:
    """Return the address of a Valkey of its own, which ends with this process."""
    from tests.valkey import shared_valkey

    server = shared_valkey()
    os.sched_setaffinity(server.pid(), {OTHER_CORE})
    return server.empty()


def _find_place(contestant: Contestant, folder: str) -> str:
    """Return where a server keeps its data: a folder, or addresses."""
    if contestant in (POSTGRES, WORKERS):
        return _start_postgres()
    if contestant is VALKEY:
        return f"{_start_postgres()} {_start_valkey()}"
    return folder


@contextmanager
def served(contestant: Contestant, events: int, *more: str) -> Iterator[Served]:
    """Server and upstream, each on its core; an answer has so many events."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running("bench.load.upstream", str(events), core=OTHER_CORE) as upstream,
    ):
        address = f"http://127.0.0.1:{upstream.port()}/v1"
        place = _find_place(contestant, folder)
        arguments = [contestant.name, address, place, *more, *filter(None, [contestant.key])]
        with running("bench.load.server", *arguments, core=SERVER_CORE) as process:
            yield Served(contestant, process, process.port())
