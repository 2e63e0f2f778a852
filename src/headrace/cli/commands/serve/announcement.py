"""What `headrace serve` prints when it serves."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.cli.commands.serve.application import Served
from headrace.cli.option import data_folder
from headrace.errors import UsageError

if TYPE_CHECKING:
    from headrace.engine import Agent


def format_announcement(served: Served, options: Namespace, address: str) -> list[str]:
    """Return the lines that say what is served and where."""
    from headrace.cli.store_option import show_store

    models = ", ".join(dict.fromkeys(str(agent.model) for agent in served.agents.values()))
    lines = [f"Headrace serves {models} at {address}"]
    if served.gateway is not None:
        names = ", ".join(served.gateway.models) or "models of its open providers"
        lines.append(f"gateway: {names} at {address}/v1")
    place = show_store(options.store) if options.store else str(data_folder(options.data))
    workers = f" · {options.workers} workers" if options.workers > 1 else ""
    return [*lines, f"data: {place}{workers} · stop with Ctrl-C"]


def find_warnings(served: Served) -> list[str]:
    """Return what keeps agents from answering."""
    warnings: list[str] = []
    for agent in served.agents.values():
        fault = _find_fault(agent)
        if fault is not None:
            whose = "every answer" if len(served.agents) == 1 else f"every answer of {agent.model}"
            warnings.append(f"warning: {fault}. Until then {whose} fails.")
    return warnings


def print_announcement(lines: Sequence[str], warnings: Sequence[str]) -> None:
    """Print the lines, and the warnings on standard error."""
    for line in lines:
        print(line, flush=True)
    for warning in warnings:
        print(warning, file=sys.stderr, flush=True)


def _find_fault(agent: Agent) -> str | None:
    """Return why no answer could start, such as a missing API key, or None."""
    try:
        agent.check()
    except UsageError as error:
        return str(error)
    return None
