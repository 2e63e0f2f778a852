"""The routes under `/api/chat`: ask, resume a stream, cancel."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.content import Content, TextContent
from headrace.engine import Agent
from headrace.messages import Message
from headrace.projections.registry import (
    DEFAULT_PROTOCOL,
    PROTOCOLS,
    ProtocolOption,
    protocol_names,
)
from headrace.server.api import MAX_KEY_CHARS, CancelResult, ChatRequest
from headrace.server.http.attachments import list_attachments, load_attachments
from headrace.server.http.body import read_body
from headrace.server.http.run_stream import begin_run, cancel_run, stream_run, watch
from headrace.server.http_error import HTTPError, JSONResponse
from headrace.server.runs.next_question import RunRequest
from headrace.server.service import Service
from headrace.server.sse import View, parse_seen_frame
from headrace.server.storage.access_tokens import User
from headrace.server.storage.store import InboxEntry, RunLive, RunRow, RunStart, StoredMessage

MAX_ATTACHMENTS = 10
"""Most files of one message."""


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
        model, agent = service.models.find_agent(body.model, body.effort)
        instructions = (await service.accounts.settings(user.owner)).get("instructions")
        asked = RunRequest(
            quota_id=user.quota_id, effort=body.effort, instructions=instructions or None
        )
        agent = asked.prepare(agent)
        start = _to_run_start(body, user.owner, model, _parse_key(request), service.clock())
        start = replace(start, request=msgspec.json.encode(asked).decode())
        # Before the run begins: a question whose answer cannot be watched is not asked.
        with watch(service, user) as watcher:
            # A request that was accepted once is answered even by a server that is stopping.
            run = await self._find_earlier(start, body)
            if run is None:
                run = await self._begin_with_files(request, user, start, agent, body)
            return await stream_run(service, run, view, watcher)

    async def _begin_with_files(
        self, request: Request, user: User, start: RunStart, agent: Agent, body: ChatRequest
    ) -> RunRow:
        """Begin a run, or add the message to one. Its files are a part of the message then."""
        try:
            files = await self._load_files(start.owner, body)
        except HTTPError:
            # The same request, sent twice at once, may have taken them.
            run = await self._find_earlier(start, body)
            if run is None:
                raise
            return run
        run = await self._begin_or_add(request, user, _add_files(start, files), agent, body)
        for file_id in body.attachments:
            await self._service.files.delete(start.owner, file_id)
        return run

    async def _load_files(self, owner: str, body: ChatRequest) -> tuple[Content, ...]:
        if len(body.attachments) > MAX_ATTACHMENTS:
            text = f"a message has at most {MAX_ATTACHMENTS} attachments"
            raise HTTPError(422, "too_many_attachments", text)
        if body.attachments or body.beside_id is None:
            return await load_attachments(self._service, owner, body.attachments)
        # An edited message keeps its files.
        branch = await self._service.store.branch(owner, body.beside_id)
        return tuple(list_attachments(branch[-1].message))

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
        self, request: Request, user: User, start: RunStart, agent: Agent, body: ChatRequest
    ) -> RunRow:
        """Begin a run, or give the message to the run that is going on, if the client wants it."""
        try:
            request_id = request.state.request_id
            return (await begin_run(self._service, start, agent, request_id, user=user)).run
        except RunLive as live:
            if body.mode == "reject" or body.message is None or body.attachments:
                raise
            message_id = live.message_id
        service = self._service
        run = await service.store.run(start.owner, message_id)
        entry = InboxEntry(
            id=_entry_id(start),
            run_id=run.id,
            kind=body.mode,
            body={"text": body.message, "quota_id": user.quota_id},
            created_ms=service.clock(),
        )
        await service.add_entry(run, entry)
        return run

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
        with watch(self._service, user) as watcher:
            return await stream_run(self._service, run, view, watcher, seen=seen)

    async def cancel(self, request: Request) -> Response:
        """Cancel a run; nothing happens if it is over."""
        owner = await self._service.owner(request)
        run = await self._service.store.run(owner, request.path_params["event_id"])
        was_live = await cancel_run(self._service, run)
        return JSONResponse(CancelResult(event_id=run.message_id, was_live=was_live))


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
        instructions=body.instructions or None,
    )


def _entry_id(start: RunStart) -> str:
    """Return the id of the inbox entry that a message becomes; the same for the same key."""
    if start.idempotency_key is None:
        return f"ent_{uuid.uuid4().hex}"
    identity = f"{start.owner}\0{start.idempotency_key}"
    return f"ent_{hashlib.sha256(identity.encode()).hexdigest()[:32]}"


def _add_files(start: RunStart, files: tuple[Content, ...]) -> RunStart:
    """Put files in front of the text of the new message."""
    if start.prompt is None or not files:
        return start
    message = start.prompt.message
    message = replace(message, content=(*files, *message.content))
    return replace(start, prompt=replace(start.prompt, message=message))


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
