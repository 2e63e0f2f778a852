"""The socket on which a server listens."""

from __future__ import annotations

import socket

from headrace.errors import UsageError

_SEND_BUFFER_BYTES = 64 * 1024


def open_listener(host: str, port: int) -> socket.socket:
    """Bind a socket. Raises `UsageError` if the address is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol: asyncio disables Nagle's algorithm only for sockets that name TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Connections inherit it. By default the kernel would keep megabytes for a client that does not
    # read.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    return listener
