"""The supervisor: starts the workers of a server, replaces those that end, and stops all of them.

It serves nothing itself, and imports neither the application nor agents.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from headrace.log import get_logger
from headrace.server.workers.messages import WorkerConfig, WorkerReady
from headrace.server.workers.restart_pauses import MAX_FAILURES, RestartPauses
from headrace.server.workers.worker_process import WorkerProcess, describe_status

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# Ends of a worker that was told to stop: served, or not yet ready to handle the signal.
_STOPPED: Final = (0, 128 + signal.SIGINT, *(-number for number in _SIGNALS))
# For workers that could not be ended in any other way.
_KILL_S: Final = 5.0
_logger = get_logger("server")


class Supervisor:
    """Runs the workers of one server until a signal.

    The first worker is started alone, so that a wrong setting is reported once. `command` starts a
    worker, see `WorkerProcess`; `config` is what the first one gets. `on_ready` is called once,
    when all workers serve, and `on_stop` when they are told to stop. Then the listener is closed
    here, and a worker that has not ended after `stop_s` seconds is killed.
    """

    def __init__(
        self,
        listener: socket.socket,
        command: Sequence[str],
        config: WorkerConfig,
        *,
        stop_s: float,
        on_ready: Callable[[WorkerReady], None],
        on_stop: Callable[[], None],
    ) -> None:
        self._listener = listener
        self._command = command
        self._config = config
        self._stop_s = stop_s
        self._on_ready = on_ready
        self._on_stop = on_stop
        self._workers: dict[int, WorkerProcess] = {}
        self._slots: dict[int, asyncio.Task[None]] = {}
        self._served: set[int] = set()
        self._stopping = asyncio.Event()
        self._signal = signal.SIGTERM
        self._has_failed = False

    async def run(self) -> int:
        """Run the workers. Returns the status of the process: 0 if a signal has ended all of them
        in time."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._stop, number)
        try:
            self._start_slot(1)
            await self._stopping.wait()
            await self._end_all()
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
        return 1 if self._has_failed else 0

    def _stop(self, number: signal.Signals) -> None:
        if self._stopping.is_set():
            return
        self._signal = number
        self._stopping.set()
        self._on_stop()

    def _start_slot(self, number: int) -> None:
        task = asyncio.create_task(self._keep(number), name=f"worker {number}")
        task.add_done_callback(self._check_slot)
        self._slots[number] = task

    def _check_slot(self, task: asyncio.Task[None]) -> None:
        """Stop if the code that keeps a worker alive has failed."""
        if not task.cancelled() and task.exception() is not None:
            _logger.error("a worker cannot be kept alive", exc_info=task.exception())
            self._give_up()

    async def _keep(self, number: int) -> None:
        """Start a worker again and again, until the server stops."""
        pauses = RestartPauses()
        node: str | None = None
        while not self._stopping.is_set():
            began_s = time.monotonic()
            config = msgspec.structs.replace(self._config, number=number, replaced_node=node)
            end, served_s, ended_node = await self._run_worker(config)
            node = ended_node or node
            if self._stopping.is_set():
                return
            pause_s = pauses.note_end(served_s)
            if self._is_hopeless(pauses.failures):
                seconds = time.monotonic() - began_s
                _logger.error("worker %d ended with %s after %.1f s", number, end, seconds)
                self._give_up()
                return
            _logger.warning(
                "worker %d ended with %s: it is started again in %.1f s", number, end, pause_s
            )
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._stopping.wait()

    async def _run_worker(self, config: WorkerConfig) -> tuple[str, float, str | None]:
        """Run one worker. Returns how it has ended, how long it has served, and its node."""
        try:
            worker = await WorkerProcess.start(self._command, self._listener, config)
        except OSError as error:
            return f"the error {error.strerror}", 0.0, None
        self._workers[config.number] = worker
        if self._stopping.is_set():
            worker.send_signal(self._signal)
        status = await worker.wait(lambda ready: self._note_ready(config.number, ready))
        del self._workers[config.number]
        if self._stopping.is_set() and status not in _STOPPED:
            _logger.error("worker %d ended with %s", config.number, describe_status(status))
            self._has_failed = True
        return describe_status(status), worker.served_s, worker.node

    def _note_ready(self, number: int, ready: WorkerReady) -> None:
        is_first = not self._served
        self._served.add(number)
        if self._stopping.is_set():
            return
        if is_first:
            for other in range(2, self._config.count + 1):
                self._start_slot(other)
        if len(self._served) == self._config.count and self._on_ready is not _ignore:
            on_ready, self._on_ready = self._on_ready, _ignore
            on_ready(ready)

    def _is_hopeless(self, failures: int) -> bool:
        """Return whether another start would be in vain: no worker serves, and this one has failed
        too often, or not one has ever been ready."""
        if any(worker.is_ready for worker in self._workers.values()):
            return False
        return failures >= MAX_FAILURES or not self._served

    def _give_up(self) -> None:
        _logger.error("the workers do not stay alive: the server ends")
        self._has_failed = True
        self._stopping.set()

    async def _end_all(self) -> None:
        """Stop all workers at the same time, and kill those that do not stop."""
        # No worker starts any more. Connections that nobody accepts are refused instead of waiting.
        self._listener.close()
        for worker in self._workers.values():
            worker.send_signal(self._signal)
        tasks = list(self._slots.values())
        _, late = await asyncio.wait(tasks, timeout=self._stop_s)
        if not late:
            return
        self._has_failed = True
        for number, worker in self._workers.items():
            _logger.error("worker %d did not stop in time: it is killed", number)
            worker.send_signal(signal.SIGKILL)
        await asyncio.wait(late, timeout=_KILL_S)


def _ignore(_: WorkerReady) -> None:
    pass
