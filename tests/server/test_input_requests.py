"""Runs on a server that wait for a person: they are suspended, answered, and go on, also in the
next process."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace import events as ev
from headrace.engine import Agent
from headrace.messages import fold
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server.storage.errors import StorageFailed
from headrace.testing import approval, call, say, turn
from headrace.tools import ToolContext
from headrace.transport.retry import NEVER
from tests.server.serving import Served, scripted, served

# A time limit for answers that leaves a busy machine the time to suspend the run first.
BRIEF_S = 2.0


def paying(paid: list[int], **options: Any) -> Agent:
    """An agent that wants to pay, and then says whether it did."""

    @headrace.tool(needs_approval=True)
    async def pay(amount: int, context: ToolContext) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    def play(heard: Heard) -> Any:
        results = [m.result.text for m in heard.messages if m.result is not None]
        return turn(say(results[-1])) if results else turn(call("pay", amount=5))

    transport = ScriptedTransport(play)
    return Agent("vllm:any", transport=transport, tools=[pay], policy=NEVER, **options)


async def ask(site: Served) -> tuple[str, str]:
    """Ask a question whose answer waits; return the ids of run and answer."""
    async with site.open("Pay.") as answer:
        event_id = answer.headers["x-event-id"]
    run_id = await wait_until_suspended(site, event_id)
    return run_id, event_id


async def wait_until_suspended(site: Served, event_id: str) -> str:
    for _ in range(500):
        row = await site.service.store.run("local", event_id)
        if row.is_suspended:
            return row.id
        await asyncio.sleep(0.02)
    raise AssertionError("the run was not suspended")


async def wait_until_expired(request: dict[str, Any]) -> None:
    await asyncio.sleep(max(0.0, request["expires_at_ms"] / 1000 - time.time()) + 0.1)


async def wait_until_over(site: Served, event_id: str) -> headrace.Message:
    for _ in range(500):
        row = await site.service.store.run("local", event_id)
        if not row.is_live:
            records = await site.service.log.read(row.id)
            return fold(records)
        await asyncio.sleep(0.02)
    raise AssertionError("the run did not end")


async def read_requests(site: Served, run_id: str) -> list[dict[str, Any]]:
    status, body = await site.get(f"/api/runs/{run_id}/requests")
    assert status == 200
    return list(body["requests"])


async def post(site: Served, path: str, body: Any) -> tuple[int, dict[str, Any]]:
    async with site.http.post(site.url + path, json=body) as response:
        return response.status, await response.json()


def test_an_approval_waits_without_a_process_and_is_answered_once(tmp_path: Path) -> None:
    paid: list[int] = []

    async def main() -> None:
        async with served(paying(paid), tmp_path) as site:
            run_id, event_id = await ask(site)
            assert site.service.runs.count == 0
            (request,) = await read_requests(site, run_id)
            assert (request["kind"], request["name"]) == ("approval", "pay")
            assert request["args"] == {"amount": 5}
            path = f"/api/runs/{run_id}/requests/{request['request_id']}"
            answers = await asyncio.gather(
                *(
                    post(site, path, {"decision": "accepted", "value": {"amount": number}})
                    for number in range(1, 101)
                )
            )
            assert sorted(status for status, _ in answers) == [200] + [409] * 99
            message = await wait_until_over(site, event_id)
            (amount,) = paid
            for status, body in answers:
                if status == 409:
                    told = body["error"]
                    assert (told["decision"], told["value"]) == ("accepted", {"amount": amount})
            assert message.text.endswith(f"paid {amount}")
            status, body = answers[amount - 1]
            assert (status, body["decision"]) == (200, "accepted")
            # The same answer again is no conflict.
            assert (await post(site, path, {"decision": "accepted", "value": {"amount": amount}}))[
                0
            ] == 200
            assert await read_requests(site, run_id) == []

    asyncio.run(main())


def test_all_waiting_runs_of_a_user_are_listed(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(paying([]), tmp_path) as site:
            assert await site.get("/api/requests") == (200, {"runs": []})
            asked = [await ask(site) for _ in range(2)]
            _, body = await site.get("/api/requests")
            assert [(run["run_id"], run["event_id"]) for run in body["runs"]] == asked
            for run in body["runs"]:
                assert run["requests"] == await read_requests(site, run["run_id"])
                assert await site.service.store.open_runs("somebody", 10) == []
            (first, event_id), (second, _) = asked
            request_id = body["runs"][0]["requests"][0]["request_id"]
            await post(site, f"/api/runs/{first}/requests/{request_id}", {"decision": "denied"})
            await wait_until_over(site, event_id)
            _, body = await site.get("/api/requests")
            assert [run["run_id"] for run in body["runs"]] == [second]
            url = f"{site.url}/api/conversations/{body['runs'][0]['conversation_id']}"
            async with site.http.delete(url) as response:
                assert response.status == 204
            assert await site.get("/api/requests") == (200, {"runs": []})

    asyncio.run(main())


def test_the_list_of_conversations_says_which_wait_for_an_answer(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(paying([]), tmp_path) as site:
            run_id, event_id = await ask(site)
            await wait_until_suspended(site, event_id)
            _, body = await site.get("/api/conversations")
            conversation_id = body["conversations"][0]["id"]
            assert body["live"] == {conversation_id: "waiting"}
            (asked,) = await read_requests(site, run_id)
            path = f"/api/runs/{run_id}/requests/{asked['request_id']}"
            await post(site, path, {"decision": "denied"})
            await wait_until_over(site, event_id)
            _, body = await site.get("/api/conversations")
            assert body["live"] == {}

    asyncio.run(main())


def test_another_server_goes_on_with_a_suspended_run(tmp_path: Path) -> None:
    first: list[int] = []
    second: list[int] = []

    async def main() -> None:
        async with served(paying(first), tmp_path) as site:
            run_id, event_id = await ask(site)
        async with served(paying(second), tmp_path) as site:
            row = await site.service.store.run("local", event_id)
            assert row.is_suspended
            (request,) = await read_requests(site, run_id)
            path = f"/api/runs/{run_id}/requests/{request['request_id']}"
            assert (await post(site, path, {"decision": "denied", "reason": "too much"}))[0] == 200
            message = await wait_until_over(site, event_id)
            assert "did not allow" in message.text
            assert "too much" in message.text
            records = await site.service.log.read(run_id)
            kinds = [type(record.event) for record in records]
            assert kinds.count(ev.RunSuspended) == kinds.count(ev.RunResumed) == 1

    asyncio.run(main())
    assert first == second == []


def test_wrong_answers_are_refused_and_change_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(paying([]), tmp_path) as site:
            run_id, _ = await ask(site)
            (request,) = await read_requests(site, run_id)
            path = f"/api/runs/{run_id}/requests/"
            good = path + request["request_id"]
            assert (await post(site, path + "req_0", {"decision": "accepted"}))[0] == 404
            assert (await post(site, good, {"decision": "perhaps"}))[0] in (400, 422)
            assert (await post(site, good, {"decision": "accepted", "value": 3}))[0] == 422
            assert (await post(site, "/api/runs/run_0/requests/x", {"decision": "denied"}))[
                0
            ] == 404
            assert len(await read_requests(site, run_id)) == 1

    asyncio.run(main())


def test_a_suspended_run_can_be_cancelled(tmp_path: Path) -> None:
    paid: list[int] = []

    async def main() -> None:
        async with served(paying(paid), tmp_path) as site:
            _, event_id = await ask(site)
            status, body = await post(site, f"/api/chat/{event_id}/cancel", {})
            assert (status, body["was_live"]) == (200, True)
            message = await wait_until_over(site, event_id)
            assert message.finish is not None
            assert message.finish.kind == "cancelled"

    asyncio.run(main())
    assert paid == []


def test_a_request_that_expires_ends_the_run(tmp_path: Path) -> None:
    limits = headrace.RunLimits(input_timeout_s=BRIEF_S)

    async def main() -> None:
        async with served(paying([], limits=limits), tmp_path) as site:
            run_id, event_id = await ask(site)
            (request,) = await read_requests(site, run_id)
            await wait_until_expired(request)
            assert await site.service.run_chores.expire_requests() == 1
            message = await wait_until_over(site, event_id)
            assert message.finish is not None
            assert message.finish.kind == "timeout"
            assert await site.service.run_chores.expire_requests() == 0

    asyncio.run(main())


def test_a_stream_stays_open_while_its_run_waits(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(paying([]), tmp_path) as site, site.open("Pay.") as answer:
            reading = asyncio.create_task(answer.content.read())
            event_id = answer.headers["x-event-id"]
            run_id = await wait_until_suspended(site, event_id)
            late = asyncio.create_task(read_all(site, event_id))
            await asyncio.sleep(0.1)
            assert not reading.done()
            assert not late.done()
            (request,) = await read_requests(site, run_id)
            path = f"/api/runs/{run_id}/requests/{request['request_id']}"
            await post(site, path, {"decision": "accepted"})
            whole = await reading
            assert b"paid 5" in whole
            assert await late == whole

    asyncio.run(main())


async def read_all(site: Served, event_id: str) -> bytes:
    async with site.resume(event_id) as answer:
        return bytes(await answer.content.read())


def test_a_stream_ends_when_its_run_waits_too_long(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(paying([]), tmp_path, waiting_stream_s=0.1) as site:
            async with site.open("Pay.") as answer:
                await asyncio.wait_for(answer.content.read(), 20)
                event_id = answer.headers["x-event-id"]
            assert (await site.service.store.run("local", event_id)).is_suspended

    asyncio.run(main())


def test_a_conversation_with_a_suspended_run_can_be_deleted(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(paying([]), tmp_path) as site:
            async with site.open("Pay.") as answer:
                event_id = answer.headers["x-event-id"]
                conversation = answer.headers["x-conversation-id"]
            run_id = await wait_until_suspended(site, event_id)
            url = f"{site.url}/api/conversations/{conversation}"
            async with site.http.delete(url) as response:
                assert response.status == 204
            status, _ = await site.get(f"/api/runs/{run_id}/requests")
            assert status == 404

    asyncio.run(main())


def test_repairs_leave_runs_alone_that_are_suspended_or_resumed(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(paying([]), tmp_path) as site:

            async def repair() -> None:
                while True:
                    await site.service.repair()
                    await asyncio.sleep(0)

            repairing = asyncio.create_task(repair())
            for _ in range(5):
                run_id, event_id = await ask(site)
                (request,) = await read_requests(site, run_id)
                path = f"/api/runs/{run_id}/requests/{request['request_id']}"
                assert (await post(site, path, {"decision": "accepted"}))[0] == 200
                assert (await wait_until_over(site, event_id)).text == "paid 5"
            repairing.cancel()

    asyncio.run(main())


@pytest.mark.parametrize("is_answered", [False, True])
@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_run_whose_suspension_was_not_stored_is_still_suspended(
    tmp_path: Path, is_answered: bool, is_restarted: bool
) -> None:
    """The server was killed, or the disk was full, after the log had said that the run waits."""
    paid: list[int] = []

    async def forget(site: Served, run_id: str) -> None:
        query = "UPDATE runs SET suspended_ms = NULL, expires_ms = NULL WHERE id = ?"
        await site.service.database.write(lambda c: c.execute(query, (run_id,)))

    async def main() -> None:
        async with served(paying(paid), tmp_path) as site:
            run_id, event_id = await ask(site)
            (request,) = await read_requests(site, run_id)
            path = f"/api/runs/{run_id}/requests/{request['request_id']}"
            await forget(site, run_id)
            if is_answered:
                # No process wakes the run: only the entry is stored.
                assert (await post(site, path, {"decision": "accepted"}))[0] == 200
            if not is_restarted:
                assert await site.service.repair() == 1
                await check(site, path, event_id)
        if is_restarted:
            async with served(paying(paid), tmp_path) as site:
                await check(site, path, event_id)

    async def check(site: Served, path: str, event_id: str) -> None:
        if not is_answered:
            await wait_until_suspended(site, event_id)
            assert (await post(site, path, {"decision": "accepted"}))[0] == 200
        assert (await wait_until_over(site, event_id)).text == "paid 5"
        assert paid == [5]

    asyncio.run(main())


def test_a_run_is_cancelled_even_if_nothing_can_be_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        opened = asyncio.Event()

        async def wait() -> str:
            """Wait."""
            opened.set()
            await asyncio.sleep(60)
            return "never"

        agent = scripted(turn(call("wait")), turn(say("Done.")), tools=[wait])
        async with served(agent, tmp_path) as site:
            async with site.open("Go.") as answer:
                event_id = answer.headers["x-event-id"]
                await opened.wait()

            async def refuse(entry: Any) -> Any:
                raise StorageFailed("the disk is full")

            monkeypatch.setattr(site.service.store, "add_entry", refuse)
            status, body = await post(site, f"/api/chat/{event_id}/cancel", {})
            assert (status, body["was_live"]) == (200, True)
            message = await wait_until_over(site, event_id)
            assert message.finish is not None
            assert message.finish.kind == "cancelled"

    asyncio.run(main())


def test_a_server_without_the_agent_leaves_a_suspended_run_alone(tmp_path: Path) -> None:
    paid: list[int] = []

    async def main() -> None:
        async with served(paying(paid), tmp_path) as site:
            run_id, event_id = await ask(site)
            row = await site.service.store.run("local", event_id)
        async with served({"another": paying([])}, tmp_path) as site:
            (request,) = await read_requests(site, run_id)
            path = f"/api/runs/{run_id}/requests/{request['request_id']}"
            assert (await post(site, path, {"decision": "accepted"}))[0] == 200
            assert (await site.service.store.run("local", event_id)).is_suspended
        async with served({row.model: paying(paid)}, tmp_path) as site:
            assert (await wait_until_over(site, event_id)).text == "paid 5"

    asyncio.run(main())
    assert paid == [5]


def test_an_approval_of_the_provider_waits_like_any_other(tmp_path: Path) -> None:
    script = ScriptedTransport(
        [turn(approval("erase", server="disk", name="a.txt")), turn(say("Gone."))],
        dialect="responses",
    )
    agent = Agent("openai:any", transport=script, api_key="k", policy=NEVER)

    async def main() -> None:
        async with served(agent, tmp_path) as site:
            run_id, event_id = await ask(site)
            assert site.service.runs.count == 0
            (request,) = await read_requests(site, run_id)
            assert (request["kind"], request["name"]) == ("approval", "erase")
            assert (request["args"], request["server"]) == ({"name": "a.txt"}, "disk")
            path = f"/api/runs/{run_id}/requests/{request['request_id']}"
            edited = {"decision": "accepted", "value": {"name": "b.txt"}}
            status, body = await post(site, path, edited)
            assert (status, body["error"]["code"]) == (422, "bad_value")
            assert "erase" in body["error"]["message"]
            status, _ = await post(site, path, {"decision": "accepted"})
            assert status == 200
            message = await wait_until_over(site, event_id)
            assert message.text == "Gone."

    asyncio.run(main())
    sent = script.requests[1]["input"][-1]
    assert (sent["type"], sent["approve"]) == ("mcp_approval_response", True)
