"""A worker of `headrace serve --workers` that fails after it has begun to listen."""

from __future__ import annotations

import asyncio
import os
import signal
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.cli.commands.serve import worker
from headrace.cli.commands.serve.application import Served
from headrace.server.workers.messages import WorkerConfig
from headrace.server.workers.metrics_exchange import MetricsExchange


def test_a_worker_that_cannot_say_that_it_serves_ends_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append((pid, number)))

    def fail(*_: Any) -> list[str]:
        raise RuntimeError("no words")

    async def skip(_: Any) -> None:
        pass

    monkeypatch.setattr(worker, "format_announcement", fail)
    monkeypatch.setattr(MetricsExchange, "open", skip)
    config = WorkerConfig(number=1, count=1, address="", folder=str(tmp_path), options={})
    app: Any = SimpleNamespace(state=SimpleNamespace(service=SimpleNamespace(cluster=None)))
    link: Any = SimpleNamespace(send_ready=None)

    async def main() -> None:
        one = worker._Worker(app, link, config, Served({}, None), Namespace())
        one.start()
        while not killed:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(main(), 10))
    assert killed == [(os.getpid(), signal.SIGTERM)]
