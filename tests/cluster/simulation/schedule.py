"""One schedule: servers, runs, clients and faults, chosen by a seed, and what must hold at its
end."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from headrace import events as ev
from headrace.content import TextContent
from headrace.engine import Agent
from headrace.messages import Message, fold
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server.http.run_stream import begin_run, cancel_run
from headrace.server.http_error import HTTPError
from headrace.server.service import Service
from headrace.server.settings import Settings
from headrace.server.sse import NOTHING_SEEN, FrameEncoder, SeenFrame, View, frame_id_of
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.store import InboxEntry, RunRow, RunStart, StoredMessage
from headrace.testing import call, say, turn
from headrace.tools import ToolContext, tool
from headrace.transport.retry import NEVER
from tests.cluster.simulation.storage import SimStorage
from tests.cluster.simulation.world import Rules, World

_NODE: ContextVar[str | None] = ContextVar("node", default=None)
_VIEW = View("ux")
_FAULTS_S = 30.0
_END_S = 200.0
_ALL_RULES = Rules()
_LAST = (b'"message_final"', b'"message_error"', b'"message_cancelled"')


class Broken(AssertionError):
    """The protocol has lost, doubled or confused something."""


def play(seed: int, rules: Rules = _ALL_RULES, within_s: float = 300.0) -> World:
    """Play one schedule and check its end. Raises `Broken`."""
    return run_virtual(Schedule(seed, rules).main(), within_s=within_s, leftover=[])


class Schedule:
    """Some servers, some runs, and what happens to them."""

    def __init__(self, seed: int, rules: Rules) -> None:
        self.world = World(seed, rules)
        self.chance = self.world.chance
        self.services: dict[str, Service] = {}
        self.bodies: list[str] = []
        """Keys of the calls whose bodies have run that must not run twice."""
        self.tasks: dict[str, set[asyncio.Task[Any]]] = {}

    async def main(self) -> World:
        asyncio.get_running_loop().set_task_factory(self._create_task)
        for _ in range(self.chance.choice((2, 3, 5))):
            await self.start_server()
        runs = [asyncio.ensure_future(self.use()) for _ in range(self.chance.choice((1, 2, 3)))]
        faults = asyncio.ensure_future(self.disturb())
        try:
            async with asyncio.timeout(_END_S):
                streams = await asyncio.gather(*runs)
        except TimeoutError:
            raise Broken(f"an answer has no end for its client: {self.describe()}") from None
        finally:
            faults.cancel()
            for task in runs:
                task.cancel()
        for row, frames in streams:
            self.check(row, frames)
        for node in list(self.services):
            self.kill(node)
        return self.world

    def describe(self) -> list[tuple[str, bool, bool, str | None, int, str]]:
        """Return the state of the runs that have not ended, with their last records."""
        logs = self.world.log.runs
        return [
            (run.id, run.is_live, run.is_suspended, run.holder, run.epoch, repr(logs[run.id][-1:]))
            for run in self.world.store._runs.values()
            if run.id in logs
        ]

    # -- servers

    def _create_task(self, loop: Any, coro: Any, **options: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, **options)
        node = _NODE.get()
        if node is not None:
            self.tasks[node].add(task)
            task.add_done_callback(self.tasks[node].discard)
        return task

    async def start_server(self) -> None:
        node = f"node{len(self.world.links)}"
        self.tasks[node] = set()
        service = Service(
            {"default": self.create_agent()},
            Settings(
                data=Path("unused"), on_interrupt="continue", waiting_stream_s=20.0, heartbeat_s=5.0
            ),
            clock=lambda: 1_800_000_000_000 + int(self.world.now_s() * 1000),
            storage=SimStorage(self.world, node),
        )
        while True:
            token = _NODE.set(node)
            try:
                await service.open()
                break
            except StorageFailed:
                await asyncio.sleep(0.1)
            finally:
                _NODE.reset(token)
        self.services[node] = service

    def kill(self, node: str) -> None:
        """End a server at once: nothing that it does reaches anybody any more."""
        self.services.pop(node, None)
        link = self.world.links[node]
        link.is_dead = True
        link.heal()
        for task in list(self.tasks[node]):
            task.cancel()

    async def disturb(self) -> None:
        """Kill, cut off and start servers for a while; then leave one in peace."""
        while self.world.now_s() < _FAULTS_S:
            await asyncio.sleep(self.chance.random() * 4)
            node = self.chance.choice(list(self.services) or [""])
            match self.chance.choice(("kill", "cut", "cut", "start", "loss")):
                case "kill" if len(self.services) > 1:
                    self.kill(node)
                case "cut" if node:
                    link = self.world.links[node]
                    link.cut()
                    asyncio.get_running_loop().call_later(self.chance.random() * 12, link.heal)
                case "start" if len(self.services) < 5:
                    await self.start_server()
                case "loss":
                    self.world.loss = self.chance.choice((0.0, 0.02, 0.1))
                case _:
                    pass
        self.world.loss = 0.0
        for link in self.world.links.values():
            link.heal()

    # -- the agent

    def create_agent(self) -> Agent:
        schedule = self

        @tool
        async def send(context: ToolContext) -> str:
            """Send a letter, which cannot be taken back."""
            schedule.note(context)
            await asyncio.sleep(1.0)
            return "sent"

        @tool(is_idempotent=True)
        async def look(context: ToolContext) -> str:
            """Look something up."""
            await asyncio.sleep(0.5)
            return "found"

        @tool(needs_approval=True)
        async def pay(amount: int, context: ToolContext) -> str:
            """Pay."""
            schedule.note(context)
            return f"paid {amount}"

        stages = (
            ("look", turn(call("look"), call("send"), pace_s=0.1)),
            ("pay", turn(say("I pay."), call("pay", amount=5), pace_s=0.2)),
            ("", turn(say(pieces=["All ", "is ", "done."]), pace_s=0.5)),
        )

        def answer(heard: Heard) -> Any:
            known = {m.result.name for m in heard.messages if m.result is not None}
            return next(played for name, played in stages if name not in known)

        transport = ScriptedTransport(answer, keeps_requests=False)
        return Agent("vllm:any", transport=transport, tools=[send, look, pay], policy=NEVER)

    def note(self, context: ToolContext) -> None:
        node = _NODE.get()
        if node is None or not self.world.links[node].is_dead:
            self.bodies.append(context.idempotency_key)

    # -- a user

    def pick(self) -> Service:
        return self.chance.choice(list(self.services.values()))

    async def use(self) -> tuple[RunRow, list[bytes]]:
        """Ask a question, read the answer at any server, approve what is asked for, and perhaps
        stop it."""
        await asyncio.sleep(self.chance.random() * 10)
        row = await self.begin()
        approving = asyncio.ensure_future(self.approve(row))
        stopping = asyncio.ensure_future(self.stop(row)) if self.chance.random() < 0.3 else None
        try:
            return row, await self.read(row)
        finally:
            approving.cancel()
            if stopping is not None:
                stopping.cancel()

    async def begin(self) -> RunRow:
        """Send the same question with the same key until one server accepts it."""
        number = uuid.UUID(int=self.chance.getrandbits(128)).hex
        text = TextContent("Go.")
        message = Message(role="user", content=(text,), created_at_ms=1)
        conversation = f"conv_{number}"
        key = f"key_{number}"
        while True:
            service = self.pick()
            run = uuid.UUID(int=self.chance.getrandbits(128)).hex
            prompt = StoredMessage(
                id=f"ask_{run}", conversation_id=conversation, parent_id=None, message=message
            )
            start = RunStart(
                owner="local",
                run_id=f"run_{run}",
                message_id=f"msg_{run}",
                model="default",
                now_ms=service.clock(),
                fingerprint="Go.",
                idempotency_key=key,
                conversation_id=conversation,
                is_new=True,
                prompt=prompt,
            )
            try:
                async with asyncio.timeout(5):
                    work = begin_run(service, start, service.agents["default"])
                    return (await self.on(service, work)).run
            except (StorageFailed, HTTPError, TimeoutError, asyncio.CancelledError):
                if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                    raise
                await asyncio.sleep(0.2)

    async def on(self, service: Service, work: Any) -> Any:
        """Do something as a request at a server, which ends with the server."""
        token = _NODE.set(service.cluster.node)  # type: ignore[union-attr]
        try:
            task = asyncio.ensure_future(work)
        finally:
            _NODE.reset(token)
        return await task

    async def read(self, row: RunRow) -> list[bytes]:
        """Read all frames, from another server whenever a stream breaks."""
        frames: list[bytes] = []
        while not frames or not any(word in frames[-1] for word in _LAST):
            service = self.pick()
            seen = SeenFrame(frame_id_of(frames[-1])) if frames else NOTHING_SEEN
            try:
                await self.on(service, self._read_some(service, row, seen, frames))
            except (StorageFailed, HTTPError, TimeoutError, asyncio.CancelledError):
                if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                    raise
            await asyncio.sleep(0.1)
        return frames

    async def _read_some(
        self, service: Service, row: RunRow, seen: SeenFrame, frames: list[bytes]
    ) -> None:
        async with asyncio.timeout(self.chance.uniform(1, 15)):
            run = await service.store.run(row.owner, row.message_id)
            subscription: Any = await service.frames(run, _VIEW, seen)
            try:
                async for batch in subscription:
                    if self.world.links[service.cluster.node].is_dead:  # type: ignore[union-attr]
                        return
                    for frame in batch:
                        if frames and frame_id_of(frame) <= frame_id_of(frames[-1]):
                            raise Broken(f"frame {frame_id_of(frame)} comes twice")
                        frames.append(frame)
            finally:
                await subscription.aclose()

    async def approve(self, row: RunRow) -> None:
        """Approve what the run asks for, at any server, until one has accepted it: then it counts,
        whatever happens to that server."""
        accepted: set[str] = set()
        while True:
            await asyncio.sleep(self.chance.random() * 3)
            for request in set(self.open_requests(row.id)) - accepted:
                entry = InboxEntry(
                    id=f"ent_{request}",
                    run_id=row.id,
                    kind="answer",
                    request_id=request,
                    body={"decision": "accepted"},
                    created_ms=1_800_000_000_000 + int(self.world.now_s() * 1000),
                )
                if await self._send(row, entry):
                    accepted.add(request)

    async def _send(self, row: RunRow, entry: InboxEntry) -> bool:
        service = self.pick()
        try:
            async with asyncio.timeout(5):
                run = await service.store.run(row.owner, row.message_id)
                await self.on(service, service.add_entry(run, entry))
        except (StorageFailed, HTTPError, TimeoutError):
            return False
        except asyncio.CancelledError:
            # The server was killed.
            if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
            return False
        return True

    def open_requests(self, run_id: str) -> list[str]:
        asked: dict[str, bool] = {}
        for record in self.world.log.runs.get(run_id, ()):
            if isinstance(record.event, ev.InputRequested):
                asked[record.event.request_id] = True
            elif isinstance(record.event, ev.InputAnswered):
                asked[record.event.request_id] = False
        return [request for request, is_open in asked.items() if is_open]

    async def stop(self, row: RunRow) -> None:
        await asyncio.sleep(self.chance.random() * 20)
        while True:
            service = self.pick()
            with suppress(StorageFailed, HTTPError, TimeoutError):
                async with asyncio.timeout(5):
                    run = await service.store.run(row.owner, row.message_id)
                    await self.on(service, cancel_run(service, run))
                    return
            await asyncio.sleep(0.5)

    # -- what must hold

    def check(self, row: RunRow, frames: list[bytes]) -> None:
        records = self.world.log.runs[row.id]
        if [record.seq for record in records] != list(range(1, len(records) + 1)):
            raise Broken("the numbers of the records have gaps")
        ends = [r for r in records if isinstance(r.event, ev.RunFinished | ev.RunFailed)]
        closings = [r for r in records if isinstance(r.event, ev.RunClosed)]
        if (len(ends), len(closings)) != (1, 1) or records[-1] is not closings[0]:
            raise Broken(f"the log has {len(ends)} ends and {len(closings)} closings")
        if (
            isinstance(records[-1].event, ev.RunClosed)
            and records[-1].event.outcome == "save_failed"
        ):
            raise Broken("an answer was not saved, although the database came back")
        final = self.world.store._runs[row.id]
        if final.is_live:
            raise Broken("the run is still live")
        if self.world.store._messages[row.message_id].message != fold(records):
            raise Broken("the stored answer differs from the log")
        encoder = FrameEncoder("ux", row.message_id, has_final_text=False)
        whole = [frame for record in records for frame in encoder.feed(record)]
        if frames != whole:
            raise Broken("a client has seen other frames than the log has")
        if self.world.stolen:
            raise Broken("a run was taken from a server that was alive")
        if len(set(self.bodies)) != len(self.bodies):
            raise Broken("a call that cannot be repeated has run twice")
        runs = self.world.store._runs.values()
        begun = [run for run in runs if run.conversation_id == row.conversation_id]
        if len(begun) != 1:
            raise Broken("one key has begun several runs")
