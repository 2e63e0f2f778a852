"""The OpenAI Responses dialect, also as Azure, xAI, Copilot and Open Responses servers send it."""

from headrace.wire.dialects.responses.dialect import ResponsesDialect

__all__ = ["ResponsesDialect"]
