"""Request encoders: turn messages, tools and options into the JSON of each provider."""

from headrace.encoders.anthropic.request import encode_anthropic
from headrace.encoders.chat.quirks import ChatRequestQuirks
from headrace.encoders.chat.request import encode_chat
from headrace.encoders.gemini import encode_gemini
from headrace.encoders.ollama import encode_ollama
from headrace.encoders.request import (
    Effort,
    OptionArguments,
    Options,
    OutputSchema,
    Request,
    ToolSpec,
    parse_options,
)
from headrace.encoders.responses.request import encode_responses
from headrace.encoders.xai import encode_xai

__all__ = [
    "ChatRequestQuirks",
    "Effort",
    "OptionArguments",
    "Options",
    "OutputSchema",
    "Request",
    "ToolSpec",
    "encode_anthropic",
    "encode_chat",
    "encode_gemini",
    "encode_ollama",
    "encode_responses",
    "encode_xai",
    "parse_options",
]
