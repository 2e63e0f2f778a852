"""The table of protocols: what clients can read a run as, and the projection that produces it.

A protocol is a row here and a package with `create_projection`, `encode_frame` and `frame_type`.
Packages are imported when they are first used, so that listing the protocols costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from headrace.events import Record
    from headrace.messages import Message


class Projection(Protocol):
    """Turns records into the frames of one protocol."""

    def feed(self, record: Record) -> list[Any]:
        """Return the frames of one record."""
        ...

    def close(self) -> list[Any]:
        """Return the frames that are left when the records end, finished or not."""
        ...


class ProjectionPackage(Protocol):
    """What the package of a protocol provides."""

    def create_projection(
        self,
        event_id: str | None = None,
        message: Callable[[], Message] | None = None,
        **options: Any,
    ) -> Projection:
        """Create the projection of one run.

        `event_id` is the id of the answer on a server. `message` returns the message as far as it
        is known, for a caller that folds the records anyway. `options` are those that this
        protocol has.
        """
        ...

    def encode_frame(self, frame: Any) -> bytes:
        """Encode a frame as the payload of one server-sent event."""
        ...

    def frame_type(self, frame: Any) -> str:
        """Return the name of a frame's type."""
        ...


class ProtocolInfo(NamedTuple):
    """One protocol."""

    name: str
    """The value of `?protocol=` and of `headrace decode --as`."""
    description: str
    """What its frames are, in one line."""
    package: str
    """The Python package of its projection; see `ProjectionPackage`."""
    ends: tuple[str, ...]
    """The `type` of each last frame: exactly one of them ends a run."""

    def load(self) -> ProjectionPackage:
        """Import the package of this protocol."""
        return cast("ProjectionPackage", import_module(self.package))


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        ProtocolInfo(
            "ux",
            "segments as they grow, and the whole message as an event",
            "headrace.projections.ux",
            ("message_final", "message_error", "message_cancelled"),
        ),
        ProtocolInfo(
            "thinking",
            "thinking_*, text_*, status and tools",
            "headrace.projections.thinking",
            ("done", "error", "cancelled"),
        ),
    )
}
"""All protocols by name. The first is the default."""
DEFAULT_PROTOCOL = next(iter(PROTOCOLS))


def protocol_names() -> str:
    """Return the names of all protocols for an error message: `ux, thinking`."""
    return ", ".join(PROTOCOLS)
