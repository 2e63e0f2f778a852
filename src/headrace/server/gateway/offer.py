"""A model of a provider as clients of a door ask for it: one turn, with the client's own tools."""

from __future__ import annotations

from typing import Any

from headrace.encoders import Options, Request, merge_options
from headrace.engine import Agent
from headrace.errors import RequestFailed
from headrace.readers import IncomingRequest
from headrace.server.gateway.pass_through import pass_body
from headrace.tools import Toolset
from headrace.transport.call_secrets import hide_address
from headrace.transport.retry import DEFAULT_POLICY
from headrace.transport.tee import ByteTee, TeeTransport
from headrace.turn.fallback import Fallback
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

    @property
    def model(self) -> str:
        """The preferred model, as `provider:model`."""
        return self._fallback.name

    def to_agent(self) -> Agent:
        """Return an agent without tools of its own, for answers that are stored."""
        return Agent(self._fallback).replace(options=self._options)

    def open(self, asked: IncomingRequest, *, run_id: str, user: str) -> GatewayStream:
        """Prepare the turn. The body of a request goes out as it came if the provider uses the same
        grammar."""
        targets = self._build_targets(asked.request)
        tee = ByteTee() if asked.dialect is not None and asked.is_stream else None
        for target in targets:
            is_same = target.model.endpoint.provider.dialect == asked.dialect
            if is_same and asked.body:
                target.replace_call(
                    pass_body(target.first_call, asked.body, target.model.endpoint.model)
                )
            if tee is not None:
                target.transport = TeeTransport(target.transport, tee, is_same_grammar=is_same)
        return GatewayStream(targets, self._fallback, tee)

    async def count_tokens(self, asked: IncomingRequest) -> TokenCount:
        """Count the tokens of a request for the preferred model."""
        target, *_ = self._build_targets(asked.request)
        return await count_target_tokens(target)

    def _build_targets(self, request: Request) -> list[TurnTarget]:
        turn_input = TurnInput(
            messages=request.messages,
            instructions=request.instructions,
            tools=Toolset([*request.tools, *request.provider_tools]),
            options=merge_options(self._options, request.options),
            output_retries=0,
        )
        return build_targets(self._fallback, turn_input, DEFAULT_POLICY, {})
