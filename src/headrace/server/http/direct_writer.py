"""`DirectWriter`: writes parts of a streaming response to its connection without awaiting.

The regular way of a frame, through ASGI's `send`, needs a task that is woken for each frame, and
costs more than making the frame. Under uvicorn with httptools, a part of a chunked body can be
written at once, unless the client does not read: then the regular way waits for it.

Middleware of an application around the server may want to see or change what is sent, and so does
one that compresses responses. So this is done only if uvicorn calls the server itself.
"""

from __future__ import annotations

from typing import Any, Final

from starlette.types import Receive, Scope, Send

DIRECT_BYTES: Final = "headrace.direct_bytes"
"""Key in the scope of a request: the size of what was written without `send`."""
_IS_ALLOWED: Final = "headrace.is_direct"


class DirectWriter:
    """Writes to the connection of one response that has begun."""

    __slots__ = ("_cycle", "_flow", "_write", "written_bytes")

    def __init__(self, cycle: Any) -> None:
        self._cycle = cycle
        self._flow = cycle.flow
        self._write = cycle.transport.write
        self.written_bytes = 0
        """Size of all parts that were written here."""

    def write(self, data: bytes) -> bool:
        """Write a part of the body. Returns False, and writes nothing, if the client does not read
        or is gone."""
        cycle = self._cycle
        if self._flow.write_paused or cycle.disconnected or cycle.response_complete:
            return False
        size = len(data)
        self._write(b"%x\r\n%b\r\n" % (size, data))
        self.written_bytes += size
        return True


def allow_direct_writes(scope: Scope, receive: Receive, send: Send) -> None:
    """Note that nothing stands between the server and uvicorn, if that is so."""
    cycle = getattr(send, "__self__", None)
    if cycle is not None and getattr(receive, "__self__", None) is cycle:
        scope[_IS_ALLOWED] = True


def find_direct_writer(scope: Scope, receive: Receive) -> DirectWriter | None:
    """Return the writer of a response that has begun, or None if its server or its form is another
    one: a body that is not chunked, as for clients of HTTP/1.0, or a HEAD request."""
    cycle: Any = getattr(receive, "__self__", None) if _IS_ALLOWED in scope else None
    # The cycle of uvicorn with httptools (2026-11-18). With h11, the parser frames the body.
    if getattr(cycle, "chunked_encoding", None) is not True or cycle.scope["method"] == "HEAD":
        return None
    return DirectWriter(cycle)
