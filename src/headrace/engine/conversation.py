"""A conversation: history in, history out, run after run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import msgspec

from headrace.content import Usage
from headrace.engine.agent import Agent
from headrace.engine.compaction import Compactor
from headrace.engine.journal import Sink
from headrace.engine.run import Result, Run
from headrace.errors import UsageError
from headrace.messages import Message
from headrace.turn.face import Input

_VERSION = 1


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
    ) -> ConversationRun:
        """A run to enter, with `async with` or `with`, as that of an agent. What was asked and
        what came of it are in `messages` when the block is left, however it ended. Entering
        raises `UsageError` while another run goes on."""
        options = {"run_id": run_id, "clock": clock, "sink": sink}
        return ConversationRun(self, input, options)

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

    def begin(self, input: Input, options: dict[str, Any]) -> tuple[Run, _Keeper | None]:
        """For `ConversationRun`: the next run."""
        if self._is_live:
            raise UsageError("a conversation has one run at a time: wait for the end of the other")
        compactor = self._compactor or self.agent.compactor
        keeper = None if compactor is None else _Keeper(compactor, tuple(self._pinned))
        run = self.agent.run(input, self._messages, compactor=keeper, **options)
        self._is_live = True
        return run, keeper

    def end(self, run: Run, keeper: _Keeper | None) -> None:
        """For `ConversationRun`: the run is over."""
        self._is_live = False
        if not run.records:
            return
        *asked, answer = run.messages
        kept = None if keeper is None else keeper.kept
        before = (*self._messages, *asked) if kept is None else kept
        # A history that was compacted late may hold the answer's beginning.
        told = [message for message in before if message.run_id != run.run_id]
        self._messages = (*told, answer)
        self.usage = self.usage + answer.usage

    # -- pins

    def pin(self, index: int) -> None:
        """Keep a message, whatever is compacted; its exchange stays with it."""
        message = self._message(index)
        if not _has(self._pinned, message):
            self._pinned.append(message)

    def unpin(self, index: int) -> None:
        """Let it go with the others."""
        message = self._message(index)
        self._pinned = [pinned for pinned in self._pinned if pinned is not message]

    @property
    def pinned(self) -> list[int]:
        """Where the pinned messages are, in `messages`."""
        return [at for at, message in enumerate(self._messages) if _has(self._pinned, message)]

    def _message(self, index: int) -> Message:
        try:
            return self._messages[index]
        except IndexError:
            raise UsageError(f"no message {index}: there are {len(self._messages)}") from None

    # -- the shelf

    def snapshot(self) -> bytes:
        """All of it as JSON; not the agent. A run that goes on is not in it."""
        stored = _Snapshot(
            version=_VERSION, messages=self._messages, pinned=self.pinned, usage=self.usage
        )
        try:
            return msgspec.json.encode(stored)
        except UnicodeEncodeError:
            # Half of a pair of surrogates, which some models write: only escapes can hold it.
            return json.dumps(msgspec.to_builtins(stored), separators=(",", ":")).encode()

    @classmethod
    def restore(
        cls, agent: Agent, data: bytes | str, *, compactor: Compactor | None = None
    ) -> Conversation:
        """The conversation of a snapshot: its next request is the same, byte for byte. Raises
        `UsageError` for what is none."""
        stored = _stored(data)
        if stored.version != _VERSION:
            raise UsageError(f"expected a snapshot of version {_VERSION}; got {stored.version}")
        made = cls(agent, stored.messages, compactor=compactor)
        made.usage = stored.usage
        for index in stored.pinned:
            made.pin(index)
        return made


class ConversationRun:
    """A run of a conversation that has not begun: enter it to get the `Run`."""

    def __init__(self, conversation: Conversation, input: Input, options: dict[str, Any]) -> None:
        self._conversation = conversation
        self._input = input
        self._options = options
        self._run: Run | None = None
        self._keeper: _Keeper | None = None

    def _begun(self) -> Run:
        if self._run is not None:
            raise UsageError("a run can be entered once: ask the conversation for another")
        self._run, self._keeper = self._conversation.begin(self._input, self._options)
        return self._run

    def _over(self) -> None:
        assert self._run is not None
        self._conversation.end(self._run, self._keeper)

    async def __aenter__(self) -> Run:
        run = self._begun()
        try:
            return await run.__aenter__()
        except BaseException:
            self._over()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._run is not None
        try:
            await self._run.__aexit__(kind, error, traceback)
        finally:
            self._over()

    def __enter__(self) -> Run:
        run = self._begun()
        try:
            return run.__enter__()
        except BaseException:
            self._over()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._run is not None
        try:
            self._run.__exit__(kind, error, traceback)
        finally:
            self._over()


class _Keeper:
    """A compactor that remembers what it made, and loses no pinned message."""

    def __init__(self, inner: Compactor, pinned: tuple[Message, ...]) -> None:
        pinning = getattr(inner, "pinning", None)
        self._inner = inner
        if pinned and pinning is not None:
            self._inner = pinning(self._is_pinned)
        self._pinned = pinned
        self.name = inner.name
        self.kept: tuple[Message, ...] | None = None

    def _is_pinned(self, message: Message) -> bool:
        return _has(self._pinned, message)

    async def compact(
        self, messages: Sequence[Message], *, is_forced: bool
    ) -> Sequence[Message] | None:
        made = await self._inner.compact(messages, is_forced=is_forced)
        if made is not None:
            self.kept = tuple(_with_pinned(messages, made, self._is_pinned))
        return None if made is None else self.kept


def _with_pinned(
    messages: Sequence[Message], made: Sequence[Message], is_pinned: Callable[[Message], bool]
) -> list[Message]:
    """A strategy of somebody else's may know no pins: what it lost goes back to its place,
    before the next message that is still there."""
    left = list(made)
    for at, message in enumerate(messages):
        if is_pinned(message) and not _has(left, message):
            after = messages[at + 1 :]
            place = next((n for n, one in enumerate(left) if _has(after, one)), len(left))
            left.insert(place, message)
    return left


def _has(messages: Sequence[Message], message: Message) -> bool:
    """Itself, not one that says the same."""
    return any(one is message for one in messages)


class _Snapshot(msgspec.Struct, kw_only=True):
    """How a conversation lies in JSON. Its shape is told by this type alone: no tag inside
    of what people, models and tools said is ever looked at."""

    version: int
    messages: tuple[Message, ...]
    pinned: list[int] = []
    usage: Usage = Usage()


def _stored(data: bytes | str) -> _Snapshot:
    try:
        return msgspec.json.decode(data, type=_Snapshot)
    except msgspec.ValidationError as error:
        raise UsageError(f"expected a snapshot of a conversation: {error}") from None
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return msgspec.convert(json.loads(data), _Snapshot)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"expected a snapshot of a conversation: {error}") from None
