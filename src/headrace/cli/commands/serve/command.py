"""Runs `headrace serve`: the server, by default on this machine only."""

from __future__ import annotations

import logging
import os
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.cli.option import data_folder
from headrace.cli.terminal.log_output import print_log
from headrace.cli.terminal.output import silence_stdout
from headrace.errors import UsageError

if TYPE_CHECKING:
    from headrace.engine import Agent


def run(options: Namespace) -> int:
    """Serve until stopped."""
    from headrace.address import is_loopback
    from headrace.cli.store_option import find_store, show_store
    from headrace.server import create_app
    from headrace.server.agent_config import load_agent
    from headrace.server.gateway import read_gateway_config
    from headrace.server.process import open_listener, serve_process

    if not is_loopback(options.host) and not options.tokens:
        raise UsageError(
            f"{options.host} is reachable by others: use --tokens, or serve on 127.0.0.1"
        )
    # The agent may be in a module of the current folder.
    sys.path.insert(0, os.getcwd())
    agent = load_agent(options.agent, options.model)
    gateway = None if options.gateway is None else read_gateway_config(Path(options.gateway))
    store = find_store(options.store)
    print_log(logging.WARNING)
    if options.verbose:
        logging.getLogger("headrace.server").setLevel(logging.INFO)
    listener = open_listener(options.host, options.port)
    address = _format_address(*listener.getsockname()[:2])
    app = create_app(
        agent,
        data=data_folder(options.data),
        address=address,
        store=store,
        gateway=gateway,
        **_read_settings(options),
    )

    names = None if gateway is None else tuple(gateway.models)
    place = str(data_folder(options.data)) if store is None else show_store(store)
    ready = partial(_announce, agent, address, place, names)
    serve_process(app, listener, ready=ready, on_drain=_print_drain)
    return 0


def _read_settings(options: Namespace) -> dict[str, Any]:
    """Return the settings that the options give."""
    return {
        "is_durable": options.durable,
        "needs_token": options.tokens,
        "hosts": tuple({"127.0.0.1", "localhost", "[::1]", options.host, *options.allow_host}),
        "origins": tuple(options.allow_origin),
        "prefix": _prefix(options.prefix),
        "max_live_runs": options.max_runs,
        "max_watchers_per_run": options.watchers_per_run,
        "max_connections": options.max_connections,
        "max_waiting_per_address": options.waiting_per_address,
        "max_body_bytes": options.max_body * 1_000,
        "max_upload_bytes": options.max_upload * 1_000,
        "asks_per_minute": options.asks_per_minute,
        "max_live_runs_per_user": options.runs_per_user,
        "max_watchers_per_user": options.watchers_per_user,
        "searches_per_minute": options.searches_per_minute,
        "max_stored_bytes_per_user": options.megabytes_per_user * 1_000_000,
        "head_timeout_s": options.head_timeout,
        "body_timeout_s": options.body_timeout,
        "send_timeout_s": options.send_timeout,
        "drain_s": options.drain,
        "on_interrupt": options.on_interrupt,
        "waiting_stream_s": options.waiting_stream,
        "lease_s": options.lease,
        "keep_logs_s": options.keep_logs * 3600.0,
        "has_final_text": options.final_text,
    }


def _format_address(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _print_drain(runs: int, seconds: float) -> None:
    """Print what a server that was told to stop waits for."""
    answers = f"{runs} running answer{'' if runs == 1 else 's'}"
    text = f"waiting at most {seconds:g} s for {answers}" if runs else "no answer is running"
    try:
        print(f"Stopping: {text}", flush=True)
    except OSError:
        # Nobody reads the output any more. The runs are drained all the same.
        silence_stdout()


def _announce(
    agent: Agent, address: str, place: str, gateway_models: tuple[str, ...] | None
) -> None:
    """Print what is served, and what keeps it from answering."""
    print(f"Headrace serves {agent.model} at {address}", flush=True)
    if gateway_models is not None:
        names = ", ".join(gateway_models) or "models of its open providers"
        print(f"gateway: {names} at {address}/v1", flush=True)
    print(f"data: {place} · stop with Ctrl-C", flush=True)
    fault = _find_fault(agent)
    if fault is not None:
        print(f"warning: {fault}. Until then every answer fails.", file=sys.stderr, flush=True)


def _find_fault(agent: Agent) -> str | None:
    """Return why no answer could start, such as a missing API key, or None."""
    try:
        agent.check()
    except UsageError as error:
        return str(error)
    return None


def _prefix(given: str) -> str:
    """Return the path prefix with a slash at the start and none at the end."""
    name = given.strip("/")
    return f"/{name}" if name else ""
