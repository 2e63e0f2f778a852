"""Metrics of a server in the text format of Prometheus."""

from __future__ import annotations

from headrace.server.service import Service


def format_metrics(service: Service) -> str:
    """Return the current values of all metrics."""
    rows = (
        ("headrace_live_runs", "gauge", "Runs that are going on.", service.runs.count),
        ("headrace_runs_total", "counter", "Runs started.", service.runs.total),
        ("headrace_messages_total", "counter", "Answers committed.", service.store.message_writes),
        ("headrace_commits_total", "counter", "Transactions written.", service.database.commits),
        ("headrace_ready", "gauge", "Whether requests are accepted.", int(service.is_ready)),
    )
    lines: list[str] = []
    for name, kind, description, value in rows:
        lines += [f"# HELP {name} {description}", f"# TYPE {name} {kind}", f"{name} {value}"]
    return "\n".join(lines) + "\n"
