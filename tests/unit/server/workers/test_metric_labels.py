"""The metrics of several workers in one answer."""

from __future__ import annotations

from headrace.server.workers.metric_labels import join_metrics

_ONE = """\
# HELP runs_total Runs.
# TYPE runs_total counter
runs_total 3
# HELP took_seconds Time.
# TYPE took_seconds histogram
took_seconds_bucket{route="/a b{}",le="+Inf"} 1
took_seconds_count{route="/a b{}"} 1
"""
_OTHER = """\
# HELP runs_total Runs.
# TYPE runs_total counter
runs_total 4
"""


def test_each_sample_names_its_worker_and_each_metric_is_described_once() -> None:
    assert join_metrics({1: _ONE, 2: _OTHER, 3: None}) == (
        "# HELP headrace_worker_up Whether a worker answers.\n"
        "# TYPE headrace_worker_up gauge\n"
        'headrace_worker_up{worker="1"} 1\n'
        'headrace_worker_up{worker="2"} 1\n'
        'headrace_worker_up{worker="3"} 0\n'
        "# HELP runs_total Runs.\n"
        "# TYPE runs_total counter\n"
        'runs_total{worker="1"} 3\n'
        'runs_total{worker="2"} 4\n'
        "# HELP took_seconds Time.\n"
        "# TYPE took_seconds histogram\n"
        'took_seconds_bucket{worker="1",route="/a b{}",le="+Inf"} 1\n'
        'took_seconds_count{worker="1",route="/a b{}"} 1\n'
    )
