"""OpenAI Responses, also as Azure, xAI, Copilot and the Open Responses servers speak it."""

from headrace.wire.dialects.responses.dialect import ResponsesDialect

__all__ = ["ResponsesDialect"]
