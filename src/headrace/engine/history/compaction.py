"""`Compactor`, the interface for shortening a history, and `Truncate`, the simplest one."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Protocol

import msgspec

from headrace.engine.history.history_window import (
    Exchange,
    IsPinned,
    estimate_turn_tokens,
    join_exchanges,
    split_history,
)
from headrace.errors import UsageError
from headrace.messages import Message


class Compactor(Protocol):
    """A named strategy for shortening a history."""

    name: str

    async def compact(
        self, messages: Sequence[Message], *, is_forced: bool
    ) -> Sequence[Message] | None:
        """Return a shorter history, or None to keep this one. `is_forced` means that the
        provider refused it as too long."""
        ...


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """How long a history may be. Tokens are as reported by the provider, and estimated otherwise
    (`headrace.engine.history.history_window.estimate_tokens`)."""

    max_messages: int | None = None
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        for limit in (self.max_messages, self.max_tokens):
            if limit is not None and limit < 1:
                raise UsageError(f"expected a limit of 1 or more; got {limit}")

    def excess(self, exchanges: Sequence[Exchange], *, is_forced: bool) -> tuple[int, int]:
        """Return how many messages and tokens are too many. A history that was refused must lose
        at least half of its tokens."""
        count = sum(len(exchange.messages) for exchange in exchanges)
        tokens = sum(exchange.tokens for exchange in exchanges)
        max_tokens = tokens if self.max_tokens is None else self.max_tokens
        if is_forced:
            max_tokens = min(max_tokens, tokens // 2)
        too_many = 0 if self.max_messages is None else count - self.max_messages
        return max(too_many, 0), max(tokens - max_tokens, 0)


class Truncate:
    """Removes the oldest exchanges until the history is short enough. If it is enough, the last
    of them loses only its first turns, with their results.

    The newest question, system and developer messages, the first `keep_first` messages, and
    messages for which `is_pinned` is true are kept, each with its whole exchange, even if they
    alone are too long.
    """

    name = "truncate"

    def __init__(
        self,
        *,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        keep_first: int = 0,
        is_pinned: IsPinned | None = None,
    ) -> None:
        self._bounds = Bounds(max_messages=max_messages, max_tokens=max_tokens)
        self._keep_first = keep_first
        self._is_pinned = is_pinned

    def pinning(self, is_pinned: IsPinned) -> Truncate:
        """Return a copy that also keeps these messages."""
        copied = copy.copy(self)
        copied._is_pinned = any_pinned(self._is_pinned, is_pinned)
        return copied

    async def compact(
        self, messages: Sequence[Message], *, is_forced: bool
    ) -> Sequence[Message] | None:
        """Return the history without its oldest part."""
        exchanges = split_history(messages, keep_first=self._keep_first, is_pinned=self._is_pinned)
        too_many, too_long = self._bounds.excess(exchanges, is_forced=is_forced)
        kept: list[Exchange] = []
        for exchange in exchanges:
            if exchange.is_kept or (too_many <= 0 and too_long <= 0):
                kept.append(exchange)
                continue
            rest = _drop_turns(exchange, too_long) if too_many <= 0 else None
            if rest is not None:
                kept.append(rest)
            too_many -= len(exchange.messages) - len(rest.messages if rest else ())
            too_long -= exchange.tokens - (rest.tokens if rest else 0)
        shorter = join_exchanges(kept)
        return None if shorter == tuple(messages) else shorter


def any_pinned(first: IsPinned | None, second: IsPinned) -> IsPinned:
    """Return a function that is true for messages that either of the two pins."""
    return second if first is None else lambda message: first(message) or second(message)


def _drop_turns(exchange: Exchange, too_long: int) -> Exchange | None:
    """Return the exchange without the first turns of its answer, or None if that is not enough
    or would leave nothing of the answer."""
    answers = [message for message in exchange.messages if message.turns]
    if len(answers) != 1:
        return None
    turns = answers[0].turns
    for number in range(1, len(turns)):
        too_long -= estimate_turn_tokens(turns[number - 1])
        if too_long <= 0:
            shorter = msgspec.structs.replace(answers[0], turns=turns[number:])
            return Exchange(tuple(shorter if m.turns else m for m in exchange.messages))
    return None
