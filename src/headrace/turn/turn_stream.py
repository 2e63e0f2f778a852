"""`TurnStream`: one turn of a model, to enter and iterate over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self

from msgspec.structs import replace

from headrace.events import Record, Stamp, TurnEvent, TurnFailed, TurnFinished
from headrace.events.stamp import create_wall_clock
from headrace.messages import Message, fold
from headrace.outcome import ErrorInfo, FinishReason
from headrace.prices import TurnUsage
from headrace.transport.retry import DEFAULT_POLICY, RetryPolicy
from headrace.transport.transport import HTTPCall, Transport
from headrace.turn.open_turn import OpenTurn, open_turn
from headrace.turn.record_stream import RecordStream
from headrace.turn.result import OutputT, Result, result_of
from headrace.turn.typed_answer import read_answer
from headrace.typed.plan import OutputPlan
from headrace.usage import Usage
from headrace.wire.decoder import Decoder


class TurnStream(RecordStream[TurnEvent], Generic[OutputT]):
    """The events of one turn, as they arrive.

    Use `with stream(...) as turn: for event in turn`, or `async with` and `async for`. The
    last event is `TurnFinished` or `TurnFailed`. Entering raises `RequestFailed` if the
    provider refuses the request; leaving the block early closes the connection. `message`,
    `usage`, `finish` and `error` can be read at any time.
    """

    def __init__(
        self,
        call: HTTPCall,
        new_decoder: Callable[[], Decoder],
        transport: Transport,
        *,
        turn_usage: TurnUsage | None = None,
        policy: RetryPolicy = DEFAULT_POLICY,
        owns_transport: bool = False,
        output_plan: OutputPlan | None = None,
    ) -> None:
        super().__init__(output_plan)
        self._call = call
        self._new_decoder = new_decoder
        self._transport = transport
        self._turn_usage = turn_usage
        self._policy = policy
        self._owns_transport = owns_transport
        self._turn: OpenTurn | None = None
        self._stamp = Stamp(create_wall_clock())
        self._received: list[Record] = []

    async def __aenter__(self) -> Self:
        try:
            self._turn = await open_turn(
                self._transport,
                self._call,
                self._new_decoder,
                self._policy,
                turn_usage=self._turn_usage,
            )
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *error: Any) -> None:
        if self._turn is not None:
            await self._turn.aclose()
        if self._owns_transport:
            await self._transport.aclose()

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
        return self._received[: len(self._received) - len(self._rest)]

    @property
    def message(self) -> Message:
        """The message as far as it has been read."""
        message = fold(self.records_so_far)
        return message if self._output_plan is None else read_answer(message, self._output_plan)

    @property
    def result(self) -> Result[OutputT]:
        """The message with its finish reason, error and usage, as far as it has been read."""
        message = self.message
        if not isinstance(self._last_event(), TurnFinished | TurnFailed):
            message = replace(message, usage=self.usage)
        return result_of(message, self._output_plan)

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
    def next_numbers(self) -> tuple[int, int]:
        """The numbers of the next item and the next part, for a turn that continues this one."""
        assert self._turn is not None
        return self._turn.decoder.next_item, self._turn.decoder.next_part

    @property
    def request_id(self) -> str | None:
        """The provider's id of the request, to quote to its support."""
        return None if self._turn is None else self._turn.request_id
