"""What a turn asks of the SDK: a fixed number of calls, however long the answer is."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest
from opentelemetry.sdk.metrics import Histogram
from opentelemetry.sdk.trace import Span, Tracer

from headrace import Agent
from headrace.engine import Middleware
from headrace.engine.middleware import middleware
from headrace.events import Record
from headrace.telemetry.measurement import MAX_GAPS
from headrace.telemetry.span_builder import SpanBuilder, SpanChange
from headrace.testing import ScriptedTransport, say, turn, usage
from tests.otel.traced import Traces

MODEL = "vllm:any"


def complete(deltas: int, traces: Traces) -> None:
    """Run a turn with an answer of so many deltas, each in a millisecond of its own."""
    pieces = ["word "] * deltas
    script = [turn(say(pieces=pieces), usage(input=20, output=deltas))]
    agent = Agent(
        MODEL,
        transport=ScriptedTransport(script, dialect="chat"),
        middleware=[traces.telemetry],
    )
    with agent.run("Tell me more.", clock=itertools.count(1_000_000).__next__) as run:
        assert len(list(run)) > deltas


def count_calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the calls of the SDK from now on."""
    counted: Counter[str] = Counter()

    def count(owner: type, name: str) -> None:
        original = getattr(owner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            counted[name] += 1
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, call)

    for name in ("set_attribute", "set_attributes", "add_event", "end"):
        count(Span, name)
    count(Tracer, "start_span")
    count(Histogram, "record")
    return counted


def test_the_calls_of_a_turn_do_not_grow_with_its_deltas(monkeypatch: pytest.MonkeyPatch) -> None:
    long, longer = Traces(), Traces()
    counted = count_calls(monkeypatch)
    complete(200, long)
    first = counted.copy()
    counted.clear()
    complete(2_000, longer)
    assert counted == first
    spans = {"start_span": 2, "set_attributes": 2, "end": 2}
    assert {name: counted[name] for name in spans} == spans
    assert "set_attribute" not in counted
    # The durations of the run and the request, two first words, two counts of tokens, and gaps.
    assert counted["record"] <= 8 + MAX_GAPS


def test_the_gaps_that_are_counted_are_spread_over_the_answer() -> None:
    for deltas, expected in ((10, 9), (500, MAX_GAPS)):
        traces = Traces()
        complete(deltas, traces)
        (gaps,) = traces.metrics()["gen_ai.client.operation.time_per_output_chunk"]
        assert expected <= gaps.count <= min(expected + 1, MAX_GAPS)
        assert gaps.max == pytest.approx(gaps.min)


def test_the_hooks_of_a_class_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Observer(Middleware):
        pass

    looked_up: list[Any] = []

    def list_names(kind: Any) -> list[str]:
        looked_up.append(kind)
        return dir(kind)

    monkeypatch.setattr(middleware, "dir", list_names, raising=False)
    for _ in range(3):
        Agent(MODEL, middleware=[Observer()])
    assert looked_up == [Observer]


def test_more_deltas_of_a_part_are_not_read_as_records(monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[str] = []
    feed = SpanBuilder.feed

    def count(self: SpanBuilder, record: Record) -> list[SpanChange]:
        fed.append(type(record.event).__name__)
        return feed(self, record)

    monkeypatch.setattr(SpanBuilder, "feed", count)
    traces = Traces()
    complete(500, traces)
    assert fed.count("TextDelta") == 1
    # Their times count all the same.
    (gaps,) = traces.metrics()["gen_ai.client.operation.time_per_output_chunk"]
    assert gaps.count == MAX_GAPS
