"""Whole responses, for requests that do not stream and for responses that are read later."""

from __future__ import annotations

from headrace.events import JSONObject, Record
from headrace.messages import Message
from headrace.messages.unfold import unfold
from headrace.projections.openai_responses.projection import create_projection


def project_message(message_id: str, message: Message, *, options: str = "{}") -> JSONObject:
    """Return the response that a stored message is."""
    return project_records(message_id, unfold(message), options=options)


def project_records(
    message_id: str,
    records: list[Record],
    *,
    options: str = "{}",
    stretch: int = 0,
    is_live: bool = False,
) -> JSONObject:
    """Return the response that records give. If the run `is_live`, the response may still be in
    progress."""
    projection = create_projection(message_id, options=options, stretch=stretch)
    for record in records:
        projection.feed(record)
    if not is_live:
        projection.close()
    return projection.response()
