"""The metrics of a server, in the text format of Prometheus."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from headrace.server.connections import ConnectionRegistry
from headrace.server.service import Service
from headrace.tools.left_behind import PROCESS_CALLS
from headrace.turn.fallback import Fallback, Switch
from headrace.wire.json.payload import encode_json


class _Metric(NamedTuple):
    name: str
    kind: str
    description: str
    value: int


def format_metrics(
    service: Service, connections: ConnectionRegistry | None = None, *, is_ready: bool
) -> str:
    """Return the current values of all metrics. Without a registry, those of connections are
    left out. `is_ready` is what `/readyz` says."""
    lines: list[str] = []
    for metric in [*_activity(service, is_ready), *_storage(service), *_connections(connections)]:
        name = f"headrace_{metric.name}"
        lines += [
            f"# HELP {name} {metric.description}",
            f"# TYPE {name} {metric.kind}",
            f"{name} {metric.value}",
        ]
    lines += _fallbacks(service)
    return "\n".join(lines) + "\n"


def _activity(service: Service, is_ready: bool) -> list[_Metric]:
    unread = service.response_budget.used_bytes
    left_behind = len(PROCESS_CALLS)
    return [
        _Metric("ready", "gauge", "Whether requests can be served, as /readyz.", int(is_ready)),
        _Metric("live_runs", "gauge", "Runs that are going on.", service.runs.count),
        _Metric("runs_total", "counter", "Runs started.", service.runs.total),
        _Metric("messages_total", "counter", "Answers committed.", service.store.message_writes),
        _Metric("watchers", "gauge", "Open streams.", len(service.watchers)),
        _Metric("unread_bytes", "gauge", "Large responses that clients have not read.", unread),
        _Metric("tools_left_behind", "gauge", "Stopped tools that have not ended.", left_behind),
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


def _storage(service: Service) -> list[_Metric]:
    path = service.database.path
    wal = path.with_name(path.name + "-wal")
    metrics = [
        _Metric("commits_total", "counter", "Transactions written.", service.database.commits),
        _Metric("database_bytes", "gauge", "Size of the database file.", _size(path)),
        _Metric("wal_bytes", "gauge", "Size of the write-ahead log of the database.", _size(wal)),
    ]
    with suppress(OSError):
        free = shutil.disk_usage(path.parent).free
        metrics.append(_Metric("disk_free_bytes", "gauge", "Free space for the data folder.", free))
    return metrics


def _connections(connections: ConnectionRegistry | None) -> list[_Metric]:
    if connections is None:
        return []
    refused = connections.refused
    return [
        _Metric("connections", "gauge", "Open connections.", len(connections)),
        _Metric("refused_connections_total", "counter", "Connections closed by a limit.", refused),
    ]


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
