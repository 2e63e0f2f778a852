"""A conversation: history in, history out, run after run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from headrace.engine.agent import Agent
from headrace.engine.cancellation import CancelToken
from headrace.engine.conversation.run import ConversationRun
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


class Conversation:
    """What an agent and somebody have said to each other, for the next run and for a shelf.

    `messages` are what the next request is made of: where a compactor (this one's, or else
    the agent's) has made history shorter, the shorter one. Keep `run.messages` yourself where
    you want to show all that was ever said. One run at a time.
    """

    def __init__(
        self,
        agent: Agent,
        messages: Sequence[Message] = (),
        *,
        compactor: Compactor | None = None,
    ) -> None:
        self.agent = agent
        self.usage = Usage()
        """What all its runs have cost, those that failed too."""
        self._compactor = compactor
        self._messages = tuple(messages)
        self._pinned: list[Message] = []
        self._is_live = False
        self._pinning: PinningCompactor | None = None

    @property
    def messages(self) -> list[Message]:
        """The history, without a run that goes on."""
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
        """A run to enter, with `async with` or `with`, as that of an agent. What was asked and
        what came of it are in `messages` when the block is left, however it ended. Entering
        raises `UsageError` while another run goes on."""
        options = {"run_id": run_id, "clock": clock, "sink": sink, "token": token}
        return ConversationRun(partial(self._begin, input, options), self._end)

    async def complete_async(self, input: Input) -> Result:
        """The result of a whole run."""
        async with self.run(input) as run:
            return await run.wait()

    def complete(self, input: Input) -> Result:
        """The same for code that does not wait."""
        with self.run(input) as run:
            for _ in run:
                pass
        return run.result

    def _begin(self, input: Input, options: dict[str, Any]) -> Run:
        """The next run."""
        if self._is_live:
            raise UsageError("a conversation has one run at a time: wait for the end of the other")
        inner = self._compactor or self.agent.compactor
        pinning = None if inner is None else PinningCompactor(inner, tuple(self._pinned))
        run = self.agent.run(input, self._messages, compactor=pinning, **options)
        self._is_live, self._pinning = True, pinning
        return run

    def _end(self, run: Run) -> None:
        """The run is over."""
        pinning, self._pinning = self._pinning, None
        self._is_live = False
        if not run.records_so_far:
            return
        *asked, answer = run.messages
        kept = None if pinning is None else pinning.kept
        before = (*self._messages, *asked) if kept is None else kept
        # A history that was compacted late may hold the answer's beginning.
        told = [message for message in before if message.run_id != run.run_id]
        self._messages = (*told, answer)
        self.usage = self.usage + answer.usage

    # -- pins

    def pin(self, index: int) -> None:
        """Keep a message, whatever is compacted; its exchange stays with it."""
        message = self._message(index)
        if not is_among(self._pinned, message):
            self._pinned.append(message)

    def unpin(self, index: int) -> None:
        """Let it go with the others."""
        message = self._message(index)
        self._pinned = [pinned for pinned in self._pinned if pinned is not message]

    @property
    def pinned(self) -> list[int]:
        """Where the pinned messages are, in `messages`."""
        return [at for at, message in enumerate(self._messages) if is_among(self._pinned, message)]

    def _message(self, index: int) -> Message:
        try:
            return self._messages[index]
        except IndexError:
            raise UsageError(f"no message {index}: there are {len(self._messages)}") from None

    # -- the shelf

    def snapshot(self) -> bytes:
        """All of it as JSON; not the agent. A run that goes on is not in it."""
        stored = Snapshot(
            version=VERSION, messages=self._messages, pinned=self.pinned, usage=self.usage
        )
        return encode_snapshot(stored)

    @classmethod
    def restore(
        cls, agent: Agent, data: bytes | str, *, compactor: Compactor | None = None
    ) -> Conversation:
        """The conversation of a snapshot: its next request is the same, byte for byte. Raises
        `UsageError` for what is none."""
        stored = decode_snapshot(data)
        made = cls(agent, stored.messages, compactor=compactor)
        made.usage = stored.usage
        for index in stored.pinned:
            made.pin(index)
        return made
