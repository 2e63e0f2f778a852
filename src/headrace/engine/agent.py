"""An agent: a model with instructions, tools and middleware, ready to be run."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from headrace.encoders import Request, parse_options
from headrace.engine.cancellation import CancelToken
from headrace.engine.history.compaction import Compactor
from headrace.engine.journal.sink import Sink
from headrace.engine.limits import DEFAULT_RUN_LIMITS, RunLimits
from headrace.engine.middleware.chain import Chain
from headrace.engine.middleware.middleware import Middleware, checked
from headrace.engine.run import Result, Run
from headrace.engine.run_config import Plan
from headrace.events.stamp import create_wall_clock
from headrace.messages import Message
from headrace.tools import Tool, Toolset
from headrace.transport.retry import DEFAULT_POLICY, RetryPolicy
from headrace.transport.transport import Transport
from headrace.turn.api import Input, messages_of
from headrace.turn.model import Model, SharedTransport, model_for
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits


class Agent:
    """What stays the same from run to run. It keeps nothing of its runs: they may go on side
    by side, and a conversation is kept by a `Conversation`, or by you.

    `options` are those of `headrace.encoders.Options`, such as `effort="high"`. A model
    string makes a connection for each run, unless a `transport` is given.
    """

    def __init__(  # noqa: PLR0913 (the face of the engine)
        self,
        model: str | Model,
        *,
        instructions: str | None = None,
        tools: Sequence[Tool | Callable[..., Any]] = (),
        middleware: Sequence[Middleware] = (),
        limits: RunLimits = DEFAULT_RUN_LIMITS,
        wire_limits: WireLimits = DEFAULT_WIRE_LIMITS,
        policy: RetryPolicy = DEFAULT_POLICY,
        base_url: str | None = None,
        api_key: str | None = None,
        transport: Transport | None = None,
        compactor: Compactor | None = None,
        **options: Any,
    ) -> None:
        self.model = model
        self.instructions = instructions
        self.tools = Toolset(tools)
        self.middleware = checked(middleware)
        self.limits = limits
        self.compactor = compactor
        self._wire_limits = wire_limits
        self._policy = policy
        self._where: dict[str, Any] = {
            "base_url": base_url,
            "api_key": api_key,
            "transport": transport,
        }
        self.options = parse_options(options)
        self._shared: SharedTransport | None = None

    def share_connections(self) -> None:
        """Let all runs from now on share their connections, copies of this agent included: for
        whoever runs many on one event loop. `aclose()` lets go of them."""
        self._shared = self._shared or SharedTransport()

    async def aclose(self) -> None:
        """Close the shared connections, if there are any."""
        if self._shared is not None:
            await self._shared.aclose()

    def run(
        self,
        input: Input,
        history: Sequence[Message] = (),
        *,
        run_id: str | None = None,
        clock: Callable[[], float] | None = None,
        sink: Sink | None = None,
        compactor: Compactor | None = None,
        token: CancelToken | None = None,
    ) -> Run:
        """A run to enter. `clock` tells milliseconds since the epoch; `sink` gets every
        record before anybody sees it; `token` cancels it from elsewhere. Raises `UsageError`
        for what cannot be asked."""
        model = model_for(self.model, **self._where)
        if self._shared is not None:
            model = self._shared.model(model)
        asked = tuple(messages_of(input))
        request = Request(
            model=model.endpoint.model,
            provider=model.endpoint.provider.name,
            messages=(*history, *asked),
            instructions=self.instructions,
            tools=self.tools.requests,
            options=self.options,
        )
        # What cannot be asked is said here, not in the middle of the run.
        model.call(request)
        plan = Plan(
            model=model,
            request=request,
            tools=self.tools,
            chain=Chain(self.middleware),
            limits=self.limits,
            wire_limits=self._wire_limits,
            policy=self._policy,
            compactor=compactor or self.compactor,
        )
        return Run(
            plan, asked, run_id or uuid.uuid4().hex, clock or create_wall_clock(), sink, token
        )

    async def complete_async(self, input: Input, history: Sequence[Message] = ()) -> Result:
        """The result of a whole run."""
        async with self.run(input, history) as run:
            return await run.wait()

    def complete(self, input: Input, history: Sequence[Message] = ()) -> Result:
        """The same for code that does not wait."""
        with self.run(input, history) as run:
            for _ in run:
                pass
        return run.result
