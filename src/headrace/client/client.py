"""The desk: what a chat asks of the server's API, wherever that is."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from headrace.client.connection import Line, Reply
from headrace.client.target import Exchange
from headrace.errors import HeadraceError, RequestFailed
from headrace.projections.ux import MessageEvent, UXFrame, decode_frame
from headrace.projections.ux.frame import MessageCancelled, MessageError, MessageFinal
from headrace.server.storage.data_folder import FolderHeld
from headrace.transport.stream_error import StreamBroken
from headrace.wire.framing.sse import SSEFraming

T = TypeVar("T")
# What the server gives at once, at most.
_MAX_PAGE = 100
_WAITS_S = (0.25, 0.5, 1.0, 2.0, 4.0)
END_FRAMES = (MessageFinal, MessageError, MessageCancelled)


class Refused(HeadraceError):
    """The server says no; the message says why."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Ask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is asked: a message, or an old question to be answered again."""

    message: str | None = None
    conversation_id: str | None = None
    parent_id: str | None = None
    model: str | None = None
    effort: str | None = None
    is_branch: bool = False


class ServedModel(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers."""

    name: str
    model: str
    tools: tuple[str, ...] = ()
    is_rehearsal: bool = False


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation without its messages."""

    id: str
    title: str
    updated_ms: int
    leaf_id: str | None = None


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a conversation: a question has a text, an answer an event."""

    id: str
    parent_id: str | None
    role: str
    text: str = ""
    event: MessageEvent | None = None


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is being written."""

    event_id: str
    parent_id: str


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation with all its branches."""

    conversation: Listed
    messages: tuple[Shown, ...] = ()
    live: tuple[Live, ...] = ()

    @property
    def branch(self) -> list[Shown]:
        """The messages from the first down to the newest of the branch that is shown."""
        by_id = {one.id: one for one in self.messages}
        found: list[Shown] = []
        at = by_id.get(self.conversation.leaf_id or "")
        while at is not None and len(found) < len(by_id):
            found.append(at)
            at = by_id.get(at.parent_id or "")
        return found[::-1]


class _Models(msgspec.Struct, frozen=True):
    models: tuple[ServedModel, ...]


class _Conversations(msgspec.Struct, frozen=True):
    conversations: tuple[Listed, ...]
    next: str | None = None


class Answer:
    """One answer as it comes."""

    def __init__(self, desk: Desk, line: Line, reply: Reply) -> None:
        self._desk = desk
        self._line = line
        self._reply = reply
        self._last_id = ""
        self.event_id = reply.headers.get("x-event-id", "")
        self.conversation_id = reply.headers.get("x-conversation-id", "")
        self.question_id = reply.headers.get("x-parent-id", "")

    async def frames(self) -> AsyncGenerator[list[UXFrame], None]:
        """All frames, the last of which is the end. A connection that breaks is taken up again
        behind the last frame that came; raises `RequestFailed` where that does not help."""
        waits = iter(_WAITS_S)
        while True:
            try:
                async for frames in self._read():
                    waits = iter(_WAITS_S)
                    yield frames
                    if isinstance(frames[-1], END_FRAMES):
                        return
            except (StreamBroken, RequestFailed):
                pass
            wait_s = next(waits, None)
            if wait_s is None:
                raise RequestFailed(_BROKEN, category="network")
            await asyncio.sleep(wait_s)

    async def _read(self) -> AsyncGenerator[list[UXFrame], None]:
        if self._last_id:
            self._reply = await self._desk.resume(self._line, self.event_id, self._last_id)
        framing = SSEFraming()
        reply = self._reply
        try:
            async for piece in reply:
                if cut := framing.feed(piece):
                    self._last_id = framing.last_event_id or self._last_id
                    if frames := [f for one in cut if (f := _frame(one.data)) is not None]:
                        yield frames
        finally:
            await reply.aclose()
        # Nothing came: the next time is asked for from the first frame on.
        self._last_id = self._last_id or "0"

    async def cancel(self) -> None:
        """Ask the run to end; its last frame tells that it has."""
        await self._desk.call(self._line, "POST", f"/api/chat/{self.event_id}/cancel")


_BROKEN = (
    "the connection to the server broke; the answer goes on there, and /open shows it when it"
    " is complete"
)


class Desk:
    """Asks for answers and conversations. Every call raises `Refused` where the server says no,
    and `RequestFailed` where there is none."""

    def __init__(
        self, exchange: Exchange, own: Callable[[], ServedModel], token: str | None = None
    ) -> None:
        self._exchange = exchange
        self._own = own
        self._headers = {"authorization": f"Bearer {token}"} if token else {}

    @property
    def address(self) -> str:
        """Of the server that answers; empty where that is this process."""
        return self._exchange.address or ""

    async def models(self) -> tuple[ServedModel, ...]:
        """Who may be asked; the first is, where nobody is chosen. Nobody is waited for."""
        try:
            async with self._exchange.line(is_patient=False) as line:
                reply = await self.call(line, "GET", "/api/models")
        except FolderHeld:
            return (self._own(),)
        return msgspec.json.decode(reply, type=_Models).models

    async def conversations(self, most: int) -> list[Listed]:
        """The newest first, page by page until there are so many, or no more."""
        found: list[Listed] = []
        before = ""
        async with self._exchange.line() as line:
            while len(found) < most:
                limit = min(most - len(found), _MAX_PAGE)
                path = f"/api/conversations?limit={limit}{before}"
                page = msgspec.json.decode(await self.call(line, "GET", path), type=_Conversations)
                found += page.conversations
                if page.next is None:
                    break
                before = f"&before={quote(page.next, safe='')}"
        return found

    async def conversation(self, conversation_id: str) -> Whole:
        """One of them, whole."""
        return await self._get(f"/api/conversations/{conversation_id}", Whole)

    @asynccontextmanager
    async def asked(self, ask: Ask) -> AsyncGenerator[Answer, None]:
        """Ask, and watch the answer. Whoever leaves early ends nothing but the watching."""
        body = msgspec.json.encode(ask)
        key = {"idempotency-key": uuid.uuid4().hex}
        async with self._exchange.line() as line:
            reply = await self.send(line, "POST", "/api/chat?protocol=ux", body, key)
            try:
                yield Answer(self, line, reply)
            finally:
                await reply.aclose()

    @asynccontextmanager
    async def watched(self, event_id: str) -> AsyncGenerator[Answer, None]:
        """An answer that is being written, from its first frame."""
        async with self._exchange.line() as line:
            reply = await self.resume(line, event_id, "0")
            try:
                yield Answer(self, line, reply)
            finally:
                await reply.aclose()

    async def resume(self, line: Line, event_id: str, after: str) -> Reply:
        """The frames behind the one of this id."""
        path = f"/api/chat/{event_id}/stream?protocol=ux"
        return await self.send(line, "GET", path, headers={"last-event-id": after})

    async def call(self, line: Line, method: str, path: str) -> bytes:
        """A request whose reply is read whole."""
        reply = await self.send(line, method, path)
        try:
            return await reply.read()
        finally:
            await reply.aclose()

    async def send(
        self,
        line: Line,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        """A request, with what every request has."""
        kind = {"content-type": "application/json"} if body is not None else {}
        given = {**self._headers, **kind, **(headers or {})}
        reply = await line.send(method, path, body, given)
        if reply.status < 300:
            return reply
        try:
            raise _refusal(reply.status, await reply.read(), has_token=bool(self._headers))
        finally:
            await reply.aclose()

    async def _get(self, path: str, kind: type[T]) -> T:
        async with self._exchange.line() as line:
            return msgspec.json.decode(await self.call(line, "GET", path), type=kind)


def _frame(data: bytes) -> UXFrame | None:
    """A frame; None for a type that a later server has."""
    try:
        return decode_frame(data)
    except msgspec.DecodeError:
        return None


def _refusal(status: int, body: bytes, *, has_token: bool) -> Refused:
    try:
        told: Any = msgspec.json.decode(body)["error"]
        code, message = str(told["code"]), str(told["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        code, message = "unknown", f"the server answered {status}"
    if status == 401:
        what = "does not know this token" if has_token else "asks for a token"
        message = f"the server {what}: put one into HEADRACE_TOKEN, or name its file with\
 --token-file (headrace token create makes one)"
    return Refused(status, code, message)
