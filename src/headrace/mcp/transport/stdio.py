"""The transport to a server that is a child process: one JSON message per line.

It differs from the one of the `mcp` package in its limits: a line that is too long fails the call
that it answers, a flood ends the connection, and what the server writes to stderr is kept only for
error messages.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from headrace.mcp.address import ServerAddress
from headrace.mcp.limits import MCPLimits
from headrace.mcp.transport.flood import FloodGuard
from headrace.mcp.transport.lines import LineSplitter, LongLine, find_request_id

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

_READ_BYTES: Final = 65_536
_STDERR_BYTES: Final = 2_048
# How long a server may take to exit, first by itself and then after SIGTERM.
_EXIT_S: Final = 1.0


class ChildProcess:
    """The process of a server, with the streams that a session reads and writes."""

    def __init__(
        self, process: asyncio.subprocess.Process, limits: MCPLimits, on_end: Callable[[str], None]
    ) -> None:
        self._process = process
        self._limits = limits
        self._on_end = on_end
        self._stderr = b""

    async def read(self, received: Any) -> None:
        """Pass the messages of the server on until it closes its output or breaks a limit."""
        assert self._process.stdout is not None
        splitter = LineSplitter(self._limits.max_message_bytes)
        guard = FloodGuard(self._limits)
        why = ""
        try:
            async with received:
                while not why and (data := await self._process.stdout.read(_READ_BYTES)):
                    for line in splitter.feed(data):
                        why = guard.count()
                        message = _read_line(line)
                        if message is not None:
                            await received.send(message)
                        elif isinstance(line, LongLine):
                            why = f"it sent a message of {line.size} bytes"
                        if why:
                            break
                why = why or await self._describe_exit()
        finally:
            self._on_end(why or "the connection was closed")

    async def _describe_exit(self) -> str:
        # The end of the output is seen before that of the process and of its last words.
        with suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_S):
                await self._process.wait()
        code = self._process.returncode
        text = "it closed its output" if code is None else f"it exited with code {code}"
        words = self._stderr.decode("utf-8", "replace").strip()
        return f"{text}: {words}" if words else text

    async def write(self, to_send: Any) -> None:
        """Write the messages of the session."""
        assert self._process.stdin is not None
        with suppress(OSError):
            async with to_send:
                async for item in to_send:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    self._process.stdin.write(f"{text}\n".encode())
                    await self._process.stdin.drain()

    async def keep_stderr(self) -> None:
        """Read stderr, so that the server never waits for it, and keep its end."""
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(_READ_BYTES):
            self._stderr = (self._stderr + data)[-_STDERR_BYTES:]

    async def stop(self) -> None:
        """Close stdin, then end the process and its children."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                self._kill(number)
            with suppress(TimeoutError):
                async with asyncio.timeout(_EXIT_S):
                    await self._process.wait()
                    return

    def _kill(self, number: int) -> None:
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            else:
                self._process.kill()


def _read_line(line: bytes | LongLine) -> Any:
    """Return the message of a line. A response that is damaged or too long becomes an error for its
    request; any other line that is no message, such as a line of a log, gives None."""
    from mcp.shared.message import SessionMessage
    from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

    if isinstance(line, LongLine):
        why, head, tail = f"a result of {line.size} bytes is too long", line.head, line.tail
    else:
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except (ValueError, RecursionError):
            why, head, tail = "the response is not valid", line[:1_024], line[-1_024:]
    request_id = find_request_id(head, tail)
    if request_id is None:
        return None
    error = ErrorData(code=PARSE_ERROR, message=why)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=error))


@asynccontextmanager
async def open_stdio(
    address: ServerAddress, limits: MCPLimits, on_end: Callable[[str], None]
) -> AsyncGenerator[TransportStreams, None]:
    """Start the server and yield the streams of its messages. `on_end` is called with the reason
    when no more messages can come. Raises `OSError` if the program cannot be started."""
    import anyio
    from mcp.client.stdio import get_default_environment

    process = await asyncio.create_subprocess_exec(
        *address.argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=get_default_environment() | dict(address.env),
        cwd=address.cwd,
        start_new_session=True,
    )
    child = ChildProcess(process, limits, on_end)
    receive_in, receive_out = anyio.create_memory_object_stream[Any](0)
    send_in, send_out = anyio.create_memory_object_stream[Any](0)
    work = (child.read(receive_in), child.write(send_out), child.keep_stderr())
    tasks = [asyncio.create_task(_ignore_closed(task)) for task in work]
    try:
        yield receive_out, send_in
    finally:
        for stream in (receive_out, send_in):
            stream.close()
        try:
            await child.stop()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=_EXIT_S)
            for stream in (receive_in, send_out):
                stream.close()
            # Otherwise a grandchild that holds the pipes would keep them open.
            transport = getattr(process, "_transport", None)
            if transport is not None:
                with suppress(PermissionError):
                    transport.close()


async def _ignore_closed(work: Any) -> None:
    import anyio

    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
        await work
