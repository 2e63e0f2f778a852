"""The server process: listens, serves, and drains when it is stopped."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

from headrace.errors import UsageError
from headrace.server.connections import (
    ConnectionRegistry,
    Parser,
    create_protocol_class,
    raise_descriptor_limit,
)
from headrace.server.log_limit import limit_logs
from headrace.server.service import Service


class _Server(uvicorn.Server):
    """Leaves signals to `serve()`, so that runs end before connections do."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def open_listener(host: str, port: int) -> socket.socket:
    """Bind a socket. Raises `UsageError` if the address is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol: asyncio disables Nagle's algorithm only for sockets that name TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    return listener


async def serve(
    app: Starlette,
    listener: socket.socket,
    *,
    ready: Callable[[], None] | None = None,
    parser: Parser | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP, then drain. Calls `ready` when requests are accepted.

    `parser` is the HTTP parser: httptools if it is installed, otherwise h11.
    """
    service: Service = app.state.service
    _tune_garbage_collector()
    connections = ConnectionRegistry(service.settings, raise_descriptor_limit())
    config = uvicorn.Config(
        app,
        http=create_protocol_class(connections, parser),
        log_level="warning",
        access_log=False,
        server_header=False,
        root_path=service.settings.prefix,
        timeout_graceful_shutdown=max(1, int(service.settings.drain_s)),
    )
    server = _Server(config)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stopping.set)
    with limit_logs():
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        watching = asyncio.ensure_future(_wait_until_started(server, ready))
        waiting = asyncio.ensure_future(stopping.wait())
        sweeping = asyncio.ensure_future(connections.sweep())
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        watching.cancel()
        waiting.cancel()
        if not serving.done():
            await service.runs.drain(service.settings.drain_s)
            server.should_exit = True
        try:
            await serving
        finally:
            sweeping.cancel()


def _tune_garbage_collector() -> None:
    """Run the garbage collector rarely.

    Streams free their objects by reference counting; a collection would pause all of them.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)


async def _wait_until_started(server: uvicorn.Server, ready: Callable[[], None] | None) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    if ready is not None:
        ready()
