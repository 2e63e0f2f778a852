"""Counts for Prometheus, in its text format."""

from __future__ import annotations

from headrace.server.service import Service


def metrics(service: Service) -> str:
    """All of them, as they stand."""
    rows = (
        ("headrace_live_runs", "gauge", "Runs that are going on.", service.runs.count),
        ("headrace_runs_total", "counter", "Runs that were begun.", service.runs.begun),
        ("headrace_messages_total", "counter", "Answers committed.", service.store.message_writes),
        ("headrace_commits_total", "counter", "Transactions written.", service.database.commits),
        ("headrace_ready", "gauge", "Whether requests are taken.", int(service.is_ready)),
    )
    lines: list[str] = []
    for name, kind, what, value in rows:
        lines += [f"# HELP {name} {what}", f"# TYPE {name} {kind}", f"{name} {value}"]
    return "\n".join(lines) + "\n"
