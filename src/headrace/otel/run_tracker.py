"""`RunTracker`: the live spans of one run."""

from __future__ import annotations

from contextvars import Token
from typing import Any

import msgspec
from opentelemetry.context import Context, attach, detach
from opentelemetry.trace import set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from headrace.encoders import Request
from headrace.engine import RunView
from headrace.events import DELTA_TYPES, Record, RunResumed, RunStarted, RunSuspended, TraceIds
from headrace.otel.recorder import Recorder, ids_of
from headrace.telemetry import names
from headrace.telemetry.content import ContentRecorder
from headrace.telemetry.span import Attributes, Span
from headrace.telemetry.span_builder import SPAN_TYPES, SpanBuilder, SpanChange, describe_agent
from headrace.trace_headers import TRACE_HEADERS

_propagator = TraceContextTextMapPropagator()


class RunTracker:
    """Starts and ends the spans of one run as its records are written."""

    def __init__(
        self, recorder: Recorder, agent_name: str | None, content: ContentRecorder | None
    ) -> None:
        self._recorder = recorder
        self._agent_name = agent_name
        self._content = content
        self._builder = SpanBuilder(agent_name=agent_name, content=content)
        self._root: Any = None
        self._root_attributes: Attributes = {}
        # Spans of an earlier process, which nobody has recorded if it was killed.
        self._lost: list[Span] = []
        self._last: TraceIds | None = None
        self._was_traced = False
        self.repeated_kind: type[Any] | None = None
        """Kind of the last record if it was a delta of an answer, else None. Further deltas of this
        kind may be passed to `repeat()` instead of `feed()`. Always None if content is recorded."""
        self._answer: Span | None = None
        self.is_broken = False
        """Whether an error has ended the recording of this run."""

    # -- the beginning

    def replay(self, record: Record) -> None:
        """Take a record of an earlier process."""
        event = record.event
        changes = self._builder.feed(record)
        if not record.path:
            if isinstance(event, RunStarted | RunResumed):
                self._was_traced = not isinstance(event.trace, msgspec.UnsetType)
                self._last = event.trace if isinstance(event.trace, TraceIds) else None
                self._lost = []
            elif isinstance(event, RunSuspended):
                # Its process had the time to record them.
                self._lost = []
        root = self._builder.root
        is_current = root is not None
        self._lost += [one.span for one in changes if not one.is_end and is_current]

    def start(self, run: RunView) -> TraceIds | None:
        """Start the topmost span, in the current context. Returns its ids, or None if no SDK
        records it."""
        if self._builder.root is not None:
            self._builder.close()
            if self._was_traced:
                self._recorder.emit_lost(self._lost)
        self._lost = []
        provider, _, model = run.model.partition(":")
        # A clock that has gone back since the last record does not count.
        now_ms = max(int(run.clock()), self._builder.last_ms)
        # The ids are not known yet.
        span = Span("invoke_agent", self._agent_name, _NO_IDS, now_ms, link=self._last)
        provider = names.convert_provider(provider)
        span.set_all(describe_agent(self._agent_name, provider, model))
        self._root = self._recorder.start_root(span, None)
        self._root_attributes = span.attributes
        return ids_of(self._root, None)

    # -- records

    def feed(self, record: Record) -> None:
        """Take a record that has been written."""
        kind = type(record.event)
        if kind not in SPAN_TYPES:
            return
        changes = self._builder.feed(record)
        self.repeated_kind = self._answer = None
        if kind in DELTA_TYPES and not record.path and self._content is None:
            self._answer = self._builder.find_answer()
            self.repeated_kind = None if self._answer is None else kind
        if changes:
            self._apply(changes)

    def repeat(self, at_ms: int) -> None:
        """Take one more delta like the one before, of which only the time is new."""
        answer = self._answer
        if answer is not None and at_ms > answer.last_chunk_ms:
            answer.note_chunk(at_ms)
            self._builder.last_ms = at_ms

    def _apply(self, changes: list[SpanChange]) -> None:
        recorder = self._recorder
        for span, is_end in changes:
            if is_end:
                recorder.end(span)
                recorder.measure(span)
            elif span.parent is None:
                span.handle, self._root = self._root, None
                span.known = self._root_attributes
            else:
                recorder.start(span)

    # -- what is sent

    def enter_turn(self, run: RunView, request: Request) -> ActiveSpan | None:
        """Return a context manager for the request that is about to be sent."""
        span, changes = self._builder.begin_turn(run.path)
        self._apply(changes)
        if span is None or span.handle is None:
            return None
        self._describe(span, run, request)
        return ActiveSpan(span.handle)

    def enter_tool(self, run: RunView, call_id: str) -> ActiveSpan | None:
        """Return a context manager for the call that is about to run."""
        span, changes = self._builder.find_tool(run.path, call_id)
        self._apply(changes)
        return None if span is None or span.handle is None else ActiveSpan(span.handle)

    def _describe(self, span: Span, run: RunView, request: Request) -> None:
        """Set the attributes that are known of the request. Records do not have them."""
        options, provider = request.options, request.provider
        host, port = run.server or (None, None)
        span.set_all(
            {
                names.REQUEST_MODEL: request.model,
                names.PROVIDER: None if provider is None else names.convert_provider(provider),
                names.REQUEST_MAX_TOKENS: options.max_tokens,
                names.REQUEST_TEMPERATURE: options.temperature,
                names.REQUEST_TOP_P: options.top_p,
                names.REQUEST_TOP_K: options.top_k,
                names.REQUEST_SEED: options.seed,
                names.REQUEST_STOP: options.stop,
                names.REQUEST_FREQUENCY_PENALTY: options.frequency_penalty,
                names.REQUEST_PRESENCE_PENALTY: options.presence_penalty,
                names.REQUEST_EFFORT: options.effort,
                names.OUTPUT_TYPE: None if options.output is None else "json",
                names.SERVER_ADDRESS: host,
                names.SERVER_PORT: port,
            }
        )
        if self._content is not None:
            self._content.fill_input(span, request.instructions, request.messages)


_NO_IDS = TraceIds("0" * 32, "0" * 16)


class ActiveSpan:
    """A context manager that makes a span the current one, and names it in `TRACE_HEADERS`."""

    __slots__ = ("_context", "_headers", "_token")

    def __init__(self, handle: Any) -> None:
        self._context = set_span_in_context(handle)
        self._token: Token[Context] | None = None
        self._headers: Token[Any] | None = None

    def __enter__(self) -> None:
        carrier: dict[str, str] = {}
        _propagator.inject(carrier, self._context)
        self._token = attach(self._context)
        self._headers = TRACE_HEADERS.set(carrier)

    def __exit__(self, *_: object) -> None:
        if self._headers is not None:
            TRACE_HEADERS.reset(self._headers)
        if self._token is not None:
            detach(self._token)
