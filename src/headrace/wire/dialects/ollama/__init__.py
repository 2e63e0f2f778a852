"""Ollama's own chat dialect, one JSON object per line."""
