"""Explains why an answer did not end normally, and what to do.

The texts equal those of the web UI (`web/src/core/advice.ts`); a test compares them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.cli.terminal.safe_text import one_line
from headrace.projections.ux import MessageEvent

FAILURES: Final[dict[str, tuple[str, str]]] = {
    "auth": (
        "The provider rejected the API key.",
        "Set the provider's API key on the server, then retry.",
    ),
    "permission": (
        "The API key has no access to this model.",
        "Choose another model, or request access to this one.",
    ),
    "rate_limit": (
        "The provider's rate limit was reached.",
        "Wait a moment, then retry.",
    ),
    "overloaded": ("The provider is overloaded.", "Wait a moment, then retry."),
    "invalid_request": (
        "The provider rejected the request.",
        "Rephrase the question, or choose another model.",
    ),
    "not_found": ("The provider does not know this model.", "Choose another model."),
    "context_overflow": (
        "The conversation is too long for the model.",
        "Start a new conversation.",
    ),
    "content_filter": (
        "The provider's content filter stopped the answer.",
        "Rephrase the question.",
    ),
    "server": ("The provider had an internal error.", "Retry."),
    "timeout": ("The answer took too long.", "Retry."),
    "network": ("The connection to the provider broke.", "Retry."),
    "incomplete": ("The provider's stream ended early.", "Retry."),
    "protocol": (
        "The provider sent data that cannot be read.",
        "Retry, or choose another model.",
    ),
    "storage": (
        "The server could not save the answer.",
        "Free disk space on the server, then retry.",
    ),
    "interrupted": (
        "The server stopped before the answer was complete.",
        "Retry to start again.",
    ),
}
ENDS: Final[dict[str, tuple[str, str]]] = {
    "max_tokens": ("The answer reached its maximum length.", "Ask the model to continue."),
    "content_filter": ("The provider's content filter ended the answer.", "Rephrase the question."),
    "context_full": (
        "The conversation filled the model's context window.",
        "Start a new conversation.",
    ),
    "time_limit": (
        "The provider's time limit for an answer was reached.",
        "Ask the model to continue.",
    ),
    "paused": ("The model paused.", "Ask the model to continue."),
}
ABORTS: Final[dict[str, tuple[str, str]]] = {
    "cancelled": ("You stopped this answer.", "The partial answer is kept."),
    "timeout": ("The answer took too long and was stopped.", "Retry."),
    "terminated": ("The answer was stopped by a rule of the server.", ""),
    "max_iterations": (
        "The answer reached its maximum number of steps.",
        "Ask the model to continue.",
    ),
}
_BROKE = ("The answer ended early.", "Retry.")
_LOST = ("Part of the answer could not be read.", "Retry.")
_UNSAVED = ("The answer could not be saved.", "Copy it before you continue.")
# The terminal has commands where the web UI has buttons.
_COMMANDS = {
    "Retry": "/retry",
    "retry": "/retry",
    "another model": "/model",
    "Start a new conversation": "/new",
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
    if event.warning is not None:
        return Advice(False, *_LOST, event.warning)
    if finish is None:
        return None
    table, word = (ABORTS, finish.kind or "") if finish.word == "aborted" else (ENDS, finish.word)
    found = table.get(word)
    return None if found is None else Advice(False, *found, one_line(finish.detail))
