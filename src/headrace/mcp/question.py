"""Questions that a server asks the user in the middle of a call (elicitation)."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from headrace.events import JSONObject
from headrace.tools import InputDenied, ToolContext

_MAX_MESSAGE_CHARS: Final = 4_000
_CONFIRM: Final[JSONObject] = {"type": "object", "properties": {}}


class Question:
    """The way from a call to the user. `loop` is the event loop of the agent."""

    def __init__(self, label: str, context: ToolContext, loop: asyncio.AbstractEventLoop) -> None:
        self._label = label
        self._context = context
        self._loop = loop

    @property
    def run_id(self) -> str:
        """Id of the run that the call belongs to."""
        return self._context.run_id

    async def answer(
        self, params: Any, timeout_s: float | None, *, key: str | None = None, state: Any = None
    ) -> Any:
        """Ask the user what a server wants to know, and return the result for the server. With a
        key and a state, the run may be suspended meanwhile."""
        from mcp_types import ElicitRequestURLParams, ElicitResult

        message = f"The MCP server {self._label} asks: {params.message[:_MAX_MESSAGE_CHARS]}"
        schema = _CONFIRM
        is_url = isinstance(params, ElicitRequestURLParams)
        if is_url:
            message += f"\nIt wants you to open this address: {params.url[:_MAX_MESSAGE_CHARS]}"
        else:
            schema = params.requested_schema
        asking = self._context.ask(message, schema, key=key, state=state)
        asked = asyncio.run_coroutine_threadsafe(asking, self._loop)
        try:
            async with asyncio.timeout(timeout_s):
                value = await asyncio.wrap_future(asked)
        except InputDenied:
            return ElicitResult(action="decline")
        except TimeoutError:
            return ElicitResult(action="cancel")
        return ElicitResult(action="accept", content=None if is_url else value)
