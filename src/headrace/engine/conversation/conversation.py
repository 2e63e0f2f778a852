"""`Conversation`: keeps the history of an agent from run to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from typing import Any

from headrace.engine.agent import Agent
from headrace.engine.cancellation import CancelToken
from headrace.engine.conversation.snapshot import (
    VERSION,
    Snapshot,
    decode_snapshot,
    encode_snapshot,
)
from headrace.engine.history.compaction import Compactor
from headrace.engine.history.pinned_messages import PinningCompactor, is_among
from headrace.engine.journal.sink import Sink
from headrace.engine.run import Run
from headrace.errors import UsageError
from headrace.messages import Message
from headrace.turn.api import Input
from headrace.turn.result import Result
from headrace.usage import Usage


class ConversationRun:
    """A run that has not started: enter it with `with` or `async with` to get the `Run`. `begin`
    creates the run; `end` is called after it has ended, however the block is left."""

    def __init__(self, begin: Callable[[], Run], end: Callable[[Run], None]) -> None:
        self._begin = begin
        self._end = end
        self._stack: ExitStack | AsyncExitStack | None = None

    def __enter__(self) -> Run:
        with ExitStack() as stack:
            run = self._create_run(stack)
            stack.enter_context(run)
            self._stack = stack.pop_all()
        return run

    async def __aenter__(self) -> Run:
        async with AsyncExitStack() as stack:
            run = self._create_run(stack)
            await stack.enter_async_context(run)
            self._stack = stack.pop_all()
        return run

    def _create_run(self, stack: ExitStack | AsyncExitStack) -> Run:
        if self._stack is not None:
            raise UsageError("a run can be entered only once: call conversation.run() again")
        run = self._begin()
        stack.callback(self._end, run)
        return run

    def __exit__(self, *error: Any) -> None:
        assert isinstance(self._stack, ExitStack)
        self._stack.__exit__(*error)

    async def __aexit__(self, *error: Any) -> None:
        assert isinstance(self._stack, AsyncExitStack)
        await self._stack.__aexit__(*error)


class Conversation:
    """A conversation with an agent: one run after the other, with a history that can be saved.

    `messages` is the history that the next request starts with, in its shortened form if a
    compactor (the conversation's, or else the agent's) shortened it. Store `run.messages`
    yourself to keep the full history.
    """

    def __init__(
        self, agent: Agent, messages: Sequence[Message] = (), *, compactor: Compactor | None = None
    ) -> None:
        self.agent = agent
        self.usage = Usage()
        """The usage of all runs, failed ones included."""
        self._compactor = compactor
        self._messages = tuple(messages)
        self._pinned: list[Message] = []
        self._is_live = False
        self._pinning: PinningCompactor | None = None

    @property
    def messages(self) -> list[Message]:
        """The history, without the current run."""
        return list(self._messages)

    # -- runs

    def run(
        self,
        input: Input,
        *,
        run_id: str | None = None,
        clock: Callable[[], float] | None = None,
        sink: Sink | None = None,
        token: CancelToken | None = None,
    ) -> ConversationRun:
        """Prepare a run to enter with `with` or `async with`, like that of an agent. The input
        and the answer are added to `messages` when the block is left, however the run ended.
        Entering raises `UsageError` during another run."""
        options = {"run_id": run_id, "clock": clock, "sink": sink, "token": token}
        return ConversationRun(partial(self._begin, input, options), self._end)

    async def complete_async(self, input: Input) -> Result:
        """Asynchronous version of `complete()`."""
        async with self.run(input) as run:
            return await run.wait()

    def complete(self, input: Input) -> Result:
        """Run the agent to the end and return the result."""
        with self.run(input) as run:
            for _ in run:
                pass
        return run.result

    def _begin(self, input: Input, options: dict[str, Any]) -> Run:
        if self._is_live:
            raise UsageError(
                "a conversation has one run at a time: wait for the end of the other run"
            )
        inner = self._compactor or self.agent.compactor
        pinning = None if inner is None else PinningCompactor(inner, tuple(self._pinned))
        run = self.agent.run(input, self._messages, compactor=pinning, **options)
        self._is_live, self._pinning = True, pinning
        return run

    def _end(self, run: Run) -> None:
        pinning, self._pinning = self._pinning, None
        self._is_live = False
        if not run.records_so_far:
            return
        *input, answer = run.messages
        kept = None if pinning is None else pinning.kept
        before = (*self._messages, *input) if kept is None else kept
        # A history that was shortened during the run may hold the beginning of the answer.
        earlier = [message for message in before if message.run_id != run.run_id]
        self._messages = (*earlier, answer)
        self.usage = self.usage + answer.usage

    # -- pins

    def pin(self, index: int) -> None:
        """Keep a message and its exchange when the history is shortened."""
        message = self._message(index)
        if not is_among(self._pinned, message):
            self._pinned.append(message)

    def unpin(self, index: int) -> None:
        """Stop keeping a message."""
        message = self._message(index)
        self._pinned = [pinned for pinned in self._pinned if pinned is not message]

    @property
    def pinned(self) -> list[int]:
        """The indexes of the pinned messages in `messages`."""
        return [at for at, message in enumerate(self._messages) if is_among(self._pinned, message)]

    def _message(self, index: int) -> Message:
        try:
            return self._messages[index]
        except IndexError:
            raise UsageError(f"no message {index}: there are {len(self._messages)}") from None

    # -- snapshots

    def snapshot(self) -> bytes:
        """Return the conversation as JSON, without the agent and without the current run."""
        stored = Snapshot(
            version=VERSION, messages=self._messages, pinned=self.pinned, usage=self.usage
        )
        return encode_snapshot(stored)

    @classmethod
    def restore(
        cls, agent: Agent, data: bytes | str, *, compactor: Compactor | None = None
    ) -> Conversation:
        """Return the conversation of a snapshot; its next request is the same, byte for byte.
        Raises `UsageError` for data that is not a snapshot."""
        stored = decode_snapshot(data)
        conversation = cls(agent, stored.messages, compactor=compactor)
        conversation.usage = stored.usage
        for index in stored.pinned:
            conversation.pin(index)
        return conversation
