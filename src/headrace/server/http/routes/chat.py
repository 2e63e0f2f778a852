"""Chat: ask, watch, resume, cancel."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.content import TextContent
from headrace.encoders import Effort
from headrace.engine import Agent
from headrace.errors import UsageError
from headrace.messages import Message
from headrace.server.http.body import body_of
from headrace.server.http.event_stream import EventStream, StreamedResponse
from headrace.server.http_error import JSON, Problem
from headrace.server.protocol import PROTOCOLS
from headrace.server.runs.stored_frames import Past
from headrace.server.service import Service
from headrace.server.sse import START, FrameId, frame_id, number_of
from headrace.server.storage.store import Begun, RunRow, Start, StoredMessage

MAX_KEY_CHARS = 200


class Ask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /api/chat`."""

    message: str | None = None
    """What the user says; left out to have an old message answered again."""
    conversation_id: str | None = None
    parent_id: str | None = None
    """The message that this one follows, or that is answered again."""
    beside_id: str | None = None
    """The user's message that this one is another form of: it becomes a branch beside it."""
    model: str | None = None
    """One of those that the server has; the first where it is left out."""
    effort: Effort | None = None
    """How hard to think; as the agent has it where it is left out."""
    is_branch: bool = False
    """Whether a live answer to the same message may go on beside this one."""


