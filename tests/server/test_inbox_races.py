"""Inboxes of runs at bad moments: entries that come twice, too late, or for nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace import events as ev
from headrace.engine import Agent
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.store import InboxEntry
from headrace.testing import call, say, turn
from headrace.transport.retry import NEVER
from tests.server.serving import Served, served
from tests.server.test_input_requests import (
    BRIEF_S,
    ask,
    paying,
    post,
    read_requests,
    wait_until_expired,
    wait_until_over,
    wait_until_suspended,
)
from tests.server.test_steering import Gate, _answers, _begin, _say


def _two_approvals(done: list[str], *names: str) -> Agent:
    """An agent that calls two tools at once, and has those of these names."""

    def create(name: str) -> Any:
        @headrace.tool(name=name, needs_approval=True)
        async def work() -> str:
            """Work."""
            done.append(name)
            return f"{name} done"

        return work

    def play(heard: Heard) -> Any:
        has_results = any(m.result is not None for m in heard.messages)
        return turn(say("Done.")) if has_results else turn(call("first"), call("second"))

    tools = [create(name) for name in names]
    return Agent("vllm:any", transport=ScriptedTransport(play), tools=tools, policy=NEVER)


def test_an_answer_for_a_tool_that_is_gone_does_not_keep_the_run_awake(tmp_path: Path) -> None:
    done: list[str] = []

    async def main() -> None:
        async with served(_two_approvals(done, "first", "second"), tmp_path) as site:
            run_id, event_id = await ask(site)
            first, second = await read_requests(site, run_id)
        async with served(_two_approvals(done, "other", "second"), tmp_path) as site:
            path = f"/api/runs/{run_id}/requests/"
            assert (await post(site, path + first["request_id"], {"decision": "accepted"}))[
                0
            ] == 200
            await asyncio.sleep(0.5)
            await wait_until_suspended(site, event_id)
            records = await site.service.log.read(run_id)
            kinds = [type(record.event) for record in records]
            assert kinds.count(ev.RunResumed) == 1
            (left,) = await read_requests(site, run_id)
            assert left["request_id"] == second["request_id"]
            body = {"decision": "accepted"}
            assert (await post(site, path + second["request_id"], body))[0] == 200
            await wait_until_over(site, event_id)

    asyncio.run(main())
    assert done == ["second"]


class TwoGates(Gate):
    """An agent that waits in two steps."""

    def agent(self) -> Agent:
        @headrace.tool(is_idempotent=True)
        async def wait() -> str:
            """Wait."""
            self.entered.set()
            await self.opened.wait()
            self.opened.clear()
            return "waited"

        def play(heard: Heard) -> Any:
            said = [m.text for m in heard.messages if m.role == "user"]
            results = [m for m in heard.messages if m.result is not None]
            return turn(call("wait")) if len(results) < 2 else turn(say(" | ".join(said)))

        transport = ScriptedTransport(play)
        return Agent("vllm:any", transport=transport, tools=[wait], policy=NEVER)


async def _wait_for_event(site: Served, run_id: str, kind: type) -> None:
    for _ in range(500):
        records = await site.service.log.read(run_id)
        if any(isinstance(record.event, kind) for record in records):
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"no {kind.__name__} comes")


@pytest.mark.parametrize("is_over", [False, True])
def test_a_message_that_reached_the_model_before_a_kill_is_not_asked_again(
    tmp_path: Path, is_over: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log has the message, but the server was stopped before it could mark the entry."""

    async def main() -> None:
        gate: Gate = Gate() if is_over else TwoGates()
        async with served(gate.agent(), tmp_path, on_interrupt="continue") as site:
            event_id, conversation = await _begin(site, gate)
            await _say(site, "Hurry.", conversation, mode="steer")
            run_id = (await site.service.store.run("local", event_id)).id
            with monkeypatch.context() as patch:
                patch.setattr(site.service.store, "take_entries", _do_nothing)
                patch.setattr(site.service.store, "commit", _fail)
                gate.opened.set()
                await _wait_for_event(
                    site, run_id, ev.RunFinished if is_over else ev.UserMessageAdded
                )
                await site.service.runs.drain(0.2)
        later = Gate()
        later.opened.set()
        async with served(later.agent(), tmp_path, on_interrupt="continue") as site:
            message = await wait_until_over(site, event_id)
            assert message.text == "First. | Hurry."
            await asyncio.sleep(0.2)
            await site.idle()
            assert await _answers(site, conversation) == ["user", "assistant"]

    asyncio.run(main())


async def _do_nothing(*_: Any) -> None:
    """The server was killed before this."""


async def _fail(*_: Any) -> None:
    raise StorageFailed("the server was killed")


def test_a_message_queued_at_the_moment_of_the_end_is_asked(tmp_path: Path) -> None:
    """The run was live when the server looked, and is over when the entry is stored."""

    async def main() -> None:
        gate = Gate()
        async with served(gate.agent(), tmp_path) as site:
            event_id, conversation = await _begin(site, gate)
            row = await site.service.store.run("local", event_id)
            gate.opened.set()
            await wait_until_over(site, event_id)
            await site.idle()
            entry = InboxEntry(
                id="ent_1", run_id=row.id, kind="queue", body={"text": "Next."}, created_ms=1
            )
            await site.service.add_entry(row, entry)
            for _ in range(200):
                roles = await _answers(site, conversation)
                if roles == ["user", "assistant"] * 2 and not site.service.runs.count:
                    return
                await asyncio.sleep(0.02)
            raise AssertionError(roles)

    asyncio.run(main())


