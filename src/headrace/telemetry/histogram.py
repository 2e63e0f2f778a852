"""`Histograms`: counts measurements in buckets, and writes them in the format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from threading import Lock

from headrace.telemetry import names
from headrace.telemetry.measurement import Measurement
from headrace.telemetry.names import Metric
from headrace.telemetry.span import Attributes, AttributeValue
from headrace.wire.json.payload import encode_json

# Further combinations of attributes are counted together: clients choose some of the values.
_MAX_SERIES = 1_000
_UNITS = {"s": "seconds", "{token}": "tokens", "USD": "dollars"}
_Key = tuple[tuple[str, AttributeValue], ...]
_OVERFLOW: _Key = ((names.OVERFLOW, True),)


class _Series:
    """The counts of one combination of attributes."""

    __slots__ = ("counts", "sum")

    def __init__(self, buckets: int) -> None:
        self.counts = [0] * buckets
        self.sum = 0.0


class Histograms:
    """All histograms of a server. Measurements may come from several threads."""

    def __init__(self) -> None:
        self._series: dict[Metric, dict[_Key, _Series]] = {}
        self._lock = Lock()

    def record(self, measurement: Measurement) -> None:
        """Count a measurement."""
        metric, value, attributes = measurement
        key = tuple(sorted(attributes.items()))
        with self._lock:
            rows = self._series.setdefault(metric, {})
            row = rows.get(key)
            if row is None:
                key = key if len(rows) < _MAX_SERIES else _OVERFLOW
                row = rows.setdefault(key, _Series(len(metric.bounds) + 1))
            row.counts[bisect_left(metric.bounds, value)] += 1
            row.sum += value

    def count(self, metric: Metric, attributes: Attributes | None = None) -> int:
        """Return the number of measurements, of all or with exactly these attributes."""
        rows = self._series.get(metric, {})
        if attributes is not None:
            row = rows.get(tuple(sorted(attributes.items())))
            return 0 if row is None else sum(row.counts)
        return sum(sum(row.counts) for row in rows.values())

    def format(self) -> list[str]:
        """Return the lines of all histograms that have measurements."""
        with self._lock:
            found = {metric: dict(rows) for metric, rows in self._series.items()}
            return [line for metric, rows in found.items() for line in _format(metric, rows)]


def prometheus_name(metric: Metric) -> str:
    """Return the name of a metric in the format of Prometheus, which ends with its unit."""
    return f"{metric.name.replace('.', '_')}_{_UNITS[metric.unit]}"


def _format(metric: Metric, rows: dict[_Key, _Series]) -> list[str]:
    name = prometheus_name(metric)
    lines = [f"# HELP {name} {metric.description}", f"# TYPE {name} histogram"]
    for key, row in rows.items():
        labels = [
            f"{label.replace('.', '_')}={encode_json(_to_text(value))}" for label, value in key
        ]
        total = 0
        for bound, count in zip((*metric.bounds, None), row.counts, strict=True):
            total += count
            edge = "+Inf" if bound is None else f"{bound:g}"
            text = ",".join([*labels, f'le="{edge}"'])
            lines.append(f"{name}_bucket{{{text}}} {total}")
        about = f"{{{','.join(labels)}}}" if labels else ""
        lines += [f"{name}_sum{about} {row.sum:g}", f"{name}_count{about} {total}"]
    return lines


def _to_text(value: AttributeValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
