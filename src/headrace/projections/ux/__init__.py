"""The ux protocol: a message as it grows, and the canonical event that it becomes."""

from headrace.projections.ux.event import to_event
from headrace.projections.ux.frame import UXFrame, decode_frame, encode_frame, frame_type
from headrace.projections.ux.frame_fold import FrameFold, fold_frames
from headrace.projections.ux.projection import UXProjection, create_projection
from headrace.projections.ux.segment import MessageEvent, Segment
from headrace.projections.ux.tool_kind import TOOL_FRAME_TYPES

__all__ = [
    "FrameFold",
    "MessageEvent",
    "Segment",
    "TOOL_FRAME_TYPES",
    "UXFrame",
    "UXProjection",
    "create_projection",
    "decode_frame",
    "encode_frame",
    "fold_frames",
    "frame_type",
    "to_event",
]
