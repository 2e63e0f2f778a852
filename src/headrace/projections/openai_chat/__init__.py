"""The Chat Completions protocol of OpenAI: chunks of a stream, and whole answers."""

from headrace.projections.openai_chat.frame import (
    END_OF_FRAMES,
    ChatFrame,
    Chunk,
    ErrorBody,
    ErrorFrame,
    Piece,
    encode_frame,
    frame_type,
    to_error,
)
from headrace.projections.openai_chat.projection import ChatProjection, create_projection
from headrace.projections.openai_chat.reasoning import ReasoningField
from headrace.projections.openai_chat.whole import build_completion

__all__ = [
    "END_OF_FRAMES",
    "ChatFrame",
    "ChatProjection",
    "Chunk",
    "ErrorBody",
    "ErrorFrame",
    "Piece",
    "ReasoningField",
    "build_completion",
    "create_projection",
    "encode_frame",
    "frame_type",
    "to_error",
]
