"""`TurnStream`: one turn of a model, to enter and iterate over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Self

from msgspec.structs import replace

from headrace.errors import RequestFailed
from headrace.events import Record, Stamp, TurnEvent, TurnFailed, TurnFinished
from headrace.events.stamp import create_wall_clock
from headrace.messages import Message, fold
from headrace.outcome import ErrorInfo, FinishReason
from headrace.turn.fallback import Fallback, Route, Switch
from headrace.turn.open_turn import OpenTurn
from headrace.turn.record_stream import RecordStream
from headrace.turn.result import OutputT, Result, result_of
from headrace.turn.target import TurnTarget
from headrace.turn.typed_answer import read_answer
from headrace.typed.plan import OutputPlan
from headrace.usage import Usage
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits


class TurnStream(RecordStream[TurnEvent], Generic[OutputT]):
    """The events of one turn, as they arrive.

    Use `with stream(...) as turn: for event in turn`, or `async with` and `async for`. The
    last event is `TurnFinished` or `TurnFailed`. Entering raises `RequestFailed` if the
    provider refuses the request; leaving the block early closes the connection. `message`,
    `usage`, `finish` and `error` can be read at any time.
    """

    def __init__(
        self,
        targets: Sequence[TurnTarget],
        fallback: Fallback | None = None,
        *,
        wire_limits: WireLimits = DEFAULT_WIRE_LIMITS,
        strict: bool = False,
        history: tuple[Message, ...] = (),
        numbers: tuple[int, int] = (0, 0),
    ) -> None:
        super().__init__(targets[0].plan)
        self._targets = targets
        self._fallback = fallback
        self._route = Route(None)
        self._wire_limits = wire_limits
        self._is_strict = strict
        self._history = history
        self._numbers = numbers
        self._turn: OpenTurn | None = None
        self._stamp = Stamp(create_wall_clock())
        self._received: list[Record] = []

    async def __aenter__(self) -> Self:
        try:
            self._turn = await self._open()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def _open(self) -> OpenTurn:
        """Open the turn with the first model that begins to answer."""
        self._route = Route(self._fallback)
        while True:
            target = self._targets[self._route.at]
            request = target.request
            if self._history:
                request = target.request_with((*request.messages, *self._history))
            try:
                turn = await target.open(
                    target.encode(request),
                    request,
                    self._wire_limits,
                    strict=self._is_strict,
                    numbers=self._numbers,
                )
            except RequestFailed as refused:
                before = self._route.describe()
                if self._route.switch(refused.category):
                    continue
                if before:
                    refused.add_note(before.strip(" ()"))
                raise
            self._output_plan = target.plan
            return turn

    def ask_again(self, answer: Message) -> TurnStream[OutputT]:
        """Return another turn of the model that answered, after its answer so far."""
        target = self._targets[self._route.at]
        return TurnStream(
            [target],
            wire_limits=self._wire_limits,
            strict=self._is_strict,
            history=(answer,),
            numbers=self._next_numbers,
        )

    async def __aexit__(self, *error: Any) -> None:
        if self._turn is not None:
            await self._turn.aclose()
            self._report_end()
        for target in self._targets:
            if target.model.owns_transport:
                await target.transport.aclose()

    def _report_end(self) -> None:
        """Tell the fallback how the turn ended, if it did."""
        last = self._received[-1].event if self._received else None
        if isinstance(last, TurnFinished | TurnFailed):
            self._route.report(last.category if isinstance(last, TurnFailed) else None)

    async def _next_batch(self) -> list[Record]:
        if self._turn is None:
            raise self._not_entered()
        return self._stamp.feed(await self._turn.next())

    def _receive(self, batch: list[Record]) -> None:
        self._received += batch

    # -- what is known at any time

    @property
    def records_so_far(self) -> list[Record]:
        """The records that have been read so far."""
        return self._received[: len(self._received) - self._unread_count]

    @property
    def message(self) -> Message:
        """The message as far as it has been read."""
        message = fold(self.records_so_far)
        if self._output_plan is None:
            return message
        tools = {tool.name for tool in self._targets[self._route.at].request.tools}
        return read_answer(message, self._output_plan, tools)

    @property
    def result(self) -> Result[OutputT]:
        """The message with its finish reason, error and usage, as far as it has been read."""
        message = self.message
        if not isinstance(self._last_event(), TurnFinished | TurnFailed):
            message = replace(message, usage=self.usage)
        return result_of(message, self._output_plan, self.switches)

    @property
    def output(self) -> OutputT:
        """The answer as a value of `output_type`, at the end of the turn. Raises `OutputInvalid` if
        it is not of that type."""
        return self.result.output

    @property
    def usage(self) -> Usage:
        """The usage so far. A provider's running report may be ahead of the events. After a turn
        that was left before its end, missing counts are estimated."""
        return Usage() if self._turn is None else self._turn.usage

    @property
    def finish(self) -> FinishReason | None:
        """Why the model stopped, or None while the turn goes on and if it failed."""
        last = self._last_event()
        return last.reason if isinstance(last, TurnFinished) else None

    @property
    def error(self) -> ErrorInfo | None:
        """What broke the turn, or None."""
        return self.message.error if isinstance(self._last_event(), TurnFailed) else None

    def _last_event(self) -> object:
        records = self.records_so_far[-1:]
        return records[0].event if records else None

    @property
    def output_plan(self) -> OutputPlan | None:
        """How the model that answers was asked for a typed answer, or None."""
        return self._output_plan

    @property
    def switches(self) -> tuple[Switch, ...]:
        """The models of a `Fallback` that failed before this one began to answer."""
        return tuple(self._route.switches)

    @property
    def _next_numbers(self) -> tuple[int, int]:
        assert self._turn is not None
        return self._turn.decoder.next_item, self._turn.decoder.next_part

    @property
    def request_id(self) -> str | None:
        """The provider's id of the request, to quote to its support."""
        return None if self._turn is None else self._turn.request_id
