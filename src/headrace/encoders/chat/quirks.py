"""Differences between providers in chat requests, as data.

The defaults are right for OpenAI. A quirk is listed because a provider rejects the request, or
loses something, without it.
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
    """OpenAI's reasoning models accept only the first; many providers know only the second."""
    asks_for_usage: bool = True
    """Whether `stream_options.include_usage` is sent; some providers reject the field."""
    replays: ReplayField | None = None
    """The field in which reasoning is sent back, or None if it is not wanted."""
    blank_reasoning: str | None = None
    """Placeholder for missing reasoning in a message with calls: some providers reject a call
    without reasoning. DeepSeek accepts an empty text, Moonshot needs a single space."""
    effort: EffortField | None = None
    """The field that sets the effort, or None if there is none. `thinking_effort` sends
    both `thinking.type` and `reasoning_effort`."""
    efforts: tuple[Effort, ...] = EFFORTS
    """The efforts that the provider knows, lowest first. Any other becomes the next lower one, or
    the lowest if there is none; `none` is refused if it is not listed."""
    lacks: tuple[str, ...] = ("top_k",)
    """Names of options that the provider does not know; they are refused. `output` stands for
    `response_format` of type `json_schema`."""
    cache: Literal["automatic", "marked"] = "automatic"
    """Whether the provider caches by itself, or up to marked places in the messages of models that
    need it."""
    has_web_plugin: bool = False
    """Whether `WebSearch` is a plugin of the provider, as on OpenRouter."""
    takes_file_urls: bool = False
    """Whether `file_data` may be the address of a file. OpenAI takes only the data there."""
    call_id_pattern: str = r"[A-Za-z0-9_-]{1,40}"
    """Pattern that the id of a call made by another provider must match. Mistral wants nine letters
    and digits."""


DEFAULT_REQUEST_QUIRKS = ChatRequestQuirks()
