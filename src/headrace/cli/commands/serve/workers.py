"""Runs `headrace serve --workers N`: the process that starts the workers and replaces them."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from argparse import Namespace

from headrace.cli.commands.serve.announcement import print_announcement
from headrace.cli.commands.serve.application import format_address, start_log
from headrace.cli.commands.serve.arguments import WORKER_OPTION
from headrace.cli.commands.serve.stop_notice import print_stop
from headrace.errors import UsageError

# Beyond the time after which a worker ends itself, and cleans up.
_MARGIN_S = 5.0


def serve_with_workers(options: Namespace) -> int:
    """Serve with several processes until stopped; return the status."""
    from headrace.server.listener import open_listener
    from headrace.server.stop.time_limit import find_stop_limit_s
    from headrace.server.workers.messages import WorkerConfig
    from headrace.server.workers.supervisor import Supervisor

    _check_storage(options)
    start_log(options)
    listener = open_listener(options.host, options.port)
    with tempfile.TemporaryDirectory(prefix="headrace-", ignore_cleanup_errors=True) as folder:
        config = WorkerConfig(
            number=1,
            count=options.workers,
            address=format_address(*listener.getsockname()[:2]),
            folder=folder,
            options=vars(options),
        )

        async def main() -> int:
            supervisor = Supervisor(
                listener,
                _find_command(),
                config,
                stop_s=find_stop_limit_s(options.drain) + _MARGIN_S,
                on_ready=lambda ready: print_announcement(ready.lines, ready.warnings),
                on_stop=lambda: print_stop(
                    f"waiting at most {options.drain:g} s for the answers of {config.count} workers"
                ),
            )
            return await supervisor.run()

        return asyncio.run(main())


def _check_storage(options: Namespace) -> None:
    """Raise `UsageError` if the workers would not share their storage."""
    from headrace.server.storage.open_storage import check_log_url, check_store_url

    if not options.store:
        raise UsageError(
            f"--workers {options.workers} needs a database that the workers share: add --store"
            " postgresql://…, or use one worker, since only one process can use a data folder"
        )
    check_store_url(options.store)
    if options.log:
        check_log_url(options.log)


def _find_command() -> list[str]:
    """Return the command of a worker, which is found where this process was found."""
    # `python -m` searches the current folder first, a script does not.
    is_safe = sys.path[0] not in ("", os.getcwd())
    return [sys.executable, *(["-P"] if is_safe else []), "-m", "headrace", "serve", WORKER_OPTION]
