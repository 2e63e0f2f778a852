"""The routes `/v1/messages` and `/v1/messages/count_tokens`, for clients of Anthropic's API."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.projections.anthropic_messages import ErrorBody, build_message
from headrace.readers.anthropic_messages import MessagesRequest, read_request
from headrace.server.http.body import read_upload
from headrace.server.http.doors.unstored_answer import (
    PlainFrameEncoder,
    describe_failure,
    read_answer,
    start_answer,
    stream_answer,
)
from headrace.server.http_error import JSONResponse
from headrace.server.service import Service

_PROTOCOL: Final = "anthropic-messages"


class Messages:
    """The routes of the Messages API."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/v1/messages", self.create, methods=["POST"]),
            Route("/v1/messages/count_tokens", self.count_tokens, methods=["POST"]),
        ]

    async def create(self, request: Request) -> Response:
        """Answer a request, as a stream or as a whole."""
        service = self._service
        user = await service.user(request)
        body = await read_upload(request, service.settings)
        asked = _add_betas(read_request(body), request.headers.get("anthropic-beta", ""))
        name = asked.request.model
        offer = service.models.find_offer(user, name, asked.request.options.effort)
        run = await start_answer(request, service.unstored.start(user, _PROTOCOL, offer, asked))
        response_id = "msg_" + run.id.removeprefix("run_")
        if asked.is_stream:
            encoder = PlainFrameEncoder(_PROTOCOL, response_id, model=name)
            return stream_answer(run, encoder, service.settings)
        records = await read_answer(request, run)
        message = build_message(records, response_id=response_id, model=name)
        if isinstance(message, ErrorBody):
            raise describe_failure(run, message.message)
        return JSONResponse(message)

    async def count_tokens(self, request: Request) -> Response:
        """Count the input tokens of a request."""
        service = self._service
        user = await service.user(request)
        service.quota.count_request(user.owner)
        asked = read_request(await read_upload(request, service.settings), counts_tokens=True)
        offer = service.models.find_offer(user, asked.request.model)
        count = await offer.count_tokens(asked)
        return JSONResponse({"input_tokens": count.tokens})


def _add_betas(asked: MessagesRequest, header: str) -> MessagesRequest:
    """Return the request with the beta features that its client names in a header."""
    names = tuple(name.strip() for name in header.split(",") if name.strip())
    if not names:
        return asked
    options = msgspec.structs.replace(asked.request.options, betas=names)
    changed = msgspec.structs.replace(asked.request, options=options)
    return msgspec.structs.replace(asked, request=changed)
