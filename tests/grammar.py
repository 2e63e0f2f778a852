"""Asserts that turn events come in the order that `headrace.events.grammar` allows."""

from __future__ import annotations

from collections.abc import Iterable

from headrace import events as ev
from headrace.events.grammar import GrammarChecker


def check_grammar(
    events: Iterable[ev.TurnEvent], *, is_whole: bool = True, is_rewritten: bool = False
) -> None:
    """Assert that the events are legal. With `is_whole` there must be a terminal event; with
    `is_rewritten` the arguments at the end of a call may differ from the streamed ones."""
    checker = GrammarChecker(allows_rewritten_arguments=is_rewritten)
    for event in events:
        violations = checker.feed(event)
        assert not violations, "; ".join(violations)
    if is_whole:
        assert not checker.close(), "no terminal event"
