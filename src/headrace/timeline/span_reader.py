"""Reads spans from records: what starts a span, what adds to it, and what ends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from headrace import events as ev
from headrace.content import Content, TextContent
from headrace.events import Record
from headrace.timeline.span import Span, SpanKind

_Path = tuple[str, ...]
# Statuses with which a provider reports that its tool has ended.
_ENDS = frozenset({"completed", "failed", "incomplete"})
_KINDS: dict[type, SpanKind] = {
    ev.TextStarted: "text",
    ev.TextDelta: "text",
    ev.ReasoningStarted: "reasoning",
    ev.ReasoningDelta: "reasoning",
}


class _Open(msgspec.Struct, kw_only=True):
    """A span under construction, with the fields of a `Span`."""

    kind: SpanKind
    output: int
    path: _Path
    step: int
    start_ms: int
    end_ms: int
    label: str = ""
    call_id: str | None = None
    parts: int = 1
    deltas: int = 0
    chars: int = 0
    is_error: bool = False
    is_running: bool = True

    def span(self, now_ms: int) -> Span:
        if self.is_running:
            self.end_ms = now_ms
        return Span(**{name: getattr(self, name) for name in Span.__struct_fields__})


class _Call(msgspec.Struct):
    """A call that is being written and, if the provider runs it, executed.

    Some providers report that a tool is working before its arguments are written; others send the
    arguments of a search when it is done. So a tool starts at its first report, or at the end of
    arguments that were written after it. It ends when its end is reported, which may be in a later
    output, or else at its last report.
    """

    writing: _Open
    running: _Open | None = None
    resumed_ms: int | None = None
    """Time at which more arguments arrived after a report."""
    is_ours: bool = True
    is_done: bool = False
    """Whether the provider has reported the end of the tool or its result."""

    def write_on(self, now_ms: int) -> None:
        """Extend the time in which the arguments were written until now."""
        if self.running is None:
            self.writing.end_ms = now_ms
        elif self.is_done:
            pass
        elif self.resumed_ms is None:
            self.resumed_ms = now_ms
        elif now_ms > self.resumed_ms:
            self.writing.end_ms = self.running.start_ms = self.running.end_ms = now_ms

    def finish_writing(self, now_ms: int, *, is_error: bool) -> None:
        """Mark the arguments as complete.

        They end with their last delta, since the end may be reported much later. If there was no
        delta, a client call took until now.
        """
        self.writing.is_error = is_error
        if self.running is None:
            self.writing.is_running = False
            if self.is_ours and not self.writing.deltas:
                self.writing.end_ms = now_ms

    def run(self) -> _Open:
        """Return the span of the running tool, which starts where the writing ended."""
        if self.running is None:
            self.running = msgspec.structs.replace(
                self.writing,
                kind="tool",
                start_ms=self.writing.end_ms,
                deltas=0,
                chars=0,
                is_error=False,
                is_running=False,
            )
        return self.running

    def break_off(self, now_ms: int) -> None:
        """End the call because the stream broke off: a running tool lasted until now."""
        is_runnable = not (self.is_ours or self.writing.is_error or self.writing.is_running)
        if is_runnable and not self.is_done and now_ms > self.writing.end_ms:
            self.run().end_ms = now_ms

    def spans(self, now_ms: int) -> list[Span]:
        if self.running is None:
            return [self.writing.span(now_ms)]
        self.writing.is_running = False
        was_written = self.writing.deltas or self.writing.end_ms > self.writing.start_ms
        written = [self.writing.span(now_ms)] if was_written else []
        return [*written, self.running.span(now_ms)]


class SpanReader:
    """Turns records into spans as they end.

    Consecutive parts of one kind are one span, so a span ends only when something else arrives in
    its output. A call that the provider runs ends with its turn. Time never goes back: an earlier
    `at_ms` counts as the latest one.
    """

    def __init__(self) -> None:
        self._now_ms = 0
        self._ended: list[Span] = []
        # Open spans: one text or reasoning span per output, and per call its arguments and its
        # tool.
        self._prose: dict[tuple[_Path, int], _Open] = {}
        self._calls: dict[tuple[_Path, str], _Call] = {}
        self._tools: dict[tuple[_Path, str], _Open] = {}
        self._part_outputs: dict[tuple[_Path, int], int] = {}
        self._part_calls: dict[tuple[_Path, int], _Call] = {}
        self._called: dict[tuple[_Path, str], tuple[str, int]] = {}
        self._handle = self._handlers()

    def feed(self, record: Record) -> list[Span]:
        """Read the next record; return the spans that it ends."""
        self._now_ms = max(self._now_ms, record.at_ms)
        handle = self._handle.get(type(record.event))
        if handle is not None:
            handle(record, record.event)
        return self._hand_over() if self._ended else []

    def close(self) -> list[Span]:
        """End the stream: return the open spans, which end at the last time seen."""
        for path in dict.fromkeys(key[0] for key in (*self._prose, *self._calls, *self._tools)):
            self._end_run(path)
        return self._hand_over()

    def output_of(self, path: _Path, part: int) -> int:
        """Return the output of an open text or reasoning part."""
        return self._part_outputs.get((path, part), 0)

    def _hand_over(self) -> list[Span]:
        ended, self._ended = self._ended, []
        return ended

    # --- text and reasoning --------------------------------------------------------

    def _more(self, record: Record, event: ev.TextDelta | ev.ReasoningDelta) -> None:
        output, kind = self.output_of(record.path, event.part), _KINDS[type(event)]
        prose = self._prose.get((record.path, output))
        if prose is None or prose.kind != kind:
            prose = self._begin_prose(record, output, kind)
        prose.deltas += 1
        prose.chars += len(event.text)

    def _part_started(self, record: Record, event: ev.TextStarted | ev.ReasoningStarted) -> None:
        self._part_outputs[record.path, event.part] = event.output
        self._resume_prose(record, event.output, _KINDS[type(event)]).is_running = True

    def _resume_prose(self, record: Record, output: int, kind: SpanKind) -> _Open:
        """Continue the open span with the next part, or start a new span."""
        prose = self._prose.get((record.path, output))
        if prose is None or prose.kind != kind or prose.step != record.step:
            return self._begin_prose(record, output, kind)
        prose.parts += 1
        return prose

    def _begin_prose(self, record: Record, output: int, kind: SpanKind) -> _Open:
        self._end_prose(record.path, output)
        prose = self._open(record, kind, output)
        self._prose[record.path, output] = prose
        return prose

    def _part_finished(self, record: Record, event: ev.TextFinished | ev.ReasoningFinished) -> None:
        output = self._part_outputs.pop((record.path, event.part), 0)
        prose = self._prose.get((record.path, output))
        if prose is not None:
            prose.is_running, prose.end_ms = False, self._now_ms

    def _reasoning_redacted(self, record: Record, event: ev.ReasoningRedacted) -> None:
        prose = self._resume_prose(record, event.output, "reasoning")
        prose.is_running, prose.end_ms = False, self._now_ms

    def _end_prose(self, path: _Path, output: int) -> None:
        prose = self._prose.pop((path, output), None)
        if prose is not None:
            self._ended.append(prose.span(self._now_ms))

    # --- calls and tools -----------------------------------------------------------

    def _more_args(self, record: Record, event: ev.ToolCallArgsDelta) -> None:
        call = self._part_calls.get((record.path, event.part))
        if call is not None:
            call.writing.deltas += 1
            call.writing.chars += len(event.text)
            call.write_on(self._now_ms)

    def _call_started(self, record: Record, event: ev.ToolCallStarted) -> None:
        self._end_prose(record.path, event.output)
        self._end_call(record.path, event.call_id)
        writing = self._open(record, "call", event.output, event.name, event.call_id)
        call = _Call(writing, is_ours=event.executor == "client")
        self._calls[record.path, event.call_id] = call
        self._part_calls[record.path, event.part] = call
        self._called[record.path, event.call_id] = event.name, event.output

    def _call_finished(
        self, record: Record, event: ev.ToolCallFinished | ev.ToolCallMalformed
    ) -> None:
        call = self._part_calls.pop((record.path, event.part), None)
        if call is None:
            return
        call.finish_writing(self._now_ms, is_error=isinstance(event, ev.ToolCallMalformed))
        if call.is_ours:
            self._end_call(record.path, event.call_id)

    def _tool_activity(self, record: Record, event: ev.ToolActivity) -> None:
        call = self._calls.get((record.path, event.call_id))
        if call is not None:
            self._report(call, is_end=event.status in _ENDS)
            call.run().is_error |= event.status == "failed"

    def _tool_output(self, record: Record, event: ev.ToolOutput) -> None:
        self._end_prose(record.path, event.output)
        call = self._calls.get((record.path, event.call_id))
        if call is None:
            name = self._called.get((record.path, event.call_id), ("tool", 0))[0]
            moment = self._open(record, "tool", event.output, name, event.call_id)
            self._settle(moment, event.content, event.is_error)
            self._ended.append(moment.span(self._now_ms))
        else:
            self._report(call, is_end=not call.is_done)
            self._settle(call.run(), event.content, event.is_error)

    def _report(self, call: _Call, *, is_end: bool) -> None:
        """Note a report of the provider about a tool that it runs."""
        running = call.run()
        running.deltas += 1
        if is_end or not call.is_done:
            running.end_ms = self._now_ms
        call.is_done |= is_end

    def _end_call(self, path: _Path, call_id: str) -> None:
        call = self._calls.pop((path, call_id), None)
        if call is not None:
            self._ended += call.spans(self._now_ms)

    def _tool_started(self, record: Record, event: ev.ToolStarted) -> None:
        self._end_tool(record.path, event.call_id)
        name, output = self._called.get((record.path, event.call_id), ("tool", 0))
        tool = self._open(record, "tool", output, name, event.call_id)
        self._tools[record.path, event.call_id] = tool

    def _tool_progress(self, record: Record, event: ev.ToolProgress) -> None:
        tool = self._tools.get((record.path, event.call_id))
        if tool is not None:
            tool.deltas += 1

    def _tool_result(self, record: Record, event: ev.ToolResult) -> None:
        """End the tool. The result of a call that never ran, such as a malformed one, has none."""
        tool = self._tools.get((record.path, event.call_id))
        if tool is not None:
            tool.deltas += 1
            self._settle(tool, event.content, event.is_error)
            self._end_tool(record.path, event.call_id)

    def _settle(self, tool: _Open, content: tuple[Content, ...], is_error: bool) -> None:
        tool.chars += sum(len(entry.text) for entry in content if isinstance(entry, TextContent))
        tool.is_error = tool.is_error or is_error

    def _end_tool(self, path: _Path, call_id: str) -> None:
        tool = self._tools.pop((path, call_id), None)
        if tool is not None:
            self._ended.append(tool.span(self._now_ms))

    # --- parts that arrive whole

    def _media_produced(self, record: Record, event: ev.MediaProduced) -> None:
        self._moment(record, "media", event.output, event.media_type)

    def _opaque_item(self, record: Record, event: ev.OpaqueItem) -> None:
        self._moment(record, "opaque", event.output, event.kind)

    def _moment(self, record: Record, kind: SpanKind, output: int, label: str) -> None:
        self._end_prose(record.path, output)
        self._ended.append(self._open(record, kind, output, label).span(self._now_ms))

    def _open(
        self,
        record: Record,
        kind: SpanKind,
        output: int,
        label: str = "",
        call_id: str | None = None,
    ) -> _Open:
        return _Open(
            kind=kind,
            output=output,
            path=record.path,
            step=record.step,
            start_ms=self._now_ms,
            end_ms=self._now_ms,
            label=label,
            call_id=call_id,
        )

    # --- ends ------------------------------------------------------------------------

    def _output_finished(self, record: Record, event: ev.OutputFinished) -> None:
        """End text and reasoning. Tools go on: an agent's result may arrive in a later output."""
        self._end_prose(record.path, event.output)

    def _turn_ended(self, record: Record, event: ev.TurnFinished | ev.TurnFailed) -> None:
        self._end_turn(record.path, is_cut=isinstance(event, ev.TurnFailed))

    def _run_ended(self, record: Record, event: ev.RunFinished | ev.RunFailed) -> None:
        self._end_run(record.path)

    def _end_turn(self, path: _Path, *, is_cut: bool) -> None:
        for place, output in [key for key in self._prose if key[0] == path]:
            self._end_prose(place, output)
        for key in [key for key in self._calls if key[0] == path]:
            if is_cut:
                self._calls[key].break_off(self._now_ms)
            self._end_call(*key)

    def _end_run(self, path: _Path) -> None:
        self._end_turn(path, is_cut=True)
        for key in [key for key in self._tools if key[0] == path]:
            self._end_tool(*key)

    def _handlers(self) -> dict[type, Callable[[Record, Any], None]]:
        return {
            ev.TextDelta: self._more,
            ev.ReasoningDelta: self._more,
            ev.ToolCallArgsDelta: self._more_args,
            ev.TextStarted: self._part_started,
            ev.ReasoningStarted: self._part_started,
            ev.TextFinished: self._part_finished,
            ev.ReasoningFinished: self._part_finished,
            ev.ReasoningRedacted: self._reasoning_redacted,
            ev.ToolCallStarted: self._call_started,
            ev.ToolCallFinished: self._call_finished,
            ev.ToolCallMalformed: self._call_finished,
            ev.ToolActivity: self._tool_activity,
            ev.ToolOutput: self._tool_output,
            ev.ToolStarted: self._tool_started,
            ev.ToolProgress: self._tool_progress,
            ev.ToolResult: self._tool_result,
            ev.MediaProduced: self._media_produced,
            ev.OpaqueItem: self._opaque_item,
            ev.OutputFinished: self._output_finished,
            ev.TurnFinished: self._turn_ended,
            ev.TurnFailed: self._turn_ended,
            ev.RunFinished: self._run_ended,
            ev.RunFailed: self._run_ended,
        }
