"""What clients can ask for as a model: agents, and the models of the gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.encoders import Effort, Options
from headrace.engine import Agent
from headrace.errors import UsageError
from headrace.events import LOG_VERSION
from headrace.messages import Message
from headrace.server.gateway.offer import GatewayOffer
from headrace.server.http_error import DoorError, HTTPError
from headrace.server.runs.next_question import keep_tools, read_run_request
from headrace.server.runs.offer import AgentOffer, Offer
from headrace.server.storage.access_tokens import User
from headrace.server.storage.store import RunRow, RunStart
from headrace.tools import ToolSourceFailed

if TYPE_CHECKING:
    from headrace.server.service import Service


class Models:
    """Finds agents and models by name, for new runs and for those that are continued."""

    def __init__(self, service: Service) -> None:
        self._service = service

    # -- for new requests

    def list_names(self, user: User) -> list[str]:
        """Return the names of the models that a user's clients can ask for."""
        service = self._service
        models = [] if service.gateway is None else service.gateway.names(user)
        return list(dict.fromkeys([*service.agents, *models]))

    def find_offer(self, user: User, name: str, effort: Effort | None = None) -> Offer:
        """Return what a user's client gets under the name of a model. Raises an `HTTPError` of 404
        if there is nothing, and of 400 if the effort is not allowed."""
        if not self._allows(effort):
            raise DoorError(400, "unknown_effort", self._explain_efforts())
        agent = self._service.agents.get(name)
        if agent is not None:
            return AgentOffer(name, agent)
        model = self._find_gateway_model(user, name)
        if model is None:
            text = f"there is no model {name!r:.100}: GET /v1/models lists what there is"
            raise DoorError(404, "model_not_found", text, param="model")
        return model

    def find_agent(self, name: str | None, effort: Effort | None = None) -> tuple[str, Agent]:
        """Return the agent of this name, or the first one, with this effort.

        Raises an `HTTPError` of 422 if the server does not offer the model or the effort.
        """
        agents = self._service.agents
        if name is None:
            name = next(iter(agents))
        if name not in agents:
            text = f"this server has no such model; it has {', '.join(agents)}"
            raise HTTPError(422, "unknown_model", text)
        if not self._allows(effort):
            raise HTTPError(422, "unknown_effort", self._explain_efforts())
        if effort is None:
            return name, agents[name]
        return name, agents[name].replace(options=Options(effort=effort))

    def _allows(self, effort: Effort | None) -> bool:
        return effort is None or effort in self._service.settings.efforts

    def _explain_efforts(self) -> str:
        return f"this server allows the efforts {', '.join(self._service.settings.efforts)}"

    async def pin_tools(self, agent: Agent, start: RunStart) -> tuple[Agent, RunStart]:
        """Ask the MCP servers of an agent for their tools. Returns the agent with the tools, and
        the start of a run that keeps the list with the run. Raises an `HTTPError` of 503 if a
        server that is required cannot be reached."""
        if not agent.tools.sources:
            return agent, start
        try:
            loaded = await agent.load_tools()
        except ToolSourceFailed as error:
            raise HTTPError(503, "tools_unavailable", str(error), retry_after_s=5.0) from None
        return loaded, keep_tools(start, loaded.tools.pins)

    # -- for runs that are stored

    async def restore_agent(self, row: RunRow) -> tuple[Agent, list[Message]]:
        """Return the agent of a run, and the messages up to its question. Raises `UsageError` if
        this server does not have the agent any more, or is too old for the log of the run."""
        if row.log_version > LOG_VERSION:
            raise UsageError(f"a newer Headrace has written the log of the run {row.id}")
        agent = await self.add_instructions(self.prepare_agent(row), row)
        agent = await agent.load_tools(read_run_request(row).mcp_tools)
        branch = await self._service.store.branch(row.owner, row.parent_id)
        return agent, [stored.message for stored in branch]

    async def add_instructions(self, agent: Agent, row: RunRow) -> Agent:
        """Return the agent of a run with the instructions of the user for the conversation. Clients
        of other APIs send their own."""
        if read_run_request(row).door != "headrace":
            return agent
        conversation = await self._service.store.conversation(row.owner, row.conversation_id)
        texts = [text for text in (agent.instructions, conversation.instructions) if text]
        return agent.replace(instructions="\n\n".join(texts) or None)

    def prepare_agent(self, row: RunRow) -> Agent:
        """Return the agent of a run as its caller asked for it, without the tools of MCP servers.
        Raises `UsageError` if this server does not have it any more."""
        agent = self._service.agents.get(row.model) or self._find_gateway_agent(row)
        if agent is None:
            raise UsageError(f"this server has no model {row.model} to continue the answer with")
        return read_run_request(row).prepare(agent)

    def _find_gateway_agent(self, row: RunRow) -> Agent | None:
        model = self._find_gateway_model(User(row.owner), row.model)
        return None if model is None else model.to_agent()

    def _find_gateway_model(self, user: User, name: str) -> GatewayOffer | None:
        gateway, telemetry = self._service.gateway, self._service.telemetry
        model = None if gateway is None else gateway.find(user, name)
        if model is not None and telemetry is not None:
            model.wrap_agent = telemetry.trace
        return model
