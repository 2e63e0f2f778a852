"""Tools that MCP clients call directly: their descriptions, and the answers to calls."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from headrace.content import JSONContent
from headrace.engine import RunLimits
from headrace.errors import Terminate
from headrace.events import JSONObject, ToolProgress
from headrace.mcp.serving.client_context import ClientContext
from headrace.server.http.doors.mcp.client_link import ClientLink
from headrace.server.http.doors.mcp.content import to_blocks
from headrace.server.http.doors.mcp.form import create_approval, is_approved
from headrace.tools import InputDenied, Tool, ToolReturn, tool_error
from headrace.tools.result import limit_size

T = TypeVar("T")
_LIMITS: Final = RunLimits()


def describe_tool(tool: Tool) -> types.Tool:
    """Return the description of a tool for MCP clients."""
    hints = types.ToolAnnotations(idempotent_hint=True) if tool.is_idempotent else None
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.parameters,
        annotations=hints,
    )


async def run_tool(
    tool: Tool, arguments: JSONObject, link: ClientLink, level: str
) -> types.CallToolResult:
    """Run a tool for a call. What goes wrong becomes an error result. Raises `MCPError` if the tool
    failed because the client lacks a capability, in the revisions that have an error for it."""
    reporter = Reporter(link, level)
    context = ClientContext(
        link, call_id=secrets.token_hex(8), name=tool.name, report=reporter.report, ask=link.ask
    )
    result = await reporter.finish(_approve_and_run(tool, arguments, link, context))
    if result.is_error and link.missing and not link.is_live:
        refuse_for(link.missing)
    result = limit_size(result, tool.max_result_chars or _LIMITS.max_result_chars)
    values = [entry.value for entry in result.content if isinstance(entry, JSONContent)]
    is_object = len(values) == 1 and isinstance(values[0], dict)
    return types.CallToolResult(
        content=to_blocks(result.content),
        structured_content=values[0] if is_object else None,
        is_error=result.is_error,
    )


def refuse_for(missing: set[str]) -> None:
    """Raise the error that tells a client which capabilities it lacks."""
    needed = {name: dict[str, Any]() for name in sorted(missing)}
    raise MCPError(
        types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        f"the call needs a client with the capability {', '.join(needed)}",
        {"requiredCapabilities": needed},
    )


async def _approve_and_run(
    tool: Tool, arguments: JSONObject, link: ClientLink, context: ClientContext
) -> ToolReturn:
    if (problem := tool.find_problem(arguments)) is not None:
        return tool_error(f"{tool.name} was not run: {problem}")
    if tool.needs_approval(arguments):
        try:
            # A new key, so that the answer cannot be there before the question.
            key = f"approval_{secrets.token_hex(8)}"
            value = await link.fill(create_approval("", tool.name, arguments), key)
        except InputDenied as error:
            return tool_error(f"{tool.name} needs an approval: {error}")
        if not is_approved(value):
            return tool_error(f"{tool.name} was not run: the user did not allow it")
    timeout_s = tool.timeout_s or _LIMITS.tool_timeout_s
    try:
        async with tool.slots():
            return await run_in_time(tool.execute(arguments, context), link, timeout_s)
    except TimeoutError:
        context.cancel()
        return tool_error(f"{tool.name} took longer than {timeout_s:g} s and was stopped")
    except Terminate as error:
        return tool_error(f"{tool.name} ended its run: {error}")


async def run_in_time(work: Awaitable[T], link: ClientLink, timeout_s: float | None = None) -> T:
    """Do the work of a call in a time limit, which does not run while its client is asked. Raises
    `TimeoutError`."""
    limit_s = timeout_s or _LIMITS.tool_timeout_s
    link.timer = timer = asyncio.timeout(limit_s)
    try:
        async with timer:
            return await work
    finally:
        link.timer = None


class Reporter:
    """Sends the progress and the log lines of a call to its client, in order."""

    def __init__(self, link: ClientLink, level: str) -> None:
        self._link = link
        self._level = level
        self._loop = asyncio.get_running_loop()
        self._reports: asyncio.Queue[ToolProgress | None] = asyncio.Queue()
        self._progress: float | None = None
        self._total: float | None = None

    def report(self, progress: ToolProgress) -> None:
        """Send a report. May be called from any thread."""
        self._loop.call_soon_threadsafe(self._reports.put_nowait, progress)

    async def finish(self, work: Any) -> Any:
        """Do the work, and return its result after the last report has been sent."""
        sending = asyncio.ensure_future(self._send_all())
        try:
            result = await work
            self._loop.call_soon(self._reports.put_nowait, None)
            await sending
            return result
        finally:
            sending.cancel()

    async def _send_all(self) -> None:
        while (report := await self._reports.get()) is not None:
            await self._send(report)

    async def _send(self, report: ToolProgress) -> None:
        context = self._link.context
        if report.log is not None:
            await send_log(context, self._level, report.log)
        if report.status is not None or report.progress is not None:
            progress = self._advance(report.progress)
            # Reports after the last share go on increasing: there is no total to exceed.
            total = None if progress > 1 else self._total
            await context.session.report_progress(progress, total, report.status)

    def _advance(self, share: float | None) -> float:
        """Return a share of the work, or a little more than the last one if it is not known or not
        higher: the protocol requires that progress increases."""
        last = self._progress
        if share is not None:
            self._total = 1.0
        if last is None or (share is not None and share > last):
            progress = share or 0.0
        else:
            progress = last + max(1 - last, 0.001) / 1_000
        self._progress = progress
        return progress


_LEVELS: Final = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
_LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"


async def send_log(context: Any, level: str, line: str) -> None:
    """Send a log line of the level `info`, if the client wants it. With the revision 2026-07-28 a
    client says so in each request; others get it unless they have set a higher level."""
    meta: dict[str, Any] = dict(context.meta or {})
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        level = str(meta.get(_LOG_LEVEL_KEY, ""))
    if level not in _LEVELS[: _LEVELS.index("info") + 1]:
        return
    params = types.LoggingMessageNotificationParams(level="info", data=line, logger="headrace")
    await context.session.send_notification(
        types.LoggingMessageNotification(params=params), related_request_id=context.request_id
    )
