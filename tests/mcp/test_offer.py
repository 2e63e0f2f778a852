"""Tools, prompts and resources that a server offers to MCP clients, and questions to them."""

from __future__ import annotations

import asyncio
import base64
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from headrace import Agent, FileContent, ImageContent, ToolContext, UsageError, tool
from headrace.mcp import MCPOffer, MCPPrompt, MCPResource, sample_client
from headrace.rehearsal.script import call, say, turn
from headrace.server.http.doors.mcp import client_sessions, held_calls, offered
from headrace.tools.left_behind import MAX_CALLS_PER_USER, PROCESS_CALLS
from tests.mcp.test_agent_server import _agent, serve

PIXEL = "iVBORw0KGgo="
SEATS = {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]}
REVISIONS = pytest.mark.parametrize("mode", ["legacy", "auto"])


@tool
async def book(train: str, context: ToolContext) -> str:
    """Book seats."""
    answer = await context.ask(f"How many seats in {train}?", SEATS)
    name = await context.ask("Under which name?")
    return f"{answer['seats']} seats in {train} for {name}"


@tool
def draw() -> list[Any]:
    """Draw something."""
    link = FileContent(media_type="text/html", name="page", url="https://example.org/page")
    sound = FileContent(media_type="audio/wav", data=PIXEL)
    return ["Here:", ImageContent(media_type="image/png", data=PIXEL), sound, link]


@tool(needs_approval=True)
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


@tool
async def think(context: ToolContext) -> str:
    """Think with the client's model."""
    context.log("thinking")
    context.progress("Half", progress=0.5)
    return await sample_client(context, "Hm?")


def review(code: str, style: str = "short") -> list[Any]:
    """Review code."""
    data = base64.b64encode(code.encode()).decode()
    return [FileContent(media_type="text/plain", name="a.py", data=data), f"Review it, {style}."]


async def plan(context: ToolContext) -> str:
    """Plan a day."""
    return f"Plan {await context.ask('Which day?')}."


def read_note(id: str) -> str:
    if id != "1":
        raise LookupError(id)
    return "note 1"


def _offer() -> MCPOffer:
    return MCPOffer(
        tools=[book, draw, delete, think],
        prompts=[review, plan],
        resources=[
            MCPResource("demo://text", "A text."),
            MCPResource("demo://bytes", b"\x00\x01"),
            MCPResource("notes://{id}", read_note),
        ],
    )


class Answers:
    """Answers questions with the values that were given, and keeps the messages."""

    def __init__(self, *values: Any) -> None:
        self.values = list(values)
        self.messages: list[str] = []

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        self.messages.append(params.message)
        value = self.values.pop(0)
        if value is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=value)


@asynccontextmanager
async def connect(
    tmp_path: Path, mode: Any = "auto", agent: Any = None, **options: Any
) -> AsyncIterator[Client]:
    agent = agent or Agent("rehearsal:instant")
    async with (
        serve(agent, tmp_path, mcp_offer=options.pop("offer", None) or _offer()) as (url, _),
        Client(f"{url}/mcp", mode=mode, **options) as client,
    ):
        yield client


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(main(), 60))


def _text(result: Any) -> str:
    return str(result.content[0].text)


@REVISIONS
def test_a_tool_asks_the_user_of_its_client(mode: str, tmp_path: Path):
    async def main() -> None:
        answers = Answers({"seats": 2}, {"answer": "Anna"})
        async with connect(tmp_path, mode, elicitation_callback=answers) as client:
            result = await client.call_tool("book", {"train": "ICE 1"})
        assert _text(result) == "2 seats in ICE 1 for Anna"
        assert answers.messages == ["How many seats in ICE 1?", "Under which name?"]

    run(main)


