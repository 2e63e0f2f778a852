"""How an output, a turn or a run ended: finish reasons, error categories and error details."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import msgspec

FinishWord: TypeAlias = Literal[
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "content_filter",
    "context_full",
    "time_limit",
    "paused",
    "aborted",
    "other",
]
AbortKind: TypeAlias = Literal["cancelled", "timeout", "terminated", "max_iterations"]


class FinishReason(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Why an output, a turn or a run ended."""

    word: FinishWord
    kind: AbortKind | None = None
    """How the run was aborted. Set only for `aborted`."""
    detail: str = ""
    """More about an abort; for `other`, the provider's own word."""

    def __str__(self) -> str:
        inner = ": ".join(filter(None, (self.kind, self.detail)))
        return f"{self.word}({inner})" if inner or self.word == "other" else self.word


END_TURN = FinishReason("end_turn")
TOOL_USE = FinishReason("tool_use")
MAX_TOKENS = FinishReason("max_tokens")
STOP_SEQUENCE = FinishReason("stop_sequence")
CONTENT_FILTER = FinishReason("content_filter")
CONTEXT_FULL = FinishReason("context_full")
TIME_LIMIT = FinishReason("time_limit")
PAUSED = FinishReason("paused")


def abort_reason(kind: AbortKind, detail: str = "") -> FinishReason:
    """Return the reason of a run that was ended from outside the model."""
    return FinishReason("aborted", kind, detail)


def other_reason(raw: str) -> FinishReason:
    """Return the reason for a provider word that is not mapped, or for none (`raw` is empty)."""
    return FinishReason("other", detail=raw)


ErrorCategory: TypeAlias = Literal[
    "auth",
    "permission",
    "rate_limit",
    "invalid_request",
    "not_found",
    "context_overflow",
    "content_filter",
    "overloaded",
    "server",
    "timeout",
    "network",
    "incomplete",
    "protocol",
    "storage",
    "invalid_output",
    "interrupted",
    "unknown",
]
ERROR_CATEGORIES: frozenset[str] = frozenset(get_args(ErrorCategory))


class ErrorInfo(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What went wrong, as a value.

    `incomplete` means that the stream was cut off, `protocol` that the bytes break the format or
    exceed a limit, `invalid_output` that the answer is not of the type that was asked for.
    """

    category: ErrorCategory
    message: str
    code: str | None = None
    """The provider's own code."""
    retryable: bool = False
    """Whether the same request may work next time."""
    retry_after_s: float | None = None
    """How long the provider asks to wait."""
