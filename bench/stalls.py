"""How long single callbacks keep the event loop of a server busy under the worst inputs.

    python -m bench.stalls [QUICK]

A server runs in a process of its own, in which every callback is timed (CPU time of the thread of
the event loop) and sampled while it runs. The longest one of each step is printed, with the
function that it was in.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
from asyncio import events
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import aiohttp

_LIMIT_S = 0.02
_KB, _MB = 1_000, 1_000_000


# --- the server ---------------------------------------------------------------------------


class Meter:
    """Times every callback of the event loop in this thread."""

    def __init__(self) -> None:
        self.step = "start"
        self.worst: dict[str, tuple[float, str]] = {}
        self._began_s = 0.0
        self._samples: Counter[str] = Counter()
        self._thread_id = threading.get_ident()
        self._run = events.Handle._run  # pyright: ignore[reportPrivateUsage]
        meter = self

        def run(handle: Any) -> None:
            began_s = time.thread_time()
            meter._began_s = time.monotonic()
            meter._run(handle)
            took_s = time.thread_time() - began_s
            meter._began_s = 0.0
            if took_s > meter.worst.get(meter.step, (0.0, ""))[0]:
                meter.worst[meter.step] = (took_s, meter._name(handle))
            if meter._samples:
                meter._samples.clear()

        events.Handle._run = run  # type: ignore[method-assign,assignment]  # pyright: ignore[reportPrivateUsage]
        threading.Thread(target=self._sample, daemon=True).start()

    def _name(self, handle: Any) -> str:
        if self._samples:
            return self._samples.most_common(1)[0][0]
        return str(handle._callback)[:100]

    def _sample(self) -> None:
        while True:
            time.sleep(0.004)
            began_s = self._began_s
            if began_s and time.monotonic() - began_s > 0.004:
                frame = sys._current_frames().get(self._thread_id)  # pyright: ignore[reportPrivateUsage]
                self._samples[" < ".join(_functions(frame))] += 1


def _functions(frame: FrameType | None) -> list[str]:
    """Return the innermost functions of ours, the deepest first."""
    found: list[str] = []
    while frame is not None and len(found) < 3:
        code = frame.f_code
        if "headrace" in code.co_filename:
            found.append(f"{Path(code.co_filename).stem}.{code.co_name}")
        frame = frame.f_back
    return found


def _serve(data: Path) -> None:
    from headrace.engine import Agent, RunLimits
    from headrace.rehearsal.script import call, say, think, turn
    from headrace.server import create_app
    from headrace.server.listener import open_listener
    from headrace.server.process import serve
    from headrace.testing import ScriptedTransport

    def large(size: int) -> str:
        """Return a long text."""
        return "word " * (size // 5)

    def play(heard: Any) -> Any:
        name, _, number = heard.user.partition(" ")
        if name == "long" and number.isdigit():
            return turn(think(pieces=[f"w{n} " for n in range(int(number))]), say("Done."))
        if name == "tool" and not heard.since_user:
            return turn(call("large", size=int(number)))
        return turn(say("Yes."))

    limits = RunLimits(max_result_chars=50 * _MB)
    transport = ScriptedTransport(play, keeps_requests=False)
    agent = Agent("vllm:test", transport=transport, tools=[large], limits=limits)
    meter = Meter()
    app = create_app(agent, data=data, drain_s=1.0)

    async def main() -> None:
        listener = open_listener("127.0.0.1", 0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        threading.Thread(target=_take_steps, args=(meter,), daemon=True).start()
        await serve(app, listener, ready=lambda: print(url, flush=True))

    asyncio.run(main())


def _take_steps(meter: Meter) -> None:
    """Each line of the input names the step that begins; the answer is what the last one cost."""
    for line in sys.stdin:
        ended, meter.step = meter.step, line.strip()
        print(json.dumps(meter.worst.get(ended, (0.0, ""))), flush=True)


# --- the client ---------------------------------------------------------------------------


class Steps:
    """The steps of a measurement, each with its longest callback."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.rows: list[tuple[str, float, str]] = []

    @contextmanager
    def step(self, name: str) -> Generator[None]:
        self._tell(name)
        yield
        took_s, where = self._tell("between")
        self.rows.append((name, took_s, where))
        print(f"{took_s * 1000:8.1f} ms  {name:44} {where}", flush=True)

    def _tell(self, name: str) -> tuple[float, str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        took_s, where = json.loads(self._process.stdout.readline())
        return took_s, where


def _fill(data: Path, count: int) -> None:
    """Store a conversation with many messages, half of them answers."""
    from msgspec import json as encoder

    from headrace.content import TextContent
    from headrace.messages import Message, TextPart, Turn
    from headrace.server.storage.sqlite.database import Database
    from headrace.server.storage.store import SQLiteStore, row

    data.mkdir(parents=True, exist_ok=True, mode=0o700)

    def work(connection: Any) -> None:
        title_row = row.index_title(connection, "conv_large", "local", "Large")
        connection.execute(
            "INSERT INTO conversations (id, owner, title, created_ms, updated_ms, leaf_id,"
            " title_row) VALUES ('conv_large', 'local', 'Large', 1, 1, ?, ?)",
            (f"m{count - 1}", title_row),
        )
        for n in range(count):
            text = f"Message {n} about weirs and water, with some words to make it longer."
            if n % 2:
                part = TextPart(part=0, output=0, item=0, started_ms=n, text=text)
                message = Message(role="assistant", created_at_ms=n, turns=(Turn(parts=(part,)),))
            else:
                message = Message(role="user", content=(TextContent(text),), created_at_ms=n)
            words = row.index_words(connection, "conv_large", "local", text)
            place = f"m{n}", f"m{n - 1}" if n else None
            connection.execute(
                "INSERT INTO messages VALUES (?, 'conv_large', 'local', ?, NULL, ?, ?, ?, ?)",
                (*place, message.role, n, encoder.encode(message), words),
            )

    with closing(Database(data / "headrace.db")) as database:
        SQLiteStore(database)
        database.write_now(work)


async def _measure(url: str, steps: Steps, scale: int) -> None:
    timeout = aiohttp.ClientTimeout(total=600)
    async with aiohttp.ClientSession(url, timeout=timeout, read_bufsize=2**20) as http:

        async def ask(message: str, **body: Any) -> str:
            async with http.post("/api/chat", json={"message": message, **body}) as response:
                assert response.status == 200, await response.text()
                await _discard(response)
                return str(response.headers["x-event-id"])

        async def get(path: str, *, verb: str = "GET", data: bytes | None = None) -> int:
            headers = {"content-type": "application/json"}
            async with http.request(verb, path, data=data, headers=headers) as response:
                await _discard(response)
                return response.status

        with steps.step("a small question"):
            await ask("Hi.")
        with steps.step("a question of 0.99 MB"):
            await ask("word " * (990 * _KB // 5))
        with steps.step("a question of 0.99 MB without a space"):
            await ask("x" * (990 * _KB))
        with steps.step("a body of 1 MB of ["):
            await get("/api/chat", verb="POST", data=b"[" * (999 * _KB))
        with steps.step("a body of 1 MB of escapes"):
            await get("/api/chat", verb="POST", data=b'{"message":"%s"}' % (b"\\u00e9" * 160_000))
        with steps.step("a tool result of 5 MB"):
            await ask(f"tool {5 * _MB // scale}")
        large = "/api/conversations/conv_large"
        for name, path in (
            ("list", "/api/conversations"),
            ("search", "/api/conversations?q=weirs"),
            ("open", large),
            ("export as JSON", f"{large}/export"),
            ("export as Markdown", f"{large}/export?format=markdown"),
        ):
            with steps.step(f"{name}, {50_000 // scale:,} messages"):
                await get(path)
        with steps.step(f"ask below {50_000 // scale:,} messages"):
            await ask("Hi.", conversation_id="conv_large")
        records = 100_000 // scale
        with steps.step(f"a run of {records:,} records"):
            event_id = await ask(f"long {records}")
        with steps.step(f"a replay of {records:,} records"):
            await get(f"/api/chat/{event_id}/stream")
        with steps.step("20 replays at once"):
            await asyncio.gather(*(get(f"/api/chat/{event_id}/stream") for _ in range(20)))
        with steps.step("a replay in another protocol"):
            await get(f"/api/chat/{event_id}/stream?protocol=thinking")
        with steps.step(f"delete {50_000 // scale:,} messages"):
            await get(large, verb="DELETE")


async def _discard(response: aiohttp.ClientResponse) -> None:
    async for _ in response.content.iter_chunked(2**20):
        pass


def stalls(*, is_quick: bool = False) -> list[tuple[str, float, str]]:
    """Measure all steps; return the name, the longest callback and its place for each."""
    scale = 10 if is_quick else 1
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        _fill(data, 50_000 // scale)
        command = [sys.executable, "-m", "bench.stalls", "serve", str(data)]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **pipes) as process:
            try:
                assert process.stdout is not None
                url = process.stdout.readline().strip()
                steps = Steps(process)
                asyncio.run(_measure(url, steps, scale))
                return steps.rows
            finally:
                process.terminate()


def main() -> None:
    """Print the steps, and how many callbacks are above the limit."""
    rows = stalls(is_quick="QUICK" in sys.argv)
    late = [name for name, took_s, _ in rows if took_s > _LIMIT_S]
    print(f"{len(late)} of {len(rows)} steps have a callback above {_LIMIT_S * 1000:.0f} ms")


_COMMANDS: dict[str, Callable[[Path], None]] = {"serve": _serve}

if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] in _COMMANDS:
        _COMMANDS[sys.argv[1]](Path(sys.argv[2]))
    else:
        main()