@REVISIONS
def test_an_answer_that_does_not_fit_is_asked_for_again(mode: str, tmp_path: Path):
    async def main() -> None:
        answers = Answers({"seats": "two"}, {"seats": 2}, {"answer": "Anna"})
        async with connect(tmp_path, mode, elicitation_callback=answers) as client:
            result = await client.call_tool("book", {"train": "ICE 1"})
        assert _text(result).startswith("2 seats")

    run(main)


@REVISIONS
def test_a_refusal_of_the_user_is_an_error_of_the_tool(mode: str, tmp_path: Path):
    async def main() -> None:
        async with connect(tmp_path, mode, elicitation_callback=Answers(None)) as client:
            result = await client.call_tool("book", {"train": "ICE 1"})
        assert result.is_error
        assert "decline" in _text(result)

    run(main)


@REVISIONS
@pytest.mark.parametrize("given", [{"approve": True}, {"approve": False}, None])
def test_an_agent_asks_for_an_approval_through_its_client(mode: str, given: Any, tmp_path: Path):
    erased: list[str] = []

    @tool(needs_approval=True)
    def erase(path: str) -> str:
        """Erase a file."""
        erased.append(path)
        return "erased"

    async def main() -> None:
        agent = _agent(turn(call("erase", path="a.txt")), turn(say("Done.")), tools=[erase])
        answers = None if given is None else Answers(given)
        async with connect(
            tmp_path, mode, {"cleaner": agent}, elicitation_callback=answers
        ) as client:
            result = await client.call_tool("cleaner", {"task": "Clean up."})
        assert _text(result) == "Done.", "without an approval, the model is told"
        assert erased == (["a.txt"] if given == {"approve": True} else [])
        assert answers is None or "a.txt" in answers.messages[0]

    run(main)


@REVISIONS
def test_an_agent_whose_question_cannot_be_asked_goes_on(mode: str, tmp_path: Path):
    @tool
    async def pick(context: ToolContext) -> str:
        """Ask with a schema that is not valid."""
        return str(await context.ask("Which?", {"type": "integr"}))

    async def main() -> None:
        agent = _agent(turn(call("pick")), turn(say("Done.")), tools=[pick])
        answers = Answers({"answer": 1}, {"answer": 1}, {"answer": 1})
        async with connect(
            tmp_path, mode, {"picker": agent}, elicitation_callback=answers
        ) as client:
            result = await client.call_tool("picker", {"task": "Pick one."})
        assert _text(result) == "Done."

    run(main)


@REVISIONS
def test_a_tool_that_needs_an_approval_runs_only_with_it(mode: str, tmp_path: Path):
    async def main() -> None:
        answers = Answers({"approve": False}, {"approve": True})
        async with connect(tmp_path, mode, elicitation_callback=answers) as client:
            refused = await client.call_tool("delete", {"path": "a"})
            allowed = await client.call_tool("delete", {"path": "a"})
        assert refused.is_error
        assert _text(allowed) == "deleted a"

    run(main)


def test_a_client_without_the_capability_is_told_so(tmp_path: Path):
    async def main() -> None:
        async with connect(tmp_path, "legacy") as client:
            result = await client.call_tool("book", {"train": "ICE 1"})
            assert result.is_error
            assert "no capability elicitation" in _text(result)
        async with connect(tmp_path) as client:
            with pytest.raises(MCPError, match="elicitation") as caught:
                await client.call_tool("book", {"train": "ICE 1"})
            assert caught.value.error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
            with pytest.raises(MCPError, match="elicitation"):
                await client.get_prompt("plan")

    run(main)


@asynccontextmanager
async def _sign_in(url: str, service: Any, name: str) -> AsyncIterator[Client]:
    """Connect as a user with this name."""
    token = service.access_tokens.create(name, "test", 1)
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with Client(transport, elicitation_callback=Answers()) as client:
            yield client


