"""Exchanges: what was asked and what came of it, the smallest thing that history loses whole.

An assistant's message holds its calls with their results, so no call is torn from its answer
as long as messages stay whole, or lose whole turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent
from headrace.messages import Message, ReasoningPart, RedactedPart, Turn

IsPinned: TypeAlias = Callable[[Message], bool]
_ABOVE = ("system", "developer")
_CHARS_PER_TOKEN = 4
# What providers count for an image, about.
_MEDIA_TOKENS = 1_000


class Exchange(msgspec.Struct, frozen=True):
    """Messages in order, from a question to the next one. What stands above the conversation
    (system, developer) is an exchange of its own, and is kept."""

    messages: tuple[Message, ...]
    is_kept: bool = False

    @property
    def tokens(self) -> int:
        """About how many."""
        return sum(map(tokens_of, self.messages))


def exchanges_of(
    messages: Sequence[Message], *, keep_first: int = 0, is_pinned: IsPinned | None = None
) -> list[Exchange]:
    """The conversation as exchanges. Kept are the newest question and what follows it, the
    first so many messages, and those that are pinned, each with its whole exchange."""
    newest = max((at for at, m in enumerate(messages) if m.role == "user"), default=0)
    made: list[Exchange] = []
    for group in _groups(messages, newest):
        is_kept = any(
            at >= newest or at < keep_first or _is_above(messages[at]) for at in group
        ) or (is_pinned is not None and any(is_pinned(messages[at]) for at in group))
        made.append(Exchange(tuple(messages[at] for at in group), is_kept))
    return made


def _groups(messages: Sequence[Message], newest: int) -> list[list[int]]:
    """The numbers of the messages of each exchange. One begins with a question: only the
    first of all may begin with an answer."""
    groups: list[list[int]] = []
    speaker = ""
    for at, message in enumerate(messages):
        begins = at == newest or (message.role == "user" and speaker != "user")
        if _is_above(message):
            begins = speaker != "user" and _next_speaker(messages, at) != "assistant"
        else:
            speaker = message.role
        if begins or not groups:
            groups.append([])
        groups[-1].append(at)
    return groups


def _next_speaker(messages: Sequence[Message], at: int) -> str:
    return next((m.role for m in messages[at + 1 :] if not _is_above(m)), "")


def _is_above(message: Message) -> bool:
    return message.role in _ABOVE


def joined(exchanges: Iterable[Exchange]) -> tuple[Message, ...]:
    """The messages again."""
    return tuple(message for exchange in exchanges for message in exchange.messages)


# --- how large it is ------------------------------------------------------------------


def tokens_of(message: Message) -> int:
    """About how many tokens a message takes in the next request: as reported for what the
    model said, a quarter of the characters for the rest."""
    return _content_tokens(message.content) + sum(map(turn_tokens, message.turns))


def turn_tokens(turn: Turn) -> int:
    """The same for one turn, with its results."""
    results = sum(_content_tokens(result.content) for result in turn.results)
    return _said_tokens(turn) + results


def _said_tokens(turn: Turn) -> int:
    said = turn.usage.output_tokens
    if said is None:
        calls = sum(len(call.raw) + len(call.name) for call in turn.calls)
        return _tokens(len(turn.text) + len(turn.reasoning) + calls)
    # Reasoning without a seal is not sent again.
    reasoning = turn.usage.reasoning_tokens or 0
    return said if _is_sealed(turn) else max(said - reasoning, 0)


def _is_sealed(turn: Turn) -> bool:
    return any(
        isinstance(part, RedactedPart) or (isinstance(part, ReasoningPart) and part.seals)
        for part in turn.parts
    )


def _content_tokens(content: Iterable[Content]) -> int:
    return sum(map(_entry_tokens, content))


def _entry_tokens(entry: Content) -> int:
    match entry:
        case TextContent():
            return _tokens(len(entry.text))
        case JSONContent():
            return _tokens(len(msgspec.json.encode(entry.value)))
        case FileContent(data=str(data)):
            return _tokens(len(data) * 3 // 4)
        case ImageContent() | FileContent():
            return _MEDIA_TOKENS


def _tokens(chars: int) -> int:
    return -(-chars // _CHARS_PER_TOKEN)
