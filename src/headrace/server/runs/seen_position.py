"""Where a client continues that has read a run in one protocol and resumes in another.

A record may give two frames in one protocol, and one or three in the other, so the position inside
a record says nothing there. What counts is whether the client has received what the record adds to
the answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from headrace import events as ev
from headrace.events import Record
from headrace.projections.registry import PROTOCOLS, ContentKind, ProtocolInfo
from headrace.server.sse import FrameId

_CONTENT: dict[type, ContentKind] = {
    ev.TextDelta: "text",
    ev.ReasoningDelta: "reasoning",
    # Text that was held back in case it was a status marker.
    ev.TextFinished: "text",
    ev.ReasoningFinished: "reasoning",
    ev.ToolResult: "result",
    ev.ToolOutput: "result",
    ev.RunClosed: "end",
}


async def find_position(
    pages: AsyncGenerator[list[Record], None], protocol: str, seen: FrameId, event_id: str
) -> FrameId | None:
    """Return the position, in any other protocol, behind what a client has seen in `protocol`.

    It is in front of the record of the last frame, or behind it if all frames of that record were
    received, or the one with its content. Returns None if there is no such frame.
    """
    info = PROTOCOLS[protocol]
    project = info.load().create_projection(event_id, None).feed
    async with aclosing(pages):
        async for page in pages:
            for record in page:
                frames = project(record)
                if record.seq == seen.seq:
                    return _position(info, record, frames, seen)
    return None


def _position(
    info: ProtocolInfo, record: Record, frames: list[object], seen: FrameId
) -> FrameId | None:
    if seen.place > len(frames):
        return None
    kind = _CONTENT.get(type(record.event))
    frame_type = info.load().frame_type
    has_content = kind is not None and any(
        info.carries(kind, frame_type(frame)) for frame in frames[: seen.place]
    )
    is_seen = has_content or seen.place == len(frames)
    return FrameId(seen.seq + 1 if is_seen else seen.seq, 0)
