"""A client may read a run in one protocol and resume it in another: nothing is lost or repeated."""

from __future__ import annotations

import asyncio
import sys
from itertools import permutations
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.content import TextContent
from headrace.events import Record, RunClosed, RunFailed, RunFinished, TextDelta
from headrace.outcome import END_TURN
from headrace.projections.registry import PROTOCOLS, ProtocolInfo
from headrace.rehearsal.script import call, say, think, turn
from headrace.server.runs import subscription
from headrace.server.runs.live_runs import LiveRuns
from headrace.server.sse import View, parse_seen_frame
from headrace.server.storage.store import RunRow
from headrace.wire.decode import decode
from tests.corpus.recorded import FRAMINGS, read, rows
from tests.server.memory_storage import MemoryLog
from tests.server.serving import Served, frames, scripted, served


class Plain:
    """A third protocol: two text frames for each other delta, and nothing else."""

    class Text(msgspec.Struct, frozen=True, tag_field="type", tag="text_delta"):
        content: str

    class Mark(msgspec.Struct, frozen=True, tag_field="type", tag="mark"):
        pass

    class Done(msgspec.Struct, frozen=True, tag_field="type", tag="done"):
        pass

    def feed(self, record: Record) -> list[Any]:
        match record.event:
            case TextDelta(text=text):
                marks = [Plain.Mark()] * (record.seq % 3)
                return [*marks, Plain.Text(text), *marks]
            case RunFinished() | RunFailed():
                return [Plain.Mark()]
            case RunClosed():
                return [Plain.Mark(), Plain.Mark(), Plain.Done(), Plain.Mark()]
            case _:
                return []

    def close(self) -> list[Any]:
        return []


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("plain_protocol")
    module.create_projection = lambda *_, **__: Plain()  # type: ignore[attr-defined]
    module.encode_frame = msgspec.json.Encoder().encode  # type: ignore[attr-defined]
    module.frame_type = lambda frame: frame.__struct_config__.tag  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "plain_protocol", module)
    row = ProtocolInfo("plain", "text", "plain_protocol", ("done",), {"text": ("text_delta",)})
    monkeypatch.setitem(PROTOCOLS, "plain", row)


class Content(msgspec.Struct):
    """What a list of frames adds to an answer, in any protocol."""

    text: str = ""
    reasoning: str = ""
    results: tuple[str, ...] = ()
    ends: int = 0

    def __add__(self, other: Content) -> Content:
        return Content(
            self.text + other.text,
            self.reasoning + other.reasoning,
            self.results + other.results,
            self.ends + other.ends,
        )


def content_of(payloads: list[str]) -> Content:
    """Collect the content of frames. ux answers a call with unreadable arguments at once, thinking
    with the result that the engine gives it; and only thinking has a result for a tool of the
    provider that shows no output. Both are left out."""
    content = Content()
    for payload in payloads:
        frame = {} if payload == "[DONE]" else msgspec.json.decode(payload)
        kind = frame.get("type", "")
        match "tool_result" if kind.endswith("_call_result") else kind:
            case "text_delta":
                content.text += frame.get("content", "") + frame.get("text_delta", "")
            case "thinking_delta":
                content.reasoning += frame["content"]
            case "reasoning_part_delta":
                content.reasoning += frame["text_delta"]
            case "tool_result" if frame.get("result") is not None:
                content.results += (frame["call_id"],)
            case "done" | "error" | "cancelled":
                content.ends += 1
            case "message_final" | "message_error" | "message_cancelled":
                content.ends += 1
            case _:
                pass
    return content


def check_joined(first: list[str], rest: list[str], whole: Content, shows: set[str]) -> None:
    """What was read before and after is the whole, without repetition."""
    joined = content_of(first) + content_of(rest)
    assert joined.text == whole.text
    assert joined.ends == 1
    if "reasoning" in shows:
        assert joined.reasoning == whole.reasoning
        assert joined.results == whole.results
    kinds = [msgspec.json.decode(frame)["type"] for frame in rest if frame != "[DONE]"]
    if "thinking" in shows and whole.reasoning and "done" in kinds:
        assert "thinking_complete" in kinds


