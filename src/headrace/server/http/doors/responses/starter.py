"""Starts responses: finds the one before, stores the input, and begins the run."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Sequence
from typing import Any

import msgspec

from headrace.engine import Agent
from headrace.errors import UsageError
from headrace.events import JSONObject, RunSuspended
from headrace.messages import Assembler, InputRequest, Message
from headrace.projections.openai_responses import (
    ResponseProfile,
    approval_id,
    make_response_id,
    parse_response_id,
)
from headrace.readers.openai_responses import SECRET_FIELDS, Approval, ResponsesRequest
from headrace.server.http.doors.responses.input import join_input
from headrace.server.http.doors.responses.offer import to_agent_offer
from headrace.server.http_error import DoorError, HTTPError
from headrace.server.runs.next_question import read_run_request
from headrace.server.service import Service
from headrace.server.sse import View
from headrace.server.storage.access_tokens import User
from headrace.server.storage.store import (
    InboxEntry,
    NotFound,
    RunRow,
    RunStart,
    StoredMessage,
)

PROTOCOL = "openai-responses"
_CANCEL_WAIT_S = 5.0


class StoredResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A response that is stored: a run, or a part of one that waited for approvals."""

    run: RunRow
    stretch: int = 0
    """Number of times that the run has waited for approvals before this response began."""
    options: ResponseProfile
    is_waiting: bool = False
    """Whether the run waits for approvals."""

    @property
    def id(self) -> str:
        return make_response_id(self.run.message_id, self.stretch)

    def to_view(self, **more: Any) -> View:
        """Return how its frames are made, with `more` options of the protocol."""
        text = msgspec.json.encode(self.options).decode()
        options = {"options": text, "stretch": self.stretch, **more}
        return View(PROTOCOL, tuple(sorted(options.items())))


