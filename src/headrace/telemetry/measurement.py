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
    return [
        Measurement(names.OPERATION_DURATION, seconds, _select(span, _CHAT)),
        *_measure_chat(span),
    ]


def _measure_chat(span: Span) -> list[Measurement]:
    about = _select(span, _CHAT, has_error=False)
    known = span.attributes
    found: list[Measurement] = []
    for metric, name in _VALUES:
        value = known.get(name)
        if isinstance(value, int | float):
            found.append(Measurement(metric, value, about))
    for name, kind in ((names.INPUT_TOKENS, "input"), (names.OUTPUT_TOKENS, "output")):
        count = known.get(name)
        if isinstance(count, int):
            typed = {**about, names.TOKEN_TYPE: kind}
            found.append(Measurement(names.TOKEN_USAGE, count, typed))
    gaps = span.chunk_gaps_ms
    found += [Measurement(names.TIME_PER_OUTPUT_CHUNK, gap / 1000, about) for gap in gaps]
    return found


_VALUES = (
    (names.TIME_TO_FIRST_CHUNK, names.FIRST_CHUNK),
    (names.TIME_TO_FIRST_REASONING, names.FIRST_REASONING),
    (names.TIME_TO_FIRST_TEXT, names.FIRST_TEXT),
    (names.REQUEST_COST, names.COST),
)


def _select(span: Span, wanted: tuple[str, ...], *, has_error: bool = True) -> Attributes:
    """Return the attributes that a metric is counted by."""
    known = span.attributes
    selected = {name: known[name] for name in wanted if name in known}
    if has_error and span.error is not None:
        selected[names.ERROR_TYPE] = span.error
    return selected
