"""The routes of the AI SDK and AG-UI: names, places in a conversation, restarts and refusals."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headrace.engine import Agent
from headrace.testing import ScriptedTransport, approval, say, turn, wait
from headrace.transport.retry import NEVER
from tests.doors.test_ai_sdk_interleavings import chunks_of
from tests.doors.ui_agents import agent, create_agents, requests_of, staged
from tests.phases.ui_order import DONE, Chunk, check_ag_ui, read_ui_message
from tests.server.serving import Served, served
from tests.server.tokens import create_token

CHAT = "/api/ai-sdk/chat"


def user(text: str, id: str = "u1") -> Chunk:
    return {"id": id, "role": "user", "parts": [{"type": "text", "text": text}]}


def asking(text: str, id: str = "u1") -> Chunk:
    return {"id": id, "role": "user", "content": text}


def chat(*messages: Chunk, id: str = "c1", **more: Any) -> Chunk:
    return {"id": id, "messages": list(messages), **more}


def thread(*messages: Chunk, run: str = "r1", **more: Any) -> Chunk:
    return {"threadId": "t1", "runId": run, "messages": list(messages), **more}


async def post(server: Served, path: str, body: Chunk, token: str | None = None) -> tuple[int, Any]:
    """The status and the chunks, or the body of an error."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with server.http.post(server.url + path, json=body, headers=headers) as response:
        data = await response.read()
        if response.headers["content-type"].startswith("text/event-stream"):
            return response.status, chunks_of(data)
        return response.status, data.decode()


async def get_status(server: Served, path: str, token: str) -> int:
    headers = {"authorization": f"Bearer {token}"}
    async with server.http.get(server.url + path, headers=headers) as response:
        return response.status


def text_of(chunks: list[Any]) -> str:
    return "".join(str(chunk.get("delta", "")) for chunk in chunks if chunk != DONE)


# --- names -----------------------------------------------------------------------------


