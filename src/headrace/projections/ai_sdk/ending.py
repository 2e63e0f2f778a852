"""The last chunks of a message: why it ended, and what is known about it."""

from __future__ import annotations

from typing import Any

from headrace import events as ev
from headrace.events import JSONObject
from headrace.outcome import FinishReason
from headrace.projections.ai_sdk import frame as fr
from headrace.projections.ai_sdk.frame import AISDKFinishReason, AISDKFrame
from headrace.projections.ending import Ending, Terminal
from headrace.usage import Usage

_REASONS: dict[str, AISDKFinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "length",
    "context_full": "length",
    "content_filter": "content-filter",
}
_COUNTS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "totalTokens": "total_tokens",
    "reasoningTokens": "reasoning_tokens",
    "cachedInputTokens": "cached_input_tokens",
    "cacheWriteInputTokens": "cache_creation_input_tokens",
    "cost": "cost",
}


def to_finish_reason(reason: FinishReason) -> AISDKFinishReason:
    """Return the AI SDK's word for a finish reason."""
    return _REASONS.get(reason.word, "other")


def usage_fields(usage: Usage) -> JSONObject:
    """Return the known counts under the names of the AI SDK."""
    counts = {name: getattr(usage, ours) for name, ours in _COUNTS.items()}
    fields: dict[str, Any] = {name: value for name, value in counts.items() if value is not None}
    return {**fields, "isEstimated": True} if fields and usage.is_estimated else fields


def last_frames(end: Ending, terminal: Terminal | None, metadata: JSONObject) -> list[AISDKFrame]:
    """Return the chunks that end a message. A client stops reading at `error`, so that the metadata
    is sent before it."""
    if end.kind == "finished":
        assert isinstance(terminal, ev.TurnFinished | ev.RunFinished)
        metadata = {**metadata, "finishReason": str(terminal.reason)}
        reason = to_finish_reason(terminal.reason)
        return [fr.Finish(reason, metadata), fr.END_OF_FRAMES]
    known: list[AISDKFrame] = [fr.MessageMetadata(metadata)] if metadata else []
    if end.kind == "cancelled":
        return [*known, fr.Abort("cancelled"), fr.END_OF_FRAMES]
    return [*known, fr.Error(end.message), fr.Finish("error"), fr.END_OF_FRAMES]
