"""`OpenTelemetry`: middleware that records the runs of an agent as traces and metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from weakref import WeakValueDictionary

from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from headrace.encoders import Request
from headrace.engine import Middleware, RunView, ToolCall
from headrace.events import Record, TraceIds
from headrace.log import get_logger
from headrace.otel.recorder import Recorder
from headrace.otel.run_tracker import RunTracker
from headrace.secrets import API_KEYS, Mask, SecretPattern
from headrace.telemetry.content import ContentRecorder

_logger = get_logger("engine")


class OpenTelemetry(Middleware):
    """Records each run as a trace: the run of the agent, its requests to models, its calls of
    tools, and the runs of its sub-agents; and counts durations, tokens and cost in histograms.

    Spans and metrics go to the `TracerProvider` and the `MeterProvider` that are given, or to those
    that the application has set; without an SDK nothing is recorded. Give it to the outermost
    agent, whose runs include those of its sub-agents. The names are those of OpenTelemetry's
    conventions for generative AI. Requests to models and tools carry the W3C trace context.

    `agent_name` is the name of the agent in its spans. Texts of prompts, answers, calls and errors
    are recorded only with `has_content`, and then without `secrets`, values that are never to be
    shown, and without what looks like one of the `patterns`, by default API keys. A `recorder` can
    be shared by several instances.

    A run that is suspended or whose process is killed has one trace for each stretch, with a link
    to the one before. The process that resumes a run makes the spans that a killed one has lost. An
    error of OpenTelemetry is logged, and never ends a run.
    """

    is_passive = True

    def __init__(
        self,
        *,
        agent_name: str | None = None,
        has_content: bool = False,
        secrets: Iterable[str] = (),
        patterns: Sequence[SecretPattern] = API_KEYS,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self._agent_name = agent_name
        self._mask = Mask(tuple(secrets), patterns) if has_content else None
        self.skips_repeated_deltas = not has_content
        self._recorder = recorder or Recorder(tracer_provider, meter_provider)
        self._key = f"opentelemetry {id(self)}"
        # Sub-agents have another view of the same run. The view of the run keeps its tracker.
        self._trackers: WeakValueDictionary[str, RunTracker] = WeakValueDictionary()

    def start_trace(self, run: RunView) -> TraceIds | None:
        """Start the span of the run, and return its ids."""
        tracker = self._find_tracker(run)
        try:
            return tracker.start(run)
        except Exception as error:  # noqa: BLE001 (recording must not end a run)
            _give_up(tracker, run, error)
            return None

    def on_event(self, run: RunView, record: Record) -> None:
        """Start and end the spans of a record."""
        tracker: RunTracker | None = run.state.get(self._key)
        if tracker is None:
            if run.path or not run.is_replay:
                # The run around it records what its sub-agents do.
                return
            tracker = self._find_tracker(run)
        elif type(record.event) is tracker.repeated_kind and not record.path:
            tracker.repeat(record.at_ms)
            return
        if tracker.is_broken:
            return
        try:
            if run.is_replay:
                tracker.replay(record)
            else:
                tracker.feed(record)
        except Exception as error:  # noqa: BLE001 (recording must not end a run)
            _give_up(tracker, run, error)

    def around_turn(self, run: RunView, request: Request) -> AbstractContextManager[None] | None:
        """Make the span of the request the current one while it is sent."""
        tracker = self._trackers.get(run.run_id)
        if tracker is None or tracker.is_broken:
            return None
        try:
            return tracker.enter_turn(run, request)
        except Exception as error:  # noqa: BLE001 (recording must not end a run)
            _give_up(tracker, run, error)
            return None

    def around_tool(self, run: RunView, call: ToolCall) -> AbstractContextManager[None] | None:
        """Make the span of the call the current one while the tool runs."""
        tracker = self._trackers.get(run.run_id)
        if tracker is None or tracker.is_broken:
            return None
        try:
            return tracker.enter_tool(run, call.call_id)
        except Exception as error:  # noqa: BLE001 (recording must not end a run)
            _give_up(tracker, run, error)
            return None

    def _find_tracker(self, run: RunView) -> RunTracker:
        tracker: RunTracker | None = run.state.get(self._key)
        if tracker is None:
            content = None if self._mask is None else ContentRecorder(self._mask)
            tracker = RunTracker(self._recorder, self._agent_name, content)
            run.state[self._key] = self._trackers[run.run_id] = tracker
        return tracker


def _give_up(tracker: RunTracker, run: RunView, error: Exception) -> None:
    """Stop recording a run after an error, which is not one of the run."""
    tracker.is_broken = True
    kind = type(error).__name__
    fields = {"event": "tracing_failed", "run_id": run.run_id, "error": kind}
    _logger.warning("run %s is traced no further: %s", run.run_id, kind, extra=fields)
