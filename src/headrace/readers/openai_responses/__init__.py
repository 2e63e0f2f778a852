"""Reads requests of OpenAI's Responses API and of Open Responses."""

from headrace.readers.openai_responses.input_items import Approval
from headrace.readers.openai_responses.request import ResponsesRequest, read_request

__all__ = ["Approval", "ResponsesRequest", "read_request"]
