"""The way from a running call to its MCP client: questions, progress and log lines."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from headrace.events import JSONObject
from headrace.server.http.doors.mcp.form import Form
from headrace.tools import InputDenied
from headrace.typed.output_type import Mismatch

ANSWER_S: Final = 600.0
"""How long a call waits for the answer of its client."""
_MAX_TRIES: Final = 3
_MAX_OPEN: Final = 16
_RESULTS: Final[dict[str, type[Any]]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}
_CAPABILITIES: Final = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}


class ClientLink:
    """The client of one call.

    With the revision 2026-07-28, a question ends the request of the client, which sends it again
    with the answers; `context` is then the new one. With older revisions the client is asked while
    its request goes on.
    """

    def __init__(self, context: Any) -> None:
        self.context = context
        self.is_live = context.protocol_version not in MODERN_PROTOCOL_VERSIONS
        self.asked = asyncio.Event()
        """Set while there are questions to be sent."""
        self.missing: set[str] = set()
        """Capabilities that the call needed, but the client does not have."""
        self.timer: asyncio.Timeout | None = None
        """Time limit of the call. It does not run while the client is asked."""
        self._open: dict[str, tuple[Any, asyncio.Future[Any]]] = {}
        self._given: dict[str, Any] = {}
        self._count = 0
        self._asking = 0
        self._left_s: float | None = None

    # -- what a call does

    async def ask(
        self,
        message: str,
        schema: JSONObject | None = None,
        *,
        key: str | None = None,
        state: Any = None,
    ) -> Any:
        """Ask the user of the client. Raises `InputDenied`. The call waits in memory, so the state
        is not needed."""
        return await self.fill(Form(message, schema), key)

    async def fill(self, form: Form, key: str | None = None) -> Any:
        """Have the user fill in a form, and return the answer. One that does not fit is asked for
        again. Raises `InputDenied`."""
        why = ""
        for _ in range(_MAX_TRIES):
            result = await self._request(key, form.request)
            try:
                return form.read(result)
            except Mismatch as mismatch:
                why = str(mismatch)
        raise InputDenied(f"the answer does not fit the form: {why}")

    async def sample(self, prompt: str, max_tokens: int, key: str | None) -> str:
        """Ask the model of the client."""
        content = types.TextContent(text=prompt)
        message = types.SamplingMessage(role="user", content=content)
        params = types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
        result = await self._request(key, types.CreateMessageRequest(params=params))
        return str(getattr(result.content, "text", ""))

    async def list_roots(self, key: str | None) -> list[str]:
        """Return the URIs of the client's folders."""
        result = await self._request(key, types.ListRootsRequest())
        return [str(root.uri) for root in result.roots]

    async def _request(self, key: str | None, request: Any) -> Any:
        self._check_capability(request.method)
        self._count += 1
        key = key or f"question_{self._count}"
        self._pause_timer()
        try:
            return await (self._send(request) if self.is_live else self._wait(key, request))
        finally:
            self._continue_timer()

    def _pause_timer(self) -> None:
        """Stop the time of the call while the client is asked, once for all of its questions."""
        self._asking += 1
        timer = self.timer
        when = None if timer is None else timer.when()
        if self._asking == 1 and timer is not None and when is not None:
            self._left_s = when - asyncio.get_running_loop().time()
            # The call may have ended, and a part of it may still ask.
            with suppress(RuntimeError):
                timer.reschedule(None)

    def _continue_timer(self) -> None:
        self._asking -= 1
        timer, left_s = self.timer, self._left_s
        if self._asking == 0 and timer is not None and left_s is not None:
            self._left_s = None
            with suppress(RuntimeError):
                timer.reschedule(asyncio.get_running_loop().time() + left_s)

    def _check_capability(self, method: str) -> None:
        name = _CAPABILITIES[method]
        able = getattr(self.context.session.client_capabilities, name, None)
        is_url_only = name == "elicitation" and able is not None and able.url and not able.form
        if able is None or is_url_only:
            self.missing.add(name)
            raise InputDenied(f"the MCP client cannot be asked: it has no capability {name}")

    async def _send(self, request: Any) -> Any:
        metadata = ServerMessageMetadata(related_request_id=self.context.request_id)
        try:
            return await self.context.session.send_request(
                request, _RESULTS[request.method], ANSWER_S, metadata
            )
        except (MCPError, ValidationError) as error:
            raise InputDenied(f"the MCP client did not answer: {str(error)[:500]}") from None

    async def _wait(self, key: str, request: Any) -> Any:
        given = _read_response(request, self._given.pop(key, None))
        if given is not None:
            return given
        if key in self._open or len(self._open) >= _MAX_OPEN:
            raise InputDenied("the call asks the same question twice, or too many at once")
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._open[key] = (request, answer)
        self.asked.set()
        try:
            return await answer
        finally:
            self._open.pop(key, None)
            if not self._open:
                self.asked.clear()

    # -- what the server does

    @property
    def open_requests(self) -> dict[str, Any]:
        """The questions that have no answer yet."""
        return {key: request for key, (request, f) in self._open.items() if not f.done()}

    def resume(self, context: Any, responses: dict[str, Any]) -> None:
        """Go on with the next request of the client and its answers. Those that nobody has asked
        for are kept for the questions to come."""
        self.context = context
        self._given = dict(responses)
        for key, (request, answer) in self._open.items():
            given = _read_response(request, self._given.pop(key, None))
            if given is not None and not answer.done():
                answer.set_result(given)
        if self.open_requests:
            self.asked.set()
        else:
            self.asked.clear()


def _read_response(request: Any, response: Any) -> Any:
    """Return an answer as the result of its request, or None if it is none."""
    if response is None:
        return None
    try:
        data = response.model_dump(by_alias=True, mode="json", exclude_none=True)
        return _RESULTS[request.method].model_validate(data, by_name=False)
    except ValidationError:
        return None