async def _ask_twice(client: Client, change: Callable[[str], str], **arguments: Any) -> Any:
    """Call `book` until it asks, and send a changed state back."""
    arguments = arguments or {"train": "ICE 1"}
    session = client.session
    asked = await session.call_tool("book", {"train": "ICE 1"}, allow_input_required=True)
    assert isinstance(asked, types.InputRequiredResult)
    assert asked.request_state is not None
    (key,) = asked.input_requests or {}
    answer = types.ElicitResult(action="accept", content={"seats": 2})
    return await session.call_tool(
        "book",
        arguments,
        input_responses={key: answer},
        request_state=change(asked.request_state),
        allow_input_required=True,
    )


def test_a_state_that_was_changed_or_belongs_to_other_arguments_is_refused(tmp_path: Path):
    async def main() -> None:
        async with connect(tmp_path, elicitation_callback=Answers()) as client:
            again = await _ask_twice(client, str)
            assert isinstance(again, types.InputRequiredResult), "the second question"
            with pytest.raises(MCPError, match="requestState"):
                await _ask_twice(client, lambda s: s[:-2] + ("AA" if s[-2:] != "AA" else "BB"))
            with pytest.raises(MCPError, match="requestState"):
                await _ask_twice(client, str, train="ICE 2")

    run(main)


def test_the_state_of_one_user_is_refused_for_another(tmp_path: Path):
    async def main() -> None:
        agent = Agent("rehearsal:instant")
        async with serve(agent, tmp_path, needs_token=True, mcp_offer=_offer()) as (url, service):
            sign_in = partial(_sign_in, url, service)
            async with sign_in("anna") as anna, sign_in("bert") as bert:
                asked = await anna.session.call_tool(
                    "book", {"train": "x"}, allow_input_required=True
                )
                assert isinstance(asked, types.InputRequiredResult)
                (key,) = asked.input_requests or {}
                given: Any = {
                    "input_responses": {
                        key: types.ElicitResult(action="accept", content={"seats": 2})
                    },
                    "request_state": asked.request_state,
                    "allow_input_required": True,
                }
                with pytest.raises(MCPError, match="requestState"):
                    await bert.session.call_tool("book", {"train": "x"}, **given)
                await anna.session.call_tool("book", {"train": "x"}, **given)
                with pytest.raises(MCPError, match="does not wait"):
                    await anna.session.call_tool("book", {"train": "x"}, **given)

    run(main)


def test_calls_that_wait_expire_and_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def main() -> None:
        async with connect(tmp_path, elicitation_callback=Answers()) as client:
            monkeypatch.setattr(held_calls, "_MAX_HELD_PER_USER", 0)
            with pytest.raises(MCPError, match="too many calls"):
                await _ask_twice(client, str)
            monkeypatch.setattr(held_calls, "_MAX_HELD_PER_USER", 1)
            monkeypatch.setattr(held_calls, "ANSWER_S", 0.0)
            with pytest.raises(MCPError, match="does not wait"):
                await _ask_twice(client, str)

    run(main)


def test_tools_return_images_sounds_and_links(tmp_path: Path):
    async def main() -> None:
        async with connect(tmp_path) as client:
            result = await client.call_tool("draw")
            kinds = [block.type for block in result.content]
            assert kinds == ["text", "image", "audio", "resource_link"]
            wrong = await client.call_tool("draw", {"size": 1})
            assert wrong.is_error

    run(main)


@REVISIONS
def test_log_lines_progress_and_the_model_of_the_client(mode: str, tmp_path: Path):
    async def sample(context: Any, params: Any) -> types.CreateMessageResult:
        content = types.TextContent(text="Aha.")
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    async def main() -> None:
        lines: list[Any] = []
        shares: list[float] = []

        async def log(params: Any) -> None:
            lines.append(params.data)

        async def report(progress: float, total: float | None, message: str | None) -> None:
            shares.append(progress)

        options: Any = {"sampling_callback": sample, "logging_callback": log}
        async with connect(tmp_path, mode, log_level="debug", **options) as client:
            result = await client.call_tool("think", progress_callback=report)
        assert _text(result) == "Aha."
        assert (lines, shares) == (["thinking"], [0.5])

    run(main)


