"""Responses over a WebSocket: one request after the other on one connection.

Responses that are not stored can be continued on the connection that they were made on.
"""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress
from typing import Any

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from headrace.errors import HeadraceError
from headrace.events import JSONObject
from headrace.log import get_logger
from headrace.messages import Message
from headrace.readers import InvalidRequest
from headrace.readers.openai_responses import ResponsesRequest, read_request
from headrace.server.http.doors.responses.compaction import Compaction
from headrace.server.http.doors.responses.frames import ResponseFrames, payload_of
from headrace.server.http.doors.responses.input import join_input
from headrace.server.http.doors.responses.starter import ResponseStarter
from headrace.server.http.doors.responses.unstored import start_unstored
from headrace.server.http.doors.responses.view import parse_view
from headrace.server.http.error_map import to_http_error
from headrace.server.http.error_shape import openai_error_type
from headrace.server.http_error import HTTPError
from headrace.server.service import Service
from headrace.server.storage.access_tokens import User
from headrace.wire.json.value import as_object

_MAX_REMEMBERED = 8
_MAX_WAITING = 16
_GOING_AWAY = 1001
_POLICY_VIOLATION = 1008
_logger = get_logger("server")


class ResponseSocket:
    """One client that is connected by a WebSocket."""

    def __init__(
        self,
        service: Service,
        starter: ResponseStarter,
        compaction: Compaction,
        websocket: WebSocket,
    ) -> None:
        self._service = service
        self._starter = starter
        self._compaction = compaction
        self._socket = websocket
        self._view = parse_view(websocket)
        self._waiting: asyncio.Queue[str | None] = asyncio.Queue(_MAX_WAITING)
        # The conversations of responses that are not stored, by the id of the response.
        self._remembered: dict[str, list[Message]] = {}

    async def serve(self) -> None:
        """Answer requests until the client leaves. The run of a client that leaves ends."""
        user = await self._service.user(self._socket)
        watcher = self._service.watchers.enter(user)
        await self._socket.accept()
        receiving = asyncio.create_task(self._receive())
        answering = asyncio.create_task(self._answer_all(user))

        def stop() -> None:
            answering.cancel()

        watcher.stop = stop
        try:
            await asyncio.wait({receiving, answering}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            watcher.leave()
            for task in (receiving, answering):
                task.cancel()
            await asyncio.gather(receiving, answering, return_exceptions=True)
            with suppress(RuntimeError, WebSocketDisconnect):
                await self._socket.close(_GOING_AWAY)

    async def _receive(self) -> None:
        """Read requests. Those that come while another is answered wait."""
        with suppress(WebSocketDisconnect):
            while True:
                text = await self._socket.receive_text()
                if self._waiting.full():
                    await self._socket.close(_POLICY_VIOLATION, "too many requests wait")
                    return
                self._waiting.put_nowait(text)

    async def _answer_all(self, user: User) -> None:
        while True:
            text = await self._waiting.get()
            previous: str | None = None
            try:
                body = _parse(text or "")
                previous = body.get("previous_response_id")
                await self._answer(user, body)
            except (HTTPError, HeadraceError) as raised:
                self._remembered.pop(previous or "", None)
                await self._send_error(to_http_error(raised))
            except WebSocketDisconnect:
                return
            except Exception:
                _logger.exception("a request over a WebSocket failed")
                text = "internal error: look into the server's log"
                await self._send_error(HTTPError(500, "internal", text))

    async def _answer(self, user: User, body: JSONObject) -> None:
        service = self._service
        asked = read_request(await self._compaction.expand(user.owner, body))
        if asked.is_stored and asked.previous_response_id not in self._remembered:
            service.quota.count_request(user.owner)
            request_id = uuid.uuid4().hex
            stored = await self._starter.start(user, asked, body, request_id)
            frames = ResponseFrames(await service.frames(stored.run, stored.to_view(**self._view)))
            await self._send_stored(frames, stored.run.message_id)
            return
        await self._answer_unstored(user, asked)

    async def _send_stored(self, frames: ResponseFrames, message_id: str) -> None:
        try:
            async for batch in frames:
                await self._send_frames(batch)
        finally:
            if not frames.is_over:
                self._service.runs.cancel(message_id)
            await frames.aclose()

    async def _answer_unstored(self, user: User, asked: ResponsesRequest) -> None:
        previous = asked.previous_response_id
        history = None if previous is None else self._remembered.get(previous)
        if history is None and previous is not None:
            found = await self._starter.find_previous(user.owner, previous)
            history = await self._starter.read_history(user.owner, found)
        before = history or []
        response = await start_unstored(self._service, user, asked, before)
        run, encoder = response.run, response.create_encoder(self._service.settings, **self._view)
        last: list[bytes] = []
        try:
            while batch := await run.next_batch():
                await self._send_frames(encoder.feed(batch))
            last = encoder.close()
        finally:
            await run.aclose()
        # The client may go on as soon as it has the end.
        self._remember(response.id, [*before, *join_input(before, asked), run.message])
        await self._send_frames(last)

    async def _send_frames(self, frames: list[bytes]) -> None:
        for frame in frames:
            await self._socket.send_text(payload_of(frame).decode())

    def _remember(self, response_id: str, messages: list[Message]) -> None:
        """Keep a conversation that is not stored. Failed answers are not continued."""
        if messages[-1].error is not None:
            return
        if len(self._remembered) >= _MAX_REMEMBERED:
            self._remembered.pop(next(iter(self._remembered)))
        self._remembered[response_id] = messages

    async def _send_error(self, error: HTTPError) -> None:
        payload: dict[str, Any] = {
            "type": "error",
            "status": error.status,
            "error": {
                "type": openai_error_type(error.status),
                "code": error.code,
                "message": error.message,
                "param": error.more.get("param"),
            },
        }
        await self._socket.send_text(msgspec.json.encode(payload).decode())


def _parse(text: str) -> JSONObject:
    """Return the body of a `response.create` event."""
    try:
        body = as_object(msgspec.json.decode(text))
    except msgspec.DecodeError as error:
        raise InvalidRequest(f"the message is not JSON: {error}") from None
    if body.pop("type", None) != "response.create":
        raise InvalidRequest("expected an event of the type response.create", "type")
    if body.get("generate") is False:
        raise InvalidRequest("generate is not supported: every request is answered", "generate")
    if body.get("background"):
        raise InvalidRequest("background is not supported over a WebSocket", "background")
    return body
