"""A server of its own process that sends a stream over a socket, one event for each write.

It waits a little before each, so that a reader which keeps up gets one event for each read.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench import streams

# A sleep takes some 60 µs longer than it is told to.
PAUSE_S = 200e-6
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
)


@contextmanager
def upstream(events: int, pause_s: float = PAUSE_S) -> Iterator[str]:
    """The base address of a server that answers every request with the chat stream."""
    command = [sys.executable, "-m", "bench.upstream", str(events), str(pause_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        finally:
            server.terminate()


def _serve(events: int, pause_s: float) -> None:
    chunks = [f"{len(read):x}\r\n".encode() + read + b"\r\n" for read in streams.chat(events).reads]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            peer, _ = listener.accept()
            with peer:
                _answer(peer, [*chunks, b"0\r\n\r\n"], pause_s)


def _answer(peer: socket.socket, chunks: list[bytes], pause_s: float) -> None:
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        _read_request(peer)
        peer.sendall(_HEAD)
        for chunk in chunks:
            time.sleep(pause_s)
            peer.sendall(chunk)
    except OSError:
        pass  # the reader went away


def _read_request(peer: socket.socket) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        data += peer.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    left = int(lengths[0].partition(b":")[2]) - len(body) if lengths else 0
    while left > 0:
        left -= len(peer.recv(left))


if __name__ == "__main__":
    _serve(int(sys.argv[1]), float(sys.argv[2]))
