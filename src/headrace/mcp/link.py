"""Keeps a connection to one MCP server: opens it when it is needed, and again after a failure."""

from __future__ import annotations

import asyncio
import atexit
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakSet

from headrace.log import get_logger
from headrace.mcp.address import ServerAddress
from headrace.mcp.connection import Connection, ConnectionFailed
from headrace.mcp.limits import MCPLimits
from headrace.mcp.loop import run_and_wait
from headrace.mcp.question import Question
from headrace.mcp.tool_list import ListedTool, read_tools
from headrace.secrets.scrub import scrub

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

T = TypeVar("T")

_FIRST_PAUSE_S: Final = 0.5
# A call waits for the next attempt if that is not further away.
_SHORT_PAUSE_S: Final = 2.0
# A connection that was open for so long counts as a success.
_STABLE_S: Final = 30.0
_logger = get_logger("mcp")

_CLOSING_S: Final = 5.0


class Link:
    """The way to one server. All methods are called on the loop of the connections.

    After a failure the next attempt waits, twice as long each time; calls in between fail at once.
    """

    def __init__(
        self,
        label: str,
        address: ServerAddress,
        limits: MCPLimits,
        *,
        create_auth: Callable[[], Any] | None = None,
    ) -> None:
        self._label = label
        self._address = address
        self.limits = limits
        self._create_auth = create_auth
        self._connection: Connection | None = None
        self._opening: asyncio.Task[Connection] | None = None
        self._failures = 0
        self._opened_at = 0.0
        self._next_attempt_at = 0.0
        self._why = ""
        self._questions: list[Question] = []
        self._tools: dict[str, ListedTool] | None = None
        self._listing: asyncio.Lock | None = None

    @property
    def has_failed(self) -> bool:
        """Whether the last attempts to reach the server have failed."""
        return self._failures > 0

    @property
    def is_told(self) -> bool:
        """Whether the server tells when its list of tools changes."""
        return self._connection is not None and self._connection.tells_changes

    # -- the connection

    async def connect(self) -> Connection:
        """Return the open connection, or open one. Raises `ConnectionFailed`."""
        if self._connection is not None and self._connection.is_open:
            return self._connection
        if self._connection is not None:
            self._note_end(self._connection)
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), name=f"mcp open {self._label}")
            self._opening.add_done_callback(self._forget_opening)
        # Several calls wait for one attempt; one that is cancelled must not stop it.
        opening = self._opening
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if opening.cancelled() and task is not None and not task.cancelling():
                # `close()` has stopped the attempt, and nobody has cancelled the call.
                raise ConnectionFailed("the connection was closed") from None
            raise

    def _forget_opening(self, task: asyncio.Task[Connection]) -> None:
        self._opening = None
        if not task.cancelled():
            task.exception()

    async def _open(self) -> Connection:
        pause_s = self._next_attempt_at - time.monotonic()
        if pause_s > _SHORT_PAUSE_S:
            raise ConnectionFailed(f"{self._why}; it is tried again in {pause_s:.0f} s")
        await asyncio.sleep(max(0.0, pause_s))
        auth = None if self._create_auth is None else self._create_auth()
        connection = Connection(
            self._address, self.limits, self._answer_question, self._forget_tools, auth
        )
        try:
            await connection.open()
        except ConnectionFailed as error:
            self._note_failure(self.mask(str(error)))
            raise ConnectionFailed(self._why) from None
        self._connection = connection
        self._tools = None
        self._opened_at = time.monotonic()
        _open_links.add(self)
        fields = {"event": "mcp_connected", "server": self._label}
        fields["revision"] = connection.client.protocol_version
        _logger.info("connected to the MCP server %s", self._label, extra=fields)
        return connection

    def _note_end(self, ended: Connection) -> None:
        self._connection = None
        self._tools = None
        if time.monotonic() - self._opened_at > _STABLE_S:
            self._failures = 0
        self._note_failure(self.mask(ended.why))

    def _note_failure(self, why: str) -> None:
        self._why = why
        pause_s = min(_FIRST_PAUSE_S * 2**self._failures, self.limits.max_pause_s)
        self._failures += 1
        self._next_attempt_at = time.monotonic() + pause_s
        # The reason may quote what the server said, so it is not logged.
        fields = {"event": "mcp_failed", "server": self._label, "pause_s": pause_s}
        _logger.warning("the MCP server %s failed", self._label, extra=fields)

    def mask(self, text: str) -> str:
        """Return a text of the server without the secrets that it was given."""
        for secret in self._address.secrets:
            text = text.replace(secret, "[secret]")
        return scrub(text)

    async def close(self) -> None:
        """Close the connection, also one that is being opened. The next call opens one again,
        without a pause."""
        if self._opening is not None:
            opening = self._opening
            opening.cancel()
            await asyncio.wait([opening])
        connection, self._connection = self._connection, None
        self._tools = None
        _open_links.discard(self)
        if connection is not None:
            await connection.close()

    @asynccontextmanager
    async def session(self, timeout_s: float | None = None) -> AsyncGenerator[ClientSession, None]:
        """Yield the session, opened if need be. Errors of the server and of the connection are
        raised as `ConnectionFailed`, without secrets."""
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        connection = await self.connect()
        try:
            async with asyncio.timeout(timeout_s):
                yield connection.client.session
        except TimeoutError:
            raise ConnectionFailed(f"it did not answer within {timeout_s:g} s") from None
        except MCPError as error:
            if "Session terminated" in error.message:
                connection.end("the server has ended the session")
            raise ConnectionFailed(self.mask(self._explain(connection, error.message))) from None
        except ValidationError:
            raise ConnectionFailed("its response does not follow the protocol") from None

    def _explain(self, connection: Connection, message: str) -> str:
        if connection.is_open or not connection.why:
            return message
        return connection.why

    # -- tools

    async def list_tools(self) -> dict[str, ListedTool]:
        """Return the tools of the server by name. The list is asked for again unless the server
        tells when it changes. Raises `ConnectionFailed`."""
        if self._listing is None:
            self._listing = asyncio.Lock()
        async with self._listing:
            connection = await self.connect()
            if self._tools is not None and connection.tells_changes:
                return self._tools
            async with self.session(self.limits.list_s) as session:
                listed = await read_tools(session, self._label, self.limits)
            self._tools = listed
            return listed

    async def find_tool(self, name: str) -> ListedTool | None:
        """Return a tool as the server describes it now, or None. The list is asked for only if it
        is not known or has changed."""
        await self.connect()
        if self._tools is None:
            await self.list_tools()
        return (self._tools or {}).get(name)

    def _forget_tools(self) -> None:
        self._tools = None

    # -- questions of the server

    @asynccontextmanager
    async def asking(self, question: Question) -> AsyncGenerator[None, None]:
        """Let the server ask questions through a call while it runs."""
        self._questions.append(question)
        try:
            yield
        finally:
            self._questions.remove(question)

    async def _answer_question(self, params: Any) -> Any:
        """Answer a question that does not say which call it belongs to: the latest one. If calls
        of several runs are open, nobody is asked, because the user could be the wrong one."""
        from mcp_types import ElicitResult

        if not self._questions:
            return ElicitResult(action="decline")
        if len({question.run_id for question in self._questions}) > 1:
            return ElicitResult(action="cancel")
        return await self._questions[-1].answer(params, self.limits.elicitation_s)


_open_links: WeakSet[Link] = WeakSet()


async def _close_links() -> None:
    closing = [asyncio.ensure_future(link.close()) for link in list(_open_links)]
    if closing:
        await asyncio.wait(closing, timeout=_CLOSING_S)


def _close_at_exit() -> None:
    """Let the servers that were started end in order. Runs before the loop is stopped."""
    if _open_links:
        run_and_wait(_close_links())


atexit.register(_close_at_exit)
