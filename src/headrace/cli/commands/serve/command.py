"""Runs `headrace serve`: the server, by default on this machine only."""

from __future__ import annotations

import logging
import os
import sys
from argparse import Namespace
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.cli.commands.serve.arguments import create_configuration
from headrace.cli.configuration import find_config_file
from headrace.cli.option import data_folder
from headrace.cli.terminal.log_output import print_log
from headrace.cli.terminal.output import silence_stdout
from headrace.errors import UsageError

if TYPE_CHECKING:
    from headrace.engine import Agent
    from headrace.otel import Telemetry


def run(given: Namespace) -> int:
    """Serve until stopped."""
    configuration = create_configuration()
    options = Namespace(
        **{
            setting.name.replace("-", "_"): setting.value
            for setting in configuration.resolve(given, find_config_file(given.config))
        }
    )
    return _serve(options)


def _serve(options: Namespace) -> int:
    from headrace.address import is_loopback
    from headrace.cli.store_option import show_store
    from headrace.server import create_app
    from headrace.server.agent_config import load_agents
    from headrace.server.gateway import read_gateway_config
    from headrace.server.mcp_config import read_option, remember_tools
    from headrace.server.process import open_listener, serve_process

    has_users = options.tokens or options.users or options.trusted_user_header
    if not is_loopback(options.host) and not has_users:
        raise UsageError(
            f"{options.host} is reachable by others: use --tokens or --users, or serve on 127.0.0.1"
        )
    # The agent may be in a module of the current folder.
    sys.path.insert(0, os.getcwd())
    mcp_options = remember_tools(data_folder(options.data))
    sources = [read_option(text, mcp_options) for text in options.mcp]
    agents = load_agents(options.agents, options.model, sources=sources, mcp_options=mcp_options)
    gateway = None if options.gateway is None else read_gateway_config(Path(options.gateway))
    store, log = options.store or None, options.log or None
    is_json = options.log_format == "json"
    print_log(logging.WARNING, is_json=is_json, others=("uvicorn", "asyncio"))
    if options.access_log:
        logging.getLogger("headrace.access").setLevel(logging.INFO)
    if options.verbose:
        logging.getLogger("headrace.server").setLevel(logging.INFO)
    listener = open_listener(options.host, options.port)
    address = _format_address(*listener.getsockname()[:2])
    app = create_app(
        agents,
        data=data_folder(options.data),
        address=address,
        store=store,
        log=log,
        gateway=gateway,
        telemetry=_create_telemetry(has_content=options.otel_content) if options.otel else None,
        title_agent=_create_title_agent(options.title_model),
        **_read_settings(options),
    )

    names = None if gateway is None else tuple(gateway.models)
    place = str(data_folder(options.data)) if store is None else show_store(store)
    ready = partial(_announce, agents, address, place, names)
    serve_process(app, listener, ready=ready, on_drain=_print_drain)
    return 0


def _create_title_agent(model: str | None) -> Agent | None:
    from headrace.engine import Agent

    return None if model is None else Agent(model)


def _create_telemetry(*, has_content: bool) -> Telemetry:
    try:
        from headrace.otel.setup import create_telemetry
    except ImportError:
        raise UsageError("--otel needs more packages: pip install 'headrace[otel]'") from None
    from headrace import __version__

    return create_telemetry(version=__version__, has_content=has_content)


def _read_settings(options: Namespace) -> dict[str, Any]:
    """Return the settings that the options give."""
    return {
        "is_durable": options.durable,
        "needs_token": options.tokens,
        "needs_sign_in": options.users,
        "sign_in_idle_s": options.sign_in_idle * 3600.0,
        "sign_in_max_s": options.sign_in_max * 3600.0,
        "trusted_user_header": options.trusted_user_header,
        "trusted_proxies": tuple(options.trusted_proxy),
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
        "keep_conversations_s": None
        if options.keep_conversations is None
        else options.keep_conversations * 86_400.0,
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
    agents: Mapping[str, Agent],
    address: str,
    place: str,
    gateway_models: tuple[str, ...] | None,
) -> None:
    """Print what is served, and what keeps it from answering."""
    served = ", ".join(dict.fromkeys(str(agent.model) for agent in agents.values()))
    print(f"Headrace serves {served} at {address}", flush=True)
    if gateway_models is not None:
        names = ", ".join(gateway_models) or "models of its open providers"
        print(f"gateway: {names} at {address}/v1", flush=True)
    print(f"data: {place} · stop with Ctrl-C", flush=True)
    for agent in agents.values():
        fault = _find_fault(agent)
        if fault is not None:
            whose = "every answer" if len(agents) == 1 else f"every answer of {agent.model}"
            print(f"warning: {fault}. Until then {whose} fails.", file=sys.stderr, flush=True)


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
