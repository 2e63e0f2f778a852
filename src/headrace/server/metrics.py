"""The metrics of a server, in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter

from headrace.server.connections import ConnectionRegistry
from headrace.server.service import Service
from headrace.server.storage.storage import Metric
from headrace.tools.left_behind import PROCESS_CALLS
from headrace.turn.fallback import Fallback, Switch
from headrace.wire.json.payload import encode_json


def format_metrics(
    service: Service, connections: ConnectionRegistry | None = None, *, is_ready: bool
) -> str:
    """Return the current values of all metrics. Without a registry, those of connections are
    left out. `is_ready` is what `/readyz` says."""
    lines: list[str] = []
    metrics = [*_activity(service, is_ready), *service.storage.metrics()]
    for metric in [*metrics, *_connections(connections)]:
        name = f"headrace_{metric.name}"
        lines += [
            f"# HELP {name} {metric.description}",
            f"# TYPE {name} {metric.kind}",
            f"{name} {metric.value}",
        ]
    lines += _fallbacks(service)
    statistics = service.runs.statistics
    lines += statistics.format()
    telemetry = service.telemetry
    # OpenTelemetry measures the same, and more.
    histograms = statistics.histograms if telemetry is None else telemetry.histograms
    lines += histograms.format()
    return "\n".join(lines) + "\n"


def _activity(service: Service, is_ready: bool) -> list[Metric]:
    unread = service.response_budget.used_bytes
    left_behind = len(PROCESS_CALLS)
    return [
        Metric("ready", "gauge", "Whether requests can be served, as /readyz.", int(is_ready)),
        Metric("live_runs", "gauge", "Runs that are going on.", service.runs.count),
        Metric("runs_total", "counter", "Runs started.", service.runs.total),
        Metric("messages_total", "counter", "Answers committed.", service.store.message_writes),
        Metric("watchers", "gauge", "Open streams.", len(service.watchers)),
        Metric("unread_bytes", "gauge", "Large responses that clients have not read.", unread),
        Metric("tools_left_behind", "gauge", "Stopped tools that have not ended.", left_behind),
    ]


def _fallbacks(service: Service) -> list[str]:
    """Return how often a model of a fallback failed and the next one was asked."""
    fallbacks = {
        id(agent.model): agent.model
        for agent in service.agents.values()
        if isinstance(agent.model, Fallback)
    }
    if not fallbacks:
        return []
    name = "headrace_fallbacks_total"
    counts: Counter[Switch] = Counter()
    for one in fallbacks.values():
        counts += one.switches
    return [
        f"# HELP {name} Models that failed and were replaced by the next one.",
        f"# TYPE {name} counter",
        *(f"{name}{{{_labels(switch)}}} {count}" for switch, count in counts.items()),
    ]


def _labels(switch: Switch) -> str:
    values = {
        "failed": switch.failed,
        "next": switch.next,
        "category": switch.category,
        "late": "true" if switch.is_late else "false",
    }
    return ",".join(f"{name}={encode_json(value)}" for name, value in values.items())


def _connections(connections: ConnectionRegistry | None) -> list[Metric]:
    if connections is None:
        return []
    refused = connections.refused
    return [
        Metric("connections", "gauge", "Open connections.", len(connections)),
        Metric("refused_connections_total", "counter", "Connections closed by a limit.", refused),
    ]
