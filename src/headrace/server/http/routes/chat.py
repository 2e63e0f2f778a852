"""The routes under `/api/chat`: ask, resume a stream, cancel."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.content import TextContent
from headrace.engine import Agent
from headrace.errors import UsageError
from headrace.messages import Message
from headrace.projections.registry import (
    DEFAULT_PROTOCOL,
    PROTOCOLS,
    ProtocolOption,
    protocol_names,
)
from headrace.server.api import MAX_KEY_CHARS, CancelResult, ChatRequest
from headrace.server.http.body import read_body
from headrace.server.http.event_stream import DeferredStream, EventStream
from headrace.server.http_error import HTTPError, JSONResponse
from headrace.server.runs.next_question import RunRequest
from headrace.server.runs.watchers import Watcher
from headrace.server.service import Service
from headrace.server.sse import NOTHING_SEEN, SeenFrame, View, parse_seen_frame
from headrace.server.storage.access_tokens import User
from headrace.server.storage.database import StorageFailed
from headrace.server.storage.store import InboxEntry, RunLive, RunRow, RunStart, StoredMessage
from headrace.server.storage.usage.stored_bytes import read_stored_bytes


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
        """Start a run, or find the one that the same key has started, and stream it."""
        service = self._service
        user = await service.user(request)
        service.quota.count_request(user.owner)
        view = _parse_view(request)
        body = await read_body(request, ChatRequest, service.settings)
        model, agent = service.agent(body.model, body.effort)
        start = _to_run_start(body, user.owner, model, _parse_key(request), service.clock())
        # Before the run begins: a question whose answer cannot be watched is not asked.
        with self._watch(user) as watcher:
            # A request that was accepted once is answered even by a server that is stopping.
            run = await self._find_earlier(start, body)
            if run is None:
                run = await self._begin_or_add(request, start, agent, body)
            return await self._stream(run, view, NOTHING_SEEN, watcher)

    async def _find_earlier(self, start: RunStart, body: ChatRequest) -> RunRow | None:
        """Return the run that the same request has started or was added to, or None."""
        store = self._service.store
        repeated = await store.find_repeated(start)
        if repeated is not None:
            return repeated.run
        if start.idempotency_key is None or body.mode == "reject":
            return None
        entry = await store.find_entry(_entry_id(start))
        return None if entry is None else await store.find_run(start.owner, entry.run_id)

    async def _begin_or_add(
        self, request: Request, start: RunStart, agent: Agent, body: ChatRequest
    ) -> RunRow:
        """Begin a run, or give the message to the run that is going on, if the client wants it."""
        try:
            return await self._begin(request, start, agent)
        except RunLive as live:
            if body.mode == "reject" or body.message is None:
                raise
            message_id = live.message_id
        service = self._service
        run = await service.store.run(start.owner, message_id)
        entry = InboxEntry(
            id=_entry_id(start),
            run_id=run.id,
            kind=body.mode,
            body={"text": body.message},
            created_ms=service.clock(),
        )
        await service.add_entry(run, entry)
        return run

    async def _begin(self, request: Request, start: RunStart, agent: Agent) -> RunRow:
        service = self._service
        self._check_open()
        _check_agent(agent)
        stored_bytes = await read_stored_bytes(service.database, start.owner)
        service.quota.check_stored_bytes(stored_bytes)
        with service.quota.reserve(start.owner, start.run_id):
            started = await service.store.begin(start)
            if not started.is_repeated:
                branch = await service.store.branch(start.owner, started.run.parent_id)
                history = [stored.message for stored in branch]
                request_id = request.state.request_id
                await service.runs.begin(started.run, agent, history, request_id)
            return started.run

    async def resume(self, request: Request) -> Response:
        """Stream the frames after the last one that the client has received."""
        user = await self._service.user(request)
        run = await self._service.store.run(user.owner, request.path_params["event_id"])
        view = _parse_view(request)
        seen = parse_seen_frame(request.headers.get("last-event-id", "0"))
        if seen is None:
            raise HTTPError(
                400, "bad_id", "Last-Event-ID must be an id of this stream, such as 12.1"
            )
        with self._watch(user) as watcher:
            return await self._stream(run, view, seen, watcher)

    async def cancel(self, request: Request) -> Response:
        """Cancel a run; nothing happens if it is over."""
        owner = await self._service.owner(request)
        run = await self._service.store.run(owner, request.path_params["event_id"])
        was_live = run.is_live
        if was_live:
            entry = InboxEntry(
                id=f"ent_{uuid.uuid4().hex}",
                run_id=run.id,
                kind="cancel",
                body={"by": owner},
                created_ms=self._service.clock(),
            )
            try:
                await self._service.add_entry(run, entry)
            except StorageFailed:
                # A full disk must not keep anybody from stopping a run.
                was_live = self._service.runs.cancel(run.message_id)
        return JSONResponse(CancelResult(event_id=run.message_id, was_live=was_live))

    @contextmanager
    def _watch(self, user: User) -> Generator[Watcher, None, None]:
        """Count a stream that is about to be opened, unless the block raises."""
        watcher = self._service.watchers.enter(user)
        try:
            yield watcher
        except BaseException:
            watcher.leave()
            raise

    async def _stream(self, run: RunRow, view: View, seen: SeenFrame, watcher: Watcher) -> Response:
        watcher.join(run.id)
        frames = await self._service.frames(run, view, seen)
        headers = [
            (b"x-event-id", run.message_id.encode()),
            (b"x-conversation-id", run.conversation_id.encode()),
            (b"x-parent-id", run.parent_id.encode()),
        ]
        settings = self._service.settings
        stream = EventStream(
            frames,
            heartbeat_s=settings.heartbeat_s,
            send_timeout_s=settings.send_timeout_s,
            headers=headers,
            on_end=watcher.leave,
        )
        watcher.stop = stream.stop
        return DeferredStream(stream)

    def _check_open(self) -> None:
        if self._service.runs.is_draining or not self._service.is_ready:
            text = "the server is starting or stopping: try again soon"
            raise HTTPError(503, "stopping", text, retry_after_s=1.0)


def _check_agent(agent: Agent) -> None:
    """Refuse a model that can never be asked, before anything is stored."""
    try:
        agent.check()
    except UsageError as error:
        raise HTTPError(422, "cannot_ask", str(error)) from None


def _parse_view(request: Request) -> View:
    """Return the protocol of the query and its options."""
    name = request.query_params.get("protocol", DEFAULT_PROTOCOL)
    if name not in PROTOCOLS:
        raise HTTPError(422, "unknown_protocol", f"the protocols are {protocol_names()}")
    options: dict[str, Any] = {}
    for protocol in PROTOCOLS.values():
        for option in protocol.options:
            text = request.query_params.get(option.name)
            if text is None:
                continue
            if option not in PROTOCOLS[name].options:
                message = f"the {name} protocol has no option {option.name}"
                raise HTTPError(400, "bad_option", message)
            options[option.name] = _parse_option(option, text)
    return View(name, tuple(sorted(options.items())))


def _parse_option(option: ProtocolOption, text: str) -> Any:
    try:
        return option.parse(text)
    except ValueError as error:
        raise HTTPError(400, "bad_option", str(error)) from None


def _parse_key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= MAX_KEY_CHARS:
        raise HTTPError(400, "bad_key", f"an Idempotency-Key has 1 to {MAX_KEY_CHARS} characters")
    return key


def _to_run_start(
    body: ChatRequest, owner: str, model: str, key: str | None, now_ms: int
) -> RunStart:
    if body.message is None and body.parent_id is None:
        text = "send a message, or the parent_id of a message to answer again"
        raise HTTPError(422, "no_message", text)
    if body.message is not None and not body.message.strip():
        raise HTTPError(422, "no_message", "the message is empty")
    has_place = body.beside_id or (body.message and body.parent_id)
    if has_place and (body.message is None or body.conversation_id is None):
        text = "a message with parent_id or beside_id needs a conversation_id as well"
        raise HTTPError(422, "no_conversation", text)
    conversation_id = body.conversation_id
    if body.message is not None and conversation_id is None:
        conversation_id = f"conv_{uuid.uuid4().hex}"
    return RunStart(
        owner=owner,
        run_id=f"run_{uuid.uuid4().hex}",
        message_id=f"msg_{uuid.uuid4().hex}",
        model=model,
        now_ms=now_ms,
        fingerprint=hashlib.sha256(msgspec.json.encode(body)).hexdigest(),
        idempotency_key=key,
        conversation_id=conversation_id,
        parent_id=body.parent_id,
        beside_id=body.beside_id,
        prompt=_to_prompt(body, conversation_id, now_ms),
        is_branch=body.is_branch,
        is_new=body.conversation_id is None,
        request=msgspec.json.encode(RunRequest(effort=body.effort)).decode(),
    )


def _entry_id(start: RunStart) -> str:
    """Return the id of the inbox entry that a message becomes; the same for the same key."""
    if start.idempotency_key is None:
        return f"ent_{uuid.uuid4().hex}"
    identity = f"{start.owner}\0{start.idempotency_key}"
    return f"ent_{hashlib.sha256(identity.encode()).hexdigest()[:32]}"


def _to_prompt(body: ChatRequest, conversation_id: str | None, now_ms: int) -> StoredMessage | None:
    if body.message is None or conversation_id is None:
        return None
    content = (TextContent(body.message),)
    return StoredMessage(
        id=f"msg_{uuid.uuid4().hex}",
        conversation_id=conversation_id,
        parent_id=body.parent_id,
        message=Message(role="user", content=content, created_at_ms=now_ms),
    )
