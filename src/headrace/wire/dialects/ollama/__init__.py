"""Ollama's own chat dialect, one JSON object per line."""

from headrace.wire.dialects.ollama.dialect import OllamaDialect

__all__ = ["OllamaDialect"]
