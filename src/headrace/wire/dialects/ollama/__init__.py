"""Ollama's own chat grammar, one JSON object a line."""

from headrace.wire.dialects.ollama.dialect import OllamaDialect

__all__ = ["OllamaDialect"]