async def check_every_frame(server: Served, event_id: str, read: str, resumed: str) -> None:
    async with server.resume(event_id, "0", read) as response:
        seen = frames(await response.read())
    async with server.resume(event_id, "0", "thinking") as response:
        whole = content_of([payload for _, payload in frames(await response.read())])
    assert whole.ends == 1
    shows = set() if "plain" in (read, resumed) else {"reasoning"}
    for place, (number, _) in enumerate(seen, 1):
        async with server.resume(event_id, number, resumed) as response:
            assert response.status == 200, (number, await response.text())
            rest = [payload for _, payload in frames(await response.read())]
        more = {"thinking"} if resumed == "thinking" else set[str]()
        check_joined([payload for _, payload in seen[:place]], rest, whole, shows | more)
    # After the last frame there is nothing left in any protocol.
    async with server.resume(event_id, seen[-1][0], resumed) as response:
        assert (response.status, await response.read()) == (200, b"")


def double(n: int) -> int:
    """Double a number."""
    return 2 * n


THOUGHT = (
    "Let me check the sum of both. [STATUS: adding it all up] Is it [odd? **Deciding**\n\nYes ["
)
TOOLS = (
    turn(think(THOUGHT), say("I'll look. "), call("double", n=2), call("double", n=4)),
    turn(think("So it is 4 and 8 ["), say("It is 4, and 8.")),
)
PAIRS = list(permutations(["ux", "thinking", "plain"], 2))


@pytest.mark.parametrize(("read", "resumed"), PAIRS)
def test_after_any_frame_of_a_finished_run(
    read: str, resumed: str, tmp_path: Path, plain: None
) -> None:
    async def main() -> None:
        async with served(scripted(*TOOLS, tools=[double]), tmp_path) as server:
            event_id, _, _ = await server.ask("Go.")
            await server.idle()
            await check_every_frame(server, event_id, read, resumed)

    asyncio.run(main())


@pytest.mark.parametrize(("read", "resumed"), PAIRS)
def test_after_any_frame_of_a_live_run(
    read: str, resumed: str, tmp_path: Path, plain: None
) -> None:
    """The run waits in its tool, whose result comes after all clients have resumed."""
    release: list[asyncio.Event] = []

    async def wait() -> str:
        """Wait until the test goes on."""
        await release[0].wait()
        return "done"

    turns = (turn(think(THOUGHT), say("One moment. "), call("wait")), TOOLS[1])

    async def main() -> None:
        release.append(asyncio.Event())
        async with served(scripted(*turns, tools=[wait]), tmp_path) as server:
            async with server.open("Go.", protocol=read) as response:
                event_id = response.headers["x-event-id"]
                data = b""
                while b"moment" not in data or not data.endswith(b"\n\n"):
                    data += await response.content.readany()
                seen = frames(data)
                assert seen
                rests = [
                    asyncio.ensure_future(_read(server, event_id, number, resumed))
                    for number, _ in seen
                ]
                await asyncio.sleep(0.05)
                release[0].set()
                got = [await rest for rest in rests]
            async with server.resume(event_id, "0", "thinking") as response:
                whole = content_of([one for _, one in frames(await response.read())])
            shows = set() if "plain" in (read, resumed) else {"reasoning", resumed}
            for place, rest in enumerate(got, 1):
                check_joined([payload for _, payload in seen[:place]], rest, whole, shows)

    asyncio.run(main())


async def _read(server: Served, event_id: str, number: str, protocol: str) -> list[str]:
    async with server.resume(event_id, number, protocol) as response:
        assert response.status == 200, await response.text()
        return [payload for _, payload in frames(await response.read())]


