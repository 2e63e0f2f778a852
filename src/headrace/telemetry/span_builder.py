"""`SpanBuilder`: turns the records of a run into spans."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import msgspec

from headrace import events as ev
from headrace.events import DELTA_TYPES, Record, TraceIds
from headrace.telemetry import names
from headrace.telemetry.agent_spans import AgentSpans
from headrace.telemetry.content import ContentRecorder
from headrace.telemetry.span import Attributes, Span, SpanEvent, hash_id
from headrace.telemetry.turn_end import fill_turn, fill_usage, note_chunk

_Path = tuple[str, ...]
INTERRUPTED: Final = "interrupted"
"""The error of spans that were open when the process of a run was killed."""


class SpanChange(NamedTuple):
    """A span that has started or ended."""

    span: Span
    is_end: bool


_NOTHING: Final[list[SpanChange]] = []


class SpanBuilder:
    """Computes the spans of one run. `feed()` takes its records in order, and returns the spans
    that have started or ended with each; `close()` ends what is open.

    A run has one tree of spans from its start to its end. If it was suspended or its process was
    killed, each stretch in between has a tree of its own, which is linked to the one before. The
    ids of the topmost span are those in `RunStarted` and `RunResumed`, or computed from the id of
    the run if it was not traced. With `content`, texts are recorded too.
    """

    def __init__(
        self, *, agent_name: str | None = None, content: ContentRecorder | None = None
    ) -> None:
        self._agent_name = agent_name
        self._content = content
        self._run_id = ""
        self._model: str | None = None
        self._epoch = 0
        self._agents: dict[_Path, AgentSpans] = {}
        self._changes: list[SpanChange] = []
        self.last_ms = 0
        """Time of the last record."""
        self._before_ms = 0
        self._previous: TraceIds | None = None
        self.root: Span | None = None
        """The topmost span of the current stretch, or None if the run is not going on."""

    # -- records

    def feed(self, record: Record) -> list[SpanChange]:
        """Take the next record, and return the spans that have started or ended."""
        event = record.event
        kind = type(event)
        if kind in DELTA_TYPES:
            self.last_ms = record.at_ms
            agent = self._agents.get(record.path)
            if agent is not None and agent.chat is not None:
                note_chunk(agent.chat, kind, record.at_ms)
            if self._content is not None:
                self._content.feed(record.path, event)
            return _NOTHING
        self._before_ms, self.last_ms = self.last_ms, record.at_ms
        handle = _HANDLERS.get(kind)
        if handle is None:
            return _NOTHING
        handle(self, record, event)
        return self._take_changes()

    def close(self, error: str = INTERRUPTED) -> list[SpanChange]:
        """End all open spans at the time of the last record: the process was killed."""
        self._end_stretch(self.last_ms, error)
        return self._take_changes()

    def find_answer(self) -> Span | None:
        """Return the span of the run's own request that is being answered, or None."""
        agent = self._agents.get(())
        return None if agent is None else agent.chat

    def begin_turn(self, path: _Path) -> tuple[Span | None, list[SpanChange]]:
        """Return the span of the request that is about to be sent, and the changes if it had to be
        started: a run that is resumed asks again without a record."""
        agent = self._find(path)
        if agent is None:
            return None, self._take_changes()
        return self._open_chat(agent), self._take_changes()

    def find_tool(self, path: _Path, call_id: str) -> tuple[Span | None, list[SpanChange]]:
        """Return the span of a call that is about to run, and the changes if it had to be started:
        a sub-agent that is resumed goes on without a record of its call."""
        agent = self._find(path)
        tool = None if agent is None else self._open_tool(agent, call_id)
        return tool, self._take_changes()

    def _take_changes(self) -> list[SpanChange]:
        if not self._changes:
            return _NOTHING
        changes, self._changes = self._changes, []
        return changes

    # -- places

    def _find(self, path: _Path) -> AgentSpans | None:
        """Return the agent of a path with an open span, or None if the run is not going on. The
        spans of a sub-agent that goes on after its run was resumed are started again."""
        agent = self._agents.get(path)
        if agent is None or (agent.span is None and not path):
            return None
        if agent.span is None:
            outer = self._find(path[:-1])
            if outer is None:
                return None
            tool = self._open_tool(outer, path[-1])
            self._start_agent(agent, tool.create_child("invoke_agent", tool.target, tool.start_ms))
        return agent

    def _start(self, span: Span) -> Span:
        self._changes.append(SpanChange(span, False))
        return span

    def _end(self, span: Span, at_ms: int, error: str | None = None) -> None:
        if error is not None:
            span.error = error
            span.set(names.ERROR_TYPE, error)
        span.end_ms = max(at_ms, span.start_ms)
        self._changes.append(SpanChange(span, True))

    def _start_agent(self, agent: AgentSpans, span: Span) -> None:
        agent.begin(self._start(span))
        span.set_all(describe_agent(span.target, agent.provider, agent.model))
        span.set(names.RUN_ID, self._run_id)

    # -- stretches

    def _begin_run(self, record: Record, event: ev.RunStarted) -> None:
        agent = self._agents[record.path] = AgentSpans(record.path, event.model)
        if record.path:
            outer = self._find(record.path[:-1])
            if outer is not None:
                tool = self._open_tool(outer, record.path[-1])
                span = tool.create_child("invoke_agent", tool.target, record.at_ms)
                self._start_agent(agent, span)
            return
        self._run_id, self._model = event.run_id, event.model
        self._begin_stretch(agent, record.at_ms, event.trace)

    def _resume_run(self, record: Record, event: ev.RunResumed) -> None:
        agent = self._agents.get(())
        if agent is None:
            return
        # Without `RunSuspended`, the process before was killed.
        self._end_stretch(self._before_ms, INTERRUPTED)
        self._epoch = event.epoch
        self._begin_stretch(agent, record.at_ms, event.trace)
        assert self.root is not None
        self.root.set(names.RUN_EPOCH, event.epoch)

    def _begin_stretch(
        self, agent: AgentSpans, at_ms: int, trace: TraceIds | msgspec.UnsetType
    ) -> None:
        if isinstance(trace, msgspec.UnsetType):
            place = f"{self._run_id}/{self._epoch}"
            trace = TraceIds(hash_id(f"trace/{place}", 16), hash_id(f"span/{place}", 8))
        self.root = Span("invoke_agent", self._agent_name, trace, at_ms, link=self._previous)
        self._previous = trace
        self._start_agent(agent, self.root)

    def _end_stretch(self, at_ms: int, error: str | None) -> None:
        """End all spans, the innermost first."""
        for path in sorted(self._agents, key=len, reverse=True):
            self._end_agent(self._agents[path], at_ms, error)
        self.root = None

    def _end_agent(self, agent: AgentSpans, at_ms: int, error: str | None) -> None:
        span = agent.span
        if span is None:
            return
        for child in agent.take_open():
            if self._content is not None and child.operation == "chat":
                self._content.fill_output(agent.path, child, ())
            self._end(child, at_ms, error)
        fill_usage(span, agent.usage)
        outer = self._agents.get(agent.path[:-1]) if agent.path else None
        if outer is not None:
            outer.add_usage(agent.usage)
        agent.span = None
        self._end(span, at_ms, error)

    def _suspend_run(self, record: Record, event: ev.RunSuspended) -> None:
        if self.root is not None:
            self.root.set(names.RUN_END, f"suspended: {event.reason}")
        self._end_stretch(record.at_ms, None)

    def _end_run(self, record: Record, event: ev.RunFinished | ev.RunFailed) -> None:
        agent = self._find(record.path)
        if agent is None or agent.span is None:
            return
        error: str | None = None
        if isinstance(event, ev.RunFailed):
            error = event.category
            agent.span.error_message = self._tell(event.message)
        else:
            agent.span.set(names.RUN_END, event.reason.word)
            agent.span.set(names.FINISH_REASONS, (event.reason.word,))
        self._end_agent(agent, record.at_ms, error)
        if not record.path:
            self._end_stretch(record.at_ms, error)

    def _tell(self, message: str) -> str | None:
        """Return an error message if content is recorded: it may quote some."""
        return None if self._content is None else self._content.hide(message)

    # -- turns

    def _begin_step(self, record: Record, event: ev.StepStarted | ev.StepDiscarded) -> None:
        agent = self._find(record.path)
        if agent is None:
            return
        if agent.chat is not None:
            self._end_chat(agent, record.at_ms, "discarded")
        agent.ready_ms, agent.step = record.at_ms, event.step
        self._open_chat(agent)

    def _open_chat(self, agent: AgentSpans) -> Span:
        if agent.chat is not None:
            return agent.chat
        assert agent.span is not None
        chat = agent.span.create_child("chat", agent.model, agent.ready_ms)
        chat.set_all(
            {
                names.OPERATION: "chat",
                names.REQUEST_STREAM: True,
                names.PROVIDER: agent.provider,
                names.REQUEST_MODEL: agent.model,
                names.STEP: agent.step,
            }
        )
        agent.chat = chat
        return self._start(chat)

    def _begin_answer(self, record: Record, event: ev.TurnStarted) -> None:
        agent = self._find(record.path)
        if agent is None:
            return
        chat = self._open_chat(agent)
        chat.first_chunk_ms = chat.last_chunk_ms = record.at_ms
        provider = event.provider
        chat.set_all(
            {
                names.FIRST_CHUNK: (record.at_ms - chat.start_ms) / 1000,
                names.RESPONSE_ID: event.response_id,
                names.RESPONSE_MODEL: event.model,
                names.PROVIDER: None if provider is None else names.convert_provider(provider),
            }
        )

    def _end_output(self, record: Record, event: ev.OutputFinished) -> None:
        agent = self._agents.get(record.path)
        if agent is not None and (event.raw_reason or event.reason):
            agent.finish_reasons.append(event.raw_reason or str(event.reason))

    def _end_turn(self, record: Record, event: ev.TurnFinished | ev.TurnFailed) -> None:
        agent = self._agents.get(record.path)
        if agent is None or agent.chat is None:
            return
        agent.add_usage(event.usage)
        fill_turn(agent.chat, event, agent.finish_reasons)
        if isinstance(event, ev.TurnFailed):
            agent.chat.error_message = self._tell(event.message)
            self._end_chat(agent, record.at_ms, event.category)
        else:
            self._end_chat(agent, record.at_ms, None)

    def _end_chat(self, agent: AgentSpans, at_ms: int, error: str | None) -> None:
        chat, agent.chat = agent.chat, None
        assert chat is not None
        if self._content is not None:
            self._content.fill_output(agent.path, chat, agent.finish_reasons)
        agent.finish_reasons = []
        self._end(chat, at_ms, error)

    def _end_step(self, record: Record, event: ev.StepFinished) -> None:
        # A sub-agent that was resumed may have nothing else left to do.
        self._find(record.path)

    def _keep_part(self, record: Record, event: Any) -> None:
        if self._content is not None:
            self._content.feed(record.path, event)

    # -- calls

    def _name_call(self, record: Record, event: ev.ToolCallStarted) -> None:
        agent = self._agents.get(record.path)
        if agent is not None:
            agent.tool_names[event.call_id] = event.name
        self._keep_part(record, event)

    def _open_tool(self, agent: AgentSpans, call_id: str, at_ms: int | None = None) -> Span:
        """Return the span of a call. One that goes on without a record of its start has gone on
        since its agent was resumed."""
        tool = agent.tools.get(call_id)
        if tool is not None:
            return tool
        assert agent.span is not None
        name = agent.tool_names.get(call_id)
        start_ms = agent.span.start_ms if at_ms is None else at_ms
        tool = agent.span.create_child("execute_tool", name, start_ms, call_id)
        agent.tools[call_id] = tool
        tool.set_all(
            {
                names.OPERATION: "execute_tool",
                names.TOOL_NAME: name,
                names.TOOL_TYPE: "function",
                names.TOOL_CALL_ID: call_id,
                names.STEP: agent.step,
            }
        )
        return self._start(tool)

    def _begin_tool(self, record: Record, event: ev.ToolStarted) -> None:
        agent = self._find(record.path)
        if agent is None:
            return
        agent.step = record.step
        tool = self._open_tool(agent, event.call_id, record.at_ms)
        if self._content is not None:
            self._content.fill_arguments(tool, event.args)

    def _end_tool(self, record: Record, event: ev.ToolResult) -> None:
        agent = self._find(record.path)
        if agent is None:
            return
        nested = self._agents.pop((*record.path, event.call_id), None)
        if nested is not None:
            self._open_tool(agent, event.call_id)
            self._end_agent(nested, record.at_ms, INTERRUPTED)
        tool = agent.tools.pop(event.call_id, None)
        if tool is None:
            # It was not run, or an earlier process has run it.
            return
        if self._content is not None:
            self._content.fill_result(tool, event.content)
        self._end(tool, record.at_ms, "tool_error" if event.is_error else None)

    # -- what happens in between

    def _add_event(self, record: Record, name: str, attributes: Attributes) -> None:
        agent = self._find(record.path)
        if agent is not None and agent.span is not None:
            agent.span.events.append(SpanEvent(name, record.at_ms, attributes))

    def _note_request(self, record: Record, event: ev.InputRequested) -> None:
        told: Attributes = {
            names.REQUEST_KIND: event.kind,
            names.TOOL_NAME: event.name,
            names.TOOL_CALL_ID: event.call_id,
        }
        self._add_event(record, names.INPUT_REQUESTED, told)

    def _note_answer(self, record: Record, event: ev.InputAnswered) -> None:
        decision: Attributes = {names.REQUEST_DECISION: event.decision}
        self._add_event(record, names.INPUT_ANSWERED, decision)

    def _note_compaction(self, record: Record, event: ev.HistoryCompacted) -> None:
        counts: Attributes = {
            names.MESSAGES_BEFORE: event.before,
            names.MESSAGES_AFTER: event.after,
        }
        self._add_event(record, names.COMPACTED, counts)


