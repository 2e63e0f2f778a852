"""One call of a tool at a server: progress, questions and the result."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from headrace.events import JSONObject
from headrace.mcp.connection import ConnectionFailed
from headrace.mcp.link import Link
from headrace.mcp.question import Question
from headrace.tools import ToolContext
from headrace.tools.schema_arguments import find_mismatch

if TYPE_CHECKING:
    from mcp.client.session import ClientSession
    from mcp_types import CallToolResult, InputRequiredResult

_MAX_ROUNDS: Final = 10
_STATE_PAUSE_S: Final = 0.25
_MAX_STATE_CHARS: Final = 65_536
_CHECK_S: Final = 5.0


class CallRefused(ConnectionFailed):
    """A call that was not sent, or whose result cannot be used."""


async def call_tool(
    link: Link,
    name: str,
    fingerprint: str,
    arguments: JSONObject,
    question: Question,
    context: ToolContext,
) -> CallToolResult:
    """Call a tool on the loop of the connections. Raises `ConnectionFailed`, and `CallRefused` if
    the server does not describe the tool as it did when the run began."""
    tool = await link.find_tool(name)
    if tool is None:
        raise CallRefused("the server does not have this tool any more")
    if tool.fingerprint != fingerprint:
        raise CallRefused(
            "the server has changed the description or the schema of this tool since the run began,"
            " so the call was not sent"
        )
    async with link.asking(question), link.session() as session:
        result = await _exchange(session, name, arguments, question, context)
    if tool.output_schema is not None and not result.is_error:
        # In a thread, because the calls of all servers share this loop.
        problem = await asyncio.to_thread(
            find_mismatch, tool.output_schema, result.structured_content, _CHECK_S
        )
        if problem is not None:
            raise CallRefused(f"the result does not fit the schema of the server: {problem}")
    return result


async def _exchange(
    session: ClientSession,
    name: str,
    arguments: JSONObject,
    question: Question,
    context: ToolContext,
) -> CallToolResult:
    """Send the call, and send it again with the answers as often as the server asks for input."""
    from mcp_types import InputRequiredResult

    result: CallToolResult | InputRequiredResult
    number, stored = _read_state(context.state)
    if stored is None:
        result = await _send(session, name, arguments, None, None, context)
    else:
        # The server had asked when the run was suspended.
        result = stored
    while isinstance(result, InputRequiredResult):
        number += 1
        if number > _MAX_ROUNDS:
            raise CallRefused(f"the server has asked for input {_MAX_ROUNDS} times")
        responses: dict[str, Any] | None = None
        if result.input_requests:
            responses = await _answer_all(result, question, number)
        else:
            await asyncio.sleep(_STATE_PAUSE_S)
        result = await _send(session, name, arguments, responses, result.request_state, context)
    return result


async def _answer_all(
    result: InputRequiredResult, question: Question, number: int
) -> dict[str, Any]:
    """Ask the user everything that a server wants to know in one round. What the server needs to
    go on is stored with the questions, so that the run need not wait in memory."""
    state = _create_state(result, number)
    responses: dict[str, Any] = {}
    for key, request in (result.input_requests or {}).items():
        if request.method != "elicitation/create":
            raise CallRefused(f"the server asks for {request.method}, which is not offered")
        responses[key] = await question.answer(
            request.params, None, key=f"{number} {key}", state=state
        )
    return responses


def _create_state(result: InputRequiredResult, number: int) -> JSONObject | None:
    """Return the result of a round as JSON, or None if it is too long to be stored."""
    text = result.model_dump_json(by_alias=True, exclude_none=True)
    return {"round": number, "result": text} if len(text) <= _MAX_STATE_CHARS else None


def _read_state(state: Any) -> tuple[int, InputRequiredResult | None]:
    """Return how many rounds there were before the one that is stored, and its result."""
    from mcp_types import InputRequiredResult

    if state is None:
        return 0, None
    result = InputRequiredResult.model_validate_json(state["result"])
    return int(state["round"]) - 1, result


async def _send(
    session: ClientSession,
    name: str,
    arguments: JSONObject,
    responses: dict[str, Any] | None,
    state: str | None,
    context: ToolContext,
) -> CallToolResult | InputRequiredResult:
    from mcp_types import (
        CallToolRequest,
        CallToolRequestParams,
        CallToolResult,
        InputRequiredResult,
    )
    from pydantic import TypeAdapter

    async def report(progress: float, total: float | None, message: str | None) -> None:
        share = progress / total if total and total > 0 else None
        context.progress(message, progress=share)

    params = CallToolRequestParams(
        name=name, arguments=arguments, input_responses=responses, request_state=state
    )
    # The method of the session would check the result against a schema of the server in a way
    # that the server could make arbitrarily slow.
    adapter: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(
        CallToolResult | InputRequiredResult
    )
    return await session.send_request(
        CallToolRequest(params=params), adapter, progress_callback=report
    )
