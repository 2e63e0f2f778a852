"""Limits on HTTP connections: how many there are, and how long each may keep the server waiting.

They apply before anything of a request is interpreted, and to both HTTP parsers of uvicorn.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from headrace.server.settings import Settings
from headrace.transport.process_pause import find_pause_s

Parser: TypeAlias = Literal["h11", "httptools"]

_MAX_HEAD_BYTES = 64 * 1024
_SWEEP_S = 1.0
_CLOSED_AT_ONCE = 32
# Descriptors that connections may not take: the database, its log, and the process itself.
_RESERVED_DESCRIPTORS = 64
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)


def raise_descriptor_limit() -> int:
    """Raise the number of files that this process may open to what the system allows. Returns the
    number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


class ConnectionRegistry:
    """All open connections of a server.

    A connection that has not sent a complete request head is waiting. If there are too many
    connections, the one that has been waiting longest is closed for the new one; if none is
    waiting, the new one is refused.
    """

    def __init__(self, settings: Settings, descriptors: int) -> None:
        self._settings = settings
        # A live run may need a connection of its own, to its provider.
        available = max((descriptors - _RESERVED_DESCRIPTORS) // 2, 16)
        self.max_connections = min(settings.max_connections, available)
        self._open: set[AnyConnection] = set()
        # In the order in which they began to wait.
        self._waiting: dict[BoundedConnection, None] = {}
        self._waiting_by_address: Counter[str] = Counter()
        self.refused = 0
        """Number of connections that were refused or closed for a limit."""

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: BoundedConnection) -> bool:
        """Add a new connection. Returns False if it must be closed."""
        address = connection.address
        if self._waiting_by_address[address] >= self._settings.max_waiting_per_address:
            self.refused += 1
            return False
        if len(self._open) >= self.max_connections and not self._close_oldest_waiting():
            self.refused += 1
            return False
        self._open.add(connection)
        self.start_waiting(connection)
        return True

    def remove(self, connection: AnyConnection) -> None:
        """Remove a connection that is closed."""
        self.stop_waiting(connection)
        self._open.discard(connection)

    def replace(self, connection: BoundedConnection, by: BoundedWebSocket) -> None:
        """Note that a connection has become a WebSocket."""
        self.remove(connection)
        self._open.add(by)

    def start_waiting(self, connection: BoundedConnection) -> None:
        """Note that a connection waits for a request head."""
        if connection not in self._waiting and connection in self._open:
            self._waiting[connection] = None
            self._waiting_by_address[connection.address] += 1

    def stop_waiting(self, connection: AnyConnection) -> None:
        """Note that the head of a request is complete."""
        if isinstance(connection, BoundedWebSocket):
            return
        if connection in self._waiting:
            del self._waiting[connection]
            self._waiting_by_address[connection.address] -= 1
            if not self._waiting_by_address[connection.address]:
                del self._waiting_by_address[connection.address]

    def _close_oldest_waiting(self) -> bool:
        oldest = next(iter(self._waiting), None)
        if oldest is None:
            return False
        self.refused += 1
        self.remove(oldest)
        oldest.abort()
        return True

    async def sweep(self) -> None:
        """Close connections that keep the server waiting, once a second, for ever."""
        while True:
            due_s = asyncio.get_running_loop().time() + _SWEEP_S
            await asyncio.sleep(_SWEEP_S)
            now_s = asyncio.get_running_loop().time()
            pause_s = find_pause_s(now_s, due_s)
            if pause_s:
                for connection in self._open:
                    connection.extend(pause_s)
            late = [one for one in self._open if one.is_late(now_s, self._settings)]
            for count, connection in enumerate(late, 1):
                self.refused += 1
                connection.abort()
                if count % _CLOSED_AT_ONCE == 0:
                    # Streams get their turn in between.
                    await asyncio.sleep(0)


class ClientState:
    """What is known of the client of one connection, and who is told of a change.

    It is one object because uvicorn's protocol has 28 attributes: with more than 30, it would take
    1.5 KB instead of 0.3 KB (CPython 3.11 to 3.13).
    """

    __slots__ = (
        "address", "body_since_s", "has_ended_input", "head_bytes", "head_since_s",
        "is_upgraded", "on_half_close", "on_lost", "paused_since_s",
    )  # fmt: skip

    def __init__(self, address: str, now_s: float) -> None:
        self.address = address
        self.head_bytes = 0
        self.head_since_s: float | None = now_s
        self.body_since_s: float | None = None
        self.paused_since_s: float | None = None
        self.has_ended_input = False
        """Whether the client has ended its side of the connection."""
        self.is_upgraded = False
        self.on_half_close: Callable[[], None] | None = None
        """Called when the client has ended its side of the connection during a response."""
        self.on_lost: Callable[[], None] | None = None
        """Called when the connection is closed."""

    def extend(self, seconds: float) -> None:
        """Move all times: this process was stopped for so long."""
        for name in ("head_since_s", "body_since_s", "paused_since_s"):
            since_s = getattr(self, name)
            if since_s is not None:
                setattr(self, name, since_s + seconds)


