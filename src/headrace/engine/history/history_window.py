"""Splits a history into exchanges (a question and its answer), and estimates their tokens.

Compactors remove whole exchanges or whole turns. The message of the assistant holds its calls and
their results, so a call is never separated from its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec

from headrace.content import (
    CacheBreak,
    FileContent,
    ImageContent,
    JSONContent,
    PromptContent,
    TextContent,
)
from headrace.messages import Message, ReasoningPart, RedactedPart, Turn

IsPinned: TypeAlias = Callable[[Message], bool]
_INSTRUCTION_ROLES = ("system", "developer")
_CHARS_PER_TOKEN = 4
# About what providers count for an image.
_MEDIA_TOKENS = 1_000


class Exchange(msgspec.Struct, frozen=True):
    """Messages in order, from a question up to the next one. System and developer messages are
    exchanges of their own, and are kept."""

    messages: tuple[Message, ...]
    is_kept: bool = False

    @property
    def tokens(self) -> int:
        """The estimated number of tokens."""
        return sum(map(estimate_tokens, self.messages))


def split_history(
    messages: Sequence[Message], *, keep_first: int = 0, is_pinned: IsPinned | None = None
) -> list[Exchange]:
    """Split a history into exchanges. Those with the newest question, with one of the first
    `keep_first` messages, or with a pinned message are marked as kept."""
    newest = max((at for at, m in enumerate(messages) if m.role == "user"), default=0)
    exchanges: list[Exchange] = []
    for group in _groups(messages, newest):
        is_kept = any(
            at >= newest or at < keep_first or _is_instruction(messages[at]) for at in group
        ) or (is_pinned is not None and any(is_pinned(messages[at]) for at in group))
        exchanges.append(Exchange(tuple(messages[at] for at in group), is_kept))
    return exchanges


def _groups(messages: Sequence[Message], newest: int) -> list[list[int]]:
    """Return the indexes of the messages of each exchange. An exchange starts with a question;
    only the first one may start with an answer."""
    groups: list[list[int]] = []
    speaker = ""
    for at, message in enumerate(messages):
        is_start = at == newest or (message.role == "user" and speaker != "user")
        if _is_instruction(message):
            is_start = speaker != "user" and _next_speaker(messages, at) != "assistant"
        else:
            speaker = message.role
        if is_start or not groups:
            groups.append([])
        groups[-1].append(at)
    return groups


def _next_speaker(messages: Sequence[Message], at: int) -> str:
    return next((m.role for m in messages[at + 1 :] if not _is_instruction(m)), "")


def _is_instruction(message: Message) -> bool:
    return message.role in _INSTRUCTION_ROLES


def join_exchanges(exchanges: Iterable[Exchange]) -> tuple[Message, ...]:
    """Return the messages of exchanges."""
    return tuple(message for exchange in exchanges for message in exchange.messages)


# --- tokens -------------------------------------------------------------------------------


def estimate_tokens(message: Message) -> int:
    """Estimate how many tokens a message takes in the next request: as reported by the provider
    for the model's output, and a quarter of the characters for the rest."""
    return _content_tokens(message.content) + sum(map(estimate_turn_tokens, message.turns))


def estimate_turn_tokens(turn: Turn) -> int:
    """Estimate how many tokens a turn and its results take in the next request."""
    results = sum(_content_tokens(result.content) for result in turn.results)
    return _output_tokens(turn) + results


def _output_tokens(turn: Turn) -> int:
    reported = turn.usage.output_tokens
    if reported is None:
        calls = sum(len(call.raw) + len(call.name) for call in turn.calls)
        return _tokens(len(turn.text) + len(turn.reasoning) + calls)
    # Reasoning without a seal is not sent again.
    reasoning = turn.usage.reasoning_tokens or 0
    return reported if _is_sealed(turn) else max(reported - reasoning, 0)


def _is_sealed(turn: Turn) -> bool:
    return any(
        isinstance(part, RedactedPart) or (isinstance(part, ReasoningPart) and part.seals)
        for part in turn.parts
    )


def _content_tokens(content: Iterable[PromptContent]) -> int:
    return sum(map(_entry_tokens, content))


def _entry_tokens(entry: PromptContent) -> int:
    match entry:
        case TextContent():
            return _tokens(len(entry.text))
        case JSONContent():
            return _tokens(len(msgspec.json.encode(entry.value)))
        case FileContent(data=str(data)):
            return _tokens(len(data) * 3 // 4)
        case ImageContent() | FileContent():
            return _MEDIA_TOKENS
        case CacheBreak():
            return 0


def _tokens(chars: int) -> int:
    return -(-chars // _CHARS_PER_TOKEN)
