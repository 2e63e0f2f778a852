"""Serves as one of several workers, which a supervisor has started."""

from __future__ import annotations

import asyncio
import os
import signal
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.cli.commands.serve.announcement import find_warnings, format_announcement
from headrace.cli.commands.serve.application import (
    Served,
    build_app,
    load_served,
    start_log,
)
from headrace.log import get_logger
from headrace.server.app import read_metrics
from headrace.server.process import serve_process
from headrace.server.service import Service
from headrace.server.stop.time_limit import find_stop_limit_s
from headrace.server.storage.errors import StorageFailed
from headrace.server.workers.messages import WorkerConfig, WorkerReady
from headrace.server.workers.metrics_exchange import MetricsExchange
from headrace.server.workers.worker_link import WorkerLink, inherit_socket

if TYPE_CHECKING:
    from starlette.applications import Starlette

# The others get their turn: whoever is idle would take a whole burst of connections.
_ACCEPTED_AT_ONCE = 1
_logger = get_logger("server")


def serve_worker(listener_fd: int, channel_fd: int) -> int:
    """Serve until the supervisor says otherwise, or ends."""
    listener, link = inherit_socket(listener_fd), WorkerLink(channel_fd)
    config = link.read_config()
    options = Namespace(**config.options)
    link.watch(find_stop_limit_s(options.drain))
    served = load_served(options)
    start_log(options)
    app = build_app(served, options, config.address)
    worker = _Worker(app, link, config, served, options)
    serve_process(app, listener, ready=worker.start, accepted_at_once=_ACCEPTED_AT_ONCE)
    return 0


class _Worker:
    """What a worker does when it serves."""

    def __init__(
        self,
        app: Starlette,
        link: WorkerLink,
        config: WorkerConfig,
        served: Served,
        options: Namespace,
    ) -> None:
        self._service: Service = app.state.service
        self._link = link
        self._config = config
        self._served = served
        self._options = options
        self._task: asyncio.Task[None] | None = None
        self._exchange = MetricsExchange(
            Path(config.folder), config.number, config.count, lambda: read_metrics(app)
        )
        app.state.collect_metrics = self._exchange.collect

    def start(self) -> None:
        """Tell the supervisor that this worker serves, as soon as the others can ask for its
        metrics."""
        self._task = asyncio.create_task(self._start(), name="worker")
        self._task.add_done_callback(self._end_if_failed)

    def _end_if_failed(self, task: asyncio.Task[None]) -> None:
        """End this worker if it could not say that it serves: the supervisor would wait for it."""
        if not task.cancelled() and task.exception() is not None:
            _logger.error("the worker could not start", exc_info=task.exception())
            os.kill(os.getpid(), signal.SIGTERM)

    async def _start(self) -> None:
        try:
            await self._exchange.open()
        except OSError as error:
            _logger.warning("the other workers cannot read the metrics of this one: %s", error)
        await self._forget_gone_worker()
        cluster = self._service.cluster
        self._link.send_ready(
            WorkerReady(
                node=None if cluster is None else cluster.node,
                lines=format_announcement(self._served, self._options, self._config.address),
                warnings=find_warnings(self._served),
            )
        )

    async def _forget_gone_worker(self) -> None:
        """Let the others take the runs of the worker that this one replaces. Its process has ended,
        so there is no need to wait for its lease."""
        cluster, node = self._service.cluster, self._config.replaced_node
        if cluster is None or node is None:
            return
        try:
            await cluster.forget(node)
        except StorageFailed as error:
            _logger.warning("the runs of an ended worker wait for its lease: %s", error)
