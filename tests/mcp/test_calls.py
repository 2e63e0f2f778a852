"""Calls of MCP clients: how many there may be, how long they wait, and what an answer may be."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from headrace import Agent, Terminate, ToolContext, UsageError, tool
from headrace.events import InputRequested
from headrace.mcp import MCPOffer
from headrace.rehearsal.clock import run_virtual
from headrace.server import create_app
from headrace.server.http.doors.mcp.client_link import ANSWER_S, ClientLink
from headrace.server.http.doors.mcp.client_sessions import ClientSessions
from headrace.server.http.doors.mcp.form import Form, create_approval, create_form
from headrace.server.http.doors.mcp.held_calls import HeldCalls
from headrace.server.http.doors.mcp.offered_tool import run_tool
from headrace.tools import InputDenied
from headrace.tools.left_behind import MAX_CALLS_PER_USER
from headrace.typed.output_type import Mismatch

NEW, OLD = "2026-07-28", "2025-11-25"


def create_context(version: str = NEW, answer: Any = None) -> Any:
    """Return the context of a request of a client that can fill in forms."""
    able = SimpleNamespace(elicitation=SimpleNamespace(form=True, url=None))

    async def send_request(*_: Any) -> Any:
        return await answer()

    session = SimpleNamespace(client_capabilities=able, send_request=send_request)
    return SimpleNamespace(
        protocol_version=version, session=session, request_id=1, meta=None, request=None
    )


def create_params(state: str | None = None, **responses: Any) -> Any:
    given = {
        key: types.ElicitResult(action="accept", content=value) for key, value in responses.items()
    }
    return SimpleNamespace(request_state=state, input_responses=given)


async def ask(link: ClientLink) -> Any:
    return await link.ask("Which?")


# -- calls that wait


def test_a_call_ends_some_time_after_its_first_question_however_often_it_is_sent() -> None:
    async def main() -> None:
        calls = HeldCalls()
        result = await calls.answer("anna", create_context(), create_params(), ask)
        for _ in range(3):
            await asyncio.sleep(ANSWER_S / 4)
            state = create_params(result.request_state)
            result = await calls.answer("anna", create_context(), state, ask)
        await asyncio.sleep(ANSWER_S / 4 + 1)
        assert len(calls) == 0
        state = create_params(result.request_state)
        with pytest.raises(MCPError, match="does not wait"):
            await calls.answer("anna", create_context(), state, ask)

    run_virtual(main(), leftover=[])


def test_a_user_has_a_number_of_calls_at_the_same_time_also_with_older_revisions() -> None:
    async def main() -> None:
        calls = HeldCalls()

        def start(owner: str) -> Any:
            context = create_context(OLD, asyncio.Event().wait)
            return asyncio.ensure_future(calls.answer(owner, context, create_params(), ask))

        waiting = [start("mallory") for _ in range(100)]
        await asyncio.sleep(0)
        with pytest.raises(MCPError, match="too many calls at the same time"):
            await start("mallory")
        other = start("anna")
        await asyncio.sleep(1)
        assert not other.done()
        for task in (*waiting, other):
            task.cancel()
        await asyncio.sleep(1)
        again = start("mallory")
        await asyncio.sleep(1)
        assert not again.done()

    run_virtual(main(), leftover=[])


def test_calls_that_are_left_behind_are_counted_for_their_user() -> None:
    ends = threading.Event()

    @tool(timeout_s=0.05)
    def block() -> str:
        """Ignore the time limit."""
        ends.wait(60)
        return "done"

    @tool
    def quick() -> str:
        """Answer at once."""
        return "quick"

    async def call(calls: HeldCalls, owner: str, called: Any) -> types.CallToolResult:
        async def work(link: ClientLink) -> Any:
            return await run_tool(called, {}, link, "info")

        result: types.CallToolResult = await calls.answer(
            owner, create_context(), create_params(), work
        )
        return result

    async def main() -> None:
        calls = HeldCalls()
        for _ in range(MAX_CALLS_PER_USER):
            assert (await call(calls, "mallory", block)).is_error
        assert (await call(calls, "mallory", quick)).is_error
        assert not (await call(calls, "anna", quick)).is_error

    try:
        asyncio.run(main())
    finally:
        ends.set()


def test_a_question_that_is_taken_back_does_not_end_the_call() -> None:
    async def work(link: ClientLink) -> str:
        try:
            async with asyncio.timeout(0.003):
                await link.ask("Which?")
        except TimeoutError:
            await asyncio.sleep(1)
        return "without an answer"

    async def main() -> None:
        found = await HeldCalls().answer("anna", create_context(), create_params(), work)
        assert found == "without an answer"

    run_virtual(main())


# -- the time of a call


def test_the_time_of_a_call_stands_still_until_its_last_question_is_answered() -> None:
    async def main() -> None:
        waits = iter((2.0, 9.0))

        async def answer() -> Any:
            await asyncio.sleep(next(waits))
            return types.ElicitResult(action="accept", content={"answer": "yes"})

        @tool(timeout_s=1)
        async def both(context: ToolContext) -> str:
            """Ask two questions at once."""
            return " ".join(await asyncio.gather(context.ask("a?"), context.ask("b?")))

        result = await run_tool(both, {}, ClientLink(create_context(OLD, answer)), "info")
        assert not result.is_error

    run_virtual(main())


def test_a_question_that_outlives_its_call_breaks_nothing() -> None:
    async def main() -> None:
        asked: list[asyncio.Task[Any]] = []

        async def answer() -> Any:
            await asyncio.sleep(5)
            return types.ElicitResult(action="accept", content={"answer": "yes"})

        @tool(timeout_s=9)
        async def leave(context: ToolContext) -> str:
            """Ask, and do not wait."""
            asked.append(asyncio.ensure_future(context.ask("a?")))
            await asyncio.sleep(1)
            return "left"

        await run_tool(leave, {}, ClientLink(create_context(OLD, answer)), "info")
        assert await asked[0] == "yes"

    run_virtual(main())


# -- answers


def test_an_approval_cannot_be_given_before_it_is_asked_for() -> None:
    @tool(needs_approval=True)
    def delete() -> str:
        """Delete everything."""
        raise AssertionError

    async def work(link: ClientLink) -> Any:
        return await run_tool(delete, {}, link, "info")

    async def main() -> None:
        given = create_params(question_1={"approve": True}, approval={"approve": True})
        calls = HeldCalls()
        result = await calls.answer("anna", create_context(), given, work)
        assert isinstance(result, types.InputRequiredResult)
        calls.close()

    asyncio.run(main())


def test_an_approval_says_that_the_call_was_cut() -> None:
    form = create_approval("", "send", {"text": "x" * 5_000})
    assert "[cut: the call has 5,0" in form.message
    assert "cut" not in create_approval("", "send", {"text": "x"}).message


def test_a_large_answer_is_refused_and_a_wrong_one_is_described_in_short() -> None:
    words = {"type": "array", "items": {"enum": ["a", "b"]}}
    form = Form("Which?", {"type": "object", "properties": {"words": words}})

    def read(count: int) -> Any:
        content: Any = {"words": ["wrong"] * count}
        return form.read(types.ElicitResult(action="accept", content=content))

    with pytest.raises(Mismatch) as caught:
        read(5_000)
    assert len(str(caught.value)) < 2_000
    with pytest.raises(InputDenied, match="bytes"):
        read(50_000)


def test_a_request_of_a_kind_that_no_client_knows_is_denied() -> None:
    event = InputRequested(request_id="r", call_id="c", name="f", kind="result", message="")
    with pytest.raises(InputDenied):
        create_form(event)


def test_a_tool_that_ends_its_run_is_an_error_result() -> None:
    @tool
    def stop() -> str:
        """Stop."""
        raise Terminate("enough")

    result = asyncio.run(_run(stop))
    assert result.is_error
    assert "enough" in str(result.content)


async def _run(called: Any) -> types.CallToolResult:
    return await run_tool(called, {}, ClientLink(create_context()), "info")


# -- subscriptions


class Connection:
    """A connection whose client reads when it is told to."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.reads = asyncio.Event()

    async def send_resource_updated(self, uri: str) -> None:
        await self.reads.wait()
        self.sent.append(uri)


