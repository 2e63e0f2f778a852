"""The server process: listens, serves, and drains when it is stopped."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from headrace.server.connections import (
    ConnectionRegistry,
    Parser,
    create_protocol_class,
    create_websocket_class,
    raise_descriptor_limit,
)
from headrace.server.log_limit import limit_logs
from headrace.server.service import Service
from headrace.server.stop.exit_timer import ExitTimer
from headrace.server.stop.time_limit import SEND_S, find_stop_limit_s

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# For tasks and threads that are still running when everything has been closed.
_LEFT_BEHIND_S = 2.0
ACCEPTED_AT_ONCE = 32
"""Connections that asyncio accepts before anything else gets a turn."""
# Connections that may wait in the kernel until they are accepted.
_BACKLOG = 2_048
# Threads of the event loop's own pool, which also looks up host names. Tools that block in
# `asyncio.to_thread()` keep theirs even if they are cancelled; by default, six would be enough to
# stop a server on two cores.
_LOOP_THREADS = 256


class _Server(uvicorn.Server):
    """Leaves signals to `serve()`, so that runs end before connections do."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def serve_process(
    app: Starlette,
    listener: socket.socket,
    *,
    ready: Callable[[], None] | None = None,
    on_drain: Callable[[int, float], None] | None = None,
    accepted_at_once: int = ACCEPTED_AT_ONCE,
) -> None:
    """Serve as the only purpose of this process: like `serve()`, but whatever tools do that ignore
    their cancellation, the process ends at most `drain_s` and a few seconds after the signal.

    If everything was closed and only such tools are left, the status of the process is 0. If not
    even the event loop runs any more, the database is closed and the status is 1.
    """
    service: Service = app.state.service
    timer = ExitTimer(service.storage.close_now)
    limit_s = find_stop_limit_s(service.settings.drain_s)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(_LOOP_THREADS, "headrace-loop"))
        await serve(
            app,
            listener,
            ready=ready,
            on_signal=lambda: timer.set(limit_s, 1),
            on_drain=on_drain,
            accepted_at_once=accepted_at_once,
        )
        timer.set(_LEFT_BEHIND_S, 0)

    asyncio.run(main())


async def serve(
    app: Starlette,
    listener: socket.socket,
    *,
    ready: Callable[[], None] | None = None,
    parser: Parser | None = None,
    on_signal: Callable[[], None] | None = None,
    on_drain: Callable[[int, float], None] | None = None,
    accepted_at_once: int = ACCEPTED_AT_ONCE,
) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP, then drain. Calls `ready` when requests are accepted.

    `parser` is the HTTP parser: httptools if it is installed, otherwise h11. `on_signal` is called
    inside the signal handler, at once even if the event loop is blocked. `on_drain` is called when
    draining begins, with the number of live runs and the seconds that they have to finish.
    `accepted_at_once` is how many connections may be accepted before anything else gets a turn.
    """
    service: Service = app.state.service
    _tune_garbage_collector()
    connections = ConnectionRegistry(service.settings, raise_descriptor_limit())
    app.state.connections = connections
    config = uvicorn.Config(
        app,
        http=create_protocol_class(connections, parser),
        ws=create_websocket_class(connections),
        ws_max_size=service.settings.max_upload_bytes,
        # Text that is streamed in small pieces is not worth it.
        ws_per_message_deflate=False,
        # Whoever starts the server decides where its log goes.
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        # Headers of proxies count only where `TrustedProxies` says so.
        proxy_headers=False,
        backlog=accepted_at_once,
        root_path=service.settings.prefix,
        timeout_graceful_shutdown=int(SEND_S),
    )
    server = _Server(config)
    stopping = asyncio.Event()
    with limit_logs(), _handle_signals(stopping, on_signal):
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        watching = asyncio.ensure_future(_wait_until_started(server, listener, ready))
        waiting = asyncio.ensure_future(stopping.wait())
        sweeping = asyncio.ensure_future(connections.sweep())
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        watching.cancel()
        waiting.cancel()
        if not serving.done():
            if on_drain is not None:
                on_drain(service.runs.count, service.settings.drain_s)
            await service.runs.drain(service.settings.drain_s)
            server.should_exit = True
        try:
            await serving
        finally:
            sweeping.cancel()


@contextmanager
def _handle_signals(
    stopping: asyncio.Event, on_signal: Callable[[], None] | None
) -> Generator[None]:
    """Set `stopping` at a signal, until the block is left.

    The handlers are not those of the event loop, which are called only when the loop runs.
    """
    loop = asyncio.get_running_loop()

    def handle(number: int, frame: FrameType | None) -> None:
        if on_signal is not None and not stopping.is_set():
            on_signal()
        loop.call_soon_threadsafe(stopping.set)

    earlier = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _tune_garbage_collector() -> None:
    """Run the garbage collector rarely.

    Streams free their objects by reference counting; a collection would pause all of them. Closed
    connections need it: a collection of many of them takes long, so the youngest objects are
    collected more often than the others.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 50, 10)


async def _wait_until_started(
    server: uvicorn.Server, listener: socket.socket, ready: Callable[[], None] | None
) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    # asyncio uses one number for both purposes, so this one is set afterwards.
    listener.listen(_BACKLOG)
    if ready is not None:
        ready()
