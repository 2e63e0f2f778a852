"""The route `/v1/chat/completions`, for clients of OpenAI's Chat Completions API."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.projections.openai_chat import ErrorBody, build_completion
from headrace.projections.registry import find_protocol
from headrace.readers.openai_chat import read_request
from headrace.server.http.body import read_upload
from headrace.server.http.doors.unstored_answer import (
    PlainFrameEncoder,
    describe_failure,
    read_answer,
    start_answer,
    stream_answer,
)
from headrace.server.http_error import DoorError, JSONResponse
from headrace.server.service import Service

_PROTOCOL: Final = "openai-chat"


class ChatCompletions:
    """The route `/v1/chat/completions`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def routes(self) -> list[Route]:
        return [Route("/v1/chat/completions", self.create, methods=["POST"])]

    async def create(self, request: Request) -> Response:
        """Answer a request, as a stream or as a whole."""
        service = self._service
        user = await service.user(request)
        options = _read_view(request)
        asked = read_request(await read_upload(request, service.settings))
        name = asked.request.model
        offer = service.models.find_offer(user, name, asked.request.options.effort)
        run = await start_answer(request, service.unstored.start(user, _PROTOCOL, offer, asked))
        response_id = "chatcmpl-" + run.id.removeprefix("run_")
        options["model"] = name
        if asked.is_stream:
            options["include_usage"] = asked.include_usage
            encoder = PlainFrameEncoder(_PROTOCOL, response_id, **options)
            return stream_answer(run, encoder, service.settings)
        records = await read_answer(request, run)
        body = build_completion(records, response_id=response_id, **options)
        if isinstance(body, ErrorBody):
            raise describe_failure(run, body.message, body.code)
        return JSONResponse(body)


def _read_view(request: Request) -> dict[str, Any]:
    """Return the options of the protocol that the query has."""
    options: dict[str, Any] = {}
    for option in find_protocol(_PROTOCOL).options:
        text = request.query_params.get(option.name)
        if text is None:
            continue
        try:
            options[option.name] = option.parse(text)
        except ValueError as error:
            raise DoorError(400, "invalid_request", str(error), param=option.name) from None
    if "thinking_blocks" in options:
        options["thinking_blocks"] = options["thinking_blocks"] == "true"
    return options