def test_names_are_those_of_one_user_and_one_protocol(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(create_agents(), tmp_path, needs_token=True) as server:
            tokens = [create_token(server.service, f"user{n}", "", 0) for n in range(2)]
            for token in tokens:
                _, said = await post(server, CHAT, chat(user("One"), model="echo"), token)
                assert text_of(said) == "One"
                body = thread(asking("One"), forwardedProps={"model": "echo"})
                _, said = await post(server, "/api/ag-ui", {**body, "threadId": "c1"}, token)
                assert text_of(said) == "One"
            _, said = await post(
                server, CHAT, chat(user("One"), user("Two", "u2"), model="approval"), tokens[0]
            )
            assert await get_status(server, f"{CHAT}/c1/stream", tokens[0]) == 200
            assert await get_status(server, f"{CHAT}/c1/stream", tokens[1]) == 204
            status, told = await post(server, f"{CHAT}/c1/stop", {}, tokens[1])
            assert (status, told) == (200, '{"was_live":false}')
            status, told = await post(server, f"{CHAT}/c1/stop", {}, tokens[0])
            assert told == '{"was_live":true}'
            status, _ = await post(server, CHAT, chat(user("x")), "wrong")
            assert status == 401
            headers = {"authorization": f"Bearer {tokens[1]}"}
            _, listed = await server.get("/api/conversations", headers=headers)
            assert [entry["title"] for entry in listed["conversations"]] == ["One", "One"]

    asyncio.run(main())


@pytest.mark.parametrize("path", [CHAT, "/api/ag-ui"])
def test_first_messages_at_the_same_moment_are_one_conversation(path: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with served(create_agents(), tmp_path) as server:
            bodies = [
                chat(user(f"Q{n}", f"u{n}"), model="echo")
                if path == CHAT
                else thread(asking(f"Q{n}"), run=f"r{n}", forwardedProps={"model": "echo"})
                for n in range(4)
            ]
            answers = await asyncio.gather(*(post(server, path, body) for body in bodies))
            assert {status for status, _ in answers} <= {200, 409}
            assert 200 in {status for status, _ in answers}
            _, listed = await server.get("/api/conversations")
            assert len(listed["conversations"]) == 1

    asyncio.run(main())


# --- runs that wait --------------------------------------------------------------------


def test_a_run_that_waits_goes_on_after_a_restart(tmp_path: Path) -> None:
    """An approval in the AI SDK, and a front-end tool of AG-UI."""

    async def ask() -> tuple[Chunk, Chunk]:
        async with served(create_agents(), tmp_path, on_interrupt="continue") as server:
            _, said = await post(server, CHAT, chat(user("Pay."), model="approval"))
            message = read_ui_message(said)
            tool: Chunk = {"name": "pick_color", "description": "Pick.", "parameters": {}}
            props = {"model": "front-end"}
            body = thread(asking("Pick."), tools=[tool], forwardedProps=props)
            _, events = await post(server, "/api/ag-ui", body)
            (pending,) = events[-1]["outcome"]["pendingToolCallIds"]
            part = next(part for part in message.parts if part["type"] == "tool")
            approval = {"id": part["approval"]["id"], "approved": True}
            tool_part = {**part, "type": "tool-pay", "state": "approval-responded"}
            tool_part["approval"] = approval
            answer = {"id": message.message_id, "role": "assistant", "parts": [tool_part]}
            result = {"id": "x", "role": "tool", "toolCallId": pending, "content": "teal"}
            return chat(user("Pay."), answer), thread(asking("Pick."), result, run="r2")

    async def go_on(approval: Chunk, result: Chunk) -> None:
        agents = create_agents()
        async with served(agents, tmp_path, on_interrupt="continue") as server:
            status, said = await post(server, CHAT, approval)
            assert status == 200
            assert text_of(said) == "Done."
            assert said[0]["messageId"] == approval["messages"][1]["id"]
            status, events = await post(server, "/api/ag-ui", result)
            assert status == 200
            check_ag_ui(events)
            assert text_of(events) == "It is teal."
            assert events[0]["runId"] == events[-1]["runId"] == "r2"
            (asked,) = requests_of(agents["front-end"])
            assert [tool["name"] for tool in asked["tools"]] == ["pick_color"]
            # The same again is the same stream, not a second answer.
            assert (await post(server, "/api/ag-ui", result))[1] == events
            assert (await post(server, CHAT, approval))[1] == said

    asyncio.run(go_on(*asyncio.run(ask())))


def test_a_new_question_does_not_replace_one_that_waits(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(create_agents(), tmp_path) as server:
            _, said = await post(server, CHAT, chat(user("Pay."), model="approval"))
            answer: Chunk = {"id": said[0]["messageId"], "role": "assistant", "parts": []}
            body = chat(user("Pay."), answer, user("Next", "u2"), model="approval")
            status, told = await post(server, CHAT, body)
            assert status == 409
            assert "is being written" in told
            await post(server, f"{CHAT}/c1/stop", {})
            status, _ = await post(server, CHAT, body)
            assert status == 200

    asyncio.run(main())


@pytest.mark.parametrize(
    ("approval", "status"), [({"id": "x", "approved": True}, 409), ({"approved": "yes"}, 400)]
)
def test_an_answer_to_nothing_or_of_no_meaning_is_refused(
    approval: Chunk, status: int, tmp_path: Path
) -> None:
    async def main() -> None:
        async with served(create_agents(), tmp_path) as server:
            _, said = await post(server, CHAT, chat(user("Pay."), model="approval"))
            part = next(p for p in read_ui_message(said).parts if p["type"] == "tool")
            given = {"id": part["approval"]["id"], **approval}
            tool = {**part, "type": "tool-pay", "state": "approval-responded", "approval": given}
            answer = {"id": said[0]["messageId"], "role": "assistant", "parts": [tool]}
            assert (await post(server, CHAT, chat(user("Pay."), answer)))[0] == status
            # It still waits.
            async with server.http.get(f"{server.url}{CHAT}/c1/stream") as response:
                assert response.status == 200

    asyncio.run(main())


def test_an_approval_of_the_provider_is_given_but_not_edited(tmp_path: Path) -> None:
    script = ScriptedTransport(
        [turn(approval("erase", server="disk", name="a")), turn(say("Gone."))], dialect="responses"
    )
    erasing = Agent("openai:any", transport=script, api_key="k", policy=NEVER)

    async def main() -> None:
        async with served(erasing, tmp_path) as server:
            _, asked = await post(server, "/api/ag-ui", thread(asking("Erase it.")))
            (interrupt,) = asked[-1]["outcome"]["interrupts"]
            answer = {"interruptId": interrupt["id"], "status": "resolved"}
            edited = {**answer, "payload": {"approved": True, "editedArgs": {"name": "b"}}}
            body = thread(run="r2", resume=[edited])
            status, told = await post(server, "/api/ag-ui", body)
            assert (status, "erase" in told) == (400, True)
            given = {**answer, "payload": {"approved": True}}
            body = thread(run="r3", resume=[given])
            status, events = await post(server, "/api/ag-ui", body)
            assert status == 200
            assert text_of(events) == "Gone."

    asyncio.run(main())


# --- clients that leave ----------------------------------------------------------------


def test_an_answer_outlives_its_client_and_is_stored(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(create_agents(), tmp_path) as server:
            body = chat(user("Count."), model="slow")
            async with server.http.post(server.url + CHAT, json=body) as response:
                await response.content.readany()
                conversation = response.headers["x-conversation-id"]
            await server.idle()
            _, found = await server.get(f"/api/conversations/{conversation}")
            answer = msgspec.json.encode(found["messages"][-1]).decode()
            assert "word 59" in answer

    asyncio.run(main())


def test_a_stopped_answer_is_stored_with_its_usage(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(create_agents(), tmp_path) as server:
            body = chat(user("Count."), model="slow")
            async with server.http.post(server.url + CHAT, json=body) as response:
                data = await response.content.readuntil(b"word 3")
                await post(server, f"{CHAT}/c1/stop", {})
                stream = chunks_of(data + await response.read())
            *_, metadata, abort, done = stream
            assert (abort["type"], done) == ("abort", "[DONE]")
            assert metadata["messageMetadata"]["usage"]["outputTokens"] > 0
            read_ui_message(stream)
            _, listed = await server.get("/api/conversations?q=word")
            assert len(listed["conversations"]) == 1

    asyncio.run(main())


@pytest.mark.parametrize("path", [CHAT, "/api/ag-ui"])
def test_a_silent_stream_is_kept_open(path: str, tmp_path: Path) -> None:
    async def main() -> None:
        quiet = agent(staged(turn(wait(0.3), say("At last."))))
        async with served(quiet, tmp_path, heartbeat_s=0.05) as server:
            body = chat(user("x")) if path == CHAT else thread(asking("x"))
            async with server.http.post(server.url + path, json=body) as response:
                data = await response.read()
            assert data.count(b": \n\n") >= 2
            assert b"At last." in data or text_of(chunks_of(data)) == "At last."

    asyncio.run(main())
