"""The thinking protocol: `thinking_*`, `text_*`, `status` and tool frames."""

from headrace.projections.thinking.frame import (
    END_OF_FRAMES,
    EndOfFrames,
    ThinkingFrame,
    encode_frame,
    frame_type,
)
from headrace.projections.thinking.projection import (
    TextShape,
    ThinkingProjection,
    create_projection,
)

__all__ = [
    "END_OF_FRAMES",
    "EndOfFrames",
    "TextShape",
    "ThinkingFrame",
    "ThinkingProjection",
    "create_projection",
    "encode_frame",
    "frame_type",
]
