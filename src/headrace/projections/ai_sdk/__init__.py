"""The UI message stream of the Vercel AI SDK, which `useChat` reads."""

from headrace.projections.ai_sdk.frame import (
    END_OF_FRAMES,
    AISDKFrame,
    EndOfFrames,
    encode_frame,
    frame_type,
)
from headrace.projections.ai_sdk.projection import AISDKProjection, create_projection

__all__ = [
    "END_OF_FRAMES",
    "AISDKFrame",
    "AISDKProjection",
    "EndOfFrames",
    "create_projection",
    "encode_frame",
    "frame_type",
]