class ResponseStarter:
    """Starts responses of the users of one server."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def find(self, owner: str, response_id: str) -> StoredResponse:
        """Return a stored response. Raises an `HTTPError` of 404."""
        parsed = parse_response_id(response_id)
        try:
            if parsed is None:
                raise NotFound(response_id)
            message_id, stretch = parsed
            run = await self._service.store.run(owner, message_id)
        except NotFound:
            text = f"Response with id '{response_id[:100]}' not found."
            raise DoorError(404, "not_found", text) from None
        options = read_run_request(run).response or ResponseProfile(
            request={"model": run.model}, label=run.model
        )
        return StoredResponse(run=run, stretch=stretch, options=options)

    async def find_previous(self, owner: str, response_id: str) -> StoredResponse:
        """Return the response that a request goes on from. Raises an `HTTPError` of 400 if there
        is none."""
        try:
            found = await self.find(owner, response_id)
        except DoorError:
            text = f"Previous response with id '{response_id[:100]}' not found."
            more = {"param": "previous_response_id"}
            raise DoorError(400, "previous_response_not_found", text, **more) from None
        is_waiting = found.run.is_suspended or await self._is_waiting(found.run)
        if found.run.is_live and not is_waiting:
            text = f"Previous response '{response_id[:100]}' is still in progress."
            more = {"param": "previous_response_id"}
            raise DoorError(400, "previous_response_in_progress", text, **more)
        return msgspec.structs.replace(found, is_waiting=is_waiting)

    async def _is_waiting(self, run: RunRow) -> bool:
        """Return whether a run waits for input although its row does not say so yet: the client
        has read the end of the response, and the row is written after that."""
        records = await self._service.log.read(run.id) if run.is_live else []
        return bool(records) and isinstance(records[-1].event, RunSuspended)

    async def read_history(self, owner: str, previous: StoredResponse) -> list[Message]:
        """Return the messages up to a response, which must have ended."""
        if previous.is_waiting:
            text = "the response before waits for approvals: send an mcp_approval_response"
            raise DoorError(400, "approval_required", text, param="input")
        branch = await self._service.store.branch(owner, previous.run.message_id)
        return [stored.message for stored in branch]

    async def start(
        self,
        user: User,
        asked: ResponsesRequest,
        body: JSONObject,
        request_id: str,
        key: str | None = None,
    ) -> StoredResponse:
        """Store the input and start the run, or find the one that the same key has started. A run
        that starts is counted for the limits of the user. Raises an `HTTPError`."""
        service = self._service
        _check_stored(asked)
        offer = to_agent_offer(
            service.models.find_offer(user, asked.request.model, asked.request.options.effort)
        )
        previous = None
        history: list[Message] = []
        if asked.previous_response_id is not None:
            previous = await self.find_previous(user.owner, asked.previous_response_id)
            if previous.is_waiting and asked.approvals:
                return await self._answer(user.owner, previous, asked.approvals)
            history = await self.read_history(user.owner, previous)
        if asked.approvals:
            raise DoorError(400, "invalid_request", "nothing waits for an approval", param="input")
        messages = join_input(history, asked)
        request = msgspec.structs.replace(offer.prepare_run(asked), quota_id=user.quota_id)
        now_ms = service.clock()
        conversation_id = (
            f"conv_{uuid.uuid4().hex}" if previous is None else previous.run.conversation_id
        )
        *earlier, prompt = [_to_stored(one, conversation_id, now_ms) for one in messages]
        start = RunStart(
            owner=user.owner,
            run_id=f"run_{uuid.uuid4().hex}",
            message_id=f"msg_{uuid.uuid4().hex}",
            model=offer.name,
            now_ms=now_ms,
            fingerprint=hashlib.sha256(msgspec.json.encode(body)).hexdigest(),
            idempotency_key=None if key is None else f"responses {key}",
            conversation_id=conversation_id,
            is_new=previous is None,
            parent_id=None if previous is None else previous.run.message_id,
            earlier=tuple(earlier),
            prompt=prompt,
            is_branch=True,
            request=msgspec.json.encode(request).decode(),
        )
        assert request.response is not None
        repeated = await service.store.find_repeated(start)
        if repeated is not None:
            return StoredResponse(run=repeated.run, options=request.response)
        run = await self._begin(user, start, request.prepare(offer.agent), request_id)
        return StoredResponse(run=run, options=request.response)

    async def _begin(self, user: User, start: RunStart, agent: Agent, request_id: str) -> RunRow:
        service = self._service
        if service.runs.is_draining or not service.is_ready:
            text = "the server is starting or stopping: try again soon"
            raise HTTPError(503, "stopping", text, retry_after_s=1.0)
        try:
            agent.check()
        except UsageError as error:
            raise DoorError(400, "cannot_ask", str(error)) from None
        stored_bytes = await service.storage.stored_bytes(start.owner)
        service.quota.check_stored_bytes(stored_bytes)
        agent, start = await service.models.pin_tools(agent, start)
        with service.quota.reserve(start.owner, start.run_id):
            await service.count_use(user)
            started = await service.store.begin(start)
            if not started.is_repeated:
                branch = await service.store.branch(start.owner, started.run.parent_id)
                history = [stored.message for stored in branch]
                await service.runs.begin(started.run, agent, history, request_id)
            return started.run

    async def _answer(
        self, owner: str, previous: StoredResponse, approvals: Sequence[Approval]
    ) -> StoredResponse:
        """Answer what a run waits for. Its next part is another response."""
        service, run = self._service, previous.run
        waiting = await self._find_requests(run)
        answers = {approval.item_id: approval for approval in approvals}
        names = {approval_id(request.request_id) for request in waiting}
        unknown = [item_id for item_id in answers if item_id not in names]
        if unknown:
            text = f"no request for approval '{unknown[0][:100]}' is open"
            raise DoorError(400, "approval_not_found", text, param="input")
        missing = [item_id for item_id in names if item_id not in answers]
        if missing:
            text = f"the request for approval '{missing[0]}' is not answered"
            raise DoorError(400, "approval_required", text, param="input")
        for request in waiting:
            answer = answers[approval_id(request.request_id)]
            entry = InboxEntry(
                id=f"ent_{uuid.uuid4().hex}",
                run_id=run.id,
                kind="answer",
                request_id=request.request_id,
                body={
                    "decision": "accepted" if answer.is_approved else "denied",
                    "value": None,
                    "is_always": False,
                    "reason": answer.reason,
                    "by": owner,
                },
                created_ms=service.clock(),
            )
            await service.store.add_entry(entry)
        await service.runs.wake(run)
        echo = previous.options.request | {"previous_response_id": previous.id}
        options = msgspec.structs.replace(previous.options, request=echo)
        row = await service.store.run(owner, run.message_id)
        return StoredResponse(run=row, stretch=previous.stretch + 1, options=options)

    async def cancel(self, owner: str, stored: StoredResponse) -> None:
        """Cancel a response, and wait until it has ended."""
        service, run = self._service, stored.run
        entry = InboxEntry(
            id=f"ent_{uuid.uuid4().hex}",
            run_id=run.id,
            kind="cancel",
            body={"by": owner},
            created_ms=service.clock(),
        )
        await service.add_entry(run, entry)
        live = service.runs.get(run.message_id)
        if live is not None and live.task is not None:
            await asyncio.wait([live.task], timeout=_CANCEL_WAIT_S)

    async def _find_requests(self, run: RunRow) -> list[InputRequest]:
        """Return the requests for approval that a run waits for."""
        assembler = Assembler()
        for record in await self._service.log.read(run.id):
            assembler.feed(record)
        return [one for one in assembler.open_requests() if one.kind == "approval"]


def _check_stored(asked: ResponsesRequest) -> None:
    """Refuse what can only be passed on, and what must not be stored."""
    if asked.same_grammar_only is not None:
        raise asked.same_grammar_only
    if any(tool.get(name) for tool in asked.provider_tools for name in SECRET_FIELDS):
        text = "passwords of MCP servers are not stored: ask with store=false"
        raise DoorError(400, "invalid_request", text, param="tools")


def _to_stored(message: Message, conversation_id: str, now_ms: int) -> StoredMessage:
    return StoredMessage(
        id=f"msg_{uuid.uuid4().hex}",
        conversation_id=conversation_id,
        parent_id=None,
        message=msgspec.structs.replace(message, created_at_ms=now_ms),
    )
