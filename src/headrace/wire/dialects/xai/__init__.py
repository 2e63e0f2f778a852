"""xAI's own dialect: the chunks of its gRPC service."""

from headrace.wire.dialects.xai.dialect import XAIDialect

__all__ = ["XAIDialect"]
