"""A real server for a real browser: it plays scripts, with gates that a test opens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import uvicorn

from headrace.engine import Agent
from headrace.rehearsal.model import answer
from headrace.rehearsal.script import Line, ScriptedTurn, wait
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server import create_app
from headrace.server.listener import open_listener
from headrace.tools.builtin import default_tools
from headrace.tools.tool import Tool
from headrace.transport.retry import NEVER

T = TypeVar("T")
_GATE_S = 1_000_000.0
_PATIENCE_S = 25.0


def gate(number: int = 1) -> Line:
    """The stream waits here until the test opens it."""
    return wait(_GATE_S + number)


class Stage:
    """A server in a thread of its own, until it is closed."""

    def __init__(
        self,
        data: Path,
        dialect: str = "responses",
        agent: Agent | None = None,
        tools: Sequence[Tool] = (),
        **settings: Any,
    ) -> None:
        self.plays: dict[str, Sequence[ScriptedTurn]] = {}
        """What is answered, turn by turn, to a message; any other is rehearsed."""
        self.pace_s = 0.0
        self._gates: dict[int, asyncio.Event] = {}
        self._data = data
        self._dialect = dialect
        self._agent = agent
        self._tools = tools
        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._port = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def open(self) -> Stage:
        """Serve; from now on there is a `url`."""
        self._thread.start()
        assert self._ready.wait(_PATIENCE_S)
        return self

    def close(self) -> None:
        """Stop serving, at once."""
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(_PATIENCE_S)

    def restart(self) -> None:
        """Stop, and serve the same data again under the same address. Gates are shut again."""
        self.close()
        self._gates.clear()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.open()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def release(self, number: int = 1) -> None:
        """Open a gate."""
        self._loop.call_soon_threadsafe(self._gate(number).set)

    def hold_commits(self) -> None:
        """From now on no message is saved, and so none ends, until `release_commits`: as if the
        disk were slow."""
        commit = self.service.store.commit
        gate = self._gate(0)

        async def held(*args: Any, **options: Any) -> Any:
            await gate.wait()
            return await commit(*args, **options)

        self.service.store.commit = held

    def release_commits(self) -> None:
        """The disk is as quick as ever."""
        self.release(0)

    def do(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do something on the server's loop."""
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result(_PATIENCE_S)

    # -- inside the thread

    def _gate(self, number: int) -> asyncio.Event:
        return self._gates.setdefault(number, asyncio.Event())

    async def _sleep(self, seconds: float) -> None:
        if seconds < _GATE_S:
            await asyncio.sleep(seconds)
            return
        await self._gate(int(seconds - _GATE_S)).wait()

    def _play(self, heard: Any) -> ScriptedTurn:
        turns = self.plays.get(heard.user)
        if turns is None:
            return answer(heard, pace_s=self.pace_s)
        return turns[
            min(len([m for m in heard.since_user if m.role == "assistant"]), len(turns) - 1)
        ]

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    def _scripted(self) -> Agent:
        transport = ScriptedTransport(self._play, dialect=self._dialect, sleep=self._sleep)
        return Agent(
            "openai:rehearsed" if self._dialect == "responses" else "openai-chat:rehearsed",
            transport=transport,
            api_key="k",
            tools=[*default_tools(), *self._tools],
            policy=NEVER,
        )

    async def _serve(self) -> None:
        listener = open_listener("127.0.0.1", self._port)
        self._port = listener.getsockname()[1]
        app = create_app(
            self._agent or self._scripted(), data=self._data, **{"drain_s": 0.2, **self._settings}
        )
        self.service = app.state.service
        config = uvicorn.Config(
            app, log_level="error", access_log=False, timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        serving = asyncio.ensure_future(self._server.serve(sockets=[listener]))
        while not self._server.started:
            await asyncio.sleep(0.005)
        self._ready.set()
        await serving

    def _stop(self) -> None:
        self._server.should_exit = True
