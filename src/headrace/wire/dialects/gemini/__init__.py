"""The Gemini dialect: `streamGenerateContent` of Google AI and Vertex, as SSE or as an array."""

from headrace.wire.dialects.gemini.dialect import GeminiDialect

__all__ = ["GeminiDialect"]
