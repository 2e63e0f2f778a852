"""`Agent`: a model with instructions, tools and middleware."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any, Unpack

import msgspec

from headrace.encoders import OptionArguments, Request, parse_options
from headrace.engine.cancellation import CancelToken
from headrace.engine.history.compaction import Compactor
from headrace.engine.journal.sink import Sink
from headrace.engine.limits import DEFAULT_RUN_LIMITS, RunLimits
from headrace.engine.middleware.chain import Chain
from headrace.engine.middleware.middleware import Middleware, check_middleware
from headrace.engine.run import Run
from headrace.engine.run_config import RunConfig
from headrace.events.stamp import create_wall_clock
from headrace.messages import Message, MessageLike, read_messages
from headrace.tools import AnyTool, Toolset
from headrace.transport.retry import DEFAULT_POLICY, RetryPolicy
from headrace.transport.transport import Transport
from headrace.turn.api import Input, to_messages
from headrace.turn.model import Model, SharedTransport, model_for
from headrace.turn.result import Result
from headrace.wire.dialects.chat import ChatQuirks
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits


class Agent:
    """A model with its instructions, tools, middleware and limits.

    An agent keeps no state of its runs: several may run at the same time. Use a `Conversation`
    to keep the history. `limits` are for runs, `wire_limits` for the bytes of one turn.
    With `strict`, a frame of the stream that cannot be read fails its turn. `quirks` replace those
    of the catalog, for a server whose chat streams differ.
    `options` are the fields of `Options`, such as `effort="high"`. Each run opens its own
    connection unless a `transport` is given or `share_connections()` was called. Raises
    `UsageError` for tools, middleware or options that are invalid.
    """

    def __init__(  # noqa: PLR0913 (the main class of the engine)
        self,
        model: str | Model,
        *,
        instructions: str | None = None,
        tools: Sequence[AnyTool] = (),
        middleware: Sequence[Middleware] = (),
        limits: RunLimits = DEFAULT_RUN_LIMITS,
        wire_limits: WireLimits = DEFAULT_WIRE_LIMITS,
        strict: bool = False,
        policy: RetryPolicy = DEFAULT_POLICY,
        base_url: str | None = None,
        api_key: str | None = None,
        transport: Transport | None = None,
        compactor: Compactor | None = None,
        quirks: ChatQuirks | None = None,
        **options: Unpack[OptionArguments],
    ) -> None:
        self.model = model
        self.instructions = instructions
        self.tools = Toolset(tools)
        self.middleware = check_middleware(middleware)
        self.limits = limits
        self.compactor = compactor
        self.options = parse_options(options)
        self._wire_limits = wire_limits
        self._is_strict = strict
        self._policy = policy
        self._endpoint: dict[str, Any] = {
            "base_url": base_url,
            "api_key": api_key,
            "transport": transport,
            "quirks": quirks,
        }
        self._shared: SharedTransport | None = None
        # Model, options and tools that passed `check()`; shared by copies of the agent.
        self._checked: set[tuple[str, bytes, Toolset]] = set()

    def share_connections(self) -> None:
        """Let all later runs share their connections, those of copies of this agent included.
        For servers with many runs on one event loop. Call `aclose()` at the end."""
        self._shared = self._shared or SharedTransport()

    async def aclose(self) -> None:
        """Close the shared connections, if there are any."""
        if self._shared is not None:
            await self._shared.aclose()

    def check(self) -> None:
        """Raise `UsageError` if no run could start: the provider is unknown, the API key is
        missing, or the provider does not support one of the options. Sends nothing."""
        model = self._resolve_model()
        key = (model.name, msgspec.json.encode(self.options), self.tools)
        if key not in self._checked:
            model.call(self._request(model, tuple(to_messages("?"))))
            self._checked.add(key)

    def run(
        self,
        input: Input,
        history: Sequence[MessageLike] = (),
        *,
        run_id: str | None = None,
        clock: Callable[[], float] | None = None,
        sink: Sink | None = None,
        compactor: Compactor | None = None,
        token: CancelToken | None = None,
    ) -> Run:
        """Prepare a run; it starts when it is entered with `with` or `async with`.

        `history` are the messages before the input. `clock` returns milliseconds since the
        epoch. `sink` stores every record before anyone sees it. `token` can cancel the run.
        Raises `UsageError` for a request that cannot be made.
        """
        model = self._resolve_model()
        messages = tuple(to_messages(input))
        config = RunConfig(
            model=model,
            request=self._request(model, (*read_messages(history), *messages)),
            tools=self.tools,
            chain=Chain(self.middleware),
            limits=self.limits,
            wire_limits=self._wire_limits,
            strict=self._is_strict,
            policy=self._policy,
            compactor=compactor or self.compactor,
        )
        return Run(
            config, messages, run_id or uuid.uuid4().hex, clock or create_wall_clock(), sink, token
        )

    def complete(self, input: Input, history: Sequence[MessageLike] = ()) -> Result:
        """Run the agent to the end and return the result."""
        with self.run(input, history) as run:
            for _ in run:
                pass
        return run.result

    async def complete_async(self, input: Input, history: Sequence[MessageLike] = ()) -> Result:
        """Asynchronous version of `complete()`."""
        async with self.run(input, history) as run:
            return await run.wait()

    def _resolve_model(self) -> Model:
        model = model_for(self.model, **self._endpoint)
        return model if self._shared is None else self._shared.share(model)

    def _request(self, model: Model, messages: tuple[Message, ...]) -> Request:
        return Request(
            model=model.endpoint.model,
            provider=model.endpoint.provider.name,
            messages=messages,
            instructions=self.instructions,
            tools=self.tools.specs,
            options=self.options,
        )
