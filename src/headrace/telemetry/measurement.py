"""Measurements: what the histograms count of each span."""

from __future__ import annotations

from typing import NamedTuple

from headrace.telemetry import names
from headrace.telemetry.names import Metric
from headrace.telemetry.span import Attributes, Span

_CHAT = (
    names.OPERATION,
    names.PROVIDER,
    names.REQUEST_MODEL,
    names.RESPONSE_MODEL,
    names.SERVER_ADDRESS,
    names.SERVER_PORT,
)
_TOOL = (names.TOOL_NAME, names.TOOL_TYPE)
_AGENT = (names.PROVIDER, names.REQUEST_MODEL, names.AGENT_NAME)
MAX_GAPS = 16
"""Most gaps between the chunks of one response that are counted."""


class Measurement(NamedTuple):
    """A value for a histogram."""

    metric: Metric
    value: float
    attributes: Attributes


def measure(span: Span) -> list[Measurement]:
    """Return the measurements of a span that has ended."""
    if span.end_ms is None:
        return []
    seconds = (span.end_ms - span.start_ms) / 1000
    if span.operation == "execute_tool":
        return [Measurement(names.TOOL_DURATION, seconds, _select(span, _TOOL))]
    if span.operation == "invoke_agent":
        return [Measurement(names.AGENT_DURATION, seconds, _select(span, _AGENT))]
    return _measure_chat(span, seconds)


def _measure_chat(span: Span, seconds: float) -> list[Measurement]:
    known = span.attributes
    about = {name: known[name] for name in _CHAT if name in known}
    found = [Measurement(names.OPERATION_DURATION, seconds, _add_error(span, about))]
    for metric, name in _VALUES:
        value = known.get(name)
        if isinstance(value, int | float):
            found.append(Measurement(metric, value, about))
    for name, kind in ((names.INPUT_TOKENS, "input"), (names.OUTPUT_TOKENS, "output")):
        count = known.get(name)
        if isinstance(count, int):
            typed = {**about, names.TOKEN_TYPE: kind}
            found.append(Measurement(names.TOKEN_USAGE, count, typed))
    gaps_ms = _spread(span.chunk_gaps_ms or [])
    found += [Measurement(names.TIME_PER_OUTPUT_CHUNK, gap / 1000, about) for gap in gaps_ms]
    return found


def _spread(gaps_ms: list[int]) -> list[int]:
    """Return all gaps, or `MAX_GAPS` of them that are spread evenly over the response. One costs
    an SDK more time than everything else that is done for a delta."""
    count = len(gaps_ms)
    if count <= MAX_GAPS:
        return gaps_ms
    return [gaps_ms[number * count // MAX_GAPS] for number in range(MAX_GAPS)]


_VALUES = (
    (names.TIME_TO_FIRST_CHUNK, names.FIRST_CHUNK),
    (names.TIME_TO_FIRST_REASONING, names.FIRST_REASONING),
    (names.TIME_TO_FIRST_TEXT, names.FIRST_TEXT),
    (names.REQUEST_COST, names.COST),
)


def _select(span: Span, wanted: tuple[str, ...]) -> Attributes:
    """Return the attributes that a metric is counted by."""
    known = span.attributes
    return _add_error(span, {name: known[name] for name in wanted if name in known})


def _add_error(span: Span, selected: Attributes) -> Attributes:
    return selected if span.error is None else {**selected, names.ERROR_TYPE: span.error}
