"""Making history shorter before a request: the seam, and the plainest of the strategies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from headrace.engine.history.history_window import (
    Exchange,
    IsPinned,
    exchanges_of,
    joined,
    turn_tokens,
)
from headrace.errors import UsageError
from headrace.messages import Message


class Compactor(Protocol):
    """A strategy with a name."""

    name: str

    async def compact(
        self, messages: Sequence[Message], *, is_forced: bool
    ) -> Sequence[Message] | None:
        """A shorter history, or None where this one may stay. `is_forced`: the provider has
        refused it as too long."""
        ...


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """How long a history may be. Tokens are counted as far as they were reported, and
    estimated elsewhere (`headrace.engine.history.history_window.tokens_of`)."""

    max_messages: int | None = None
    max_tokens: int | None = None

    def excess(self, exchanges: Sequence[Exchange], *, is_forced: bool) -> tuple[int, int]:
        """How many messages and tokens are too many. A history that was refused is to lose
        half of it at least, whatever the bounds say."""
        count = sum(len(exchange.messages) for exchange in exchanges)
        tokens = sum(exchange.tokens for exchange in exchanges)
        max_tokens = tokens if self.max_tokens is None else self.max_tokens
        if is_forced:
            max_tokens = min(max_tokens, tokens // 2)
        too_many = 0 if self.max_messages is None else count - self.max_messages
        return max(too_many, 0), max(tokens - max_tokens, 0)


def bounds_for(max_messages: int | None, max_tokens: int | None) -> Bounds:
    """The bounds. Raises `UsageError` for those that nothing can meet."""
    for limit in (max_messages, max_tokens):
        if limit is not None and limit < 1:
            raise UsageError(f"expected a limit of 1 or more; got {limit}")
    return Bounds(max_messages=max_messages, max_tokens=max_tokens)


class Truncate:
    """Leaves out the oldest exchanges until the rest is within bounds; the last that goes may
    lose only its first turns, each with its results.

    Kept are the newest question, system and developer messages, the first `keep_first`
    messages, and those of which `is_pinned` is true, each with its whole exchange. Where that
    is too much already, it stays too much.
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
        self._bounds = bounds_for(max_messages, max_tokens)
        self._keep_first = keep_first
        self._is_pinned = is_pinned

    def pinning(self, is_pinned: IsPinned) -> Truncate:
        """The same, with these messages pinned as well."""
        return Truncate(
            max_messages=self._bounds.max_messages,
            max_tokens=self._bounds.max_tokens,
            keep_first=self._keep_first,
            is_pinned=either(self._is_pinned, is_pinned),
        )

    async def compact(
        self, messages: Sequence[Message], *, is_forced: bool
    ) -> Sequence[Message] | None:
        """The history without its oldest part."""
        exchanges = exchanges_of(messages, keep_first=self._keep_first, is_pinned=self._is_pinned)
        too_many, too_long = self._bounds.excess(exchanges, is_forced=is_forced)
        left: list[Exchange] = []
        for exchange in exchanges:
            if exchange.is_kept or (too_many <= 0 and too_long <= 0):
                left.append(exchange)
                continue
            rest = _shortened(exchange, too_long) if too_many <= 0 else None
            if rest is not None:
                left.append(rest)
            too_many -= len(exchange.messages) - len(rest.messages if rest else ())
            too_long -= exchange.tokens - (rest.tokens if rest else 0)
        made = joined(left)
        return None if made == tuple(messages) else made


def either(first: IsPinned | None, second: IsPinned) -> IsPinned:
    """Pinned by one of them."""
    return second if first is None else lambda message: first(message) or second(message)


def _shortened(exchange: Exchange, too_long: int) -> Exchange | None:
    """The exchange without the first turns of its answer, if that is enough and something of
    the answer is left."""
    answers = [message for message in exchange.messages if message.turns]
    if len(answers) != 1:
        return None
    turns = answers[0].turns
    for number in range(1, len(turns)):
        too_long -= turn_tokens(turns[number - 1])
        if too_long <= 0:
            shorter = msgspec.structs.replace(answers[0], turns=turns[number:])
            return Exchange(tuple(shorter if m.turns else m for m in exchange.messages))
    return None