@REVISIONS
def test_the_progress_of_a_tool_increases_with_each_report(mode: str, tmp_path: Path):
    @tool
    def dig(context: ToolContext) -> str:
        """Dig a hole."""
        for status, share in (("Start", None), (None, 0.5), ("Stones", None), ("Stones", 0.4)):
            context.progress(status, progress=share)
        context.progress(progress=1.0)
        context.progress("Done")
        return "dug"

    async def main() -> None:
        got: list[tuple[float, float | None]] = []

        async def report(progress: float, total: float | None, message: str | None) -> None:
            got.append((progress, total))

        async with connect(tmp_path, mode, offer=MCPOffer(tools=[dig])) as client:
            await client.call_tool("dig", progress_callback=report)
        shares = [share for share, _ in got]
        assert shares == sorted(set(shares)), "no share comes again"
        assert got[:2] == [(0.0, None), (0.5, 1.0)]
        assert (shares[4], len(shares)) == (1.0, 6)
        assert all(total is None or share <= total for share, total in got)

    run(main)


@REVISIONS
def test_an_error_of_the_server_is_not_sent_to_a_client(mode: str, tmp_path: Path):
    async def fail(*_: Any) -> None:
        raise OSError("/secret/path: disk full")

    async def main() -> None:
        async with (
            serve(Agent("rehearsal:instant"), tmp_path) as (url, service),
            Client(f"{url}/mcp", mode=mode) as client,
        ):
            service.store.conversations = fail
            with pytest.raises(MCPError, match="the server has failed") as caught:
                await client.list_resources()
            assert caught.value.error.code == types.INTERNAL_ERROR

    run(main)


@REVISIONS
def test_prompts_have_arguments_and_may_ask(mode: str, tmp_path: Path):
    async def main() -> None:
        answers = Answers({"answer": "Monday"})
        async with connect(tmp_path, mode, elicitation_callback=answers) as client:
            listed = {one.name: one for one in (await client.list_prompts()).prompts}
            arguments = listed["review"].arguments or []
            assert [(a.name, a.required) for a in arguments] == [("code", True), ("style", False)]
            found: Any = (await client.get_prompt("review", {"code": "x = 1"})).messages
            file, text = (message.content for message in found)
            assert file.type == "resource"
            assert (file.resource.uri, file.resource.text) == ("file:///a.py", "x = 1")
            assert text.text == "Review it, short."
            with pytest.raises(MCPError, match="missing: code"):
                await client.get_prompt("review")
            asked: Any = (await client.get_prompt("plan")).messages
            assert asked[0].content.text == "Plan Monday."

    run(main)


def test_resources_are_texts_bytes_and_templates(tmp_path: Path):
    async def main() -> None:
        async with connect(tmp_path) as client:
            listed = [one.uri for one in (await client.list_resources()).resources]
            assert listed == ["demo://text", "demo://bytes"]
            templates = (await client.list_resource_templates()).resource_templates
            assert "notes://{id}" in [one.uri_template for one in templates]
            wanted = ("demo://text", "demo://bytes", "notes://1")
            read: Any = [(await client.read_resource(uri)).contents[0] for uri in wanted]
            assert (read[0].text, read[1].blob, read[2].text) == ("A text.", "AAE=", "note 1")
            for uri in ("notes://2", "notes://..", "notes://%2e%2e%2fetc", "notes://1/2"):
                with pytest.raises(MCPError, match="no resource"):
                    await client.read_resource(uri)

    run(main)


