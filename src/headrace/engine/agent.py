"""`Agent`: a model with instructions, tools and middleware."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Generic, Unpack

import msgspec

from headrace.encoders import OptionArguments, Options, merge_options, parse_options
from headrace.engine.cancellation import CancelToken
from headrace.engine.history.compaction import Compactor
from headrace.engine.journal.sink import Sink
from headrace.engine.limits import DEFAULT_RUN_LIMITS, RunLimits
from headrace.engine.middleware.chain import Chain
from headrace.engine.middleware.middleware import Middleware, check_middleware
from headrace.engine.nested.agent_tool import AgentTool
from headrace.engine.nested.nesting import Nesting
from headrace.engine.nested_run import play_nested
from headrace.engine.run import Run
from headrace.engine.run_config import RunConfig
from headrace.engine.run_settings import RunSettings
from headrace.errors import UsageError
from headrace.events import Record, RunFailed, RunFinished, RunStarted
from headrace.messages import Message, MessageLike, read_messages
from headrace.providers import OutputMode
from headrace.tools import AnyTool, NeedsApproval, PinnedTool, ToolReturn, Toolset
from headrace.transport.limits import Timeouts
from headrace.transport.retry import DEFAULT_POLICY, RetryPolicy
from headrace.transport.transport import Transport
from headrace.turn.api import Input, OutputKind, to_messages
from headrace.turn.fallback import AnyModel, Fallback, resolve_entries
from headrace.turn.inquiry import TokenCount, count_target_tokens
from headrace.turn.model import SharedTransport, name_of
from headrace.turn.result import OutputT, Result, check_output
from headrace.turn.target import TurnInput, TurnTarget, build_targets
from headrace.typed.output_type import OutputType
from headrace.typed.plan import DEFAULT_RETRIES
from headrace.wire.dialects.chat import ChatQuirks
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits


class Agent(Generic[OutputT]):
    """A model with its instructions, tools, middleware and limits.

    `model` is `provider:model`, or a `Fallback` of several. `description` tells MCP clients of a
    server what the agent is for.
    An agent keeps no state of its runs: several may run at the same time. Use a `Conversation`
    to keep the history. `limits` are for runs, `wire_limits` for the bytes of one turn.
    With `strict`, a frame of the stream that cannot be read fails its turn. `quirks` replace those
    of the catalog, for a server whose chat streams differ. `timeout` is the most seconds for the
    first event of a turn and for any pause after it, or a `Timeouts`.
    With `output_type`, the answer is a value of that type; see `stream()`. The model is told what
    is wrong with an answer and asked again, `output_retries` times at most.
    `options` are the fields of `Options`, such as `effort="high"`. Each run opens its own
    connection unless a `transport` is given or `share_connections()` was called. Raises
    `UsageError` for tools, middleware or options that are invalid.
    """

    def __init__(  # noqa: PLR0913 (the main class of the engine)
        self,
        model: AnyModel,
        *,
        description: str | None = None,
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
        timeout: float | Timeouts | None = None,
        output_type: type[OutputT] | OutputKind | None = None,
        output_mode: OutputMode | None = None,
        output_retries: int = DEFAULT_RETRIES,
        **options: Unpack[OptionArguments],
    ) -> None:
        self.model = model
        self.description = description
        """What the agent is for."""
        self.instructions = instructions
        self.tools = Toolset(tools)
        self.middleware = check_middleware(middleware)
        self.limits = limits
        self.compactor = compactor
        self.options = parse_options(options)
        self.output_type = None if output_type is None else OutputType(output_type)
        self._output_mode: OutputMode | None = output_mode
        self._output_retries = output_retries
        self._wire_limits = wire_limits
        self._is_strict = strict
        self._policy = policy
        self._endpoint: dict[str, Any] = {
            "base_url": base_url,
            "api_key": api_key,
            "transport": transport,
            "quirks": quirks,
            "timeout": timeout,
        }
        self._shared: SharedTransport | None = None
        # Model, options and tools that passed `check()`; shared by copies of the agent.
        self._checked: set[tuple[str, bytes, Toolset]] = set()

    def share_connections(self) -> None:
        """Let all later runs share their connections, those of copies of this agent included.
        For servers with many runs on one event loop. Call `aclose()` at the end."""
        self._shared = self._shared or SharedTransport()

    async def aclose(self) -> None:
        """Close the shared connections, if there are any, and those to MCP servers."""
        if self._shared is not None:
            await self._shared.aclose()
        for source in self.tools.sources:
            await source.release()

    async def load_tools(self, pins: Sequence[PinnedTool] | None = None) -> Agent[OutputT]:
        """Return a copy of this agent with the tools that its MCP servers list now, or this agent
        if it has no servers. Runs of the copy all use that list; without this, each run asks for
        the list when it starts.

        `pins` are the `tools.pins` of an earlier copy: a run that is resumed offers the same tools
        to the model again. A call of a tool that its server has changed since gets an error result.
        """
        if not self.tools.sources:
            return self
        copied = copy.copy(self)
        copied.tools = await self.tools.load(pins)
        copied._checked = set()
        return copied

    def replace(
        self,
        *,
        options: Options | None = None,
        instructions: str | None = None,
        tools: Sequence[AnyTool] = (),
        middleware: Sequence[Middleware] = (),
    ) -> Agent[OutputT]:
        """Return a copy of this agent, with these options instead of its own where they are set,
        with other instructions if they are given, and with these tools and this middleware beside
        its own. The copy uses the connections of this agent."""
        copied = copy.copy(self)
        copied.options = merge_options(self.options, options or Options())
        copied.instructions = self.instructions if instructions is None else instructions
        if tools:
            copied.tools = Toolset([*self.tools.all, *tools])
        if middleware:
            copied.middleware = (*self.middleware, *check_middleware(middleware))
        # What a caller asks for may be different every time.
        copied._checked = set()
        return copied

    @property
    def model_name(self) -> str:
        """The model as `provider:model`, or the name of the fallback."""
        return name_of(self.model)

    def check(self, message: Message | None = None) -> None:
        """Raise `UsageError` if no run could start: the provider is unknown, the API key is
        missing, or the provider does not support one of the options, or what the message contains,
        such as an image of a type that it cannot read. Sends nothing."""
        resolve_entries(self.model, self._policy, self._endpoint)
        if message is not None:
            self._targets((message,))
        key = (name_of(self.model), msgspec.json.encode(self.options), self.tools)
        if key not in self._checked:
            self._targets(tuple(to_messages("?")))
            self._checked.add(key)

    def run(  # noqa: PLR0913 (see RunSettings)
        self,
        input: Input,
        history: Sequence[MessageLike] = (),
        *,
        run_id: str | None = None,
        clock: Callable[[], float] | None = None,
        sink: Sink | None = None,
        compactor: Compactor | None = None,
        token: CancelToken | None = None,
        user: str | None = None,
        suspends: bool = False,
        node: str | None = None,
        epoch: int = 0,
    ) -> Run[OutputT]:
        """Prepare a run; it starts when it is entered with `with` or `async with`.

        `history` are the messages before the input. `clock` returns milliseconds since the
        epoch. `sink` stores every record before anyone sees it. `token` can cancel the run.
        `user` is the user for whom it runs, and `node` the server. With `suspends`, the run stops
        with a `RunSuspended` when it only waits for input; otherwise it waits in memory. `epoch` is
        how often another process has taken the run over before it could begin.
        Raises `UsageError` for a request that cannot be made.
        """
        self._check_suspends(is_needed=suspends)
        messages = tuple(to_messages(input))
        config = self._configure((*read_messages(history), *messages), compactor)
        settings = RunSettings(
            clock=clock,
            sink=sink,
            token=token,
            user=user,
            suspends=suspends,
            node=node,
            epoch=epoch,
        )
        return Run(config, messages, run_id or uuid.uuid4().hex, settings)

    def resume(  # noqa: PLR0913 (see RunSettings)
        self,
        records: Sequence[Record],
        *,
        input: Input,
        history: Sequence[MessageLike] = (),
        clock: Callable[[], float] | None = None,
        sink: Sink | None = None,
        compactor: Compactor | None = None,
        token: CancelToken | None = None,
        user: str | None = None,
        suspends: bool = False,
        node: str | None = None,
        epoch: int = 1,
    ) -> Run[OutputT]:
        """Prepare to go on with a run from its records, in this process or another one.

        `records` are all records of the run so far: it was suspended, or its process was killed.
        `input` and `history` are what the run was started with. A turn that was cut off is asked
        again. A call that was cut off is run again if its tool is idempotent; otherwise the model
        is told that it may have taken effect. `epoch` is how often the run has been resumed, this
        time included, if the caller counts that; it is never less than what the records say. The
        other arguments are those of `run()`. Raises
        `UsageError` if the run has ended, or if middleware cannot be resumed.
        """
        self._check_suspends(is_needed=True)
        ended = [r for r in records if isinstance(r.event, RunFinished | RunFailed) and not r.path]
        if ended:
            raise UsageError("the run has ended: there is nothing to resume")
        start = records[0].event if records else None
        if not isinstance(start, RunStarted):
            raise UsageError("the records do not begin with RunStarted: give all of them")
        messages = tuple(to_messages(input))
        config = self._configure((*read_messages(history), *messages), compactor)
        settings = RunSettings(
            clock=clock,
            sink=sink,
            token=token,
            user=user,
            suspends=suspends,
            node=node,
            epoch=epoch,
            records=tuple(records),
        )
        return Run(config, messages, start.run_id, settings)

    def as_tool(
        self,
        name: str,
        description: str,
        *,
        input_type: Any = str,
        timeout_s: float | None = None,
        needs_approval: NeedsApproval = False,
        max_concurrent: int | None = None,
        max_result_chars: int | None = None,
    ) -> AgentTool:
        """Return this agent as a tool for another one.

        Each call is a nested run with this agent's model, tools, middleware and limits. The model
        that calls it gives a text, or a value of `input_type`, and gets the last answer. The
        records of the nested run are in the log of the outer one.
        """
        return AgentTool(
            self,
            name=name,
            description=description,
            input_type=input_type,
            timeout_s=timeout_s,
            needs_approval=needs_approval,
            max_concurrent=max_concurrent,
            max_result_chars=max_result_chars,
        )

    async def play_nested(self, question: str, nesting: Nesting) -> ToolReturn:
        """Play a run of this agent inside another one. Called by the engine."""
        agent = await self.load_tools()
        return await play_nested(agent._configure(tuple(to_messages(question))), nesting)

    def _check_suspends(self, *, is_needed: bool) -> None:
        name = Chain(self.middleware).unresumable if is_needed else None
        if name is not None:
            raise UsageError(
                f"a run with {name} cannot be resumed: its is_resumable is False, because it"
                " cannot rebuild its state from records"
            )

    def _configure(
        self, messages: tuple[Message, ...], compactor: Compactor | None = None
    ) -> RunConfig:
        async def load() -> RunConfig:
            return (await self.load_tools())._configure(messages, compactor)

        return RunConfig(
            load=load if self.tools.sources else None,
            targets=self._targets(messages),
            fallback=self.model if isinstance(self.model, Fallback) else None,
            tools=self.tools,
            chain=Chain(self.middleware),
            limits=self.limits,
            wire_limits=self._wire_limits,
            strict=self._is_strict,
            policy=self._policy,
            compactor=compactor or self.compactor,
        )

    def complete(self, input: Input, history: Sequence[MessageLike] = ()) -> Result[OutputT]:
        """Run the agent to the end and return the result. Raises `OutputInvalid` if the answer is
        not of the agent's `output_type`, after `output_retries` corrections, and `InputRequired`
        if the run needs an approval or other input."""
        with self.run(input, history, suspends=self.is_resumable) as run:
            for _ in run:
                pass
        return check_output(run.result)

    async def complete_async(
        self, input: Input, history: Sequence[MessageLike] = ()
    ) -> Result[OutputT]:
        """Asynchronous version of `complete()`."""
        async with self.run(input, history, suspends=self.is_resumable) as run:
            return check_output(await run.wait())

    async def count_tokens_async(
        self, input: Input, history: Sequence[MessageLike] = ()
    ) -> TokenCount:
        """Return how many input tokens the first request of a run would have, with the instructions
        and tools of this agent; see `count_tokens()`."""
        agent = await self.load_tools()
        target, *_ = agent._targets((*read_messages(history), *to_messages(input)))
        try:
            return await count_target_tokens(target)
        finally:
            await target.model.aclose()

    @property
    def is_resumable(self) -> bool:
        """Whether a run of this agent can be resumed from its records: no middleware forbids it."""
        return Chain(self.middleware).unresumable is None

    def _targets(self, messages: tuple[Message, ...]) -> list[TurnTarget]:
        """Return the model, or each entry of a fallback, with the first request of a run."""
        asked = TurnInput(
            messages=messages,
            instructions=self.instructions,
            tools=self.tools,
            options=self.options,
            output_type=self.output_type,
            output_mode=self._output_mode,
            output_retries=self._output_retries,
        )
        return build_targets(self.model, asked, self._policy, self._endpoint, self._shared)
