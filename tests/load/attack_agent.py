"""The agent of the server under attack: `headrace serve tests.load.attack_agent:agent`.

Scheduled questions are answered by a provider in another process, at whose pace their frames are
due. All others go to the rehearsal model.
"""

from __future__ import annotations

import os

import msgspec

from headrace.engine import Agent
from headrace.rehearsal.model import rehearsal_transport
from headrace.tools.builtin import default_tools
from headrace.transport.http import HTTPTransport
from headrace.transport.retry import NEVER
from headrace.transport.transport import ByteStream, HTTPCall

SCHEDULED = "a scheduled question"
UPSTREAM = "HEADRACE_ATTACK_UPSTREAM"


class SplitTransport:
    """Sends scheduled questions to the provider, and all others to the rehearsal model."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._http = HTTPTransport()
        self._rehearsal = rehearsal_transport(dialect="chat")

    async def open(self, call: HTTPCall) -> ByteStream:
        if SCHEDULED.encode() in call.body:
            return await self._http.open(msgspec.structs.replace(call, url=self._upstream))
        # The bodies would be kept for a test to look at.
        self._rehearsal.requests.clear()
        return await self._rehearsal.open(call)

    async def aclose(self) -> None:
        await self._http.aclose()


agent = Agent(
    "openai-chat:attacked",
    transport=SplitTransport(os.environ.get(UPSTREAM, "http://127.0.0.1:9/v1")),
    api_key="none",
    tools=default_tools(),
    policy=NEVER,
)
