"""The asynchronous client of the HTTP API."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, TypeVar, Unpack
from urllib.parse import quote, urlencode

import msgspec

from headrace.client.answer import AsyncAnswer
from headrace.client.connection import NO_HEADERS, ClientError, Connection, Response
from headrace.client.target import FolderTarget, ServerTarget
from headrace.encoders import Effort
from headrace.errors import InputError
from headrace.messages import InputRequest
from headrace.server import api
from headrace.server.storage.files.files import FileInfo
from headrace.server.storage.store.store import Conversation

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from headrace.engine import Agent

T = TypeVar("T")


class AskOptions(TypedDict, total=False):
    """Options of `ask()`."""

    conversation_id: str | None
    """The conversation to continue; by default, a new one is started."""
    parent_id: str | None
    """The message to follow, or, without a message, the user message to answer again."""
    beside_id: str | None
    """The user message that the new one is an edited version of."""
    model: str | None
    """Name of one of `models()`; the first one by default."""
    effort: Effort | None
    """How hard the model should think."""
    is_branch: bool
    """Whether another answer to the same message may be written at the same time."""
    attachments: tuple[str, ...]
    """Ids of files that `upload()` has returned."""
    mode: Literal["reject", "steer", "queue"]
    """What happens if the conversation has an answer that is being written: `reject` raises
    `ClientError` (the default), `steer` passes the message to the model with the next step of that
    answer, and `queue` asks it when that answer is complete. With `steer` and `queue` the context
    is then the answer that is being written."""


class AsyncClient:
    """A client of a Headrace server. Use it with `async with`, or `aclose()` it.

    `url` is the address of the server, such as `http://127.0.0.1:8700`. Every method raises
    `ClientError` if the server refuses the request or cannot be reached.
    """

    def __init__(self, url: str, *, access_token: str | None = None) -> None:
        from headrace.client.http import HTTPConnection

        self._target: ServerTarget | FolderTarget = ServerTarget(HTTPConnection(url))
        self._headers = _authorization(access_token)

    @classmethod
    def in_process(cls, app: Starlette, *, access_token: str | None = None) -> Self:
        """Return a client of an application of `create_app()` in this process.

        If the application is not open, the client opens it with its first request, and closes it.
        """
        from headrace.client.in_process import AppConnection

        return cls._from(ServerTarget(AppConnection(app), app.state.service), access_token)

    @classmethod
    def for_folder(
        cls,
        data: str | Path,
        agent: Callable[[], Agent],
        *,
        access_token: str | None = None,
        on_wait: Callable[[str], None] | None = None,
    ) -> Self:
        """Return a client of a data folder.

        Questions are answered in this process by the agent that `agent()` returns, or, while a
        server uses the folder, by that server. `on_wait` is called with a sentence when a request
        has to wait for another client of the folder.
        """
        return cls._from(FolderTarget(Path(data), agent, on_wait), access_token)

    @classmethod
    def _from(cls, target: ServerTarget | FolderTarget, access_token: str | None) -> Self:
        client = cls.__new__(cls)
        client._target = target
        client._headers = _authorization(access_token)
        return client

    @property
    def address(self) -> str:
        """URL of the server that answered last, or empty if that is this process."""
        return self._target.address

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._target.aclose()

    # -- answers

    @asynccontextmanager
    async def ask(
        self, message: str | None = None, **options: Unpack[AskOptions]
    ) -> AsyncGenerator[AsyncAnswer, None]:
        """Ask a question. The context is an `AsyncAnswer`, whose frames can be iterated.

        Leaving the context early does not end the run. Without a message, the user message
        `parent_id` is answered again.
        """
        body = msgspec.json.encode(api.ChatRequest(message=message, **options))
        headers = {"idempotency-key": uuid.uuid4().hex}
        async with self._target.connect() as connection:
            path = "/api/chat?protocol=ux"
            response = await self._send(connection, "POST", path, body, headers)
            async with self._answer(connection, response) as answer:
                yield answer

    async def upload(self, source: str | os.PathLike[str] | bytes, name: str = "") -> FileInfo:
        """Upload a file, from a path or as bytes, for the `attachments` of `ask()`. Raises
        `InputError` if it cannot be read, and `ClientError` if the server does not take it."""
        if not isinstance(source, bytes):
            path = Path(source)
            name = name or path.name
            try:
                source = path.read_bytes()
            except OSError as error:
                raise InputError(f"{path}: {error.strerror or error}") from None
        headers = {"content-type": "application/octet-stream", "x-file-name": quote(name)}
        async with self._target.connect() as connection:
            response = await self._send(connection, "POST", "/api/files", source, headers)
            return _decode(await _read_all(response), FileInfo)

    @asynccontextmanager
    async def watch(self, event_id: str, after: str = "") -> AsyncGenerator[AsyncAnswer, None]:
        """Read an answer that was asked for before, live or stored.

        Its frames begin after the frame with the id `after`, by default with the first one.
        """
        async with self._target.connect() as connection:
            response = await self._resume(connection, event_id, after or "0")
            async with self._answer(connection, response, after) as answer:
                yield answer

    async def cancel(self, event_id: str) -> bool:
        """Cancel the run that writes this answer. Return False if it was over already."""
        async with self._target.connect() as connection:
            return (await self._cancel(connection, event_id)).was_live

    # -- requests for input

    async def requests(self, run_id: str) -> list[InputRequest]:
        """Return what a run waits for: the requests that nobody has answered yet."""
        path = f"/api/runs/{quote(run_id, safe='')}/requests"
        return (await self._call("GET", path, api.InputRequestList)).requests

    async def waiting_runs(self) -> list[api.InputRequestList]:
        """Return the runs of the user that wait for an answer to a request, the oldest first."""
        return (await self._call("GET", "/api/requests", api.WaitingRunList)).runs

    async def answer_request(
        self,
        run_id: str,
        request_id: str,
        *,
        decision: Literal["accepted", "denied"] = "accepted",
        value: Any = None,
        is_always: bool = False,
        reason: str | None = None,
    ) -> api.InputAnswerResult:
        """Answer a request of a run.

        `value` is the result, text or form that was asked for. For an approval it replaces the
        arguments of the call, or keeps them if it is None; with `is_always`, later calls of the
        same tool in this run need no approval. The model is told the `reason` of a denial.
        The first answer counts. Raises `ClientError` with the code `already_answered` if another
        one came first, and `bad_value` if the value is not what was asked for.
        """
        path = f"/api/runs/{quote(run_id, safe='')}/requests/{quote(request_id, safe='')}"
        body = msgspec.json.encode(
            api.InputAnswer(decision=decision, value=value, is_always=is_always, reason=reason)
        )
        return await self._call("POST", path, api.InputAnswerResult, body)

    # -- conversations

    async def conversations(self, limit: int = api.MAX_PAGE) -> list[Conversation]:
        """Return up to `limit` conversations, the most recently used first."""
        found: list[Conversation] = []
        query: dict[str, Any] = {}
        async with self._target.connect():
            while len(found) < limit:
                query["limit"] = min(limit - len(found), api.MAX_PAGE)
                page = await self._find(query)
                found += page.conversations
                if page.next is None:
                    break
                query["before"] = page.next
        return found

    async def search(self, words: str, limit: int = api.MAX_PAGE) -> list[Conversation]:
        """Return up to `limit` conversations with these words, the best matches first."""
        return (await self._find({"q": words, "limit": limit})).conversations

    async def conversation(
        self, conversation_id: str, *, limit: int | None = None, before: str | None = None
    ) -> api.ConversationDetail:
        """Return a conversation with its messages and the answers that are being written.

        The messages are requested page by page. With `limit`, only so many are returned: the
        newest ones, or the last ones before the message `before`. `earlier` of the result is then
        the `before` of the messages in front of them.
        """
        async with self._target.connect():
            detail = await self._page(conversation_id, limit, before)
            messages, earlier = detail.messages, detail.earlier
            while earlier is not None and (limit is None or len(messages) < limit):
                left = None if limit is None else limit - len(messages)
                page = await self._page(conversation_id, left, earlier)
                messages, earlier = [*page.messages, *messages], page.earlier
        return msgspec.structs.replace(detail, messages=messages, earlier=earlier)

    async def rename(self, conversation_id: str, title: str) -> Conversation:
        """Set the title of a conversation."""
        return await self._update(conversation_id, api.ConversationUpdate(title=title))

    async def select(self, conversation_id: str, leaf_id: str) -> Conversation:
        """Switch to the branch that ends with this message."""
        return await self._update(conversation_id, api.ConversationUpdate(leaf_id=leaf_id))

    async def pin(self, conversation_id: str, *, is_pinned: bool = True) -> Conversation:
        """Keep a conversation at the top of the user's list, or do not any more."""
        return await self._update(conversation_id, api.ConversationUpdate(is_pinned=is_pinned))

    async def mark_read(self, conversation_id: str) -> Conversation:
        """Note that the user has seen the last answer of a conversation."""
        return await self._update(conversation_id, api.ConversationUpdate(is_unread=False))

    async def instruct(self, conversation_id: str, instructions: str) -> Conversation:
        """Set the instructions for every answer of a conversation; an empty text removes them."""
        return await self._update(
            conversation_id, api.ConversationUpdate(instructions=instructions)
        )

    async def delete(self, conversation_id: str) -> None:
        """Delete a conversation; its live runs are cancelled."""
        await self._read("DELETE", _path(conversation_id))

    async def export(
        self, conversation_id: str, format: Literal["json", "markdown", "markdown-steps"] = "json"
    ) -> str:
        """Export a conversation: all branches as JSON, or the one that is shown as Markdown,
        without or with its reasoning and tools."""
        path = f"{_path(conversation_id)}/export?format={format}"
        return (await self._read("GET", path)).decode()

    # -- models

    async def models(self) -> list[api.ModelInfo]:
        """Return the models of the server. The first one is the default."""
        own = await self._target.own_models()
        return own or (await self._call("GET", "/api/models", api.ModelList)).models

    # -- requests

    @asynccontextmanager
    async def _answer(
        self, connection: Connection, response: Response, after: str = ""
    ) -> AsyncGenerator[AsyncAnswer, None]:
        resume = partial(self._resume, connection)
        answer = AsyncAnswer(response, resume, partial(self._cancel, connection), after)
        try:
            yield answer
        finally:
            await answer.aclose()

    async def _resume(self, connection: Connection, event_id: str, after: str) -> Response:
        path = f"/api/chat/{quote(event_id, safe='')}/stream?protocol=ux"
        return await self._send(connection, "GET", path, headers={"last-event-id": after})

    async def _cancel(self, connection: Connection, event_id: str) -> api.CancelResult:
        path = f"/api/chat/{quote(event_id, safe='')}/cancel"
        response = await self._send(connection, "POST", path)
        return _decode(await _read_all(response), api.CancelResult)

    async def _find(self, query: Mapping[str, Any]) -> api.ConversationPage:
        return await self._call(
            "GET", f"/api/conversations?{urlencode(query)}", api.ConversationPage
        )

    async def _page(
        self, conversation_id: str, limit: int | None, before: str | None
    ) -> api.ConversationDetail:
        most = api.MAX_PAGE if limit is None else min(limit, api.MAX_PAGE)
        query = urlencode({"limit": most, **({} if before is None else {"before": before})})
        path = f"{_path(conversation_id)}?{query}"
        return await self._call("GET", path, api.ConversationDetail)

    async def _update(self, conversation_id: str, update: api.ConversationUpdate) -> Conversation:
        body = msgspec.json.encode(update)
        return await self._call("PATCH", _path(conversation_id), Conversation, body)

    async def _call(self, method: str, path: str, kind: type[T], body: bytes | None = None) -> T:
        return _decode(await self._read(method, path, body), kind)

    async def _read(self, method: str, path: str, body: bytes | None = None) -> bytes:
        async with self._target.connect() as connection:
            return await _read_all(await self._send(connection, method, path, body))

    async def _send(
        self,
        connection: Connection,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Response:
        """Send a request. Raises `ClientError` if the response is an error."""
        content_type = {} if body is None else {"content-type": "application/json"}
        all_headers = {**self._headers, **content_type, **headers}
        response = await connection.request(method, path, body, all_headers)
        if response.status < 300:
            return response
        raise _to_error(response.status, await _read_all(response))


def _authorization(access_token: str | None) -> dict[str, str]:
    return {} if access_token is None else {"authorization": f"Bearer {access_token}"}


def _path(conversation_id: str) -> str:
    return f"/api/conversations/{quote(conversation_id, safe='')}"


async def _read_all(response: Response) -> bytes:
    try:
        return await response.read()
    finally:
        await response.aclose()


def _decode(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        text = f"the server sent an unexpected response: {error}"
        raise ClientError(200, "bad_response", text) from None


def _to_error(status: int, body: bytes) -> ClientError:
    try:
        error = msgspec.json.decode(body, type=api.ErrorResponse).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ClientError(status, "unknown", f"the server responded with status {status}")
    return ClientError(status, error.code, error.message)
