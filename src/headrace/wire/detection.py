"""Which dialect a stream speaks, from its first frames."""

from __future__ import annotations

from typing import Final, TypeAlias

from headrace.wire.dialects.anthropic import AnthropicDialect
from headrace.wire.dialects.chat import ChatDialect
from headrace.wire.dialects.gemini import GeminiDialect
from headrace.wire.dialects.ollama import OllamaDialect
from headrace.wire.dialects.responses import ResponsesDialect
from headrace.wire.dialects.xai import XAIDialect
from headrace.wire.framing.frame import Frame
from headrace.wire.json.payload import NotJSON, parse
from headrace.wire.json.value import as_object

_AnyDialect: TypeAlias = (
    type[ChatDialect]
    | type[AnthropicDialect]
    | type[ResponsesDialect]
    | type[GeminiDialect]
    | type[OllamaDialect]
    | type[XAIDialect]
)
DIALECTS: Final[dict[str, _AnyDialect]] = {
    "chat": ChatDialect,
    "anthropic": AnthropicDialect,
    "responses": ResponsesDialect,
    "gemini": GeminiDialect,
    "ollama": OllamaDialect,
    "xai": XAIDialect,
}
"""The dialects by name."""

ONLY_DIALECTS: Final = {"grpc": "xai"}
"""The dialect of a framing that one alone speaks: nothing is left to detect."""


def detect(frame: Frame, max_depth: int) -> str | None:
    """The name of the only dialect that this frame can belong to; None where the frame
    tells nothing (a ping, a comment, garbage). Raises `LimitExceeded` for the depth."""
    if frame.data.strip() == b"[DONE]":
        return "chat"
    try:
        payload = as_object(parse(frame.data, max_depth))
    except NotJSON:
        return None
    found = [name for name, dialect in DIALECTS.items() if dialect.recognises(payload)]
    return found[0] if len(found) == 1 else None
