"""Runs that are stopped and continued: their scripts, and what must hold of their logs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import headrace
from headrace import events as ev
from headrace.engine import Agent, Run, Truncate
from headrace.engine.input.requests import AlreadyAnswered
from headrace.events import Record, decode_record, encode_record
from headrace.events.grammar import RUN_GRAMMAR
from headrace.messages import InputRequest, Message, fold
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import ScriptedTurn, approval, call, say, think, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.tools import ExternalTool, ToolContext, tool
from headrace.transport.retry import NEVER
from tests.engine.play import MODELS, check_next_request, clock, turns_of
from tests.grammar import check_grammar
from tests.published import accepts

QUESTION = "Plan the trip."
HISTORY = [
    Message.user("Who are you?"),
    Message.assistant("A planner."),
    Message.user("Good."),
    Message.assistant("Indeed."),
]
NOT_IDEMPOTENT = frozenset({"pay", "add", "note", "slow"})


@dataclass
class World:
    """One process: its tools, and the calls whose bodies have run."""

    bodies: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def _note(self, context: ToolContext) -> None:
        self.bodies.append(context.name)
        self.keys.append(context.idempotency_key)

    def tools(self) -> dict[str, Any]:
        note = self._note

        @tool
        async def add(a: int, b: int, context: ToolContext) -> int:
            """Add two numbers."""
            note(context)
            return a + b

        @tool
        async def slow(n: int, context: ToolContext) -> str:
            """Take a while."""
            note(context)
            for number in range(n):
                context.progress(f"part {number}")
                await asyncio.sleep(1)
            return "slept"

        @tool(needs_approval=True)
        async def pay(amount: int, context: ToolContext) -> str:
            """Pay."""
            note(context)
            return f"paid {amount}"

        @tool(is_idempotent=True)
        async def look(what: str, context: ToolContext) -> str:
            """Look something up."""
            note(context)
            await asyncio.sleep(1)
            return f"{what} is open"

        @tool(is_idempotent=True)
        async def ask_back(context: ToolContext) -> str:
            """Ask the user something."""
            note(context)
            return f"they said {await context.ask('Which one?')}"

        @tool(needs_approval=lambda args: args["text"] != "harmless")
        async def note_down(text: str, context: ToolContext) -> str:
            """Note something."""
            note(context)
            return "noted"

        @tool
        async def stop(context: ToolContext) -> headrace.ToolReturn:
            """End the run."""
            note(context)
            return headrace.ToolReturn(content=(headrace.TextContent("bye"),), ends_run=True)

        browser = ExternalTool(name="browser", description="Read the page.")
        tools = [add, slow, pay, look, ask_back, note_down, stop]
        return {**{entry.name: entry for entry in tools}, "browser": browser}


Stages = Sequence[tuple[str, ScriptedTurn]]


def play(stages: Stages, corrected: ScriptedTurn | None = None) -> Callable[[Heard], ScriptedTurn]:
    """Return a model that plays the first stage whose tool has no result yet; the name of the last
    stage is empty. It needs no memory, so that it can go on after any request."""

    def answer(heard: Heard) -> ScriptedTurn:
        known = {message.result.name for message in heard.messages if message.result is not None}
        if corrected is not None and "not valid JSON" in heard.user:
            return corrected
        return next(played for name, played in stages if name not in known)

    return answer


def _paced(*lines: Any) -> ScriptedTurn:
    return turn(*lines, pace_s=1.0)


@dataclass(frozen=True)
class Scene:
    """A run: what the models say, which tools they have, and what the user does meanwhile."""

    stages: Stages
    tools: tuple[str, ...]
    nested: Stages = ()
    nested_tools: tuple[str, ...] = ()
    steers: tuple[tuple[float, str], ...] = ()
    compacts: bool = False
    edits: dict[str, Any] = field(default_factory=dict)
    output_type: Any = None
    corrected: ScriptedTurn | None = None
    """What the model says after it was told that its answer is wrong."""
    denies: frozenset[str] = frozenset()
    """Names of the tools that the user does not approve."""
    dialects: tuple[str, ...] = tuple(MODELS)

    def choose_dialect(self, wanted: str) -> str:
        """Return the dialect that is wanted, or another one if the scene has no such models."""
        return wanted if wanted in self.dialects else self.dialects[0]


SCENES: dict[str, Scene] = {
    "tools": Scene(
        (
            ("add", _paced(think("Hm.", signed=True), call("add", a=1, b=2), call("slow", n=2))),
            ("look", _paced(call("look", what="it"), call("add", a=1, b=1))),
            ("", _paced(think("So."), say("Done."))),
        ),
        ("add", "slow", "look"),
    ),
    "approvals": Scene(
        (
            ("pay", _paced(say("I pay."), call("pay", amount=5), call("look", what="it"))),
            ("browser", _paced(call("browser"), call("note_down", text="x"))),
            ("ask_back", _paced(call("ask_back"))),
            ("", _paced(say("Paid."))),
        ),
        ("pay", "look", "browser", "note_down", "ask_back"),
        edits={"pay": {"amount": 4}},
    ),
    "sub-agents": Scene(
        (
            (
                "research",
                _paced(
                    call("research", task="ships"), call("research", task="tides"),
                    call("add", a=1, b=2),
                ),
            ),
            ("", _paced(say("Both."))),
        ),
        ("add",),
        nested=(
            ("look", _paced(think("I look."), call("look", what="it"), call("pay", amount=1))),
            ("add", _paced(call("add", a=2, b=2))),
            ("", _paced(say("Found."))),
        ),
        nested_tools=("look", "pay", "add"),
    ),
    "steering and compaction": Scene(
        (
            ("slow", _paced(call("slow", n=6))),
            ("add", _paced(call("add", a=1, b=2))),
            ("", _paced(say("As you like."))),
        ),
        ("slow", "add"),
        steers=((4.0, "Hurry."), (5.0, "Please.")),
        compacts=True,
    ),
    "typed answer": Scene(
        (
            ("look", _paced(call("look", what="it"))),
            ("add", _paced(say("It is three."))),
        ),
        ("look",),
        output_type=int,
        corrected=_paced(say('{"value": 3}')),
    ),
    "ended by a tool": Scene(
        (("stop", _paced(call("add", a=1, b=2), call("stop"))), ("", _paced(say("Bye.")))),
        ("add", "stop"),
    ),
    "approvals of the provider": Scene(
        (
            (
                "delete_file",
                _paced(
                    think("Hm.", signed=True), approval("delete_file", path="a"),
                    call("add", a=1, b=2), approval("move_file", path="b"),
                ),
            ),
            ("read_file", _paced(approval("read_file", path="c"))),
            ("research", _paced(call("research", task="files"))),
            ("", _paced(say("Deleted."))),
        ),
        ("add",),
        nested=(
            ("find_file", _paced(approval("find_file", name="d"), call("pay", amount=1))),
            ("", _paced(say("Found."))),
        ),
        nested_tools=("pay",),
        denies=frozenset({"move_file"}),
        dialects=("responses",),
    ),
}  # fmt: skip
SCENE_DIALECTS = [(name, dialect) for name, scene in SCENES.items() for dialect in scene.dialects]


class Player:
    """One process that plays a scene, from the start or from records."""

    def __init__(self, scene: Scene, dialect: str, *, suspends: bool = False) -> None:
        self.scene = scene
        self.dialect = dialect
        self.suspends = suspends
        self.world = World()
        self.transports: list[ScriptedTransport] = []

    def _agent(self, stages: Stages, tools: Sequence[Any], **options: Any) -> Agent:
        transport = ScriptedTransport(play(stages, self.scene.corrected), dialect=self.dialect)
        self.transports.append(transport)
        return Agent(
            MODELS[self.dialect],
            transport=transport,
            api_key="k",
            tools=tools,
            policy=NEVER,
            **options,
        )

    def agent(self) -> Agent:
        scene, tools = self.scene, self.world.tools()
        mine = [tools[name] for name in scene.tools]
        if scene.nested:
            theirs = [tools[name] for name in scene.nested_tools]
            mine.append(self._agent(scene.nested, theirs).as_tool("research", "Find out."))
        compactor = Truncate(max_messages=4) if scene.compacts else None
        return self._agent(scene.stages, mine, compactor=compactor, output_type=scene.output_type)

    async def start(self) -> list[Record]:
        """Play the whole run, with answers to all that it asks."""
        run = self.agent().run(
            QUESTION, HISTORY, run_id="r1", clock=clock(), suspends=self.suspends
        )
        return await self._read(run, steers=self.scene.steers)

    async def resume(self, records: Sequence[Record]) -> list[Record]:
        """Go on from records to the next end of the process."""
        run = self.agent().resume(
            records, input=QUESTION, history=HISTORY, clock=clock(), suspends=self.suspends
        )
        return await self._read(run)

    async def _read(self, run: Run, steers: tuple[tuple[float, str], ...] = ()) -> list[Record]:
        loop = asyncio.get_running_loop()
        for at_s, text in steers:
            loop.call_later(at_s, run.steer, text)
        async with run:
            self._answer_all(run)
            async for event in run:
                if isinstance(event, ev.InputRequested) and not self.suspends:
                    loop.call_later(2.0, self._answer_all, run)
        return list(run.records_so_far)

    def _answer_all(self, run: Run) -> None:
        for request in run.requests:
            with suppress(AlreadyAnswered):
                run.answer(request.request_id, **answer_to(request, self.scene))

    def check_requests(self) -> None:
        """All requests are ones that the provider accepts."""
        for transport in self.transports:
            for body in transport.requests:
                accepts(self.dialect, body)


def answer_to(request: InputRequest, scene: Scene) -> dict[str, Any]:
    """Return the answer that the user gives in this scene, always the same."""
    if request.name in scene.denies:
        return {"decision": "denied", "reason": "No."}
    if request.kind == "approval":
        return {"decision": "accepted", "value": scene.edits.get(request.name)}
    return {"decision": "accepted", "value": "the second"}


def through_json(records: Sequence[Record]) -> list[Record]:
    """Return the records as another process reads them."""
    return [decode_record(encode_record(record)) for record in records]


# --- what must hold --------------------------------------------------------------------


def check_log(records: Sequence[Record], dialect: str, *, is_over: bool = True) -> None:
    """The log is legal at every level, has no gaps, and makes one message."""
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert [r.at_ms for r in records] == sorted(r.at_ms for r in records)
    for path in {record.path for record in records}:
        runs = _split_runs([r for r in records if r.path == path])
        for number, run in enumerate(runs, 1):
            check_one_level(run, is_over=is_over or number < len(runs))
    if not is_over:
        return
    check_nesting(records)
    message = fold(records)
    assert (message.finish is None) != (message.error is None)
    check_next_request([*HISTORY, Message.user(QUESTION), message], dialect)


def _split_runs(records: Sequence[Record]) -> list[list[Record]]:
    """Return the runs of one path: a later turn may use the id of a call again."""
    runs: list[list[Record]] = []
    for record in records:
        if (isinstance(record.event, ev.RunStarted) and record.path) or not runs:
            runs.append([])
        runs[-1].append(record)
    return runs


def check_one_level(records: Sequence[Record], *, is_over: bool) -> None:
    """Check the records of one run, without those of nested ones."""
    state = "before"
    for record in records:
        following = RUN_GRAMMAR.get(state, {}).get(type(record.event))
        assert following is not None, f"in the state {state!r}: {record}"
        state = following
    assert not is_over or state == "over", state
    turns = turns_of([record.event for record in records])
    for number, events in enumerate(turns):
        check_grammar(events, is_whole=is_over or number < len(turns) - 1)
    starts = [getattr(r.event, "part", -1) for r in records if hasattr(r.event, "item")]
    assert starts == list(range(len(starts))), starts


def check_nesting(records: Sequence[Record]) -> None:
    """Nested records lie between the start and the result of their call."""
    running: set[tuple[str, ...]] = set()
    for record in records:
        event = record.event
        assert not record.path or record.path in running, record
        if isinstance(event, ev.ToolStarted):
            running.add((*record.path, event.call_id))
        elif isinstance(event, ev.ToolResult):
            running.discard((*record.path, event.call_id))


def count_starts(records: Sequence[Record]) -> Counter[tuple[Any, ...]]:
    """Return how often each call was started."""
    names: dict[tuple[Any, ...], str] = {}
    starts: Counter[tuple[Any, ...]] = Counter()
    for record in records:
        event = record.event
        if isinstance(event, ev.ToolCallStarted):
            names[record.path, event.call_id] = event.name
        elif isinstance(event, ev.ToolStarted):
            place = (record.path, record.step, event.call_id, names[record.path, event.call_id])
            starts[place] += 1
    return starts


def check_started_once(before: Sequence[Record], after: Sequence[Record], world: World) -> None:
    """No call that is not idempotent was started twice, in the log and in fact."""
    for place, count in count_starts(after).items():
        assert count == 1 or place[-1] not in NOT_IDEMPOTENT, place
    new = Counter(place[-1] for place in (count_starts(after) - count_starts(before)).elements())
    ran = Counter(world.bodies)
    for name in NOT_IDEMPOTENT:
        assert ran[name] <= new[name], (name, ran, new)
