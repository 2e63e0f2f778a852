"""Runs `headrace serve`: the server, by default on this machine only."""

from __future__ import annotations

from argparse import Namespace

from headrace.cli.commands.serve.announcement import (
    find_warnings,
    format_announcement,
    print_announcement,
)
from headrace.cli.commands.serve.application import (
    build_app,
    check_host,
    format_address,
    load_served,
    start_log,
)
from headrace.cli.commands.serve.arguments import create_configuration
from headrace.cli.commands.serve.stop_notice import print_stop
from headrace.cli.commands.serve.workers import serve_with_workers
from headrace.cli.configuration import find_config_file


def run(given: Namespace) -> int:
    """Serve until stopped."""
    if given.worker_sockets is not None:
        from headrace.cli.commands.serve.worker import serve_worker

        return serve_worker(*given.worker_sockets)
    configuration = create_configuration()
    options = Namespace(
        **{
            setting.name.replace("-", "_"): setting.value
            for setting in configuration.resolve(given, find_config_file(given.config))
        }
    )
    check_host(options)
    return serve_with_workers(options) if options.workers > 1 else _serve(options)


def _serve(options: Namespace) -> int:
    """Serve in this process."""
    from headrace.server.listener import open_listener
    from headrace.server.process import serve_process

    served = load_served(options)
    start_log(options)
    listener = open_listener(options.host, options.port)
    address = format_address(*listener.getsockname()[:2])
    app = build_app(served, options, address)

    def announce() -> None:
        lines = format_announcement(served, options, address)
        print_announcement(lines, find_warnings(served))

    serve_process(app, listener, ready=announce, on_drain=_print_drain)
    return 0


def _print_drain(runs: int, seconds: float) -> None:
    """Print what a server that was told to stop waits for."""
    answers = f"{runs} running answer{'' if runs == 1 else 's'}"
    print_stop(f"waiting at most {seconds:g} s for {answers}" if runs else "no answer is running")