class Chat:
    """The routes under `/api/chat`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/api/chat", self.ask, methods=["POST"]),
            Route("/api/chat/{event_id}/stream", self.resume, methods=["GET"]),
            Route("/api/chat/{event_id}/cancel", self.cancel, methods=["POST"]),
        ]

    async def ask(self, request: Request) -> Response:
        """Begin a run, or find the one that the same key has begun, and stream it."""
        service = self._service
        owner = await service.owner(request)
        service.room.admit(owner)
        protocol = _protocol(request)
        ask = await body_of(request, Ask, service.settings.max_body_bytes)
        model, agent = service.agent(ask.model, ask.effort)
        start = _start(ask, owner, model, _key(request), service.clock())
        # What was taken once is answered also by a server that is stopping.
        begun = await service.store.repeated(start) or await self._begin(start, agent)
        return await self._stream(begun, protocol, START)

    async def _begin(self, start: Start, agent: Agent) -> Begun:
        service = self._service
        self._check_open()
        _check_asking(agent)
        with service.room.place(start.owner, start.run_id):
            begun = await service.store.begin(start)
            if not begun.is_repeated:
                branch = await service.store.branch(start.owner, begun.run.parent_id)
                history = [stored.message for stored in branch]
                await service.runs.begin(begun.run, agent, history)
            return begun

    async def resume(self, request: Request) -> Response:
        """The frames behind the last one that the client has seen."""
        owner = await self._service.owner(request)
        run = await self._service.store.run(owner, request.path_params["event_id"])
        seen = request.headers.get("last-event-id", "0")
        after = frame_id(seen)
        if after is None:
            raise Problem(400, "bad_id", "Last-Event-ID is an id of this stream, such as 12.1")
        return await self._stream(Begun(run=run), _protocol(request), after)

    async def cancel(self, request: Request) -> Response:
        """Ask a run to end; one that is over stays as it is."""
        owner = await self._service.owner(request)
        run = await self._service.store.run(owner, request.path_params["event_id"])
        return JSON(
            {"event_id": run.message_id, "was_live": self._service.runs.cancel(run.message_id)}
        )

    async def _stream(self, begun: Begun, protocol: str, after: FrameId) -> Response:
        run, settings = begun.run, self._service.settings
        await self._service.room.settled(run.id)
        live = self._service.runs.get(run.message_id)
        if live is None:
            frames = await self._past(run, protocol, after)
        elif live.has_shown(after):
            frames = live.watch(protocol, after)
        else:
            raise _unknown(run, after)
        headers = [
            (b"x-event-id", run.message_id.encode()),
            (b"x-conversation-id", run.conversation_id.encode()),
            (b"x-parent-id", run.parent_id.encode()),
        ]
        stream = EventStream(
            frames,
            heartbeat_s=settings.heartbeat_s,
            send_timeout_s=settings.send_timeout_s,
            headers=headers,
        )
        return StreamedResponse(stream)

    async def _past(self, run: RunRow, protocol: str, after: FrameId) -> AsyncIterator[list[bytes]]:
        """The frames of a run that is over. The first are looked for at once: whether there are
        any decides what the answer is."""
        past = Past(self._service.kept(run), PROTOCOLS[protocol](run, None), after)
        first = await anext(past, None)
        if first is None:
            await past.aclose()
        if past.newest is None:
            text = "the stream is no longer kept: read the answer from its conversation"
            raise Problem(410, "expired", text, conversation_id=run.conversation_id)
        if after > number_of(past.newest):
            raise _unknown(run, after)
        return _whole(first, past)

    def _check_open(self) -> None:
        if self._service.runs.is_draining or not self._service.is_ready:
            text = "the server is starting or stopping: try again soon"
            raise Problem(503, "stopping", text, retry_after_s=1.0)


def _unknown(run: RunRow, after: FrameId) -> Problem:
    """What a client has seen is not there: a power cut may take the last moments. It would wait
    for an end that never comes, so it is sent to what there is."""
    text = f"the stream has no frame {after}: read the answer from its conversation"
    return Problem(410, "unknown_frame", text, conversation_id=run.conversation_id)


def _check_asking(agent: Agent) -> None:
    """What the model can never be asked is refused before anything is stored."""
    try:
        agent.run("")
    except UsageError as error:
        raise Problem(422, "cannot_ask", str(error)) from None


async def _whole(first: list[bytes] | None, rest: Past) -> AsyncIterator[list[bytes]]:
    async with aclosing(rest):
        if first:
            yield first
        async for frames in rest:
            yield frames


def _protocol(request: Request) -> str:
    name = request.query_params.get("protocol", next(iter(PROTOCOLS)))
    if name not in PROTOCOLS:
        raise Problem(422, "unknown_protocol", f"there are {', '.join(PROTOCOLS)}")
    return name


def _key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= MAX_KEY_CHARS:
        raise Problem(400, "bad_key", f"an Idempotency-Key has 1 to {MAX_KEY_CHARS} characters")
    return key


def _start(ask: Ask, owner: str, model: str, key: str | None, now_ms: int) -> Start:
    if ask.message is None and ask.parent_id is None:
        raise Problem(422, "no_message", "send a message, or the parent_id of one to answer again")
    if ask.message is not None and not ask.message.strip():
        raise Problem(422, "no_message", "the message is empty")
    follows = ask.beside_id or (ask.message and ask.parent_id)
    if follows and (ask.message is None or ask.conversation_id is None):
        text = "parent_id and beside_id of a message go with its conversation_id"
        raise Problem(422, "no_conversation", text)
    conversation_id = ask.conversation_id
    if ask.message is not None and conversation_id is None:
        conversation_id = f"conv_{uuid.uuid4().hex}"
    return Start(
        owner=owner,
        run_id=f"run_{uuid.uuid4().hex}",
        message_id=f"msg_{uuid.uuid4().hex}",
        model=model,
        now_ms=now_ms,
        fingerprint=hashlib.sha256(msgspec.json.encode(ask)).hexdigest(),
        idempotency_key=key,
        conversation_id=conversation_id,
        parent_id=ask.parent_id,
        beside_id=ask.beside_id,
        prompt=_prompt(ask, conversation_id, now_ms),
        is_branch=ask.is_branch,
        is_new=ask.conversation_id is None,
    )


def _prompt(ask: Ask, conversation_id: str | None, now_ms: int) -> StoredMessage | None:
    if ask.message is None or conversation_id is None:
        return None
    content = (TextContent(ask.message),)
    return StoredMessage(
        id=f"msg_{uuid.uuid4().hex}",
        conversation_id=conversation_id,
        parent_id=ask.parent_id,
        message=Message(role="user", content=content, created_at_ms=now_ms),
    )
