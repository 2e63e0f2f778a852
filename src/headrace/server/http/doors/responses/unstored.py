"""Responses that are not stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from headrace.events import JSONObject, Record
from headrace.messages import Message
from headrace.projections.openai_responses import ResponseProfile
from headrace.projections.openai_responses.whole import project_records
from headrace.readers.body import has_envelope
from headrace.readers.openai_responses import ResponsesRequest
from headrace.server.gateway.offer import GatewayOffer
from headrace.server.http.doors.responses.input import join_input
from headrace.server.http.doors.responses.offer import to_agent_offer
from headrace.server.http.doors.responses.starter import PROTOCOL
from headrace.server.http.doors.unstored_answer import PlainFrameEncoder
from headrace.server.runs.offer import Offer
from headrace.server.runs.unstored import UnstoredRun
from headrace.server.service import Service
from headrace.server.settings import Settings
from headrace.server.storage.access_tokens import User


class UnstoredResponse:
    """A run that is not stored, and how it is shown."""

    def __init__(self, run: UnstoredRun, options: ResponseProfile) -> None:
        name = run.id.removeprefix("run_")
        self.run = run
        self.id = f"resp_{name}"
        self._message_id = f"msg_{name}"
        self._options = msgspec.json.encode(options).decode()

    def create_encoder(self, settings: Settings, **more: Any) -> PlainFrameEncoder:
        """Create the encoder of its frames, with `more` options of the protocol."""
        options = {**settings.projection_options[PROTOCOL], **more}
        return PlainFrameEncoder(PROTOCOL, self._message_id, options=self._options, **options)

    def project(self, records: list[Record]) -> JSONObject:
        """Return the whole response."""
        return project_records(self._message_id, records, options=self._options)


async def start_unstored(
    service: Service, user: User, asked: ResponsesRequest, history: Sequence[Message] = ()
) -> UnstoredResponse:
    """Start a run that is not stored, after the messages of `history`. Raises an `HTTPError`."""
    effort = asked.request.options.effort
    offer: Offer = service.models.find_offer(user, asked.request.model, effort)
    tooled = to_agent_offer(offer)
    options = tooled.prepare_run(asked).response or ResponseProfile()
    messages = (*history, *join_input(history, asked))
    request = msgspec.structs.replace(asked.request, messages=messages)
    asked = msgspec.structs.replace(asked, request=request)
    if not isinstance(offer, GatewayOffer):
        offer = tooled
    elif not history and not has_envelope(list(asked.items)):
        # A provider of the same API gets the body of the client. Its ids are not passed on, so
        # its events are not either.
        body = asked.body | {"store": False}
        asked = msgspec.structs.replace(asked, dialect="responses", body=body, is_stream=False)
    return UnstoredResponse(await service.unstored.start(user, PROTOCOL, offer, asked), options)
