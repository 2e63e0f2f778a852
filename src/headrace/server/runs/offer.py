"""Offers: what the clients of a door can ask for under the name of a model."""

from __future__ import annotations

from typing import Any, Protocol

from headrace.encoders import Request
from headrace.engine import Agent
from headrace.readers import IncomingRequest
from headrace.server.http_error import DoorError
from headrace.turn.inquiry import TokenCount
from headrace.turn.record_stream import RecordStream


class Offer(Protocol):
    """What can be asked for under a name: an agent of this server, or a model of a provider."""

    @property
    def name(self) -> str:
        """The name that clients give as `model`."""
        ...

    @property
    def model(self) -> str:
        """The model behind it, as `provider:model`."""
        ...

    def open(self, asked: IncomingRequest, *, run_id: str, user: str) -> RecordStream[Any]:
        """Prepare the answer to a request, to be entered and read. Raises an `HTTPError` of 400 for
        a request that cannot be made."""
        ...

    async def count_tokens(self, asked: IncomingRequest) -> TokenCount:
        """Return how many input tokens a request would have."""
        ...


class AgentOffer:
    """An agent of this server. Its tools run here; tools that the client brings are refused."""

    def __init__(self, name: str, agent: Agent) -> None:
        self.name = name
        self.agent = agent

    @property
    def model(self) -> str:
        """The model of the agent."""
        return self.agent.model_name

    def open(self, asked: IncomingRequest, *, run_id: str, user: str) -> RecordStream[Any]:
        """Prepare a run of the agent."""
        request = asked.request
        if asked.same_grammar_only is not None:
            raise asked.same_grammar_only
        if request.tools or request.provider_tools:
            text = (
                f"{self.name} is an agent with its own tools: at this address it cannot be given"
                " others"
            )
            raise DoorError(400, "tools_not_allowed", text, param="tools")
        run = self.prepare(request).run(list(request.messages), run_id=run_id, user=user)
        # Users need not know where the provider is.
        run.hides_address = True
        return run

    async def count_tokens(self, asked: IncomingRequest) -> TokenCount:
        """Count the tokens of a request, with the instructions and tools of the agent."""
        request = asked.request
        return await self.prepare(request).count_tokens_async(list(request.messages))

    def prepare(self, request: Request) -> Agent:
        """Return the agent with the options and instructions of a request added to its own. The
        client's instructions come after those of the agent."""
        own = self.agent.instructions
        texts = [text for text in (own, request.instructions) if text]
        return self.agent.replace(options=request.options, instructions="\n\n".join(texts) or None)
