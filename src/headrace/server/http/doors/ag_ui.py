"""The routes under `/api/ag-ui`, for CopilotKit and other clients of AG-UI."""

from __future__ import annotations

import hashlib
import re

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.errors import UsageError
from headrace.messages import Message
from headrace.readers import InvalidRequest
from headrace.readers.ag_ui import AGUIRequest, read_request
from headrace.server.http.body import read_upload
from headrace.server.http.doors import stored_chat
from headrace.server.http.doors.stop import stop_answers
from headrace.server.http.doors.stored_chat import ends_at
from headrace.server.http.run_stream import begin_run, stream_run, watch
from headrace.server.http_error import DoorError, JSONResponse
from headrace.server.runs.client.client_name import conversation_id_for, idempotency_key_for
from headrace.server.runs.next_question import RunRequest
from headrace.server.runs.watchers import Watcher
from headrace.server.service import Service
from headrace.server.sse import NOTHING_SEEN, FrameId, SeenFrame, View
from headrace.server.storage.access_tokens import User
from headrace.server.storage.store import Conversation, InboxEntry, RunRow, RunStart

PROTOCOL = "ag-ui"
_IS_LAST = ends_at(b'{"type":"RUN_FINISHED"', b'{"type":"RUN_ERROR"')
# Longer than any position of a frame in a record.
_LAST_PLACE = 1_000_000
_MESSAGE_ID = re.compile(r"msg_[0-9a-f]{32}")


class AGUI:
    """The routes under `/api/ag-ui`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/api/ag-ui", self.run, methods=["POST"]),
            Route("/api/ag-ui/{thread_id:path}/stop", self.stop, methods=["POST"]),
        ]

    async def run(self, request: Request) -> Response:
        """Ask a question, or answer what a run waits for. The same `runId` is the same run."""
        service = self._service
        user = await service.user(request)
        service.quota.count_request(user.owner)
        asked = read_request(await read_upload(request, service.settings))
        stored_chat.check_name(asked.thread_id, "threadId")
        stored_chat.check_name(asked.run_id, "runId")
        conversation_id = conversation_id_for(user.owner, PROTOCOL, asked.thread_id)
        conversation = await stored_chat.find_conversation(service, user.owner, conversation_id)
        with watch(service, user) as watcher:
            response = await self._answer(user, asked, conversation, watcher)
            if response is not None:
                return response
            if not asked.request.messages:
                text = "nothing waits for this: the answer is complete"
                raise DoorError(409, "nothing_waits", text)
            start, run_request = await self._prepare(
                request, user, asked, conversation_id, conversation
            )
            run = await self._begin(request, user, start, run_request)
            return await self._stream(run, asked, watcher)

    async def stop(self, request: Request) -> Response:
        """Cancel the run of a thread that goes on or waits, and wait until it has ended."""
        owner = await self._service.owner(request)
        conversation_id = conversation_id_for(owner, PROTOCOL, request.path_params["thread_id"])
        was_live = await stop_answers(self._service, owner, conversation_id)
        return JSONResponse({"was_live": was_live})

    async def _begin(
        self, request: Request, user: User, start: RunStart, run_request: RunRequest
    ) -> RunRow:
        service = self._service
        repeated = await service.store.find_repeated(start)
        if repeated is not None:
            return repeated.run
        _, agent = service.models.find_agent(start.model)
        try:
            agent = run_request.prepare(agent)
        except UsageError as error:
            raise InvalidRequest(str(error), "tools") from None
        request_id = request.state.request_id
        return (await begin_run(service, start, agent, request_id, user=user)).run

    async def _prepare(
        self,
        request: Request,
        user: User,
        asked: AGUIRequest,
        conversation_id: str,
        conversation: Conversation | None,
    ) -> tuple[RunStart, RunRequest]:
        """Return the start of the run that answers a question."""
        service, wanted = self._service, asked.request
        effort = wanted.options.effort
        name = wanted.model or request.query_params.get("model")
        model, _ = service.models.find_agent(name, effort)
        run_request = RunRequest(
            door="ag-ui",
            quota_id=user.quota_id,
            effort=effort,
            instructions=wanted.instructions,
            external_tools=wanted.tools,
        )
        answer_id = _own_id(asked.answer_id)
        start = stored_chat.create_start(
            service,
            owner=user.owner,
            conversation_id=conversation_id,
            model=model,
            request=run_request,
            place=await stored_chat.find_place(service, user.owner, conversation, answer_id),
            question=wanted.messages[-1],
            key=idempotency_key_for(PROTOCOL, f"{asked.thread_id}\0{asked.run_id}"),
        )
        return start, run_request

    async def _answer(
        self, user: User, asked: AGUIRequest, conversation: Conversation | None, watcher: Watcher
    ) -> Response | None:
        """Answer what a run waits for, and stream how it goes on. Returns None if nothing waits
        for the answers. A new message beside them is passed on to the model."""
        service = self._service
        run = None
        if asked.answers:
            run = await stored_chat.find_asking_run(service, user.owner, conversation)
        if run is None:
            return None
        after = await stored_chat.answer_run(service, run, asked.answers)
        if after is None:
            return None
        if run.is_live and asked.request.messages:
            await self._add_message(run, asked, asked.request.messages[-1])
        seen = SeenFrame(FrameId(after, _LAST_PLACE), PROTOCOL)
        return await self._stream(run, asked, watcher, seen)

    async def _add_message(self, run: RunRow, asked: AGUIRequest, message: Message) -> None:
        identity = f"{run.id}\0{asked.run_id}"
        entry = InboxEntry(
            id=f"ent_{hashlib.sha256(identity.encode()).hexdigest()[:32]}",
            run_id=run.id,
            kind="steer",
            body={"text": message.text},
            created_ms=self._service.clock(),
        )
        await self._service.add_entry(run, entry)

    async def _stream(
        self, run: RunRow, asked: AGUIRequest, watcher: Watcher, seen: SeenFrame = NOTHING_SEEN
    ) -> Response:
        """Stream a run under the client's ids, as far as it goes without waiting for input."""
        view = View(PROTOCOL, (("run_id", asked.run_id), ("thread_id", asked.thread_id)))
        return await stream_run(self._service, run, view, watcher, seen=seen, is_last=_IS_LAST)


def _own_id(message_id: str | None) -> str | None:
    """Return the id of the stored answer that a message of the client is a part of."""
    if message_id is None:
        return None
    found = _MESSAGE_ID.match(message_id)
    return message_id if found is None else found[0]