def recordings() -> list[dict[str, Any]]:
    """Recorded streams with reasoning, some of each dialect."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows("openai-chat", "anthropic", "openai-responses", "gemini"):
        some = found.setdefault(row["api"], [])
        is_small = 10 < row["n_events"] < 250 and not row["malformed"]
        if "reasoning" in row["features"] and is_small and len(some) < 6:
            some.append(row)
    return [row for some in found.values() for row in some]


def run_records(row: dict[str, Any]) -> list[Record]:
    """The records of a run that got this stream, and answered its calls."""
    turn = [record.event for record in decode([read(row)], framing=FRAMINGS[row["framing"]])]
    ours = [e for e in turn if isinstance(e, ev.ToolCallStarted) and e.executor == "client"]
    answers = [
        event
        for call in ours
        for event in (
            ev.ToolStarted(call.call_id),
            ev.ToolResult(call_id=call.call_id, content=(TextContent("x"),)),
        )
    ]
    step = [ev.StepStarted(0), *turn, *answers, ev.StepFinished(0)]
    end = [ev.RunFinished(END_TURN), ev.RunClosed("committed", "msg_1")]
    events: list[Any] = [ev.RunStarted("run_1"), *step, *end]
    return [Record(seq, seq * 40, event) for seq, event in enumerate(events, 1)]


RECORDINGS = recordings()


@pytest.mark.parametrize("row", RECORDINGS, ids=[row["file"][8:] for row in RECORDINGS])
def test_after_any_frame_of_a_recorded_stream(row: dict[str, Any]) -> None:
    log, run = MemoryLog(), RunRow(
        id="run_1", owner="", conversation_id="c", message_id="msg_1", parent_id="p",
        model="m", created_ms=0, is_live=False,
    )  # fmt: skip
    runs = LiveRuns(log, None)  # type: ignore[arg-type]

    async def frames_after(protocol: str, after: str) -> list[tuple[str, str]]:
        seen = parse_seen_frame(after)
        assert seen is not None
        batches = await subscription.frames(runs, log, run, View(protocol), seen)
        return frames(b"".join([event async for batch in batches for event in batch]))

    async def main() -> None:
        await log.append("run_1", run_records(row))
        whole = content_of([payload for _, payload in await frames_after("thinking", "0")])
        assert whole.ends == 1
        for first_read, resumed in permutations(["ux", "thinking"], 2):
            seen = await frames_after(first_read, "0")
            for place, (number, _) in enumerate(seen, 1):
                rest = [payload for _, payload in await frames_after(resumed, number)]
                first = [payload for _, payload in seen[:place]]
                check_joined(first, rest, whole, {"reasoning", resumed})
            assert rest == []

    asyncio.run(main())


def test_ids_of_an_older_server_are_still_valid(tmp_path: Path) -> None:
    """They name no protocol. In the same protocol each gives the rest or a little more."""

    async def main() -> None:
        async with served(scripted(*TOOLS, tools=[double]), tmp_path) as server:
            event_id, _, data = await server.ask("Go.")
            await server.idle()
            for number, _ in frames(data):
                async with server.resume(event_id, number.partition("-")[0]) as response:
                    assert response.status == 200
                    assert data.endswith(await response.read())

    asyncio.run(main())


@pytest.mark.parametrize("after", ["9.9-nothing", "9.9-", "1.1-thinking-ux", "-thinking", "9-9"])
def test_an_id_of_no_protocol_is_refused(after: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with served(scripted(turn(say("Hi."))), tmp_path) as server:
            event_id, _, _ = await server.ask("Go.")
            async with server.resume(event_id, after) as response:
                assert response.status == 400
                assert (await response.json())["error"]["code"] == "bad_id"

    asyncio.run(main())


@pytest.mark.parametrize("after", ["9999.1-ux", "9999.1-thinking", "2.9-ux", "2.9-thinking"])
@pytest.mark.parametrize("protocol", ["ux", "thinking"])
def test_a_frame_that_no_protocol_has_is_told(after: str, protocol: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with served(scripted(turn(say("Hi."))), tmp_path) as server:
            event_id, _, _ = await server.ask("Go.")
            await server.idle()
            async with server.resume(event_id, after, protocol) as response:
                is_own = after.endswith(protocol)
                assert response.status == (200 if is_own and after.startswith("2.") else 410)

    asyncio.run(main())
