"""The Responses door with OpenAI's own client for Python."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel

from headrace.engine import Agent, Approve
from headrace.rehearsal.transport import ScriptedTransport
from headrace.testing import approval, call, error, refuse, say, stall, think, turn
from headrace.tools import ExternalTool, tool
from headrace.transport.retry import NEVER
from tests.doors.event_loop import in_loop
from tests.doors.responses_frames import check_stream
from tests.server.serving import Served, frames, served
from tests.server.tokens import create_token

WEATHER: Any = {
    "type": "function",
    "name": "weather",
    "description": "Weather of a place.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
    "strict": False,
}


@asynccontextmanager
async def door(
    agent: Any, path: Path, **settings: Any
) -> AsyncGenerator[tuple[AsyncOpenAI, Served]]:
    """OpenAI's client of a server with this agent."""
    async with (
        served(agent, path, **settings) as server,
        AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        yield client, server


def playing(*turns: Any, dialect: str = "responses", **options: Any) -> Agent:
    """An agent that plays one turn after the other, over all runs."""
    transport = ScriptedTransport(turns, dialect=dialect)
    name = {"responses": "openai:gpt-5", "anthropic": "anthropic:claude-opus-4-6"}[dialect]
    return Agent(name, transport=transport, api_key="k", policy=NEVER, **options)


@in_loop
async def test_a_whole_answer(tmp_path: Path) -> None:
    async with door(playing(turn(think("Hm."), say("Hello!"))), tmp_path) as (client, _):
        response = await client.responses.create(model="default", input="Hi")
        assert response.status == "completed"
        assert response.output_text == "Hello!"
        assert response.usage is not None
        assert [item.type for item in response.output] == ["reasoning", "message"]
        again = await client.responses.retrieve(response.id)
        assert again == response


@in_loop
async def test_a_streamed_answer_and_its_helper(tmp_path: Path) -> None:
    agent = playing(turn(think("Hm."), say(pieces=["Hel", "lo ", "the", "re!"])))
    async with door(agent, tmp_path) as (client, _):
        async with client.responses.stream(model="default", input="Hi") as stream:
            kinds = [event.type async for event in stream]
            final = await stream.get_final_response()
        assert final.output_text == "Hello there!"
        assert kinds[0] == "response.created"
        assert kinds[-1] == "response.completed"
        assert kinds.count("response.output_text.delta") == 4


@in_loop
async def test_raw_reasoning_is_read_by_the_client(tmp_path: Path) -> None:
    agent = playing(turn(think("Let me see."), say("Yes.")), dialect="anthropic")
    async with door(agent, tmp_path) as (client, _):
        stream = await client.responses.create(model="default", input="Hi", stream=True)
        deltas = [e.delta async for e in stream if e.type == "response.reasoning_text.delta"]
        assert "".join(deltas) == "Let me see."


@in_loop
async def test_every_event_can_be_resumed_from(tmp_path: Path) -> None:
    agent = playing(turn(think("Hm."), say("One two three.", deltas=3)))
    async with door(agent, tmp_path) as (client, server):
        stream = await client.responses.create(model="default", input="Hi", stream=True)
        events = [event async for event in stream]
        payloads: list[Any] = [event.to_dict() for event in events]
        response_id: str = payloads[-1]["response"]["id"]
        url = f"{server.url}/v1/responses/{response_id}?stream=true"
        async with server.http.get(url) as response:
            check_stream([json.loads(data) for _, data in frames(await response.read())])
        for at in range(len(events)):
            resumed = await client.responses.retrieve(response_id, stream=True, starting_after=at)
            assert [event.to_dict() async for event in resumed] == payloads[at + 1 :]


@in_loop
async def test_a_response_follows_another(tmp_path: Path) -> None:
    agent = playing(turn(say("Noted.")), turn(say("Cobalt.")), turn(say("Branch.")))
    async with door(agent, tmp_path) as (client, server):
        first = await client.responses.create(
            model="default", input="The word is cobalt.", instructions="Be brief."
        )
        second = await client.responses.create(
            model="default", input="Which word?", previous_response_id=first.id
        )
        assert second.output_text == "Cobalt."
        assert second.previous_response_id == first.id
        await client.responses.create(model="default", input="?", previous_response_id=first.id)
        page = await server.service.store.conversations("local")
        assert [conversation.title for conversation in page] == ["The word is cobalt."]


@in_loop
async def test_what_went_before_reaches_the_model_and_instructions_do_not(tmp_path: Path) -> None:
    heard: list[Any] = []

    def play(request: Any) -> Any:
        heard.append(request)
        return turn(say("Ok."))

    transport = ScriptedTransport(play, dialect="responses")
    agent = Agent("openai:gpt-5", transport=transport, api_key="k", policy=NEVER)
    async with door(agent, tmp_path) as (client, _):
        first = await client.responses.create(model="default", input="One", instructions="Shout.")
        await client.responses.create(model="default", input="Two", previous_response_id=first.id)
    assert [message.text for message in heard[1].messages if message.role == "user"] == [
        "One",
        "Two",
    ]
    assert "Shout." in str(heard[0])
    assert "Shout." not in str(heard[1])


@in_loop
async def test_tools_of_the_client(tmp_path: Path) -> None:
    agent = playing(
        turn(call("weather", place="Oslo"), call("weather", place="Rome")),
        turn(say("Cold and warm.")),
    )
    async with door(agent, tmp_path) as (client, _):
        first = await client.responses.create(model="default", input="?", tools=[WEATHER])
        assert first.status == "completed"
        calls = [item for item in first.output if item.type == "function_call"]
        assert [json.loads(one.arguments) for one in calls] == [
            {"place": "Oslo"},
            {"place": "Rome"},
        ]
        with pytest.raises(openai.BadRequestError, match="No tool output found"):
            await client.responses.create(
                model="default", input="Well?", previous_response_id=first.id, tools=[WEATHER]
            )
        results: Any = [
            {"type": "function_call_output", "call_id": one.call_id, "output": "4 degrees"}
            for one in calls
        ]
        second = await client.responses.create(
            model="default", input=results, previous_response_id=first.id, tools=[WEATHER]
        )
        assert second.output_text == "Cold and warm."
        items = await client.responses.input_items.list(second.id, order="asc")
        assert [item.type for item in items.data] == ["function_call_output"] * 2


@in_loop
async def test_tools_of_the_client_without_storing(tmp_path: Path) -> None:
    agent = playing(turn(call("weather", place="Oslo")), turn(say("Cold.")))
    async with door(agent, tmp_path) as (client, server):
        first = await client.responses.create(
            model="default", input="?", tools=[WEATHER], store=False
        )
        items: Any = [
            {"role": "user", "content": "?"},
            *[item.to_dict() for item in first.output],
            {
                "type": "function_call_output",
                "call_id": first.output[-1].call_id,  # type: ignore[union-attr]
                "output": "4",
            },
        ]
        second = await client.responses.create(
            model="default", input=items, tools=[WEATHER], store=False
        )
        assert second.output_text == "Cold."
        assert not await server.service.store.conversations("local")
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(second.id)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@in_loop
async def test_tools_of_the_agent_run_here(tmp_path: Path) -> None:
    agent = playing(turn(call("add", a=2, b=2)), turn(say("4.")), tools=[add])
    async with door(agent, tmp_path) as (client, _):
        response = await client.responses.create(model="default", input="2+2?")
        shown = [item for item in response.output if item.type == "mcp_call"]
        assert [(one.name, one.output, one.status) for one in shown] == [("add", "4", "completed")]
        assert response.output_text == "4."


@tool(needs_approval=True)
def erase(name: str) -> str:
    """Erase a file."""
    return f"{name} is gone"


@pytest.mark.parametrize("is_approved", [True, False])
@in_loop
async def test_approvals_end_a_response_and_begin_another(
    tmp_path: Path, is_approved: bool
) -> None:
    agent = playing(turn(call("erase", name="a.txt")), turn(say("Done.")), tools=[erase])
    async with door(agent, tmp_path) as (client, _):
        first = await client.responses.create(model="default", input="Erase it.")
        assert first.status == "completed"
        asked = next(item for item in first.output if item.type == "mcp_approval_request")
        assert (asked.name, json.loads(asked.arguments)) == ("erase", {"name": "a.txt"})
        answer: Any = {
            "type": "mcp_approval_response",
            "approval_request_id": asked.id,
            "approve": is_approved,
        }
        second = await client.responses.create(
            model="default", input=[answer], previous_response_id=first.id
        )
        assert second.id != first.id
        assert second.output_text == "Done."
        assert await client.responses.retrieve(first.id) == first
        assert (await client.responses.retrieve(second.id)).output == second.output


@pytest.mark.parametrize("is_approved", [True, False])
@in_loop
async def test_approvals_that_the_provider_asks_for_go_through_the_door(
    tmp_path: Path, is_approved: bool
) -> None:
    asks = approval("erase", server="disk", name="a.txt")
    transport = ScriptedTransport([turn(asks), turn(say("Done."))], dialect="responses")
    agent = Agent("openai:gpt-5", transport=transport, api_key="k", policy=NEVER)
    async with door(agent, tmp_path) as (client, _):
        first = await client.responses.create(model="default", input="Erase it.")
        (asked,) = first.output
        assert asked.type == "mcp_approval_request"
        assert (asked.name, asked.server_label) == ("erase", "disk")
        assert json.loads(asked.arguments) == {"name": "a.txt"}
        answer: Any = {
            "type": "mcp_approval_response",
            "approval_request_id": asked.id,
            "approve": is_approved,
        }
        second = await client.responses.create(
            model="default", input=[answer], previous_response_id=first.id
        )
        assert [item.type for item in second.output] == ["message"]
        assert second.output_text == "Done."
        assert await client.responses.retrieve(first.id) == first
    sent = transport.requests[1]["input"][-1]
    assert (sent["type"], sent["approve"]) == ("mcp_approval_response", is_approved)


@in_loop
async def test_what_a_rule_decides_about_the_provider_is_not_asked(tmp_path: Path) -> None:
    asks = approval("erase", server="disk", name="a.txt")
    agent = playing(turn(asks), turn(say("Kept.")), middleware=[Approve({"erase": "deny"})])
    async with door(agent, tmp_path) as (client, _):
        response = await client.responses.create(model="default", input="Erase it.")
        assert [item.type for item in response.output] == ["message"]


@in_loop
async def test_forms_are_denied(tmp_path: Path) -> None:
    form = ExternalTool(name="ask_size", description="Ask.", kind="text")
    agent = playing(
        turn(call("ask_size", question="Which size?")), turn(say("No size then.")), tools=[form]
    )
    async with door(agent, tmp_path) as (client, _):
        response = await client.responses.create(model="default", input="Order shoes.")
        assert response.output_text == "No size then."
        shown = next(item for item in response.output if item.type == "mcp_call")
        assert shown.status == "failed"


class Place(BaseModel):
    name: str


@in_loop
async def test_structured_output(tmp_path: Path) -> None:
    async with door(playing(turn(say('{"name": "Oslo"}'))), tmp_path) as (client, _):
        response = await client.responses.parse(model="default", input="?", text_format=Place)
        assert response.output_parsed == Place(name="Oslo")


@in_loop
async def test_images_reach_the_model(tmp_path: Path) -> None:
    transport = ScriptedTransport([turn(say("A heart."))], dialect="responses")
    agent = Agent("openai:gpt-5", transport=transport, api_key="k", policy=NEVER)
    content: Any = [
        {"type": "input_text", "text": "What is it?"},
        {"type": "input_image", "image_url": "data:image/png;base64,aGVsbG8=", "detail": "auto"},
    ]
    async with door(agent, tmp_path) as (client, _):
        items: Any = [{"role": "user", "content": content}]
        await client.responses.create(model="default", input=items)
    assert "aGVsbG8=" in str(transport.requests[0])


@in_loop
async def test_encrypted_reasoning_goes_to_the_client_and_back(tmp_path: Path) -> None:
    answer = turn(think("Hm.", signed=True), say("Yes."))
    transport = ScriptedTransport([answer, answer], dialect="anthropic")
    agent = Agent(
        "anthropic:claude-opus-4-6", transport=transport, api_key="k", policy=NEVER, effort="high"
    )
    async with door(agent, tmp_path) as (client, _):
        first = await client.responses.create(
            model="default", input="?", store=False, include=["reasoning.encrypted_content"]
        )
        items: Any = [
            {"role": "user", "content": "?"},
            *[item.to_dict() for item in first.output],
            {"role": "user", "content": "Sure?"},
        ]
        await client.responses.create(model="default", input=items, store=False)
    thought = transport.requests[1]["messages"][1]["content"][0]
    assert (thought["type"], thought["thinking"]) == ("thinking", "Hm.")
    assert thought["signature"]


@in_loop
async def test_errors_before_the_answer(tmp_path: Path) -> None:
    agent = playing(*[turn(refuse(429, "Slow down."))] * 2)
    async with door(agent, tmp_path) as (client, _):
        for store in (True, False):
            with pytest.raises(openai.RateLimitError):
                await client.responses.create(model="default", input="?", store=store)
        with pytest.raises(openai.NotFoundError) as missing:
            await client.responses.create(model="other", input="?")
        assert missing.value.code == "model_not_found"
        with pytest.raises(openai.BadRequestError) as refused:
            await client.responses.create(model="default", input="?", conversation="c")
        assert refused.value.param == "conversation"


@pytest.mark.parametrize("store", [True, False])
@in_loop
async def test_errors_in_the_stream(tmp_path: Path, store: bool) -> None:
    agent = playing(turn(say("Half"), error("overloaded", "Too busy.")))
    async with door(agent, tmp_path) as (client, _):
        stream = await client.responses.create(model="default", input="?", stream=True, store=store)
        last = [event async for event in stream][-1]
        assert last.type == "response.failed"
        assert last.response.error is not None
        # The published types do not know every code of the API.
        assert str(last.response.error.code) == "server_overloaded"
        assert last.response.output_text == "Half"


@in_loop
async def test_a_response_in_the_background_outlives_its_client(tmp_path: Path) -> None:
    agent = playing(turn(say("Long answer.", deltas=20), pace_s=0.01))
    async with door(agent, tmp_path) as (client, server):
        stream = await client.responses.create(
            model="default", input="?", background=True, stream=True
        )
        first = await anext(stream)
        await stream.close()
        assert first.type == "response.created"
        await server.idle()
        again = await client.responses.retrieve(first.response.id)
        assert (again.status, again.output_text) == ("completed", "Long answer.")
        with pytest.raises(openai.BadRequestError):
            await client.responses.create(model="default", input="?", background=True, store=False)


@pytest.mark.parametrize("is_stream", [True, False])
@in_loop
async def test_a_response_in_the_foreground_ends_with_its_client(
    tmp_path: Path, is_stream: bool
) -> None:
    async with door(playing(turn(say("Half"), stall())), tmp_path) as (client, server):
        first: Any = None
        if is_stream:
            stream: Any = await client.responses.create(model="default", input="?", stream=True)
            first = await anext(stream)
            await stream.close()
        else:
            asking = asyncio.create_task(client.responses.create(model="default", input="?"))
            while not server.service.runs.count:
                await asyncio.sleep(0.005)
            asking.cancel()
        await server.idle()
        if is_stream:
            again = await client.responses.retrieve(first.response.id)
            assert again.status == "cancelled"


@in_loop
async def test_cancel(tmp_path: Path) -> None:
    async with door(playing(turn(say("Half"), stall())), tmp_path) as (client, _):
        begun = await client.responses.create(model="default", input="?", background=True)
        assert begun.status == "in_progress"
        cancelled = await client.responses.cancel(begun.id)
        assert cancelled.status == "cancelled"
        assert (await client.responses.cancel(begun.id)).status == "cancelled"


@in_loop
async def test_delete(tmp_path: Path) -> None:
    async with door(playing(turn(say("Hi."))), tmp_path) as (client, server):
        response = await client.responses.create(model="default", input="?")
        await client.responses.delete(response.id)
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(response.id)
        assert not await server.service.store.conversations("local")


@in_loop
async def test_compaction_stands_for_the_conversation(tmp_path: Path) -> None:
    heard: list[Any] = []

    def play(request: Any) -> Any:
        heard.append(request)
        return turn(say("The word is slate."))

    transport = ScriptedTransport(play, dialect="responses")
    agent = Agent("openai:gpt-5", transport=transport, api_key="k", policy=NEVER)
    async with door(agent, tmp_path) as (client, _):
        items: Any = [
            {"role": "user", "content": "Remember slate."},
            {"role": "assistant", "content": "OK."},
            {"role": "user", "content": "Compress this."},
        ]
        compacted = await client.responses.compact(model="default", input=items)
        kept: Any = [item.to_dict() for item in compacted.output]
        assert [item["type"] for item in kept] == ["compaction"]
        asked: Any = [*kept, {"role": "user", "content": "Go on."}]
        await client.responses.create(model="default", input=asked)
        assert "The word is slate." in str(heard[-1])
        kept[0]["encrypted_content"] = kept[0]["encrypted_content"][:-1] + "x"
        with pytest.raises(openai.BadRequestError):
            await client.responses.create(model="default", input=asked)


@in_loop
async def test_responses_belong_to_their_user(tmp_path: Path) -> None:
    agent = playing(*[turn(say("Hi."))] * 4)
    async with door(agent, tmp_path, needs_token=True) as (client, server):
        tokens = [create_token(server.service, name, "test", 0) for name in ("ada", "bob")]
        ada, bob = (client.with_options(api_key=token) for token in tokens)
        response = await ada.responses.create(model="default", input="Mine.")
        with pytest.raises(openai.NotFoundError):
            await bob.responses.retrieve(response.id)
        with pytest.raises(openai.NotFoundError):
            await bob.responses.cancel(response.id)
        with pytest.raises(openai.NotFoundError):
            await bob.responses.delete(response.id)
        with pytest.raises(openai.NotFoundError):
            await bob.responses.input_items.list(response.id)
        with pytest.raises(openai.BadRequestError) as refused:
            await bob.responses.create(model="default", input="?", previous_response_id=response.id)
        assert refused.value.code == "previous_response_not_found"
        items: Any = [{"role": "user", "content": "Mine."}]
        compacted = await ada.responses.compact(model="default", input=items)
        kept: Any = [*[item.to_dict() for item in compacted.output], *items]
        with pytest.raises(openai.BadRequestError):
            await bob.responses.create(model="default", input=kept)
        await ada.responses.create(model="default", input=kept)
        with pytest.raises(openai.AuthenticationError):
            await client.responses.create(model="default", input="?")
