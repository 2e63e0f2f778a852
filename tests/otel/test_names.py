"""Every name of an attribute and a metric is published, or begins with `headrace.`."""

from __future__ import annotations

import re
from pathlib import Path

import opentelemetry.semconv
import opentelemetry.util.genai
import pytest
from opentelemetry.util.genai import _instruments

from headrace.rehearsal.clock import run_virtual
from headrace.telemetry import names
from tests.engine.resume.scenes import SCENES, through_json
from tests.otel.traced import TracedPlayer, Traces

OURS = "headrace."


def _published() -> set[str]:
    """All constants of the conventions, and the names in the sources of util-genai."""
    constant = re.compile(r'^_?[A-Z_]+: Final = \(?\s*"([a-z0-9_.]+)"', re.MULTILINE)
    found: set[str] = set()
    for package in (opentelemetry.semconv, opentelemetry.util.genai):
        folder = Path(str(package.__file__)).parent
        for path in folder.rglob("*.py"):
            found |= set(constant.findall(path.read_text("utf-8")))
    return found


PUBLISHED = _published()


@pytest.mark.parametrize("has_content", [False, True])
@pytest.mark.parametrize("scene", list(SCENES))
def test_every_name_that_is_recorded_is_published_or_ours(scene: str, has_content: bool) -> None:
    traces = Traces(agent_name="planner", has_content=has_content)
    dialect = SCENES[scene].choose_dialect("chat")
    records = run_virtual(TracedPlayer(SCENES[scene], dialect, traces).start())
    half = through_json(records[: len(records) // 2])
    run_virtual(TracedPlayer(SCENES[scene], dialect, traces).resume(half))
    seen: set[str] = set()
    for span in traces.spans:
        seen |= set(span.attributes or {})
        for event in span.events:
            seen |= {event.name, *(event.attributes or {})}
    for metric, points in traces.metrics().items():
        seen.add(metric)
        for point in points:
            seen |= set(point.attributes)
    assert "gen_ai.operation.name" in seen
    assert {name for name in seen if not name.startswith(OURS)} <= PUBLISHED


def test_every_name_in_the_table_is_published_or_ours() -> None:
    constants = [v for n, v in vars(names).items() if n.isupper() and isinstance(v, str)]
    metrics = [metric.name for metric in names.METRICS]
    unknown = {name for name in [*constants, *metrics] if not name.startswith(OURS)} - PUBLISHED
    # An attribute of the specification of the SDK, which no package has as a constant.
    assert unknown <= {"otel.metric.overflow"}


def test_the_buckets_are_those_of_the_conventions() -> None:
    theirs = {
        names.OPERATION_DURATION: _instruments._GEN_AI_CLIENT_OPERATION_DURATION_BUCKETS,
        names.TIME_TO_FIRST_CHUNK: _instruments._GEN_AI_CLIENT_OPERATION_DURATION_BUCKETS,
        names.TIME_PER_OUTPUT_CHUNK: _instruments._GEN_AI_CLIENT_OPERATION_DURATION_BUCKETS,
        names.TOKEN_USAGE: _instruments._GEN_AI_CLIENT_TOKEN_USAGE_BUCKETS,
        names.TOOL_DURATION: _instruments._GEN_AI_EXECUTE_TOOL_DURATION_BUCKETS,
        names.AGENT_DURATION: _instruments._GEN_AI_INVOKE_AGENT_DURATION_BUCKETS,
    }
    for metric, bounds in theirs.items():
        assert list(metric.bounds) == bounds, metric.name


def test_histograms_have_these_buckets_and_one_point_for_each_span() -> None:
    traces = Traces()
    run_virtual(TracedPlayer(SCENES["tools"], "chat", traces).start())
    measured = traces.metrics()
    by_name = {metric.name: metric for metric in names.METRICS}
    for name, points in measured.items():
        for point in points:
            assert tuple(point.explicit_bounds) == by_name[name].bounds
    counted = {name: sum(point.count for point in points) for name, points in measured.items()}
    chats = sum(span.name.startswith("chat") for span in traces.spans)
    calls = sum(span.name.startswith("execute_tool") for span in traces.spans)
    assert counted["gen_ai.client.operation.duration"] == chats == 3
    assert counted["gen_ai.client.operation.time_to_first_chunk"] == chats
    assert counted["gen_ai.client.token.usage"] == 2 * chats
    assert counted["gen_ai.execute_tool.duration"] == calls == 4
    assert counted["gen_ai.invoke_agent.duration"] == 1
    assert counted["headrace.client.operation.time_to_first_reasoning"] == 2
    assert counted["headrace.client.operation.time_to_first_text"] == 1
    assert counted["headrace.client.operation.cost"] == chats
    assert counted["gen_ai.client.operation.time_per_output_chunk"] > 3
