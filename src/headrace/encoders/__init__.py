"""Request encoders: turn messages, tools and options into the JSON of each provider."""

from collections.abc import Callable
from typing import Final

from headrace.encoders.anthropic.request import encode_anthropic
from headrace.encoders.bedrock.request import encode_bedrock
from headrace.encoders.chat.quirks import ChatRequestQuirks
from headrace.encoders.chat.request import encode_chat
from headrace.encoders.cohere import encode_cohere
from headrace.encoders.gemini import encode_gemini
from headrace.encoders.interactions import encode_interactions
from headrace.encoders.ollama.generate import encode_ollama_generate
from headrace.encoders.ollama.request import encode_ollama
from headrace.encoders.request import (
    Effort,
    OptionArguments,
    Options,
    OutputSchema,
    Request,
    ToolSpec,
    merge_body,
    merge_options,
    parse_options,
)
from headrace.encoders.responses.request import encode_responses
from headrace.encoders.xai import encode_xai
from headrace.events import JSONObject

__all__ = [
    "DIALECTS_WITH_TOOLS",
    "ENDPOINT_ENCODERS",
    "REQUEST_ENCODERS",
    "ChatRequestQuirks",
    "Effort",
    "OptionArguments",
    "Options",
    "OutputSchema",
    "Request",
    "ToolSpec",
    "encode_anthropic",
    "encode_bedrock",
    "encode_chat",
    "encode_cohere",
    "encode_gemini",
    "encode_interactions",
    "encode_ollama",
    "encode_ollama_generate",
    "encode_responses",
    "encode_xai",
    "merge_body",
    "merge_options",
    "parse_options",
]

REQUEST_ENCODERS: Final[dict[str, Callable[[Request, ChatRequestQuirks], JSONObject]]] = {
    "chat": encode_chat,
    "anthropic": lambda request, _: encode_anthropic(request),
    "responses": lambda request, _: encode_responses(request),
    "gemini": lambda request, _: encode_gemini(request),
    "ollama": lambda request, _: encode_ollama(request),
    "xai": lambda request, _: encode_xai(request),
    "bedrock": lambda request, _: encode_bedrock(request),
    "cohere": lambda request, _: encode_cohere(request),
    "interactions": lambda request, _: encode_interactions(request),
}
"""The request encoder of each dialect. Only chat requests have quirks."""

ENDPOINT_ENCODERS: Final[dict[str, Callable[[Request], JSONObject]]] = {
    "ollama-generate": encode_ollama_generate,
}
"""The request encoders of endpoints whose streams are in the dialect of another endpoint."""

DIALECTS_WITH_TOOLS: Final = frozenset({"chat", "anthropic", "responses", "gemini", "xai"})
"""The dialects in which tools of the provider can be asked for."""