def context_of(connection: Connection) -> Any:
    return SimpleNamespace(session=SimpleNamespace(_connection=connection))


def test_subscriptions_are_forgotten_with_their_connection() -> None:
    async def main() -> None:
        sessions, connection = ClientSessions(), Connection()
        sessions.subscribe(context_of(connection), "a://b")
        sessions.set_level(context_of(connection), "error")
        assert sessions.find_level(context_of(connection)) == "error"
        assert len(sessions) == 1
        del connection
        assert len(sessions) == 0

    asyncio.run(main())


def test_a_client_that_does_not_read_has_one_notification_waiting_for_each_uri() -> None:
    async def main() -> None:
        sessions, connection = ClientSessions(), Connection()
        for uri in ("a://1", "a://2"):
            sessions.subscribe(context_of(connection), uri)
        before = len(asyncio.all_tasks())
        for _ in range(300):
            sessions.notify("a://1")
            sessions.notify("a://2")
        await asyncio.sleep(0.01)
        assert len(asyncio.all_tasks()) == before + 1
        connection.reads.set()
        await asyncio.sleep(0.01)
        assert sorted(connection.sent) in (["a://1", "a://2"], ["a://1", "a://1", "a://2"])

    asyncio.run(main())


def test_a_tool_with_the_name_of_an_agent_is_told_when_the_server_is_created(tmp_path: Any) -> None:
    @tool(name="ask")
    def other() -> str:
        """Have the name of the default agent."""
        return ""

    with pytest.raises(UsageError, match="the name of an agent: ask"):
        create_app(Agent("rehearsal:instant"), data=tmp_path, mcp_offer=MCPOffer(tools=[other]))
