"""`TurnTarget`: one model to ask, with the request that is encoded for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from headrace.encoders import Options, Request
from headrace.log import get_logger
from headrace.messages import Message
from headrace.prices import TurnUsage
from headrace.providers import OutputMode
from headrace.tools import Toolset
from headrace.transport.retry import RetryPolicy
from headrace.transport.transport import HTTPCall, Transport
from headrace.turn.fallback import AnyModel, naming_entry, resolve_entries
from headrace.turn.model import Model, SharedTransport
from headrace.turn.open_turn import OpenTurn, open_turn
from headrace.typed.plan import OutputPlan, plan_output
from headrace.wire.limits import WireLimits

_logger = get_logger("turn")


class TurnTarget:
    """One model to ask: its first request, how it is asked for a typed answer, and how often.

    Raises `UsageError` for a request that cannot be encoded for the model.
    """

    def __init__(
        self, model: Model, request: Request, plan: OutputPlan | None, policy: RetryPolicy
    ) -> None:
        self.model = model
        self.request = request
        self.plan = plan
        self.policy = policy
        self.transport: Transport = model.transport
        # Encoding validates the request before anything is sent; the first turn sends the result.
        self._first_call: HTTPCall | None = model.call(request)

    @property
    def first_call(self) -> HTTPCall:
        """The first request, encoded."""
        return self._first_call or self.model.call(self.request)

    def replace_call(self, call: HTTPCall) -> None:
        """Send another call instead of the first request. What is asked must be the same."""
        self._first_call = call

    def forget_call(self) -> None:
        """Free the memory of the first call, which will probably not be sent."""
        self._first_call = None

    def request_with(self, messages: tuple[Message, ...]) -> Request:
        """Return the request for these messages; the first request if they are the same."""
        if messages is self.request.messages:
            return self.request
        return msgspec.structs.replace(self.request, messages=messages)

    def encode(self, request: Request) -> HTTPCall:
        """Encode the request of a turn, or return the call that was encoded already if it is
        the first one and was not replaced."""
        call, self._first_call = self._first_call, None
        return call if call is not None and request is self.request else self.model.call(request)

    async def open(
        self,
        call: HTTPCall,
        request: Request,
        wire_limits: WireLimits,
        *,
        strict: bool,
        numbers: tuple[int, int] = (0, 0),
    ) -> OpenTurn:
        """Send a call, and wait for the first events; see `open_turn()`. `numbers` are those of
        the first item and the first part."""
        model = self.model
        fields = {
            "event": "turn_requested",
            "model": model.name,
            "messages": len(request.messages),
            "tools": len(request.tools),
        }
        _logger.debug("asking %s with %d messages", model.name, len(request.messages), extra=fields)
        return await open_turn(
            self.transport,
            call,
            lambda: model.decoder(
                wire_limits,
                strict=strict,
                keeps_logprobs=request.options.wants_logprobs,
                first_item=numbers[0],
                first_part=numbers[1],
            ),
            self.policy,
            turn_usage=TurnUsage(model.endpoint, lambda: model.call(request).body),
        )


@dataclass(kw_only=True)
class TurnInput:
    """What is asked, before it is known which model is asked."""

    messages: tuple[Message, ...]
    instructions: str | None
    tools: Toolset
    options: Options
    output_type: Any = None
    output_mode: OutputMode | None = None
    output_retries: int


def build_targets(
    model: AnyModel,
    asked: TurnInput,
    policy: RetryPolicy,
    endpoint: dict[str, Any],
    shared: SharedTransport | None = None,
) -> list[TurnTarget]:
    """Return a target for the model, or for each entry of a fallback. `endpoint` are arguments of
    `model_for()`. Raises `UsageError`, which names the entry, for one that cannot be asked."""
    targets: list[TurnTarget] = []
    for place, (one, own_policy, entry) in enumerate(resolve_entries(model, policy, endpoint)):
        with naming_entry(model, place):
            reached = one if shared is None else shared.share(one, place)
            options = asked.options if entry is None else entry.change_options(asked.options)
            request, plan = _build_request(reached, asked, options)
            targets.append(TurnTarget(reached, request, plan, own_policy))
    for target in targets[1:]:
        target.forget_call()
    return targets


def _build_request(
    model: Model, asked: TurnInput, options: Options
) -> tuple[Request, OutputPlan | None]:
    """Return the request, and how it asks for a typed answer, which depends on the provider."""
    endpoint = model.endpoint
    request = Request(
        model=endpoint.model,
        provider=endpoint.provider.name,
        messages=asked.messages,
        instructions=asked.instructions,
        tools=asked.tools.specs,
        provider_tools=asked.tools.provider_tools,
        options=options,
    )
    if asked.output_type is None:
        return request, None
    plan = plan_output(
        asked.output_type,
        endpoint.provider,
        request,
        mode=asked.output_mode,
        retries=asked.output_retries,
    )
    return plan.apply(request), plan
