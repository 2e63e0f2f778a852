"""Detection of the dialect that a stream uses, from its framing or its first frames."""

from __future__ import annotations

from functools import cache

from headrace.wire.dialects import DIALECT_NAMES, load_dialect
from headrace.wire.framing.frame import Frame
from headrace.wire.json.payload import NotJSON, parse_payload
from headrace.wire.json.value import as_object


@cache
def dialect_of_framing(framing: str) -> str | None:
    """Return the dialect of a framing that only one dialect uses, or None."""
    return next((n for n in DIALECT_NAMES if load_dialect(n).only_framing == framing), None)


def detect(frame: Frame, max_depth: int) -> str | None:
    """Return the name of the only dialect that this frame can belong to.

    Returns None if the frame is no evidence, such as a ping, a comment or garbage. Raises
    `LimitExceeded` if the payload is nested deeper than `max_depth`.
    """
    if frame.data.strip() == b"[DONE]":
        return "chat"
    try:
        payload = as_object(parse_payload(frame.data, max_depth))
    except NotJSON:
        payload = {}
    if not payload:
        return next((n for n in DIALECT_NAMES if load_dialect(n).recognizes_text(frame)), None)
    names = [name for name in DIALECT_NAMES if load_dialect(name).recognizes(payload)]
    return names[0] if len(names) == 1 else None
