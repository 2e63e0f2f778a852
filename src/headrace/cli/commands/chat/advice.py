"""Explains why an answer did not end normally, and what to do.

The texts equal those of the web UI (`web/src/core/advice.ts`); a test compares them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.cli.terminal.safe_text import one_line
from headrace.projections.ux import MessageEvent

FAILURES: Final[dict[str, tuple[str, str]]] = {
    "auth": (
        "The provider did not accept the key.",
        "Set the provider's key where the server runs, then try again.",
    ),
    "permission": (
        "The key may not use this model.",
        "Choose another model, or ask for access to this one.",
    ),
    "rate_limit": (
        "The provider takes no more requests right now.",
        "Wait a moment, then try again.",
    ),
    "overloaded": ("The provider is overloaded.", "Wait a moment, then try again."),
    "invalid_request": (
        "The provider did not understand the request.",
        "Ask in another way, or choose another model.",
    ),
    "not_found": ("The provider does not know this model.", "Choose another model."),
    "context_overflow": (
        "The conversation is longer than the model can read.",
        "Begin a new conversation.",
    ),
    "content_filter": ("The provider's filter has stopped the answer.", "Ask in another way."),
    "server": ("The provider had a fault.", "Try again."),
    "timeout": ("The answer took too long.", "Try again."),
    "network": ("The connection to the provider broke.", "Try again."),
    "incomplete": ("The provider's stream broke off.", "Try again."),
    "protocol": (
        "The provider sent something that cannot be read.",
        "Try again, or choose another model.",
    ),
    "storage": ("The server could not save.", "Make room on its disk, then try again."),
    "interrupted": (
        "The server stopped before the answer was complete.",
        "Try again: it begins anew.",
    ),
}
ENDS: Final[dict[str, tuple[str, str]]] = {
    "max_tokens": ("The answer has reached its greatest length.", "Ask for the rest."),
    "content_filter": ("The provider's filter has ended the answer.", "Ask in another way."),
    "context_full": (
        "The conversation has filled the model's memory.",
        "Begin a new conversation.",
    ),
    "time_limit": ("The provider's time for an answer was up.", "Ask for the rest."),
    "paused": ("The model has paused.", "Ask it to go on."),
}
ABORTS: Final[dict[str, tuple[str, str]]] = {
    "cancelled": ("You stopped this answer.", "What came is kept."),
    "timeout": ("The answer took too long and was ended.", "Try again."),
    "terminated": ("The answer was ended by a rule of the server.", ""),
    "max_iterations": ("The answer took as many steps as it may.", "Ask it to go on."),
}
_BROKE = ("The answer broke off.", "Try again.")
_UNSAVED = ("The answer could not be saved.", "Copy it before you go on.")
# The terminal has commands where the web UI has buttons.
_COMMANDS = {
    "Try again": "/retry",
    "try again": "/retry",
    "another model": "/model",
    "Begin a new conversation": "/new",
}


class Advice(NamedTuple):
    """What happened, what to do, and what the provider said."""

    is_error: bool
    what: str
    todo: str
    detail: str

    @property
    def command(self) -> str:
        """The chat command that does it, if there is one."""
        return next((name for words, name in _COMMANDS.items() if words in self.todo), "")


def advice_of(event: MessageEvent, *, is_unsaved: bool) -> Advice | None:
    """Return the advice for an answer, or None if it ended normally."""
    error, finish = event.error, event.finish
    if error is not None:
        said = FAILURES.get(error.category, _BROKE)
        return Advice(True, *said, one_line(error.message))
    if is_unsaved:
        return Advice(True, *_UNSAVED, "")
    if finish is None:
        return None
    table, word = (ABORTS, finish.kind or "") if finish.word == "aborted" else (ENDS, finish.word)
    found = table.get(word)
    return None if found is None else Advice(False, *found, one_line(finish.detail))
