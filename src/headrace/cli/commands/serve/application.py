"""Builds the application that `headrace serve` serves, from its options."""

from __future__ import annotations

import logging
import os
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.address import is_loopback
from headrace.cli.option import data_folder
from headrace.cli.terminal.log_output import print_log
from headrace.errors import UsageError

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from headrace.engine import Agent
    from headrace.otel import Telemetry
    from headrace.server.gateway import GatewayConfig


class Served(NamedTuple):
    """What is served."""

    agents: Mapping[str, Agent]
    gateway: GatewayConfig | None


def check_host(options: Namespace) -> None:
    """Raise `UsageError` if others can reach the server and it does not ask who they are."""
    has_users = options.tokens or options.users or options.trusted_user_header
    if not is_loopback(options.host) and not has_users:
        raise UsageError(
            f"{options.host} is reachable by others: use --tokens or --users, or serve on 127.0.0.1"
        )


def start_log(options: Namespace) -> None:
    """Print the log as the options say."""
    is_json = options.log_format == "json"
    print_log(logging.WARNING, is_json=is_json, others=("uvicorn", "asyncio"))
    if options.access_log:
        logging.getLogger("headrace.access").setLevel(logging.INFO)
    if options.verbose:
        logging.getLogger("headrace.server").setLevel(logging.INFO)


def load_served(options: Namespace) -> Served:
    """Load the agents and the models of the gateway. Raises `UsageError`."""
    from headrace.server.agent_config import load_agents
    from headrace.server.gateway import read_gateway_config
    from headrace.server.mcp_config import read_option, remember_tools

    # The agent may be in a module of the current folder.
    sys.path.insert(0, os.getcwd())
    mcp_options = remember_tools(data_folder(options.data))
    sources = [read_option(text, mcp_options) for text in options.mcp]
    agents = load_agents(options.agents, options.model, sources=sources, mcp_options=mcp_options)
    gateway = None if options.gateway is None else read_gateway_config(Path(options.gateway))
    return Served(agents, gateway)


def build_app(served: Served, options: Namespace, address: str) -> Starlette:
    """Return the application, which will be reached at this address."""
    from headrace.server import create_app

    return create_app(
        served.agents,
        data=data_folder(options.data),
        address=address,
        store=options.store or None,
        log=options.log or None,
        gateway=served.gateway,
        telemetry=_create_telemetry(has_content=options.otel_content) if options.otel else None,
        title_agent=_create_title_agent(options.title_model),
        **_read_settings(options),
    )


def format_address(host: str, port: int) -> str:
    """Return the URL of a server."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


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


def _prefix(given: str) -> str:
    """Return the path prefix with a slash at the start and none at the end."""
    name = given.strip("/")
    return f"/{name}" if name else ""