def test_an_answer_after_the_request_has_expired_is_refused(tmp_path: Path) -> None:
    paid: list[int] = []
    limits = headrace.RunLimits(input_timeout_s=BRIEF_S)

    async def main() -> None:
        async with served(paying(paid, limits=limits), tmp_path) as site:
            run_id, event_id = await ask(site)
            (request,) = await read_requests(site, run_id)
            await wait_until_expired(request)
            path = f"/api/runs/{run_id}/requests/{request['request_id']}"
            status, body = await post(site, path, {"decision": "accepted"})
            assert (status, body["error"]["decision"]) == (409, "expired")
            message = await wait_until_over(site, event_id)
            assert message.finish is not None
            assert message.finish.kind == "timeout"

    asyncio.run(main())
    assert paid == []


def test_steering_does_not_wake_a_suspended_run(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(paying([]), tmp_path) as site:
            async with site.open("Pay.") as answer:
                event_id = answer.headers["x-event-id"]
                conversation = answer.headers["x-conversation-id"]
            run_id = await wait_until_suspended(site, event_id)
            await _say(site, "Hurry.", conversation, mode="steer")
            await asyncio.sleep(0.2)
        async with served(paying([]), tmp_path) as site:
            await asyncio.sleep(0.2)
            records = await site.service.log.read(run_id)
            assert not any(isinstance(record.event, ev.RunResumed) for record in records)
            (request,) = await read_requests(site, run_id)
            path = f"/api/runs/{run_id}/requests/{request['request_id']}"
            assert (await post(site, path, {"decision": "accepted"}))[0] == 200
            message = await wait_until_over(site, event_id)
            (added,) = message.turns[0].added
            assert added.content == (headrace.TextContent("Hurry."),)

    asyncio.run(main())


async def _read_epochs(site: Served, run_id: str) -> tuple[int, list[int]]:
    """Return the epoch in the row of a run, and those in its log."""
    row = await site.service.store.find_run("local", run_id)
    records = await site.service.log.read(run_id)
    return row.epoch, [r.event.epoch for r in records if isinstance(r.event, ev.RunResumed)]


def test_row_and_log_count_every_stretch_of_a_run(tmp_path: Path) -> None:
    done: list[str] = []

    async def main() -> None:
        gate = TwoGates()
        async with served(gate.agent(), tmp_path, on_interrupt="continue") as site:
            event_id, _ = await _begin(site, gate)
            run_id = (await site.service.store.run("local", event_id)).id
            assert await _read_epochs(site, run_id) == (0, [])
        for number in (1, 2):
            gate = TwoGates()
            async with served(gate.agent(), tmp_path, on_interrupt="continue") as site:
                await _wait_for_event(site, run_id, ev.RunResumed)
                await asyncio.wait_for(gate.entered.wait(), 20)
                expected = list(range(1, number + 1))
                assert await _read_epochs(site, run_id) == (number, expected)
        async with served(_two_approvals(done, "first", "second"), tmp_path) as site:
            run_id, event_id = await ask(site)
            path = f"/api/runs/{run_id}/requests/"
            for number, request in enumerate(await read_requests(site, run_id), 1):
                body = {"decision": "accepted"}
                await post(site, path + request["request_id"], body)
                if number == 1:
                    await _wait_for_event(site, run_id, ev.ToolResult)
                    await wait_until_suspended(site, event_id)
            await wait_until_over(site, event_id)
            assert await _read_epochs(site, run_id) == (2, [1, 2])

    asyncio.run(main())


def test_a_claim_that_was_cut_off_leaves_a_gap_in_the_epochs(tmp_path: Path) -> None:
    """The number is that of the row, so that no two processes ever have the same."""

    async def main() -> None:
        async with served(paying([]), tmp_path) as site:
            run_id, event_id = await ask(site)
            row = await site.service.store.find_run("local", run_id)
            assert await site.service.store.claim(row) == 1
            assert await site.service.store.suspend(row, 1, None)
            (request,) = await read_requests(site, run_id)
            path = f"/api/runs/{run_id}/requests/{request['request_id']}"
            await post(site, path, {"decision": "accepted"})
            await wait_until_over(site, event_id)
            assert await _read_epochs(site, run_id) == (2, [2])

    asyncio.run(main())


def test_a_run_with_a_log_of_a_newer_release_is_left_alone(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(paying([]), tmp_path) as site:
            run_id, _ = await ask(site)
            query = "UPDATE runs SET log_version = log_version + 1 WHERE id = ?"
            await site.service.database.write(lambda c: c.execute(query, (run_id,)))
            (request,) = await read_requests(site, run_id)
            path = f"/api/runs/{run_id}/requests/{request['request_id']}"
            assert (await post(site, path, {"decision": "accepted"}))[0] == 200
            row = await site.service.store.find_run("local", run_id)
            assert (row.is_suspended, row.epoch) == (True, 0)

    asyncio.run(main())


def test_an_answer_during_the_suspension_by_a_stopping_server_waits_for_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid: list[int] = []

    async def main() -> None:
        async with served(paying(paid), tmp_path) as site:
            runs = site.service.runs

            async def answer_first(live: Any) -> None:
                (request,) = await read_requests(site, live.row.id)
                path = f"/api/runs/{live.row.id}/requests/{request['request_id']}"
                assert (await post(site, path, {"decision": "accepted"}))[0] == 200
                runs._is_draining = True

            monkeypatch.setattr(runs, "_take_entries", answer_first)
            run_id, event_id = await ask(site)
            assert (await _read_epochs(site, run_id)) == (0, [])
        async with served(paying(paid), tmp_path) as site:
            assert (await wait_until_over(site, event_id)).text == "paid 5"

    asyncio.run(main())
    assert paid == [5]


def test_expired_requests_of_agents_that_are_gone_do_not_delay_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = headrace.RunLimits(input_timeout_s=1.0)
    monkeypatch.setattr("headrace.server.chores.run_chores._EXPIRED_REQUESTS", 2)
    monkeypatch.setattr("headrace.server.service._EXPIRE_REQUESTS_INTERVAL_S", 3600)

    async def main() -> None:
        async with served({"gone": paying([], limits=limits)}, tmp_path) as site:
            gone = [await ask(site) for _ in range(3)]
        async with served({"here": paying([], limits=limits)}, tmp_path) as site:
            here = [await ask(site) for _ in range(3)]
            await asyncio.sleep(1.1)
            assert [await site.service.run_chores.expire_requests() for _ in range(3)] == [2, 1, 0]
            for _, event_id in here:
                message = await wait_until_over(site, event_id)
                assert message.finish is not None
                assert message.finish.kind == "timeout"
            for run_id, _ in gone:
                assert (await site.service.store.find_run("local", run_id)).is_suspended

    asyncio.run(main())


@pytest.mark.parametrize("action", ["answer", "answer and cancel", "answer and steer"])
def test_answers_that_race_the_suspension_are_taken(tmp_path: Path, action: str) -> None:
    paid: list[int] = []

    async def answer_at_once(site: Served) -> str:
        async with site.open("Pay.") as answer:
            event_id = answer.headers["x-event-id"]
            conversation = answer.headers["x-conversation-id"]
        run_id = (await site.service.store.run("local", event_id)).id
        requests: list[dict[str, Any]] = []
        while not requests:
            requests = await read_requests(site, run_id)
        path = f"/api/runs/{run_id}/requests/{requests[0]['request_id']}"
        work: list[Any] = [post(site, path, {"decision": "accepted"})]
        if action == "answer and cancel":
            work.insert(0, post(site, f"/api/chat/{event_id}/cancel", {}))
        elif action == "answer and steer":
            work.insert(0, _say(site, "Hurry.", conversation, mode="steer"))
        assert {found[0] for found in await asyncio.gather(*work)} <= {200, 409}
        await wait_until_over(site, event_id)
        records = await site.service.log.read(run_id)
        ends = [r for r in records if isinstance(r.event, ev.RunFinished | ev.RunFailed)]
        answers = [r for r in records if isinstance(r.event, ev.InputAnswered)]
        assert len(ends) == 1
        assert len(answers) <= 1
        assert [record.seq for record in records] == list(range(1, len(records) + 1))
        assert len([r for r in records if isinstance(r.event, ev.ToolStarted)]) <= 1
        return str(ends[0].event.reason)  # type: ignore[union-attr]

    async def main() -> list[str]:
        async with served(paying(paid), tmp_path) as site:
            return await asyncio.gather(*(answer_at_once(site) for _ in range(20)))

    ends = asyncio.run(main())
    if action != "answer and cancel":
        assert paid == [5] * 20
        assert set(ends) == {"end_turn"}


@pytest.mark.parametrize("is_late", [False, True])
def test_an_answer_counts_by_the_time_at_which_it_was_stored(tmp_path: Path, is_late: bool) -> None:
    """The other APIs store answers without a look at the time; and the run may get one only after
    the request has expired."""
    paid: list[int] = []
    limits = headrace.RunLimits(input_timeout_s=BRIEF_S)

    async def main() -> None:
        async with served(paying(paid, limits=limits), tmp_path) as site:
            run_id, event_id = await ask(site)
            row = await site.service.store.find_run("local", run_id)
            (request,) = await read_requests(site, run_id)
            await wait_until_expired(request)
            entry = InboxEntry(
                id="ent_1",
                run_id=run_id,
                kind="answer",
                request_id=request["request_id"],
                body={"decision": "accepted"},
                created_ms=request["expires_at_ms"] + (1 if is_late else -1),
            )
            await site.service.add_entry(row, entry)
            message = await wait_until_over(site, event_id)
            assert message.finish is not None
            assert (message.finish.kind == "timeout") is is_late

    asyncio.run(main())
    assert paid == ([] if is_late else [5])
