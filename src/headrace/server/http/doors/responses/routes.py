"""The routes under `/v1/responses`."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from headrace.events import JSONObject
from headrace.messages import Message
from headrace.projections.openai_responses import project_message
from headrace.projections.openai_responses.whole import project_records
from headrace.readers.openai_responses import ResponsesRequest, read_request
from headrace.server.api import MAX_KEY_CHARS
from headrace.server.http.body import read_upload
from headrace.server.http.doors.responses.compaction import Compaction
from headrace.server.http.doors.responses.frames import ResponseFrames, payload_of
from headrace.server.http.doors.responses.input import encode_items
from headrace.server.http.doors.responses.socket import ResponseSocket
from headrace.server.http.doors.responses.starter import ResponseStarter, StoredResponse
from headrace.server.http.doors.responses.unstored import start_unstored
from headrace.server.http.doors.responses.view import parse_view
from headrace.server.http.doors.unstored_answer import read_answer, start_answer, stream_answer
from headrace.server.http.event_stream import DeferredStream, EventStream, wait_for_departure
from headrace.server.http_error import DoorError, JSONResponse
from headrace.server.runs.unstored import STATUS
from headrace.server.service import Service
from headrace.server.sse import View
from headrace.server.storage.access_tokens import User

_DEFAULT_PAGE = 20
_MAX_PAGE = 100


class Responses:
    """The routes under `/v1/responses`."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._starter = ResponseStarter(service)
        self._compaction = Compaction(service, self._starter)

    @property
    def routes(self) -> list[BaseRoute]:
        """All of them."""
        one = "/v1/responses/{response_id}"
        return [
            Route("/v1/responses", self.create, methods=["POST"]),
            WebSocketRoute("/v1/responses", self.connect),
            Route("/v1/responses/compact", self.compact, methods=["POST"]),
            Route(one, self.retrieve, methods=["GET"]),
            Route(one, self.delete, methods=["DELETE"]),
            Route(f"{one}/cancel", self.cancel, methods=["POST"]),
            Route(f"{one}/input_items", self.list_input, methods=["GET"]),
        ]

    async def connect(self, websocket: Any) -> None:
        """Serve a client that asks over a WebSocket."""
        await ResponseSocket(self._service, self._starter, self._compaction, websocket).serve()

    # -- asking

    async def create(self, request: Request) -> Response:
        """Answer: streamed, whole, or in the background."""
        service = self._service
        user = await service.user(request)
        body = await read_upload(request, service.settings)
        # Before anything is asked: a wrong option is an error.
        parse_view(request)
        asked = read_request(await self._compaction.expand(user.owner, body))
        if asked.is_background and not asked.is_stored:
            text = "a response in the background must be stored"
            raise DoorError(400, "invalid_request", text, param="background")
        if not asked.is_stored:
            return await self._answer_unstored(request, user, asked)
        service.quota.count_request(user.owner)
        key = _parse_key(request)
        stored = await self._starter.start(user, asked, body, request.state.request_id, key)
        if asked.is_stream:
            view = stored.to_view(**parse_view(request))
            return await self._stream(user, stored, view, is_foreground=not asked.is_background)
        if asked.is_background:
            return JSONResponse(await self._read(user.owner, stored))
        return await self._wait(request, stored)

    async def _answer_unstored(
        self, request: Request, user: User, asked: ResponsesRequest
    ) -> Response:
        history: list[Message] = []
        if asked.previous_response_id is not None:
            previous = await self._starter.find_previous(user.owner, asked.previous_response_id)
            history = await self._starter.read_history(user.owner, previous)
        starting = start_unstored(self._service, user, asked, history)
        response = await start_answer(request, starting)
        if asked.is_stream:
            encoder = response.create_encoder(self._service.settings, **parse_view(request))
            return stream_answer(response.run, encoder, self._service.settings)
        return _to_response(response.project(await read_answer(request, response.run)))

    async def _stream(
        self,
        user: User,
        stored: StoredResponse,
        view: View,
        *,
        starting_after: int | None = None,
        is_foreground: bool = False,
    ) -> Response:
        service = self._service
        watcher = service.watchers.enter(user)
        try:
            watcher.join(stored.run.id)
            frames = ResponseFrames(await service.frames(stored.run, view), starting_after)
        except BaseException:
            watcher.leave()
            raise

        def end() -> None:
            watcher.leave()
            if is_foreground and not frames.is_over:
                # The client has left. Nobody waits for the rest.
                service.runs.cancel(stored.run.message_id)

        stream = EventStream(
            frames,
            heartbeat_s=service.settings.heartbeat_s,
            send_timeout_s=service.settings.send_timeout_s,
            on_end=end,
        )
        watcher.stop = stream.stop
        return DeferredStream(stream)

    async def _wait(self, request: Request, stored: StoredResponse) -> Response:
        """Wait for the end of a response. When the client leaves, the run ends."""
        frames = ResponseFrames(await self._service.frames(stored.run, stored.to_view()))
        reading = asyncio.create_task(_read_last(frames))
        leaving = asyncio.create_task(wait_for_departure(request.receive))
        try:
            await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                self._service.runs.cancel(stored.run.message_id)
                reading.cancel()
            last = await reading
        finally:
            leaving.cancel()
            reading.cancel()
            await asyncio.gather(reading, leaving, return_exceptions=True)
            await frames.aclose()
        return _to_response(msgspec.json.decode(payload_of(last))["response"])

    # -- stored responses

    async def retrieve(self, request: Request) -> Response:
        """Read a response, or stream it from any event on."""
        user = await self._service.user(request)
        stored = await self._starter.find(user.owner, request.path_params["response_id"])
        query = request.query_params
        if query.get("stream", "false").lower() not in ("true", "1"):
            return JSONResponse(await self._read(user.owner, stored))
        after = _parse_number(query.get("starting_after"), "starting_after")
        view = stored.to_view(**parse_view(request))
        return await self._stream(user, stored, view, starting_after=after)

    async def _read(self, owner: str, stored: StoredResponse) -> JSONObject:
        run = stored.run
        options = msgspec.json.encode(stored.options).decode()
        records = await self._service.log.read(run.id)
        if records or run.is_live:
            return project_records(
                run.message_id,
                records,
                options=options,
                stretch=stored.stretch,
                is_live=run.is_live,
            )
        branch = await self._service.store.branch(owner, run.message_id)
        return project_message(run.message_id, branch[-1].message, options=options)

    async def cancel(self, request: Request) -> Response:
        """Cancel a response; nothing happens if it is over."""
        service = self._service
        owner = await service.owner(request)
        stored = await self._starter.find(owner, request.path_params["response_id"])
        if stored.run.is_live:
            await self._starter.cancel(owner, stored)
            stored = await self._starter.find(owner, request.path_params["response_id"])
        return JSONResponse(await self._read(owner, stored))

    async def delete(self, request: Request) -> Response:
        """Delete a response together with its conversation, if no other response is in it."""
        service = self._service
        owner = await service.owner(request)
        stored = await self._starter.find(owner, request.path_params["response_id"])
        run = stored.run
        page = await service.store.messages(owner, run.conversation_id)
        answers = [one for one in page.messages if one.message.run_id not in (None, run.id)]
        if page.has_more or answers:
            text = "other responses are in the same conversation: delete the conversation"
            raise DoorError(409, "response_in_use", text)
        if run.is_live:
            await self._starter.cancel(owner, stored)
        run_ids = await service.store.delete(owner, run.conversation_id)
        await service.log.delete(run_ids)
        return JSONResponse({"id": stored.id, "object": "response", "deleted": True})

    async def list_input(self, request: Request) -> Response:
        """List the items that a response was asked with."""
        owner = await self._service.owner(request)
        stored = await self._starter.find(owner, request.path_params["response_id"])
        items = await self._read_input(owner, stored)
        query = request.query_params
        if query.get("order", "desc") != "asc":
            items.reverse()
        ids = [item["id"] for item in items]
        after = query.get("after")
        if after is not None:
            items = items[ids.index(after) + 1 :] if after in ids else []
        limit = _parse_number(query.get("limit"), "limit") or _DEFAULT_PAGE
        page = items[: min(limit, _MAX_PAGE)]
        ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {}
        more = len(page) < len(items)
        return JSONResponse({"object": "list", "data": page, **ends, "has_more": more})

    async def _read_input(self, owner: str, stored: StoredResponse) -> list[JSONObject]:
        branch = await self._service.store.branch(owner, stored.run.parent_id)
        # Answers of runs begin a new response; what follows the last one is the input.
        answers = [at for at, one in enumerate(branch) if one.message.run_id is not None]
        begin = answers[-1] + 1 if answers else 0
        items: list[JSONObject] = []
        for one in branch[begin:]:
            for number, item in enumerate(encode_items(one.message)):
                name = one.id if number == 0 else f"{one.id}_{number}"
                items.append({"id": name, "status": "completed"} | item)
        return items

    async def compact(self, request: Request) -> Response:
        """Summarize a conversation to one item that takes its place."""
        user = await self._service.user(request)
        body = await read_upload(request, self._service.settings)
        return JSONResponse(await self._compaction.compact(user, body))


async def _read_last(frames: ResponseFrames) -> bytes:
    async for _ in frames:
        pass
    if frames.last is None:
        raise DoorError(503, "interrupted", "the response ended without an end: read it again")
    return frames.last


def _to_response(body: JSONObject) -> Response:
    """Return a whole response. One that failed before it had any output is an error."""
    error = body["error"]
    if body["status"] == "failed" and not body["output"] and error is not None:
        status = STATUS.get(error["type"], 502)
        raise DoorError(status, error["code"], error["message"])
    return JSONResponse(body)


def _parse_number(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise DoorError(400, "invalid_request", f"{name} must be a number", param=name)
    return int(text)


def _parse_key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= MAX_KEY_CHARS:
        text = f"an Idempotency-Key has 1 to {MAX_KEY_CHARS} characters"
        raise DoorError(400, "invalid_request", text)
    return key