def test_a_user_who_reads_what_hangs_does_not_keep_others_from_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    released = threading.Event()

    def hang() -> str:
        released.wait(60)
        return ""

    async def main() -> None:
        monkeypatch.setattr(offered, "_READ_S", 0.02)
        offer = MCPOffer(resources=[MCPResource("demo://slow", hang)])
        agent = Agent("rehearsal:instant")
        async with serve(agent, tmp_path, needs_token=True, mcp_offer=offer) as (url, service):
            sign_in = partial(_sign_in, url, service)
            async with sign_in("anna") as anna, sign_in("bert") as bert:
                for _ in range(MAX_CALLS_PER_USER):
                    with pytest.raises(MCPError, match="took too long"):
                        await anna.read_resource("demo://slow")
                with pytest.raises(MCPError, match="not ended yet"):
                    await anna.read_resource("demo://slow")
                with pytest.raises(MCPError, match="took too long"):
                    await bert.read_resource("demo://slow")
                monkeypatch.setattr(held_calls, "_MAX_RUNNING_PER_USER", 0)
                with pytest.raises(MCPError, match="too many calls"):
                    await bert.read_resource("demo://slow")
        released.set()
        while len(PROCESS_CALLS):
            await asyncio.sleep(0.01)

    run(main)


@pytest.mark.filterwarnings("ignore:resources/:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_a_client_is_told_of_changes_while_it_is_subscribed(tmp_path: Path):
    async def main() -> None:
        offer = _offer()
        changed: asyncio.Queue[str] = asyncio.Queue()

        async def listen(message: Any) -> None:
            if isinstance(message, types.ResourceUpdatedNotification):
                changed.put_nowait(message.params.uri)

        async with connect(tmp_path, "legacy", offer=offer, message_handler=listen) as client:
            with pytest.raises(MCPError, match="no resource"):
                await client.subscribe_resource("demo://other")
            await client.subscribe_resource("demo://text")
            await client.subscribe_resource("notes://1")
            offer.notify_changed("demo://text")
            assert await changed.get() == "demo://text"
            await client.unsubscribe_resource("demo://text")
            offer.notify_changed("demo://text")
            offer.notify_changed("notes://1")
            assert await changed.get() == "notes://1"

    run(main)


@pytest.mark.filterwarnings("ignore:resources/:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_a_session_may_subscribe_to_the_same_resource_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def main() -> None:
        monkeypatch.setattr(client_sessions, "_MAX_URIS", 1)
        async with connect(tmp_path, "legacy") as client:
            await client.subscribe_resource("demo://text")
            await client.subscribe_resource("demo://text")
            with pytest.raises(MCPError, match="1 subscriptions at most"):
                await client.subscribe_resource("notes://1")

    run(main)


def test_offers_that_cannot_work_are_refused():
    with pytest.raises(UsageError, match="must be a str"):
        MCPPrompt(count_things)
    with pytest.raises(UsageError, match="same URI"):
        MCPOffer(resources=[MCPResource("a://b", "1"), MCPResource("a://b", "2")])
    with pytest.raises(UsageError, match="must be a function"):
        MCPResource("a://{b}", "text")


def count_things(count: int) -> str:
    return str(count)


def test_the_command_offers_the_functions_of_the_agent_and_an_offer(tmp_path: Path):
    async def main() -> None:
        (tmp_path / "my_offer.py").write_text(
            "from headrace.mcp import MCPOffer, MCPResource\n"
            "offer = MCPOffer(resources=[MCPResource('demo://text', 'A text.')])\n"
        )
        arguments = ["-m", "headrace", "mcp", "--tools", "--offer", "my_offer:offer"]
        server = describe_server(arguments, tmp_path)
        async with Client(server) as client:
            names = [one.name for one in (await client.list_tools()).tools]
            assert names[:2] == ["ask", "calculator"]
            result = await client.call_tool("calculator", {"expression": "6 * 7"})
            assert "42" in _text(result)
            assert [r.uri for r in (await client.list_resources()).resources] == ["demo://text"]

    run(main)


def describe_server(arguments: list[str], folder: Path) -> Any:
    return StdioServerParameters(
        command=sys.executable, args=[*arguments, "--data", str(folder / "data")], cwd=folder
    )
