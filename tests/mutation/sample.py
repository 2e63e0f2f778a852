"""A stream as a list of frames, which mutations change and write to bytes again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from headrace.events import TurnEvent
from headrace.wire.framing.grpc import add_prefix
from tests.mutation import content
from tests.wire import events_of

DONE = b"[DONE]"


class Sent(NamedTuple):
    """One frame as it is sent: its payload, and its SSE event name if it has one."""

    data: bytes
    event: str = ""

    @property
    def payload(self) -> Any:
        """The payload as a value, or None if it is not a JSON object."""
        try:
            value = json.loads(self.data)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None

    def with_payload(self, payload: Any, **style: Any) -> Sent:
        """Return the frame with another payload. `style` is passed to `json.dumps`."""
        options: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":"), **style}
        text = json.dumps(payload, **options)
        return self._replace(data=text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class Sample:
    """A complete stream of one dialect, without an error."""

    name: str
    dialect: str
    framing: str
    frames: tuple[Sent, ...]

    @cached_property
    def data(self) -> bytes:
        """The bytes of the whole stream."""
        return self.write(self.frames)

    @cached_property
    def events(self) -> list[TurnEvent]:
        """The events of the whole stream."""
        return self.decode(self.data)

    @cached_property
    def content(self) -> dict[int, content.OutputContent]:
        """What the whole stream says."""
        return content.content_of(self.events)

    @cached_property
    def has_done(self) -> bool:
        """Whether the stream ends with `[DONE]`."""
        return self.frames[-1].data.strip() == DONE

    def decode(self, data: bytes | Iterable[bytes], *, detects: bool = False) -> list[TurnEvent]:
        """Decode bytes as a stream of this sample's dialect and framing."""
        dialect = None if detects and self.framing != "grpc" else self.dialect
        return events_of(data, dialect, framing=self.framing)

    def write(self, frames: Sequence[Sent], *, is_whole: bool = True) -> bytes:
        """Write frames as bytes. Without `is_whole` an array is not closed."""
        if self.framing == "grpc":
            return b"".join(add_prefix(frame.data) for frame in frames)
        if self.framing == "ndjson":
            return b"".join(frame.data + b"\n" for frame in frames)
        if self.framing == "json-array":
            body = b"\n,\n".join(frame.data for frame in frames)
            return b"[" + body + (b"]\n" if is_whole else b"")
        return b"".join(map(write_event, frames))


def write_event(frame: Sent, *, line_end: bytes = b"\n", head: bytes = b"data: ") -> bytes:
    """Write one frame as a server-sent event."""
    name = b"event: " + frame.event.encode() + line_end if frame.event else b""
    return name + head + frame.data + line_end + line_end
