"""The routes under `/api/files`, and the attachments of messages."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Final
from urllib.parse import quote, unquote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.server.http.attachments import list_attachments, name_of, to_http_error
from headrace.server.http_error import HTTPError, JSONResponse, media_type
from headrace.server.service import Service
from headrace.server.storage.files import FileRefused
from headrace.server.storage.files.file_type import IMAGES

_UPLOAD_S: Final = 600.0
# A file is saved or drawn, and never opened as a page of the server.
_POLICY = "sandbox; default-src 'none'"


class FileRoutes:
    """The routes under `/api/files`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def routes(self) -> list[Route]:
        message = "/api/conversations/{conversation_id}/messages/{message_id}"
        return [
            Route("/api/files", self.upload, methods=["POST"]),
            Route("/api/files/{file_id}", self.delete, methods=["DELETE"]),
            Route(f"{message}/attachments/{{n}}", self.read, methods=["GET"]),
        ]

    async def upload(self, request: Request) -> Response:
        """Store the body of a request as a file of the user, for a message that is sent later."""
        service = self._service
        owner = await service.owner(request)
        service.quota.count_request(owner)
        # A page of another site cannot send this type without being asked.
        if media_type(request.headers.get("content-type", "")) != "application/octet-stream":
            raise HTTPError(415, "not_bytes", "send Content-Type: application/octet-stream")
        name = unquote(request.headers.get("x-file-name", ""))
        try:
            async with asyncio.timeout(_UPLOAD_S):
                chunks = self._receive(request)
                info = await service.files.save(owner, name, chunks, service.clock())
        except FileRefused as error:
            raise to_http_error(error) from None
        except TimeoutError:
            raise HTTPError(408, "too_slow", "the file took too long to arrive") from None
        except ClientDisconnect:
            raise HTTPError(400, "cut", "the file is incomplete") from None
        return JSONResponse(info)

    async def _receive(self, request: Request) -> AsyncIterator[bytes]:
        """Iterate over the body; a client that stops sending is not waited for."""
        stream = request.stream().__aiter__()
        while True:
            async with asyncio.timeout(self._service.settings.body_timeout_s):
                try:
                    chunk = await anext(stream)
                except StopAsyncIteration:
                    return
            yield chunk

    async def delete(self, request: Request) -> Response:
        """Delete a file that was not sent."""
        owner = await self._service.owner(request)
        if not await self._service.files.delete(owner, request.path_params["file_id"]):
            raise HTTPError(404, "no_file", "there is no such file")
        return Response(status_code=204)

    async def read(self, request: Request) -> Response:
        """Return an attachment of a message of the user."""
        owner = await self._service.owner(request)
        branch = await self._service.store.branch(owner, request.path_params["message_id"])
        stored = branch[-1]
        found = list_attachments(stored.message)
        numbers = [str(number) for number in range(len(found))]
        is_there = stored.conversation_id == request.path_params["conversation_id"]
        if not is_there or request.path_params["n"] not in numbers:
            raise HTTPError(404, "not_found", "there is no such attachment")
        entry = found[int(request.path_params["n"])]
        kind = entry.media_type if entry.media_type in IMAGES else "application/octet-stream"
        name = quote(name_of(entry), safe="")
        headers = {
            "content-disposition": f"attachment; filename*=UTF-8''{name}",
            "content-security-policy": _POLICY,
        }
        data = base64.b64decode(entry.data or "")
        return Response(data, media_type=kind, headers=headers)
