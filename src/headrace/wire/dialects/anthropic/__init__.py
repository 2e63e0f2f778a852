"""The Anthropic Messages dialect, also as cloud providers and compatible servers send it."""

from headrace.wire.dialects.anthropic.dialect import AnthropicDialect

__all__ = ["AnthropicDialect"]
