"""The tool calls of one output: the open one, those held back behind it, and those the provider
runs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Literal

import msgspec

from headrace.errors import LimitExceeded, WireError
from headrace.events import (
    CallInput,
    Executor,
    JSONObject,
    PartRestored,
    PartSealed,
    SealKind,
    ToolActivity,
    ToolCallArgsDelta,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
    TurnEvent,
)
from headrace.wire.call_arguments import MalformedArguments, parse_arguments
from headrace.wire.json_extent import JSONExtent
from headrace.wire.ledger.counter import Counters
from headrace.wire.limits import WireLimits

_MAX_FRAGMENTS = 1_024


class Call(msgspec.Struct, kw_only=True, eq=False):
    """State of one call. `CallQueue.fill_in` may still set `name` and `call_id` while the call
    waits."""

    call_id: str | None
    name: str | None
    executor: Executor
    input: CallInput
    item_key: Hashable | None
    item_id: str | None
    provider_data: JSONObject | None
    wire_id: str | None = None
    state: Literal["waiting", "open", "closed"] = "waiting"
    part: int = -1
    size: int = 0
    is_ended: bool = False
    is_parsed: bool = False
    is_damaged: bool = False
    """Whether a frame that could not be read may have held a piece of the arguments."""
    problem: str | None = None
    """What is wrong with the call besides its arguments, worded for the model."""
    args: Any = None
    seals: list[tuple[SealKind, str]] = msgspec.field(default_factory=list[tuple[SealKind, str]])
    _fragments: list[str] = msgspec.field(default_factory=list[str])
    _extent: JSONExtent | None = msgspec.field(default_factory=JSONExtent)
    _followed: int = 0
    _joined: int = 0

    def __post_init__(self) -> None:
        self.name = self.name or None
        self.call_id = self.wire_id = self.call_id or None

    def append(self, text: str) -> None:
        if self.is_parsed and not text.isspace():
            # A dialect asked whether it was whole, and then more came.
            self.is_parsed = False
        self._fragments.append(text)
        self.size += len(text)
        if len(self._fragments) - self._joined >= _MAX_FRAGMENTS:
            self._join()

    def _join(self) -> None:
        """Join many small fragments into one: a small string takes ten times the memory of its
        text."""
        if self._followed > self._joined:
            self._follow()
        whole = "".join(self._fragments[self._joined :])
        self._fragments[self._joined :] = [whole]
        is_followed = self._followed > self._joined
        self._joined += 1
        self._followed = self._joined if is_followed else self._followed

    @property
    def raw(self) -> str:
        """The arguments so far. The joined text is kept, so that asking again is cheap."""
        if len(self._fragments) > 1:
            self._follow()
            self._fragments = ["".join(self._fragments)]
            self._followed = self._joined = 1
        return self._fragments[0] if self._fragments else ""

    def replace(self, text: str) -> None:
        """Replace the arguments with the complete ones."""
        self._fragments = [text]
        self._extent = JSONExtent()
        self._followed = self._joined = 0
        self.size = len(text)
        self.is_parsed = self.is_damaged = False

    @property
    def is_ready(self) -> bool:
        """Whether the call can start: its name is known, and its id has come or will not come."""
        return self.name is not None and bool(self.call_id or self._fragments or self.is_ended)

    def is_whole(self, max_depth: int) -> bool:
        """Return whether the arguments are complete. They are parsed once, when the last bracket
        has come; if they are valid, the parsed value is kept."""
        self._follow()
        if self.is_parsed or self._extent is None or not self._extent.is_closed:
            return self.is_parsed
        self._extent = None
        try:
            self.args = parse_arguments(self.raw, max_depth)
        except MalformedArguments:
            return False
        self.is_parsed = True
        return True

    def _follow(self) -> None:
        if self._extent is not None and self.input == "json":
            for fragment in self._fragments[self._followed :]:
                self._extent.feed(fragment)
        self._followed = len(self._fragments)


class CallQueue:
    """Starts client calls one after the other, in the order in which they appeared."""

    __slots__ = (
        "_close_prose", "_closed_chars", "_counters", "_events", "_held_chars", "_limits",
        "_max_chars", "_open", "_output", "_provider_run", "_waiting", "has_client_calls",
        "has_damaged", "has_provider_calls",
    )  # fmt: skip

    def __init__(
        self,
        output: int,
        events: list[TurnEvent],
        counters: Counters,
        limits: WireLimits,
        close_prose: Callable[[], None],
    ) -> None:
        self._output = output
        self._events = events
        self._counters = counters
        self._limits = limits
        self._max_chars = limits.max_part_chars
        self._close_prose = close_prose
        self._open: Call | None = None
        self._waiting: list[Call] = []
        self._provider_run: list[Call] = []
        self._held_chars = 0
        self.has_client_calls = False
        self.has_provider_calls = False
        self.has_damaged = False
        self._closed_chars = 0

    @property
    def chars(self) -> int:
        """Number of characters in the arguments of all calls so far."""
        calls = [*filter(None, [self._open]), *self._waiting, *self._provider_run]
        return self._closed_chars + sum(call.size for call in calls if call.state != "closed")

    def begin(self, call: Call) -> Call:
        """Add a new call, and start it if it may start."""
        self._counters.count_call()
        if call.executor == "provider":
            self.has_provider_calls = True
            self._provider_run.append(call)
            self._start_ready(call)
            return call
        self.has_client_calls = True
        if not self._waiting:
            self.close_if_whole()
        self._waiting.append(call)
        self._start_ready(call)
        return call

    def fill_in(self, call: Call, *, name: str | None = None, call_id: str | None = None) -> None:
        """Set a name or id that came late. A call that has started keeps what it has."""
        call.wire_id = call.wire_id or call_id or None
        if call.state != "waiting":
            return
        call.name = call.name or name or None
        call.call_id = call.call_id or call_id or None
        self._start_ready(call)

    def extend_name(self, call: Call, text: str) -> None:
        """Append to the name of a call. One that has started under the first piece is malformed."""
        if call.state == "waiting":
            call.name = (call.name or "") + text
        else:
            call.problem = f"the name of the tool came in pieces, {call.name!r} and {text!r}"

    def add_args(self, call: Call, text: str) -> None:
        """Append to the arguments of a call."""
        if not text:
            return
        if call.size + len(text) > self._max_chars:
            raise LimitExceeded("max_part_chars", self._max_chars)
        if call.state == "open":
            call.append(text)
            self._events.append(ToolCallArgsDelta(call.part, text))
        elif call.state == "waiting":
            self._hold(call, text)
        elif text.strip():
            raise WireError(f"arguments came for the call {call.call_id}, which had ended")

    def extend_args(self, call: Call, text: str | None) -> ToolCallArgsDelta | None:
        """Append to the arguments of an open call and return the event, which is not added to the
        events. Returns None and does nothing unless that is all that `add_args` would do."""
        if call.state != "open" or not text or call.size + len(text) > self._max_chars:
            return None
        call.append(text)
        return ToolCallArgsDelta(call.part, text)

    def mark_gap(self) -> None:
        """Note that a frame was skipped. Calls whose arguments are not complete yet may have lost a
        piece of them."""
        for call in [*filter(None, [self._open]), *self._waiting]:
            is_whole = call.is_ended or (
                call.input == "json" and call.is_whole(self._limits.max_depth)
            )
            call.is_damaged = call.is_damaged or not is_whole

    def restore(self, call: Call, text: str) -> None:
        """Take the complete arguments of a call that may have lost a piece of them."""
        if call.state == "closed" or (not call.is_damaged and call.raw == text):
            return
        if len(text) > self._max_chars:
            raise LimitExceeded("max_part_chars", self._max_chars)
        is_different = call.raw != text
        if call.state == "waiting":
            self._held_chars += len(text) - call.size
        call.replace(text)
        if is_different and call.state == "open":
            self._events.append(PartRestored(call.part, text))

    def end(self, call: Call) -> None:
        """Take the notice of the provider that the arguments are complete."""
        call.is_ended = True
        if call.state == "open":
            self._close(call)
        self._start_ready(call)

    def add_activity(self, call: Call, status: str, detail: Any = None) -> None:
        """Report the status of a call that the provider runs."""
        if call.state == "waiting":
            self._start(call)
        self._events.append(
            ToolActivity(part=call.part, call_id=call.call_id or "", status=status, detail=detail)
        )

    def seal(self, call: Call, kind: SealKind, value: str) -> None:
        """Attach a seal to a call, which may not have started yet."""
        if call.state == "waiting":
            call.seals.append((kind, value))
        else:
            self._events.append(PartSealed(call.part, kind, value))

    def close_if_whole(self) -> None:
        """Close the open call if it is complete, because something else begins."""
        call = self._open
        if call is not None and call.is_whole(self._limits.max_depth):
            self._close(call)
            self._start_ready(call)

    def close_all(self, *, is_cut: bool) -> None:
        """Close all calls, because the output has ended. `is_cut` tells whether the model was
        interrupted."""
        if self._open is not None:
            self._close(self._open, is_cut=is_cut)
        while self._waiting:
            call = self._waiting.pop(0)
            self._start(call)
            self._close(call, is_cut=is_cut)
        for call in self._provider_run:
            if call.state == "waiting":
                self._start(call)
            if call.state == "open":
                self._close(call, is_cut=is_cut)
        self._provider_run.clear()
        # Nothing starts any more: the output is let go of, which holds this queue.
        self._close_prose = _do_nothing

    def _hold(self, call: Call, text: str) -> None:
        self._held_chars += len(text)
        if self._held_chars > self._limits.max_held_chars:
            raise LimitExceeded("max_held_chars", self._limits.max_held_chars)
        call.append(text)
        self._start_ready(call)

    def _start_ready(self, touched: Call) -> None:
        """Start the calls that may start now."""
        if touched.executor == "provider":
            if touched.state == "waiting" and touched.is_ready:
                self._start(touched)
                if touched.is_ended:
                    self._close(touched)
            return
        while self._open is None and self._waiting and self._waiting[0].is_ready:
            call = self._waiting.pop(0)
            self._start(call)
            if call.is_ended or (self._waiting and call.is_whole(self._limits.max_depth)):
                self._close(call)

    def _start(self, call: Call) -> None:
        self._close_prose()
        call.part = self._counters.take_part()
        call.call_id = self._counters.make_call_id(call.call_id, call.part)
        call.state = "open"
        if call.executor == "client":
            self._open = call
        self._events.append(
            ToolCallStarted(
                part=call.part,
                output=self._output,
                item=self._counters.get_item(call.item_key),
                item_id=call.item_id,
                call_id=call.call_id,
                name=call.name or "",
                executor=call.executor,
                input=call.input,
                provider_data=call.provider_data,
            )
        )
        for kind, value in call.seals:
            self._events.append(PartSealed(call.part, kind, value))
        if call.size:
            self._held_chars -= call.size
            self._events.append(ToolCallArgsDelta(call.part, call.raw))

    def _close(self, call: Call, *, is_cut: bool = False) -> None:
        call.state = "closed"
        self._closed_chars += call.size
        if self._open is call:
            self._open = None
        self._events.append(self._create_end(call, is_cut=is_cut))

    def _create_end(self, call: Call, *, is_cut: bool) -> TurnEvent:
        raw, call_id, name = call.raw, call.call_id or "", call.name or ""
        error = _find_problem(call, is_cut=is_cut)
        self.has_damaged = self.has_damaged or call.is_damaged
        if error is None and not call.is_parsed:
            try:
                call.args = (
                    parse_arguments(raw, self._limits.max_depth) if call.input == "json" else raw
                )
            except MalformedArguments as malformed:
                error = str(malformed)
        if error is not None:
            return ToolCallMalformed(
                part=call.part, call_id=call_id, name=name, raw=raw, error=error
            )
        return ToolCallFinished(part=call.part, call_id=call_id, name=name, args=call.args, raw=raw)


def _find_problem(call: Call, *, is_cut: bool) -> str | None:
    """Return what is wrong with a call before its arguments are read, or None."""
    if call.name is None:
        return "the call has no name"
    if call.problem is not None:
        return call.problem
    if call.is_damaged:
        return "a part of the arguments may be missing, because a frame could not be read"
    if is_cut and not call.is_ended and (call.input == "text" or not call.raw.strip()):
        return "the stream ended before the arguments"
    return None


def _do_nothing() -> None:
    pass
