"""A transport that is answered by a scripted model with real wire bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from headrace.errors import RequestFailed, UsageError
from headrace.rehearsal.request_reader import Heard, heard_from
from headrace.rehearsal.script import Line, Refuse, ScriptedTurn, Stall, Wait, turn
from headrace.rehearsal.wire import DIALECTS, Occasion, Step, steps_of
from headrace.rehearsal.wire.words import anthropic_error, openai_error
from headrace.transport.error_response import refusal
from headrace.transport.retry import Sleep
from headrace.transport.stream_error import stream_broken
from headrace.transport.transport import HTTPCall
from headrace.wire.json.value import as_object

Written: TypeAlias = ScriptedTurn | Sequence[Line | str] | str
"""A turn, its lines, or just its text."""
Player: TypeAlias = Callable[[Heard], Written]
"""Returns the turn that answers a request."""


class ScriptedTransport:
    """Plays one turn per call: the next of a list, or what a function returns for the request.

    A list belongs to one conversation. A function may be used by many runs at once.

    `requests` are the bodies received, in order, without headers and address, which hold the key.
    `open_streams` is the number of streams that have neither ended nor been closed. `first_event_s`
    and `idle_s` are timeouts as in `Timeouts`; None means no limit. With a custom `sleep`, closing
    a stream does not shorten a pause.
    """

    def __init__(
        self,
        turns: Sequence[Written] | Player,
        *,
        dialect: str = "chat",
        sleep: Sleep = asyncio.sleep,
        first_event_s: float | None = None,
        idle_s: float | None = None,
        keeps_requests: bool = True,
    ) -> None:
        if dialect not in DIALECTS:
            raise UsageError(f"no script in {dialect!r}: there are {', '.join(DIALECTS)}")
        self._play = turns if callable(turns) else _Listed(turns)
        self._dialect = dialect
        self._sleep = sleep
        self._first_event_s = first_event_s
        self._idle_s = idle_s
        self._keeps_requests = keeps_requests
        self.requests: list[dict[str, Any]] = []
        self.opened = 0
        self.open_streams = 0

    async def open(self, call: HTTPCall) -> ScriptedStream:
        """Return the stream of the next turn.

        Raises `RequestFailed` if the script refuses, and `UsageError` if the script has no more
        turns.
        """
        body = _body(call)
        if self._keeps_requests:
            self.requests.append(body)
        self.opened += 1
        heard = heard_from(body, self._dialect)
        occasion = _occasion(heard, self.opened)
        play = _turn(self._play(heard))
        if play.refusal is not None:
            await self._wait(play)
            raise _refusal(call, play.refusal, self._dialect)
        return self._start_stream(steps_of(play, self._dialect, occasion))

    async def _wait(self, play: ScriptedTurn) -> None:
        for line in play.lines:
            if isinstance(line, Wait):
                await self._sleep(line.seconds)

    def _start_stream(self, steps: Iterator[Step]) -> ScriptedStream:
        self.open_streams += 1
        stream = ScriptedStream(steps, self._sleep, self._idle_s, self._forget_stream)
        if self._first_event_s is not None:
            now_s = asyncio.get_running_loop().time()
            stream.first_event_by_s = now_s + self._first_event_s
        return stream

    def _forget_stream(self) -> None:
        self.open_streams -= 1

    async def aclose(self) -> None:
        """Do nothing: open streams belong to their readers."""


class ScriptedStream:
    """One turn that is being played. Each read is one event."""

    request_id: str | None = None

    def __init__(
        self, steps: Iterator[Step], sleep: Sleep, idle_s: float | None, left: Callable[[], None]
    ) -> None:
        self.first_event_by_s: float | None = None
        self._steps = steps
        self._sleep = sleep
        self._idle_s = idle_s
        self._forget_stream = left
        self._closed = asyncio.Event()

    def __aiter__(self) -> ScriptedStream:
        return self

    async def __anext__(self) -> bytes:
        read = await (self._next() if self._idle_s is None else self._in_time(self._idle_s))
        if not read:
            await self.aclose()
            raise StopAsyncIteration
        return read

    async def _in_time(self, idle_s: float) -> bytes:
        try:
            async with asyncio.timeout(idle_s):
                return await self._next()
        except TimeoutError:
            await self.aclose()
        raise stream_broken("timeout", f"the stream was silent for idle_s={idle_s:g}")

    async def _next(self) -> bytes:
        """Return the next bytes; empty at the end."""
        for step in self._steps:
            if self._closed.is_set():
                break
            if isinstance(step, Wait):
                await self._pause(step.seconds)
            elif isinstance(step, Stall):
                await self._closed.wait()
            elif not isinstance(step, bytes):
                await self.aclose()
                raise stream_broken("network", _BROKEN)
            elif step:
                # Without a pause too, other tasks get a turn between two reads.
                await self._sleep(0)
                return b"" if self._closed.is_set() else step
        return b""

    async def _pause(self, seconds: float) -> None:
        if self._sleep is not asyncio.sleep:
            await self._sleep(seconds)
            return
        try:
            async with asyncio.timeout(seconds):
                await self._closed.wait()
        except TimeoutError:
            pass

    async def aclose(self) -> None:
        """End the stream now, also for a reader that is waiting."""
        if not self._closed.is_set():
            self._closed.set()
            self._forget_stream()


_BROKEN = "the connection broke before the stream had ended: Connection reset by peer"


class _Listed:
    """The turns of a list, each played once."""

    def __init__(self, turns: Sequence[Written]) -> None:
        self._turns = turns
        self._next = 0

    def __call__(self, heard: Heard) -> Written:
        if self._next >= len(self._turns):
            raise UsageError(f"the script has {len(self._turns)} turns, and was asked for one more")
        self._next += 1
        return self._turns[self._next - 1]


def _turn(written: Written) -> ScriptedTurn:
    if isinstance(written, ScriptedTurn):
        return written
    return turn(written) if isinstance(written, str) else turn(*written)


def _body(call: HTTPCall) -> dict[str, Any]:
    try:
        return as_object(msgspec.json.decode(call.body))
    except msgspec.DecodeError:
        return {}


def _occasion(heard: Heard, opened: int) -> Occasion:
    """Choose ids so that two turns of a conversation differ, even after a retry."""
    is_usual = heard.replies == opened - 1
    name = str(opened) if is_usual else f"{opened}r{heard.replies}"
    return Occasion(name=name, model=heard.model or "scripted", input_tokens=heard.words)


def _refusal(call: HTTPCall, line: Refuse, dialect: str) -> RequestFailed:
    if line.status is None:
        category = line.category or "network"
        return RequestFailed(line.message, category=category, retryable=category == "network")
    headers = {} if line.retry_after_s is None else {"retry-after": f"{line.retry_after_s:g}"}
    body = msgspec.json.encode(_error_body(line, dialect))
    return refusal(call, line.status, headers, body)


def _error_body(line: Refuse, dialect: str) -> dict[str, Any]:
    if line.category is None:
        return {"error": {"message": line.message}}
    if dialect == "anthropic":
        return {"type": "error", "error": anthropic_error(line.category, line.message)}
    return {"error": openai_error(line.category, line.message)}
