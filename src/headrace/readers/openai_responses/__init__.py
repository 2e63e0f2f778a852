"""Reads requests of OpenAI's Responses API and of Open Responses."""

from headrace.readers.openai_responses.input_items import Approval
from headrace.readers.openai_responses.request import SECRET_FIELDS, ResponsesRequest, read_request
from headrace.readers.openai_responses.tools import read_tools

__all__ = ["SECRET_FIELDS", "Approval", "ResponsesRequest", "read_request", "read_tools"]