class BoundedConnection(asyncio.Protocol):
    """Mixin for uvicorn's protocols: bounds the request head, and notes since when it waits for
    the client."""

    registry: ConnectionRegistry
    client_state: ClientState
    # Whether the parser itself limits what is neither head nor body, as h11 does.
    _is_bounded_after_head = True

    @property
    def address(self) -> str:
        """The address of the client; empty if it is not known."""
        return self.client_state.address

    def connection_made(self, transport: Any) -> None:
        """Register the connection, or close it."""
        peer = transport.get_extra_info("peername")
        self.client_state = ClientState(str(peer[0]) if peer else "", self._now())
        super().connection_made(transport)
        if not self.registry.add(self):
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.registry.remove(self)
        super().connection_lost(exc)
        if self.client_state.on_lost is not None:
            self.client_state.on_lost()

    def data_received(self, data: bytes) -> None:
        """Pass data to the parser; refuse a request whose head is too large."""
        client = self.client_state
        client.head_bytes += len(data)
        super().data_received(data)
        if client.is_upgraded:
            return
        is_in_head = self._is_in_head
        if not is_in_head and self._is_bounded_after_head:
            client.head_bytes = 0
        if not is_in_head and client.head_since_s is not None:
            client.head_since_s = None
            client.body_since_s = self._now()
            self.registry.stop_waiting(self)
        elif is_in_head and client.head_since_s is None:
            client.head_since_s = self._now()
            self.registry.start_waiting(self)
        if client.head_bytes > _MAX_HEAD_BYTES:
            self._refuse_head()

    def _refuse_head(self) -> None:
        if self._is_in_head:
            self._transport.write(_TOO_LARGE)
            self._transport.close()
        else:
            # A response may have begun, which must not be continued with another one.
            self._transport.abort()

    def eof_received(self) -> bool:
        """Keep the connection while a response is being sent: a client may end its side of it
        after the request, and still read."""
        cycle = self._cycle
        is_responding = cycle is not None and not cycle.response_complete and not cycle.more_body
        client = self.client_state
        client.has_ended_input = True
        if is_responding and client.on_half_close is not None:
            client.on_half_close()
        return is_responding

    def on_response_complete(self) -> None:
        """Close a connection on which no other request can come."""
        parent: Any = super()
        parent.on_response_complete()
        if self.client_state.has_ended_input and self._is_in_head:
            self._transport.close()

    def handle_websocket_upgrade(self, *args: Any) -> None:
        """Hand the connection over to the protocol of a WebSocket."""
        self.client_state.is_upgraded = True
        parent: Any = super()
        parent.handle_websocket_upgrade(*args)
        protocol = self._transport.get_protocol()
        if isinstance(protocol, BoundedWebSocket):
            self.registry.replace(self, protocol)

    def pause_writing(self) -> None:
        """Note that the client does not read."""
        self.client_state.paused_since_s = self._now()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Note that the client reads again."""
        self.client_state.paused_since_s = None
        super().resume_writing()

    def extend(self, seconds: float) -> None:
        """Give the client more time: this process was stopped for so long."""
        self.client_state.extend(seconds)

    def is_late(self, now_s: float, settings: Settings) -> bool:
        """Return whether the client has kept the server waiting too long."""
        client = self.client_state
        if client.paused_since_s is not None:
            return now_s - client.paused_since_s > settings.send_timeout_s
        if client.head_since_s is not None:
            return now_s - client.head_since_s > settings.head_timeout_s
        is_reading = client.body_since_s is not None and self._cycle.more_body
        return is_reading and now_s - (client.body_since_s or 0.0) > settings.body_timeout_s

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    @property
    def _cycle(self) -> Any:
        return getattr(self, "cycle", None)

    @property
    def _transport(self) -> Any:
        return getattr(self, "transport", None)

    @property
    def _is_in_head(self) -> bool:
        return self._cycle is None or self._cycle.response_complete

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A connection that has become a WebSocket. It counts as long as it is open."""

    registry: ConnectionRegistry
    _paused_since_s: float | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.registry.remove(self)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Note that the client does not read."""
        self._paused_since_s = asyncio.get_running_loop().time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Note that the client reads again."""
        self._paused_since_s = None
        super().resume_writing()

    def extend(self, seconds: float) -> None:
        """Give the client more time: this process was stopped for so long."""
        if self._paused_since_s is not None:
            self._paused_since_s += seconds

    def is_late(self, now_s: float, settings: Settings) -> bool:
        """Return whether the client has not read for too long."""
        since_s = self._paused_since_s
        return since_s is not None and now_s - since_s > settings.send_timeout_s

    def abort(self) -> None:
        """Close the connection at once."""
        transport: Any = self.transport
        transport.abort()


AnyConnection: TypeAlias = BoundedConnection | BoundedWebSocket


class BoundedHttpToolsConnection(BoundedConnection):
    """Mixin for httptools, which limits nothing: the next head behind a request that is being
    answered, trailers and the extensions of chunks count as the head does."""

    _is_bounded_after_head = False

    def on_headers_complete(self) -> None:
        """Note that a head is complete. Called by the parser, as the others are."""
        self.client_state.head_bytes = 0
        parent: Any = super()
        parent.on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Note that a part of the body has come."""
        self.client_state.head_bytes = 0
        parent: Any = super()
        parent.on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request is complete."""
        self.client_state.head_bytes = 0
        parent: Any = super()
        parent.on_message_complete()


def create_protocol_class(
    registry: ConnectionRegistry, parser: Parser | None = None
) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol with the limits of the registry. By default httptools is used if
    it is installed."""
    bases: tuple[Any, Any] = (BoundedConnection, H11Protocol)
    if parser == "httptools" or (parser is None and find_spec("httptools") is not None):
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol  # noqa: PLC0415

        bases = (BoundedHttpToolsConnection, HttpToolsProtocol)
    return type("BoundedHTTPProtocol", bases, {"registry": registry})


def create_websocket_class(registry: ConnectionRegistry) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol of WebSockets, which the registry counts."""
    return type("BoundedWebSocketProtocol", (BoundedWebSocket,), {"registry": registry})
