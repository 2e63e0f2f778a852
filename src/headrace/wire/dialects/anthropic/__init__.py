"""Anthropic Messages, also as its clouds and imitators speak it."""

from headrace.wire.dialects.anthropic.dialect import AnthropicDialect

__all__ = ["AnthropicDialect"]
