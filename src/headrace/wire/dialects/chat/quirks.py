"""Differences between providers in chat streams, as data.

Whatever a stream shows by itself is read without a setting: all spellings of reasoning, all places
of usage, calls with and without ids. Only what a stream cannot show is here. The defaults are right
for OpenAI.
"""

from __future__ import annotations

import msgspec

from headrace.outcome import (
    CONTENT_FILTER,
    CONTEXT_FULL,
    END_TURN,
    MAX_TOKENS,
    STOP_SEQUENCE,
    TIME_LIMIT,
    TOOL_USE,
    ErrorCategory,
    FinishReason,
)
from headrace.wire.think_tags import TAGS

FINISH_WORDS: dict[str, FinishReason] = {
    "stop": END_TURN,
    "end_turn": END_TURN,
    "eos": END_TURN,
    "eos_token": END_TURN,
    "length": MAX_TOKENS,
    "max_tokens": MAX_TOKENS,
    "max_output_tokens": MAX_TOKENS,
    "tool_calls": TOOL_USE,
    "tool_use": TOOL_USE,
    "function_call": TOOL_USE,
    "stop_sequence": STOP_SEQUENCE,
    "content_filter": CONTENT_FILTER,
    "safety": CONTENT_FILTER,
    "sensitive": CONTENT_FILTER,
    "refusal": CONTENT_FILTER,
    "model_length": CONTEXT_FULL,
    "context_length": CONTEXT_FULL,
    "model_context_window_exceeded": CONTEXT_FULL,
    "time_limit": TIME_LIMIT,
}
"""The finish reasons of the providers, in lower case; what is not here is `other`."""

ERROR_WORDS: dict[str, ErrorCategory] = {
    "error": "server",
    "network_error": "server",
    "abort": "server",
    "insufficient_system_resource": "overloaded",
    "engine_overloaded": "overloaded",
}
"""Finish reasons that mean an error."""


class ChatQuirks(msgspec.Struct, frozen=True, kw_only=True):
    """How the chat streams of one provider differ from those of OpenAI."""

    think_tags: tuple[tuple[str, str], ...] = TAGS
    """Pairs of tags that enclose reasoning at the start of the text; empty if there are none."""
    starts_inside_thinking: bool = False
    """Whether the prompt template has already opened the first tag: the text then begins as
    reasoning, and only the closing tag comes."""
    keeps_logprobs: bool = False
    """Whether to collect log probabilities in `provider_data`. They are large."""


DEFAULT_QUIRKS = ChatQuirks()
