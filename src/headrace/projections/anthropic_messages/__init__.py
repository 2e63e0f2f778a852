"""The Messages protocol of Anthropic: events of a stream, and whole answers."""

from headrace.projections.anthropic_messages.frame import (
    ErrorBody,
    ErrorFrame,
    MessagesFrame,
    Ping,
    encode_frame,
    frame_type,
    to_error,
)
from headrace.projections.anthropic_messages.projection import (
    MessagesProjection,
    create_projection,
)
from headrace.projections.anthropic_messages.whole import build_message

__all__ = [
    "ErrorBody",
    "ErrorFrame",
    "MessagesFrame",
    "MessagesProjection",
    "Ping",
    "build_message",
    "create_projection",
    "encode_frame",
    "frame_type",
    "to_error",
]
