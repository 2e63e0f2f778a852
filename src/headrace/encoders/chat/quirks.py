"""What differs between providers inside one request grammar, as data.

The defaults are right for OpenAI. A rule is here because a provider refuses, or forgets,
without it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from headrace.encoders.request import Effort

ReplayField: TypeAlias = Literal[
    "reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "thinking_parts"
]
EffortField: TypeAlias = Literal[
    "reasoning_effort",
    "reasoning",
    "thinking",
    "thinking_effort",
    "enable_thinking",
    "chat_template_kwargs",
]
EFFORTS: tuple[Effort, ...] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""All efforts, in order."""


class ChatRequestQuirks(msgspec.Struct, frozen=True, kw_only=True):
    """How a provider wants its chat requests."""

    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_tokens"
    """OpenAI's reasoning models take only the first; many others know only the second."""
    asks_for_usage: bool = True
    """Whether `stream_options.include_usage` is understood; some refuse the field."""
    replays: ReplayField | None = None
    """Where reasoning goes back; None where it is not wanted."""
    blank_reasoning: str | None = None
    """What stands for reasoning that is not there, in a message with calls: some refuse a
    call without any. DeepSeek takes an empty text, Moonshot wants a blank."""
    effort: EffortField | None = None
    """The knob that the effort turns; None where there is none. `thinking_effort` is a
    switch and a word beside it."""
    efforts: tuple[Effort, ...] = EFFORTS
    """The words that the knob knows, in order; any other effort is the next lower one."""
    has_output_schema: bool = True
    """Whether `response_format` of type `json_schema` is understood."""
    has_seed: bool = True
    call_id_pattern: str = r"[A-Za-z0-9_-]{1,40}"
    """What the id of a call from elsewhere must match. Mistral wants nine letters and
    digits."""


DEFAULT_REQUEST_QUIRKS = ChatRequestQuirks()
