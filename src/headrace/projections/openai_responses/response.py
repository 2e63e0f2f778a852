"""The response object of the Responses protocol: what was asked, and how it ended."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from headrace import events as ev
from headrace.events import JSONObject
from headrace.outcome import ErrorCategory, FinishReason
from headrace.projections.ending import Ending
from headrace.usage import Usage
from headrace.wire.json.value import as_object

EndStatus: TypeAlias = Literal["completed", "incomplete", "failed", "cancelled"]

DEFAULT_FIELDS: JSONObject = {
    "background": False,
    "frequency_penalty": 0.0,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "presence_penalty": 0.0,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
"""Fields of a response that repeat the request, with the values of a request that sets none."""

_ERROR_CODES: dict[ErrorCategory, str] = {
    "auth": "authentication_error",
    "permission": "permission_denied",
    "rate_limit": "rate_limit_exceeded",
    "invalid_request": "invalid_prompt",
    "not_found": "model_not_found",
    "context_overflow": "context_length_exceeded",
    "content_filter": "content_policy_violation",
    "overloaded": "server_overloaded",
    "timeout": "timeout",
}
_INCOMPLETE = {
    "max_tokens": "max_output_tokens",
    "content_filter": "content_filter",
}
LOST_FRAMES = "stream_damaged"
"""The reason of a response that is incomplete because frames of the provider could not be read."""


class ResponseEnd:
    """How a response ended, in the words of the protocol."""

    def __init__(self, status: EndStatus, reason: str | None = None) -> None:
        self.status: EndStatus = status
        self.reason = reason
        """Why it is incomplete."""
        self.error: JSONObject | None = None

    @property
    def event_type(self) -> str:
        """The type of the last event. The protocol has none for a response that was cancelled."""
        return f"response.{'incomplete' if self.status == 'cancelled' else self.status}"

    @property
    def details(self) -> JSONObject | None:
        """The value of `incomplete_details`."""
        return None if self.reason is None else {"reason": self.reason}


def fail(category: ErrorCategory, message: str) -> ResponseEnd:
    """Return the end of a response that failed."""
    end = ResponseEnd("failed")
    end.error = {
        "code": _ERROR_CODES.get(category, "server_error"),
        "message": message,
        "type": category,
    }
    return end


def find_end(
    ending: Ending, reason: FinishReason | None, *, is_complete: bool = True
) -> ResponseEnd:
    """Return the end that the records tell."""
    if ending.kind == "failed":
        return fail(ending.category, ending.message)
    if ending.kind == "cancelled" or reason is None:
        return ResponseEnd("cancelled", "cancelled")
    if reason.word in _INCOMPLETE:
        return ResponseEnd("incomplete", _INCOMPLETE[reason.word])
    if reason.word in ("context_full", "time_limit"):
        return ResponseEnd("incomplete", reason.word)
    if reason.word == "aborted":
        return ResponseEnd("incomplete", reason.kind or "aborted")
    if reason.word == "other":
        return ResponseEnd("incomplete", reason.detail or "unknown")
    return ResponseEnd("completed") if is_complete else ResponseEnd("incomplete", LOST_FRAMES)


def encode_usage(usage: Usage) -> JSONObject | None:
    """Encode token counts. The protocol has no unknown counts: they are 0, unless all are."""
    if usage.input_tokens is None and usage.output_tokens is None and usage.total_tokens is None:
        return None
    sent, made = usage.input_tokens or 0, usage.output_tokens or 0
    total = usage.total_tokens
    return {
        "input_tokens": sent,
        "input_tokens_details": {
            "cached_tokens": usage.cached_input_tokens or 0,
            "cache_write_tokens": usage.cache_creation_input_tokens or 0,
        },
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": sent + made if total is None else total,
    }


def encode_annotation(citation: ev.CitationAdded, is_ours: bool) -> JSONObject | None:
    """Encode a citation, or return None if the protocol has no annotation for it. `is_ours` tells
    whether the citation came in this protocol."""
    raw = as_object(citation.raw)
    if is_ours and "type" in raw:
        return raw
    ref = citation.ref
    if not ref:
        return None
    if not ref.startswith(("http://", "https://")):
        name = citation.title or ref
        return {"type": "file_citation", "file_id": ref, "filename": name, "index": 0}
    return {
        "type": "url_citation",
        "url": ref,
        "title": citation.title or "",
        "start_index": citation.start or 0,
        "end_index": citation.end or 0,
    }


def build_response(
    request: JSONObject, facts: JSONObject, end: ResponseEnd | None, output: list[Any]
) -> JSONObject:
    """Build the whole object. `request` has the fields that repeat the request, `facts` id, times,
    model and usage."""
    return {
        "id": facts["id"],
        "object": "response",
        "created_at": facts["created_at"],
        "completed_at": facts.get("completed_at"),
        "status": "in_progress" if end is None else end.status,
        "error": None if end is None else end.error,
        "incomplete_details": None if end is None else end.details,
        **DEFAULT_FIELDS,
        **request,
        "model": facts["model"],
        "output": list(output),
        "usage": facts.get("usage"),
    }
