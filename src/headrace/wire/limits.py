"""Named limits that bound the memory and time spent on a stream."""

from __future__ import annotations

import msgspec


class WireLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on a stream. If one is exceeded, the turn fails with an error that names it.

    The defaults are large enough for a generated image in base64 on one line, and small enough that
    a hostile peer cannot fill the memory of a server.
    """

    max_line_bytes: int = 16 * 1024 * 1024
    """One line of the stream, terminator not counted."""
    max_frame_bytes: int = 32 * 1024 * 1024
    """The payload of one frame, over all its lines."""
    max_headers_bytes: int = 128 * 1024
    """The headers of one message of an AWS event stream."""
    max_total_bytes: int = 512 * 1024 * 1024
    """All bytes of one turn."""
    max_silent_bytes: int = 64 * 1024 * 1024
    """Bytes in which at least one event must come, counted from the beginning of the stream and
    again after each block of this size. Larger than `max_frame_bytes`, because a frame is silent
    until it is complete."""
    max_depth: int = 256
    """Nesting of JSON, in a frame and in call arguments."""
    max_part_chars: int = 16 * 1024 * 1024
    """Text of one part: the deltas of a text, a reasoning or a call's arguments."""
    max_held_chars: int = 16 * 1024 * 1024
    """What is held back of calls that may not start yet, added up."""
    max_parts: int = 100_000
    """Parts in one turn."""
    max_calls: int = 4_096
    """Tool calls in one turn."""
    max_citations: int = 20_000
    """Sources in one turn."""
    max_outputs: int = 1_024
    """Outputs (candidates or agent outputs) in one turn."""
    max_skipped_frames: int = 256
    """Frames that are no JSON, or not of the dialect, in one turn."""


DEFAULT_WIRE_LIMITS = WireLimits()
