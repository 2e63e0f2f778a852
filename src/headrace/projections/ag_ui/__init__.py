"""The events of AG-UI 1.0, which CopilotKit and other front ends read."""

from headrace.projections.ag_ui.frame import AGUIFrame, encode_frame, frame_type
from headrace.projections.ag_ui.projection import AGUIProjection, create_projection

__all__ = ["AGUIFrame", "AGUIProjection", "create_projection", "encode_frame", "frame_type"]
