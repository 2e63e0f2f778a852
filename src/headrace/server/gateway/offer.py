"""A model of a provider as clients of a door ask for it: one turn, with the client's own tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from headrace.encoders import Options, Request, merge_options
from headrace.engine import Agent
from headrace.errors import RequestFailed
from headrace.events import JSONObject
from headrace.readers import IncomingRequest
from headrace.server.gateway.pass_through import find_added_fields, pass_body
from headrace.tools import Toolset
from headrace.transport.call_secrets import hide_address
from headrace.transport.retry import DEFAULT_POLICY
from headrace.transport.tee import ByteTee, TeeTransport
from headrace.turn.fallback import Fallback, FallbackEntry
from headrace.turn.inquiry import TokenCount, count_target_tokens
from headrace.turn.target import TurnInput, TurnTarget, build_targets
from headrace.turn.turn_stream import TurnStream


class GatewayStream(TurnStream[Any]):
    """The turn of a provider. Its errors do not name the address of the provider."""

    def __init__(self, targets: list[TurnTarget], fallback: Fallback, tee: ByteTee | None) -> None:
        super().__init__(targets, fallback)
        self.tee = tee
        self._urls = [target.model.endpoint.url for target in targets]

    async def __aenter__(self) -> GatewayStream:
        try:
            return await super().__aenter__()
        except RequestFailed as refused:
            text = str(refused)
            for url in self._urls:
                text = hide_address(text, url)
            refused.args = (text,)
            raise


class GatewayOffer:
    """A model of a provider, with models to fall back on."""

    def __init__(self, name: str, fallback: Fallback, options: Options) -> None:
        self.name = name
        self._fallback = fallback
        self._options = options
        self.wrap_agent: Callable[[str, Agent], Agent] | None = None
        """Returns the agent of this name as it is to be run, such as with tracing."""

    @property
    def model(self) -> str:
        """The preferred model, as `provider:model`."""
        return self._fallback.name

    def to_agent(self) -> Agent:
        """Return an agent without tools of its own, for answers that are stored."""
        agent = Agent(self._fallback).replace(options=self._options)
        return agent if self.wrap_agent is None else self.wrap_agent(self.name, agent)

    def open(self, asked: IncomingRequest, *, run_id: str, user: str) -> GatewayStream:
        """Prepare the turn. The body of a request goes out as it came if the provider uses the same
        grammar."""
        fallback = self._choose_models(asked)
        targets = self._build_targets(fallback, asked.request)
        tee = ByteTee() if asked.dialect is not None and asked.is_stream else None
        for target in targets:
            is_same = target.model.endpoint.provider.dialect == asked.dialect
            if is_same and asked.body:
                self._pass_on(target, asked)
            if tee is not None:
                target.transport = TeeTransport(target.transport, tee, is_same_grammar=is_same)
        return GatewayStream(targets, fallback, tee)

    async def count_tokens(self, asked: IncomingRequest) -> TokenCount:
        """Count the tokens of a request for the preferred model."""
        target, *_ = self._build_targets(self._fallback, asked.request)
        return await count_target_tokens(target)

    def _choose_models(self, asked: IncomingRequest) -> Fallback:
        """Return the models that can take a request. Raises `InvalidRequest` if none can."""
        if asked.same_grammar_only is None:
            return self._fallback
        entries = [entry for entry in self._fallback.entries if _takes_body(entry, asked)]
        if not entries:
            raise asked.same_grammar_only
        return Fallback(*entries)

    def _pass_on(self, target: TurnTarget, asked: IncomingRequest) -> None:
        """Let a target send the body of the client, with the operator's options that the client
        has not set."""
        call, model = target.first_call, target.model
        defaults: JSONObject = {}
        if self._options != Options():
            request = msgspec.structs.replace(target.request, options=asked.request.options)
            defaults = find_added_fields(model.call(request), call)
        target.replace_call(pass_body(call, defaults | asked.body, model.endpoint.model))

    def _build_targets(self, fallback: Fallback, request: Request) -> list[TurnTarget]:
        turn_input = TurnInput(
            messages=request.messages,
            instructions=request.instructions,
            tools=Toolset([*request.tools, *request.provider_tools]),
            options=merge_options(self._options, request.options),
            output_retries=0,
        )
        return build_targets(fallback, turn_input, DEFAULT_POLICY, {})


def _takes_body(entry: FallbackEntry, asked: IncomingRequest) -> bool:
    """Return whether a model takes the body of a client as it is."""
    model = entry.model
    if isinstance(model, str) or not asked.body:
        return False
    return model.endpoint.provider.dialect == asked.dialect
