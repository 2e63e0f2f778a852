"""Anthropic Messages requests."""
