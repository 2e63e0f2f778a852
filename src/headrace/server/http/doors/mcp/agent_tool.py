"""Agents as tools of MCP clients: their descriptions, and the answers to calls."""

from __future__ import annotations

import asyncio
import math
import secrets
from contextlib import suppress
from typing import Any, Final

import mcp_types as types
import msgspec

from headrace.content import TextContent
from headrace.encoders import Options, Request
from headrace.engine import Agent, AlreadyAnswered, Run
from headrace.errors import UsageError
from headrace.events import InputRequested, JSONObject, RunFailed, RunFinished, TurnFailed
from headrace.log import get_logger
from headrace.messages import Message
from headrace.messages.message import MediaPart
from headrace.readers import IncomingRequest
from headrace.server.http.doors.mcp.client_link import ClientLink
from headrace.server.http.doors.mcp.form import create_form, is_approved
from headrace.server.http_error import HTTPError
from headrace.server.runs.offer import AgentOffer
from headrace.server.runs.unstored import UnstoredRun
from headrace.server.service import Service
from headrace.server.storage.access_tokens import User
from headrace.status import StatusReader
from headrace.tools import InputDenied
from headrace.typed.json_schema import VALUE_KEY

_DOOR: Final = "mcp"
_MAX_TASK_CHARS: Final = 1_000_000
_TASK: Final[JSONObject] = {
    "type": "string",
    "description": "What the agent is to do, with everything that it must know.",
}
_NO_TASK: Final = "Do what your instructions say."
_logger = get_logger("server")


def describe_agent(tool_name: str, name: str, agent: Agent) -> types.Tool:
    """Return the description of an agent for MCP clients."""
    output = agent.output_type
    default = f"Ask the agent {name}, which answers with {agent.model_name}."
    return types.Tool(
        name=tool_name,
        description=agent.description or default,
        input_schema={
            "type": "object",
            "properties": {"task": _TASK},
            # An agent with instructions may know what to do.
            "required": [] if agent.instructions else ["task"],
        },
        output_schema=None if output is None else output.schema,
    )


async def answer_call(
    service: Service, user: User, name: str, arguments: JSONObject, link: ClientLink
) -> types.CallToolResult:
    """Run an agent for a call, report what it is doing, and ask the user of the client what the
    run asks for. The run ends if the task is cancelled. What goes wrong becomes an error result."""
    task = arguments.get("task")
    if task is None and service.agents[name].instructions:
        task = _NO_TASK
    if not isinstance(task, str) or not task.strip():
        return _refuse("expected the argument task, a text that is not empty")
    if len(task) > _MAX_TASK_CHARS:
        return _refuse(f"the task has more than {_MAX_TASK_CHARS} characters")
    return await _run_agent(service, user, name, task, link)


async def _run_agent(
    service: Service, user: User, name: str, task: str, link: ClientLink
) -> types.CallToolResult:
    agent = service.agents[name]
    message = Message(role="user", content=(TextContent(task),))
    request = Request(model=name, messages=(message,), options=Options())
    asked = IncomingRequest(request=request, is_stream=True)
    answering: set[asyncio.Task[None]] = set()

    def ask(run: Run[Any], event: InputRequested) -> None:
        task = asyncio.ensure_future(_answer(run, event, link))
        answering.add(task)
        task.add_done_callback(answering.discard)

    run: UnstoredRun | None = None
    try:
        run = await service.unstored.start(user, _DOOR, AgentOffer(name, agent), asked, ask)
        await _follow(run, link)
        return _to_result(run, agent)
    except HTTPError as error:
        return _refuse(_describe_error(error))
    finally:
        for waiting in answering:
            waiting.cancel()
        if run is not None:
            await run.aclose()


async def _answer(run: Run[Any], event: InputRequested, link: ClientLink) -> None:
    """Ask the user of the client what a run asks for, and tell the run."""
    value, denial = None, None
    try:
        # A new key, so that an answer cannot be there before the question.
        value = await link.fill(create_form(event), f"{event.kind}_{secrets.token_hex(8)}")
        if event.kind == "approval" and not is_approved(value):
            denial = "the user did not allow it"
    except InputDenied as error:
        denial = str(error)
    except Exception as error:  # noqa: BLE001 (the run must not wait for ever, whatever it is)
        _logger.warning("run %s asks what cannot be asked: %r", run.run_id, error)
        denial = "the question cannot be asked"
    # The run may have ended meanwhile, or another part of the program may have answered.
    with suppress(AlreadyAnswered, UsageError):
        if denial is not None:
            run.answer(event.request_id, "denied", reason=denial)
        elif event.kind == "approval":
            run.answer(event.request_id)
        else:
            run.answer(event.request_id, value=value)


def _describe_error(error: HTTPError) -> str:
    """Return an error with the time to wait, for which a result of MCP has no field."""
    wait_s = error.more.get("retry_after_s")
    if wait_s is None:
        return error.message
    return f"{error.message}: try again in {max(1, math.ceil(wait_s))} seconds"


async def _follow(run: UnstoredRun, link: ClientLink) -> None:
    """Read a run to its end, and report the status phrases."""
    reader, count = StatusReader(), 0
    while batch := await run.next_batch():
        for record in batch:
            for status in reader.feed(record):
                count += 1
                await link.context.session.report_progress(count, None, status.text)


def _to_result(run: UnstoredRun, agent: Agent) -> types.CallToolResult:
    end, message = run.end, run.message
    if isinstance(end, RunFailed | TurnFailed):
        return _refuse(f"The agent failed: {end.message}")
    if isinstance(end, RunFinished) and end.reason.word == "aborted":
        return _refuse(f"The agent was stopped: {end.reason.detail or end.reason.kind}")
    content = _to_content(message)
    output = agent.output_type
    if output is None or message.output is msgspec.UNSET:
        return types.CallToolResult(content=content)
    value = {VALUE_KEY: message.output} if output.is_wrapped else message.output
    return types.CallToolResult(content=content, structured_content=value)


def _to_content(message: Message) -> list[Any]:
    """Return the last text of an answer, and its images and sounds."""
    turn = message.turns[-1] if message.turns else None
    content: list[Any] = [types.TextContent(text=turn.text if turn is not None else "")]
    for part in () if turn is None else turn.parts:
        if not isinstance(part, MediaPart) or part.data is None:
            continue
        kind = part.media_type.partition("/")[0]
        if kind == "image":
            content.append(types.ImageContent(data=part.data, mime_type=part.media_type))
        elif kind == "audio":
            content.append(types.AudioContent(data=part.data, mime_type=part.media_type))
    return content


def _refuse(why: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=why)], is_error=True)
