"""Requests: from our messages, tools and options to each provider's JSON. Pure functions,
one file a grammar."""

from headrace.requests.anthropic import encode_anthropic
from headrace.requests.chat import encode_chat
from headrace.requests.gemini import encode_gemini
from headrace.requests.ollama import encode_ollama
from headrace.requests.request import (
    Effort,
    Options,
    OutputSchema,
    Request,
    Tool,
    options_from,
)
from headrace.requests.responses import encode_responses
from headrace.requests.rules import ChatRules
from headrace.requests.xai import encode_xai

__all__ = [
    "ChatRules",
    "Effort",
    "Options",
    "OutputSchema",
    "Request",
    "Tool",
    "encode_anthropic",
    "encode_chat",
    "encode_gemini",
    "encode_ollama",
    "encode_responses",
    "encode_xai",
    "options_from",
]
