"""A provider in a process of its own: any number of chat streams, each at a model's pace.

`python -m bench.load.upstream EVENTS [RATE]`: events of each answer, and how many per second.

Every event is a write of its own, and carries the moment at which it was sent.
"""

from __future__ import annotations

import heapq
import json
import select
import socket
import sys

from bench.load.mark import EVENTS_A_SECOND, mark, now_ns

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
)
_REASONING_SHARE = 4
_PLACE = "@PLACE@"


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    body = {
        "id": "chatcmpl-9f2c7a61d3b84e50",
        "object": "chat.completion.chunk",
        "created": 1_763_200_000,
        "model": "bench-reasoner",
        "system_fingerprint": "fp_44709d6fcb",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"


def _around(field: str) -> tuple[bytes, bytes]:
    before, after = _chunk({field: f" water{_PLACE}"}).split(_PLACE.encode())
    return before, after


_THOUGHT, _SAID = _around("reasoning_content"), _around("content")
_LAST = _chunk({}, "stop") + b"data: [DONE]\n\n"


def make_event(at_ns: int) -> bytes:
    """One event of the answer's text, as a chunk of HTTP."""
    before, after = _SAID
    return _chunked(before + mark(at_ns) + after)


class _Stream:
    """One answer that is being sent."""

    def __init__(self, peer: socket.socket, events: int) -> None:
        self.peer = peer
        self.left = events
        self._is_asked = False
        self._reasoning = events - events // _REASONING_SHARE

    def is_asked(self) -> bool:
        """Read what has come; whether this was the request."""
        data = self.peer.recv(65_536)
        if not data:
            raise ConnectionResetError
        was_asked, self._is_asked = self._is_asked, True
        return not was_asked

    def send(self) -> bool:
        """Send the next event; whether there are more."""
        if self.left == 0:
            self.peer.send(_chunked(_LAST) + b"0\r\n\r\n")
            return False
        before, after = _THOUGHT if self.left > self._reasoning else _SAID
        self.peer.send(_chunked(before + mark(now_ns()) + after))
        self.left -= 1
        return True


def _chunked(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class Upstream:
    """All streams, in one thread: which is due next stands on a heap."""

    def __init__(self, listener: socket.socket, events: int, rate: float) -> None:
        self._pause_ns = int(1e9 / rate)
        self._listener = listener
        self._events = events
        self._poll = select.epoll()
        self._streams: dict[int, _Stream] = {}
        self._due: list[tuple[int, int]] = []

    def serve(self) -> None:
        self._poll.register(self._listener, select.EPOLLIN)
        while True:
            for number, _ in self._poll.poll(self._wait_s()):
                if number == self._listener.fileno():
                    self._accept()
                else:
                    self._hear(number)
            self._send_due()

    def _wait_s(self) -> float | None:
        if not self._due:
            return None
        return max(0.0, (self._due[0][0] - now_ns()) / 1e9)

    def _accept(self) -> None:
        peer, _ = self._listener.accept()
        peer.setblocking(False)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._streams[peer.fileno()] = _Stream(peer, self._events)
        self._poll.register(peer, select.EPOLLIN)

    def _hear(self, number: int) -> None:
        stream = self._streams[number]
        try:
            if stream.is_asked():
                stream.peer.send(HEAD)
                # The first event at once: its mark says when the provider was asked.
                heapq.heappush(self._due, (now_ns(), number))
        except OSError:
            self._drop(number)

    def _send_due(self) -> None:
        now = now_ns()
        while self._due and self._due[0][0] <= now:
            due, number = heapq.heappop(self._due)
            stream = self._streams.get(number)
            if stream is None:
                continue
            try:
                if stream.send():
                    heapq.heappush(self._due, (max(due + self._pause_ns, now), number))
                else:
                    self._drop(number)
            except BlockingIOError:
                heapq.heappush(self._due, (now + self._pause_ns, number))
            except OSError:
                self._drop(number)

    def _drop(self, number: int) -> None:
        # What is due for it is dropped with it: its number may be another's soon.
        self._due = [(due, other) for due, other in self._due if other != number]
        heapq.heapify(self._due)
        self._poll.unregister(number)
        self._streams.pop(number).peer.close()


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0), backlog=1_024) as listener:
        print("port", listener.getsockname()[1], flush=True)
        rate = float(sys.argv[2]) if len(sys.argv) > 2 else EVENTS_A_SECOND
        Upstream(listener, int(sys.argv[1]), rate).serve()
