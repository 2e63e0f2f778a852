"""Summarizes a decoded stream in one flat row, to compare many streams with expected results."""

from __future__ import annotations

from typing import Any

from headrace.messages import CallPart, Message, ReasoningPart, RedactedPart, TextPart, Turn
from headrace.outcome import ErrorInfo, FinishReason
from headrace.usage import Usage

_COUNTERS = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")


def result_row(file: str, message: Message, candidates: list[Message]) -> dict[str, Any]:
    """Return the row of one file.

    The first of several candidates is shown; `outputs` has all of them.
    """
    shown = candidates[0] if len(candidates) > 1 else message
    parts = [part for turn in shown.turns for part in turn.parts]
    reasoning = [part.text for part in parts if isinstance(part, ReasoningPart)]
    texts = [part for part in parts if isinstance(part, TextPart)]
    refusal = "".join(part.text for part in texts if part.is_refusal)
    return {
        "file": file,
        "text": "".join(part.text for part in texts if not part.is_refusal),
        "reasoning": "".join(reasoning),
        "reasoning_parts": [text for text in reasoning if text],
        "tool_calls": [_call(part) for part in parts if isinstance(part, CallPart)],
        "finish": _finish(message.error, shown.finish),
        "usage": _usage(message.usage),
        "error": _error(message.error),
        "signatures": [seal.value for part in parts for seal in part.seals],
        "redacted": sum(isinstance(part, RedactedPart) for part in parts),
        "refusal": refusal or None,
        "outputs": [_output(message) for message in candidates] if len(candidates) > 1 else [],
    }


def _finish(error: ErrorInfo | None, finish: FinishReason | None) -> str | None:
    return None if error is not None or finish is None else finish.word


def _call(part: CallPart) -> dict[str, Any]:
    return {
        "id": part.call_id,
        "name": part.name,
        "args": part.raw if part.error is not None else part.args,
        "executor": part.executor,
    }


def _usage(usage: Usage) -> dict[str, int | None] | None:
    if not usage.is_known:
        return None
    return {name: getattr(usage, name) for name in _COUNTERS}


def _error(error: ErrorInfo | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {"category": error.category, "message": error.message, "code": error.code}


def _output(candidate: Message) -> dict[str, Any]:
    turn: Turn = candidate.turns[0]
    texts = (part for part in turn.parts if isinstance(part, TextPart) and not part.is_refusal)
    return {
        "index": turn.outputs[0].output,
        "text": "".join(part.text for part in texts),
        "reasoning": turn.reasoning,
    }
