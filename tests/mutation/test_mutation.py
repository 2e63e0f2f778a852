"""Streams as gateways rewrite, break and damage them: what is harmless changes nothing, and what
is not never passes for a success."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import events as ev
from headrace.wire.dialects import DIALECT_NAMES
from headrace.wire.framing import create_framing
from tests.authored import anthropic_streams, chat_streams
from tests.corpus import recorded
from tests.mutation.faults import DAMAGES, INSERTIONS
from tests.mutation.harmless import MUTATIONS
from tests.mutation.judge import Verdict, judge_damages, judge_errors, judge_harmless
from tests.mutation.places import damage_places, error_places
from tests.mutation.sample import Sample, Sent
from tests.mutation.samples import IS_LONG, authored_samples, recorded_samples

AUTHORED = authored_samples()
RECORDED = recorded_samples()
_MAX_SHOWN = 8

each_authored = pytest.mark.parametrize("sample", AUTHORED, ids=[s.name for s in AUTHORED])
each_recorded = pytest.mark.parametrize("sample", RECORDED, ids=[s.name for s in RECORDED])
recordings = pytest.mark.shared(recorded.MANIFEST)
patient = pytest.mark.timeout(1200 if IS_LONG else 60)

Report = Callable[[str, object], None]


def check(verdict: Verdict, kind: str, record_property: Report) -> None:
    """Report how many cases there were, and assert that none breaks a promise."""
    record_property("sum", (f"{kind}: streams", 1))
    record_property("sum", (f"{kind}: cases", verdict.cases))
    record_property("sum", (f"{kind}: quiet successes with lost content", verdict.quiet_losses))
    record_property("sum", (f"{kind}: runnable calls that lost a frame", verdict.broken_calls))
    shown = "\n".join(map(str, verdict.violations[:_MAX_SHOWN]))
    assert not verdict.violations, f"{len(verdict.violations)} of {verdict.cases}:\n{shown}"


@patient
@each_authored
def test_a_harmless_mutation_of_an_authored_stream(sample: Sample, record_property: Report) -> None:
    check(judge_harmless(sample), "harmless mutations", record_property)


@patient
@recordings
@each_recorded
def test_a_harmless_mutation_of_a_recorded_stream(sample: Sample, record_property: Report) -> None:
    check(judge_harmless(sample), "harmless mutations", record_property)


@patient
@each_authored
def test_an_error_in_an_authored_stream_is_no_success(
    sample: Sample, record_property: Report
) -> None:
    verdict = judge_errors(sample, error_places(sample))
    check(verdict, "errors and cuts", record_property)


@patient
@recordings
@each_recorded
def test_an_error_in_a_recorded_stream_is_no_success(
    sample: Sample, record_property: Report
) -> None:
    verdict = judge_errors(sample, error_places(sample))
    check(verdict, "errors and cuts", record_property)


@patient
@each_authored
def test_a_damaged_frame_of_an_authored_stream_is_made_up_for_or_said(
    sample: Sample, record_property: Report
) -> None:
    verdict = judge_damages(sample, damage_places(sample))
    check(verdict, "damaged frames", record_property)


@patient
@recordings
@each_recorded
def test_a_damaged_frame_of_a_recorded_stream_is_made_up_for_or_said(
    sample: Sample, record_property: Report
) -> None:
    verdict = judge_damages(sample, damage_places(sample))
    check(verdict, "damaged frames", record_property)


@settings(max_examples=30)
@given(data=st.data())
def test_a_harmless_mutation_of_any_stream(data: Any) -> None:
    dialect = data.draw(st.sampled_from(["chat", "anthropic"]))
    stream = data.draw(chat_streams() if dialect == "chat" else anthropic_streams())
    verdict = judge_harmless(sample_of(stream.data, dialect))
    assert not verdict.violations, str(verdict.violations[0])


@settings(max_examples=20)
@given(data=st.data())
def test_a_damaged_frame_of_any_stream_is_said(data: Any) -> None:
    dialect = data.draw(st.sampled_from(["chat", "anthropic"]))
    stream = data.draw(chat_streams() if dialect == "chat" else anthropic_streams())
    sample = sample_of(stream.data, dialect)
    verdict = judge_damages(sample, range(len(sample.frames)))
    assert not verdict.violations, str(verdict.violations[0])


def sample_of(data: bytes, dialect: str) -> Sample:
    frames = create_framing("sse").feed(data)
    return Sample("drawn", dialect, "sse", tuple(Sent(frame.data, frame.event) for frame in frames))


@pytest.mark.parametrize("name", MUTATIONS)
def test_each_harmless_mutation_applies_to_some_stream(name: str) -> None:
    """A mutation that never applies would test nothing."""
    changed = [MUTATIONS[name](sample) not in (None, sample.data) for sample in AUTHORED]
    assert any(changed)


def test_each_fault_applies_to_some_stream() -> None:
    for name, insertion in INSERTIONS.items():
        assert any(insertion(sample) is not None for sample in AUTHORED), name
    for name, damage in DAMAGES.items():
        assert any(damage(sample, 1) not in (None, sample.data) for sample in AUTHORED), name


def test_there_are_streams_of_every_dialect_and_framing() -> None:
    # Streams of xAI are mutated in `test_grpc`.
    assert {sample.dialect for sample in AUTHORED} == set(DIALECT_NAMES) - {"xai"}
    assert {sample.framing for sample in AUTHORED} == {"sse", "ndjson", "json-array"}
    assert all(isinstance(sample.events[-1], ev.TurnFinished) for sample in AUTHORED)


@recordings
def test_there_are_enough_recorded_streams() -> None:
    assert len(RECORDED) >= 40
    assert len(MUTATIONS) >= 50
