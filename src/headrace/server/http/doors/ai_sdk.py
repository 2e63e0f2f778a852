"""The routes under `/api/ai-sdk/chat`, for `useChat` and other clients of the Vercel AI SDK."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.projections.ai_sdk.message import to_ui_message
from headrace.readers.ai_sdk import AISDKRequest, read_request
from headrace.server.api import MAX_PAGE, MAX_PAGE_BYTES, select_branch
from headrace.server.http.body import read_upload
from headrace.server.http.bounded_response import BoundedResponse
from headrace.server.http.doors import stored_chat
from headrace.server.http.doors.asked_requests import AskedRequests
from headrace.server.http.doors.stop import stop_answers
from headrace.server.http.doors.stored_chat import QuestionPlace, ends_at
from headrace.server.http.run_stream import begin_run, stream_run, watch
from headrace.server.http_error import DoorError, JSONResponse
from headrace.server.runs.client.client_name import conversation_id_for, idempotency_key_for
from headrace.server.runs.next_question import RunRequest
from headrace.server.runs.watchers import Watcher
from headrace.server.service import Service
from headrace.server.sse import FrameId, SeenFrame, View
from headrace.server.storage.access_tokens import User
from headrace.server.storage.store import (
    Conversation,
    MessageQuery,
    NotFound,
    RunRow,
    RunStart,
)

PROTOCOL = "ai-sdk"
_HEADERS = ((b"x-vercel-ai-ui-message-stream", b"v1"),)
_IS_LAST = ends_at(b"[DONE]")
# Longer than any position of a frame in a record.
_LAST_PLACE = 1_000_000
_NEWEST = MessageQuery(limit=MAX_PAGE, max_bytes=MAX_PAGE_BYTES)


class AISDKChat:
    """The routes under `/api/ai-sdk/chat`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def routes(self) -> list[Route]:
        path = "/api/ai-sdk/chat"
        return [
            Route(path, self.send, methods=["POST"]),
            Route(path + "/{chat_id:path}/stream", self.resume, methods=["GET"]),
            Route(path + "/{chat_id:path}/stop", self.stop, methods=["POST"]),
            Route(path + "/{chat_id:path}/messages", self.list_messages, methods=["GET"]),
        ]

    async def send(self, request: Request) -> Response:
        """Ask a question, have one answered again, or answer what a run waits for."""
        service = self._service
        user = await service.user(request)
        service.quota.count_request(user.owner)
        asked = read_request(await read_upload(request, service.settings))
        stored_chat.check_name(asked.chat_id, "id")
        conversation_id = conversation_id_for(user.owner, PROTOCOL, asked.chat_id)
        conversation = await stored_chat.find_conversation(service, user.owner, conversation_id)
        with watch(service, user) as watcher:
            if asked.answers or asked.question_id is None:
                return await self._answer(user, asked, conversation, watcher)
            start, agent_request = await self._prepare(user, asked, conversation_id, conversation)
            started = await service.store.find_repeated(start)
            if started is None:
                _, agent = service.models.find_agent(start.model)
                agent = agent_request.prepare(agent)
                request_id = request.state.request_id
                started = await begin_run(service, start, agent, request_id, user=user)
            return await self._stream(started.run, watcher, is_new=not started.is_repeated)

    async def _prepare(
        self,
        user: User,
        asked: AISDKRequest,
        conversation_id: str,
        conversation: Conversation | None,
    ) -> tuple[RunStart, RunRequest]:
        """Return the start of the run that answers a question."""
        service, owner = self._service, user.owner
        effort = asked.request.options.effort
        model, _ = service.models.find_agent(asked.request.model or None, effort)
        (question,) = asked.request.messages
        parent_id = await self._find_question(owner, asked, conversation)
        request = RunRequest(door="ai-sdk", quota_id=user.quota_id, effort=effort)
        if parent_id is not None:
            place = QuestionPlace(parent_id=parent_id)
        else:
            answer_id = asked.answer_id
            place = await stored_chat.find_place(service, owner, conversation, answer_id)
        start = stored_chat.create_start(
            service,
            owner=owner,
            conversation_id=conversation_id,
            model=model,
            request=request,
            place=place,
            question=None if parent_id is not None else question,
            key=self._key(asked),
        )
        return start, request

    def _key(self, asked: AISDKRequest) -> str | None:
        """Return the idempotency key of a new message: a client that sends it again, because it has
        lost the connection, gets the same answer. An edited message is a new one."""
        if asked.trigger != "submit-message" or asked.message_id is not None:
            return None
        return idempotency_key_for(PROTOCOL, f"{asked.chat_id}\0{asked.question_id}")

    async def _find_question(
        self, owner: str, asked: AISDKRequest, conversation: Conversation | None
    ) -> str | None:
        """Return the id of the stored question that is to be answered again, or None."""
        if asked.trigger != "regenerate-message" or conversation is None:
            return None
        store = self._service.store
        if asked.message_id is not None:
            try:
                run = await store.run(owner, asked.message_id)
            except NotFound:
                pass
            else:
                return run.parent_id if run.conversation_id == conversation.id else None
        (question,) = asked.request.messages
        return await stored_chat.find_question(self._service, owner, conversation, question)

    async def _answer(
        self, user: User, asked: AISDKRequest, conversation: Conversation | None, watcher: Watcher
    ) -> Response:
        """Answer what a run waits for, and stream how it goes on."""
        service = self._service
        run = await stored_chat.find_asking_run(service, user.owner, conversation)
        after = None
        if run is not None:
            after = await stored_chat.answer_run(service, run, asked.answers)
        if run is None or after is None:
            raise DoorError(409, "nothing_waits", "nothing waits for this: the answer is complete")
        seen = SeenFrame(FrameId(after, _LAST_PLACE), PROTOCOL)
        return await stream_run(
            service, run, View(PROTOCOL), watcher, seen=seen, headers=_HEADERS, is_last=_IS_LAST
        )

    async def _stream(self, run: RunRow, watcher: Watcher, *, is_new: bool = False) -> Response:
        """Stream a message from its beginning, as far as it goes without waiting for input."""
        service = self._service
        options: tuple[tuple[str, int], ...] = ()
        if not is_new:
            asked = AskedRequests(run.message_id, await service.log.read(run.id))
            if asked.position_before(asked.resumed_seq):
                options = (("joined_until", asked.resumed_seq),)
        view = View(PROTOCOL, options)
        return await stream_run(service, run, view, watcher, headers=_HEADERS, is_last=_IS_LAST)

    async def resume(self, request: Request) -> Response:
        """Stream the answer that is being written from its beginning, or return 204."""
        service = self._service
        user = await service.user(request)
        runs = await self._live_runs(user.owner, request.path_params["chat_id"])
        if not runs:
            return Response(status_code=204)
        with watch(service, user) as watcher:
            return await self._stream(runs[-1], watcher)

    async def stop(self, request: Request) -> Response:
        """Cancel the answers that are being written, and wait until they have ended."""
        service = self._service
        owner = await service.owner(request)
        conversation_id = conversation_id_for(owner, PROTOCOL, request.path_params["chat_id"])
        was_live = await stop_answers(service, owner, conversation_id)
        return JSONResponse({"was_live": was_live})

    async def list_messages(self, request: Request) -> Response:
        """Return the newest messages of the branch that is shown, for a page that is loaded."""
        service = self._service
        owner, store = await service.owner(request), service.store
        chat_id: str = request.path_params["chat_id"]
        conversation_id = conversation_id_for(owner, PROTOCOL, chat_id)
        conversation = await stored_chat.find_conversation(service, owner, conversation_id)
        if conversation is None:
            return JSONResponse({"id": chat_id, "messages": []})

        async def create() -> Response:
            page = await store.messages(owner, conversation_id, _NEWEST)
            branch = select_branch(page.messages, conversation.leaf_id)
            found = [to_ui_message(stored.message, stored.id) for stored in branch]
            return JSONResponse({"id": chat_id, "messages": found})

        size = await store.message_bytes(owner, conversation_id, _NEWEST)
        return BoundedResponse(service.response_budget, owner, size, create)

    async def _live_runs(self, owner: str, chat_id: str) -> list[RunRow]:
        conversation_id = conversation_id_for(owner, PROTOCOL, chat_id)
        return await self._service.store.live_under(owner, conversation_id)
