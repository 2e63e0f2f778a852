"""Fields of the frames about input, which are the same in all protocols."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace import events as ev
from headrace.content import PromptContent, TextContent


def request_fields(
    event: ev.InputRequested, run_id: str, path: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the fields of `input_requested`. `run_id` is the id of the outermost run, which takes
    the answer, and `path` leads to the run that asks."""
    return {
        "request_id": event.request_id,
        "run_id": run_id,
        "kind": event.kind,
        "call_id": event.call_id,
        "name": event.name,
        "args": event.args,
        "message": event.message,
        "schema": event.schema,
        "expires_at": event.expires_at_ms,
        "parent_call_id": path[0] if path else None,
        "server": event.server,
    }


def answer_fields(event: ev.InputAnswered) -> dict[str, Any]:
    """Return the fields of `input_answered`."""
    return {
        "request_id": event.request_id,
        "decision": event.decision,
        "value": event.value,
        "is_always": event.is_always,
        "reason": event.reason,
        "by": event.by,
    }


def prompt_text(content: Iterable[PromptContent]) -> str:
    """Return the text of what a user has said, one line for each piece."""
    return "\n".join(part.text for part in content if isinstance(part, TextContent))
