"""The values that events and messages are made of: content, usage, reasons, categories.

Nothing here knows of streams, providers or time.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias, get_args

import msgspec

# --- what people, models and tools hand each other -------------------------------


class TextContent(msgspec.Struct, frozen=True, tag="text", gc=False):
    """Plain or marked-up text."""

    text: str


class JSONContent(msgspec.Struct, frozen=True, tag="json"):
    """A JSON value, kept as a value and not as text."""

    value: Any


class ImageContent(msgspec.Struct, frozen=True, tag="image", kw_only=True, gc=False):
    """An image: base64 `data`, or a `url`."""

    media_type: str
    data: str | None = None
    url: str | None = None


class FileContent(msgspec.Struct, frozen=True, tag="file", kw_only=True, gc=False):
    """A file: base64 `data`, or a `url`."""

    media_type: str
    name: str | None = None
    data: str | None = None
    url: str | None = None


Content: TypeAlias = TextContent | JSONContent | ImageContent | FileContent


class Media(Protocol):
    """Whatever is base64 `data` or a `url`: an image, a file, what a model has made."""

    @property
    def media_type(self) -> str: ...
    @property
    def data(self) -> str | None: ...
    @property
    def url(self) -> str | None: ...


def data_url(media: Media) -> str:
    """Where to get it: its own address, or itself as an address."""
    return media.url or f"data:{media.media_type};base64,{media.data or ''}"


# --- why a turn or a run ended ---------------------------------------------------

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
    """Why an output, a turn or a run ended.

    `kind` is set for `aborted` alone. `detail` says more about an abort, and is the
    provider's own word for `other`.
    """

    word: FinishWord
    kind: AbortKind | None = None
    detail: str = ""

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


def aborted(kind: AbortKind, detail: str = "") -> FinishReason:
    """The run was ended from outside the model."""
    return FinishReason("aborted", kind, detail)


def other(raw: str) -> FinishReason:
    """The provider gave a word that we do not map, or none at all (`raw` is empty)."""
    return FinishReason("other", detail=raw)


# --- what went wrong -------------------------------------------------------------

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
    "interrupted",
    "unknown",
]
ERROR_CATEGORIES: frozenset[str] = frozenset(get_args(ErrorCategory))


class Failure(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What went wrong, as a value: the same facts wherever an error is kept.

    `incomplete` is a cut stream; `protocol` is bytes that break the format, or a limit.
    """

    category: ErrorCategory
    message: str
    code: str | None = None
    retryable: bool = False
    retry_after_s: float | None = None


# --- what it cost ----------------------------------------------------------------


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Token counts of a turn or a run. Unknown is None, never a silent 0."""

    input_tokens: int | None = None
    """Cached and uncached."""
    output_tokens: int | None = None
    """Reasoning included."""
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    """A subset of `output_tokens`."""
    cached_input_tokens: int | None = None
    """A subset of `input_tokens`."""
    cache_creation_input_tokens: int | None = None
    """A subset of `input_tokens`; the sum of the next two where the TTL is told."""
    cache_creation_5m_tokens: int | None = None
    cache_creation_1h_tokens: int | None = None
    cost: float | None = None
    """In the provider's currency, where it tells one."""

    def __add__(self, more: Usage) -> Usage:
        """The sum over turns: None + n = n."""
        return Usage(
            **{
                name: _plus(getattr(self, name), getattr(more, name))
                for name in self.__struct_fields__
            }
        )

    def updated(self, report: Usage) -> Usage:
        """A running total after a later report: an absent count or a zero never
        overwrites what an earlier report told."""
        return Usage(
            **{
                name: getattr(report, name) or _known(getattr(self, name), getattr(report, name))
                for name in self.__struct_fields__
            }
        )

    @property
    def is_known(self) -> bool:
        """Whether the provider told anything at all."""
        return any(getattr(self, name) is not None for name in self.__struct_fields__)


def _plus(a: Any, b: Any) -> Any:
    if a is None:
        return b
    return a if b is None else a + b


def _known(earlier: Any, zero_or_none: Any) -> Any:
    return zero_or_none if earlier is None else earlier


UNKNOWN_USAGE = Usage()
