"""The Responses protocol of OpenAI, which Open Responses has made a standard."""

from headrace.projections.openai_responses.frame import ResponsesFrame, encode_frame, frame_type
from headrace.projections.openai_responses.projection import (
    CLIENT_RESULT,
    ReasoningEvents,
    ResponseProfile,
    ResponsesProjection,
    approval_id,
    create_projection,
    make_response_id,
    parse_response_id,
)
from headrace.projections.openai_responses.response import DEFAULT_FIELDS
from headrace.projections.openai_responses.whole import project_message

__all__ = [
    "CLIENT_RESULT",
    "DEFAULT_FIELDS",
    "ReasoningEvents",
    "ResponseProfile",
    "ResponsesFrame",
    "ResponsesProjection",
    "approval_id",
    "create_projection",
    "encode_frame",
    "frame_type",
    "make_response_id",
    "parse_response_id",
    "project_message",
]
