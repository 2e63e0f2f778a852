"""Tools of MCP servers in agents: lists, calls, progress, cancellation, results and names."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from headrace import MCP, Agent, UsageError
from headrace import events as ev
from headrace.content import FileContent, ImageContent, JSONContent, TextContent
from headrace.rehearsal.script import call, say, turn
from headrace.tools import tool
from tests.mcp.play import DEMO, agent_with, calling, open_server, play, result_of, text_of


def test_nothing_of_the_package_is_imported_before_a_connection_is_opened():
    code = (
        "import sys; from headrace import MCP, Agent; Agent('rehearsal:demo',"
        " tools=[MCP('python -m x')]); sys.exit('mcp' in sys.modules or 'anyio' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def _play(name: str, **arguments: object) -> list[ev.Event]:
    async with open_server(*DEMO) as server:
        return await play(agent_with(calling(name, **arguments), server))


def test_a_call_gives_its_structured_result_once_and_marks_it_as_foreign():
    result = result_of(asyncio.run(_play("add", a=2, b=3)))
    note, value = result.content
    assert isinstance(note, TextContent)
    assert "data from outside" in note.text
    assert value == JSONContent({"terms": [2, 3], "total": 5})
    assert result.kind == "mcp"


def test_a_trusted_server_gets_no_note():
    async def main() -> ev.ToolResult:
        async with open_server(*DEMO, is_trusted=True) as server:
            return result_of(await play(agent_with(calling("add", a=2, b=3), server)))

    assert asyncio.run(main()).content == (JSONContent({"terms": [2, 3], "total": 5}),)


def test_progress_of_the_server_is_progress_of_the_call():
    events = asyncio.run(_play("count", to=4))
    reports = [event for event in events if isinstance(event, ev.ToolProgress)]
    assert [(report.status, report.progress) for report in reports] == [
        ("at 1", 0.25),
        ("at 2", 0.5),
        ("at 3", 0.75),
        ("at 4", 1.0),
    ]


def test_results_have_text_images_audio_and_links():
    _, words, image, audio, link = result_of(asyncio.run(_play("show"))).content
    assert words == TextContent("words")
    assert isinstance(image, ImageContent)
    assert image.media_type == "image/png"
    assert isinstance(audio, FileContent)
    assert audio.media_type == "audio/wav"
    assert link == TextContent("Resource leaf: demo://leaf · A leaf.")


def test_an_error_of_the_tool_is_an_error_result():
    result = result_of(asyncio.run(_play("fail")))
    assert result.is_error
    assert "it broke" in text_of([result])


def test_arguments_are_checked_against_the_schema_of_the_server():
    result = result_of(asyncio.run(_play("add", a="two", b=3)))
    assert result.is_error
    assert "'two' is not of type 'integer'" in text_of([result])


def test_a_long_result_is_cut():
    text = text_of(asyncio.run(_play("repeat", text="ab", times=300_000)))
    assert len(text) < 250_000
    assert "more characters]" in text


def test_a_cancelled_run_cancels_the_call_at_the_server(tmp_path: Path):
    note = tmp_path / "note"

    async def main() -> None:
        async with open_server(*DEMO) as server:
            async with agent_with(calling("wait", note=str(note)), server).run("Go.") as run:
                async for event in run:
                    if isinstance(event, ev.ToolStarted):
                        while not note.exists():
                            await asyncio.sleep(0.01)
                        run.cancel()
            for _ in range(500):
                if note.read_text() == "cancelled":
                    return
                await asyncio.sleep(0.01)
            pytest.fail("the server was not told")

    asyncio.run(main())


def test_the_synchronous_api_and_several_event_loops_share_one_connection():
    server = MCP(list(DEMO))
    script = calling("add", a=1, b=1) * 3
    agent = agent_with(script, server)
    assert agent.complete("Go.").text == "Done."
    assert asyncio.run(agent.complete_async("Go.")).text == "Done."
    assert asyncio.run(agent.complete_async("Go.")).text == "Done."
    asyncio.run(server.aclose())


def test_names_that_collide_get_the_name_of_the_server():
    @tool
    def add(a: int) -> int:
        """Ours."""
        return a

    async def main() -> tuple[str, ...]:
        async with open_server(*DEMO, only=["add", "fail"]) as server:
            return (await agent_with([], add, server).load_tools()).tools.names

    assert asyncio.run(main()) == ("add", "demo_add", "fail")


def test_two_servers_with_the_same_tools_are_told_apart():
    async def main() -> tuple[str, ...]:
        async with (
            open_server(*DEMO, name="one", only=["add"]) as one,
            open_server(*DEMO, name="two", only=["add"]) as two,
        ):
            return (await agent_with([], one, two).load_tools()).tools.names

    assert asyncio.run(main()) == ("one_add", "two_add")


def test_two_servers_of_one_name_are_refused():
    with pytest.raises(UsageError, match="two MCP servers are called demo"):
        agent_with([], MCP(list(DEMO), name="demo"), MCP(list(DEMO), name="demo"))


def test_an_approval_is_asked_for_if_the_server_is_given_with_one():
    async def main() -> list[ev.Event]:
        async with open_server(*DEMO, needs_approval=True) as server:
            agent = agent_with(calling("add", a=1, b=1), server)
            async with agent.run("Go.") as run:
                events = []
                async for event in run:
                    events.append(event)
                    if isinstance(event, ev.InputRequested):
                        run.answer(event.request_id, "denied")
                return events

    assert "did not allow" in text_of(asyncio.run(main()))


def test_only_a_few_variables_reach_the_server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")

    async def main(name: str) -> str:
        async with open_server(*DEMO, env={"MINE": "yes"}) as server:
            return text_of(
                await play(agent_with(calling("get_environment", variable=name), server))
            )

    assert "unset" in asyncio.run(main("OPENAI_API_KEY"))
    assert "yes" in asyncio.run(main("MINE"))


def test_a_sub_agent_may_have_a_server_too():
    async def main() -> str:
        async with open_server(*DEMO) as server:
            helper = agent_with(calling("add", a=20, b=3), server)
            outer = [turn(call("helper", task="Add.")), turn(say("Ready."))]
            agent = agent_with(outer, helper.as_tool("helper", "Adds."))
            events = await play(agent)
            return str([e.content for e in events if isinstance(e, ev.ToolResult)])

    assert "'total': 23" in asyncio.run(main())


def test_prompts_and_resources_can_be_read():
    async def main() -> None:
        async with open_server(*DEMO) as server:
            (prompt,) = await server.list_prompts()
            assert (prompt.name, prompt.required) == ("review", ("code",))
            assert await server.get_prompt("review", {"code": "1"}) == "Please review: 1"
            (resource,) = await server.list_resources()
            assert await server.read_resource(resource.uri) == [TextContent("demo://leaf\ngreen")]

    asyncio.run(main())


def test_a_resumed_run_uses_the_tools_that_it_began_with():
    async def main() -> None:
        async with open_server(*DEMO, only=["add"]) as server:
            pins = (await Agent("rehearsal:demo", tools=[server]).load_tools()).tools.pins
        async with open_server(*DEMO) as server:
            agent = await agent_with(calling("add", a=1, b=2), server).load_tools(pins)
            assert agent.tools.names == ("add",)
            assert "total" in text_of(await play(agent))

    asyncio.run(main())
