"""Dialects: the wire formats of model APIs, in one folder each.

A dialect is a subclass of `dialect.JSONDialect` that declares its name, the payloads it recognizes,
and the decoder options it takes. The table below lists all of them; nothing else does.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import UsageError

if TYPE_CHECKING:
    from headrace.wire.dialects.dialect import JSONDialect

_CLASSES: Final = {
    "chat": "ChatDialect",
    "anthropic": "AnthropicDialect",
    "responses": "ResponsesDialect",
    "gemini": "GeminiDialect",
    "ollama": "OllamaDialect",
    "xai": "XAIDialect",
    "bedrock": "BedrockDialect",
    "text": "TextDialect",
    "cohere": "CohereDialect",
    "interactions": "InteractionsDialect",
    "bedrock-agent": "BedrockAgentDialect",
}
DIALECT_NAMES: Final = tuple(_CLASSES)
"""The names of all dialects. Each is also the name of the dialect's folder, where a hyphen is an
underscore."""


@cache
def load_dialect(name: str) -> type[JSONDialect[Any]]:
    """Import and return the class of a dialect. Raises `UsageError` for an unknown name."""
    if name not in _CLASSES:
        raise UsageError(f"no dialect {name!r}: there are {', '.join(DIALECT_NAMES)}")
    dialect: type[JSONDialect[Any]] = getattr(
        import_module(f"headrace.wire.dialects.{name.replace('-', '_')}.dialect"), _CLASSES[name]
    )
    return dialect
