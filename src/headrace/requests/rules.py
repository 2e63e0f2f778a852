"""What differs between providers inside one request grammar, as data.

The defaults are right for OpenAI. A rule is here because a provider refuses, or forgets,
without it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

ReplayField: TypeAlias = Literal[
    "reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "thinking_parts"
]
EffortField: TypeAlias = Literal[
    "reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs"
]


class ChatRules(msgspec.Struct, frozen=True, kw_only=True):
    """How a provider wants its chat requests."""

    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_tokens"
    """OpenAI's reasoning models take only the first; many others know only the second."""
    asks_for_usage: bool = True
    """Whether `stream_options.include_usage` is understood; some refuse the field."""
    replays: ReplayField | None = None
    """Where reasoning goes back; None where it is not wanted."""
    effort: EffortField | None = None
    """The knob that the effort turns; None where there is none."""
    has_output_schema: bool = True
    """Whether `response_format` of type `json_schema` is understood."""
    has_seed: bool = True


DEFAULT_RULES = ChatRules()
