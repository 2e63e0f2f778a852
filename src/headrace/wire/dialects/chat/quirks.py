"""Differences between providers in chat streams, as data.

Whatever a stream shows by itself is read without a setting: all spellings of reasoning, all places
of usage, calls with and without ids. Only what a stream cannot show is here. The defaults are right
for OpenAI.
"""

from __future__ import annotations

import msgspec

from headrace import outcome
from headrace.outcome import ErrorCategory, FinishReason
from headrace.wire.think_tags import TAGS

FINISH_WORDS: dict[str, FinishReason] = {
    "stop": outcome.END_TURN,
    "end_turn": outcome.END_TURN,
    "eos": outcome.END_TURN,
    "eos_token": outcome.END_TURN,
    "length": outcome.MAX_TOKENS,
    "max_tokens": outcome.MAX_TOKENS,
    "max_output_tokens": outcome.MAX_TOKENS,
    "tool_calls": outcome.TOOL_USE,
    "tool_use": outcome.TOOL_USE,
    "function_call": outcome.TOOL_USE,
    "stop_sequence": outcome.STOP_SEQUENCE,
    "content_filter": outcome.CONTENT_FILTER,
    "safety": outcome.CONTENT_FILTER,
    "sensitive": outcome.CONTENT_FILTER,
    "refusal": outcome.CONTENT_FILTER,
    "model_length": outcome.CONTEXT_FULL,
    "context_length": outcome.CONTEXT_FULL,
    "model_context_window_exceeded": outcome.CONTEXT_FULL,
    "time_limit": outcome.TIME_LIMIT,
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
