"""Gemini's `streamGenerateContent`, from Google AI and from Vertex, as SSE or as an array."""

from headrace.wire.dialects.gemini.dialect import GeminiDialect

__all__ = ["GeminiDialect"]