# pyright: reportPrivateUsage=false
_HANDLERS: dict[type[Any], Callable[[SpanBuilder, Record, Any], None]] = {
    ev.RunStarted: SpanBuilder._begin_run,
    ev.RunResumed: SpanBuilder._resume_run,
    ev.RunSuspended: SpanBuilder._suspend_run,
    ev.RunFinished: SpanBuilder._end_run,
    ev.RunFailed: SpanBuilder._end_run,
    ev.StepStarted: SpanBuilder._begin_step,
    ev.StepDiscarded: SpanBuilder._begin_step,
    ev.StepFinished: SpanBuilder._end_step,
    ev.TurnStarted: SpanBuilder._begin_answer,
    ev.OutputFinished: SpanBuilder._end_output,
    ev.TurnFinished: SpanBuilder._end_turn,
    ev.TurnFailed: SpanBuilder._end_turn,
    ev.ToolCallStarted: SpanBuilder._name_call,
    ev.ToolCallFinished: SpanBuilder._keep_part,
    ev.ToolStarted: SpanBuilder._begin_tool,
    ev.ToolResult: SpanBuilder._end_tool,
    ev.InputRequested: SpanBuilder._note_request,
    ev.InputAnswered: SpanBuilder._note_answer,
    ev.HistoryCompacted: SpanBuilder._note_compaction,
}
SPAN_TYPES: Final = frozenset((*_HANDLERS, *DELTA_TYPES))
"""Kinds of events that change a span. Of all others only the time counts: a span of a process that
was killed ends with the last record."""


def describe_agent(name: str | None, provider: str | None, model: str | None) -> dict[str, Any]:
    """Return the attributes that the span of an agent has from its start."""
    return {
        names.OPERATION: "invoke_agent",
        names.AGENT_NAME: name,
        names.PROVIDER: provider,
        names.REQUEST_MODEL: model,
    }


def build_spans(records: Iterable[Record], builder: SpanBuilder | None = None) -> list[Span]:
    """Return all spans of a run in the order in which they started. Spans that are open at the last
    record end with it, as interrupted."""
    builder = builder or SpanBuilder()
    spans: list[Span] = []
    for record in records:
        spans += [change.span for change in builder.feed(record) if not change.is_end]
    builder.close()
    return spans
