"""What clients of this door can ask for: agents and models, with tools that the client runs."""

from __future__ import annotations

from typing import Any

from headrace.projections.openai_responses import ResponseProfile
from headrace.readers import IncomingRequest
from headrace.readers.openai_responses import ResponsesRequest
from headrace.server.gateway.offer import GatewayOffer
from headrace.server.http_error import DoorError
from headrace.server.runs.next_question import RunRequest
from headrace.server.runs.offer import AgentOffer, Offer
from headrace.turn.record_stream import RecordStream


class ClientToolOffer(AgentOffer):
    """An agent of this server, or a model of a provider, with tools that the client runs."""

    def prepare_run(self, asked: ResponsesRequest) -> RunRequest:
        """Return what is stored of a request beside its input."""
        request = asked.request
        tools = request.tools
        if request.provider_tools and not isinstance(self, _GatewayAgentOffer):
            text = f"{self.name} is an agent: it cannot be given tools that its provider runs"
            raise DoorError(400, "tools_not_allowed", text, param="tools")
        own = {name for name in self.agent.tools.names if name in {tool.name for tool in tools}}
        if own:
            text = f"{self.name} has tools of its own with these names: {', '.join(sorted(own))}"
            raise DoorError(400, "tools_not_allowed", text, param="tools")
        response = ResponseProfile(
            request=asked.echo,
            client_tools=tuple(tool.name for tool in tools),
            includes_seals=asked.includes_seals,
            label=self.name,
        )
        return RunRequest(
            door="openai-responses",
            instructions=request.instructions,
            options=request.options,
            client_tools=tools,
            provider_tools=asked.provider_tools,
            response=response,
        )

    def open(self, asked: IncomingRequest, *, run_id: str, user: str) -> RecordStream[Any]:
        """Prepare a run of the agent."""
        assert isinstance(asked, ResponsesRequest)
        if asked.same_grammar_only is not None:
            raise asked.same_grammar_only
        agent = self.prepare_run(asked).prepare(self.agent)
        *earlier, question = asked.request.messages
        run = agent.run(question, earlier, run_id=run_id, user=user)
        # Users need not know where the provider is.
        run.hides_address = True
        return run


class _GatewayAgentOffer(ClientToolOffer):
    """A model of a provider whose answer is stored."""


def to_agent_offer(offer: Offer) -> ClientToolOffer:
    """Return an offer as an agent that takes tools of the client."""
    if isinstance(offer, GatewayOffer):
        return _GatewayAgentOffer(offer.name, offer.to_agent())
    assert isinstance(offer, AgentOffer)
    return ClientToolOffer(offer.name, offer.agent)
