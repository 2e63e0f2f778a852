"""What single words mean, for the pages that list them. Leaving one out fails the docs."""

from __future__ import annotations

from headrace.content import AbortKind, ErrorCategory, FinishWord

FINISH_WORDS: dict[FinishWord, str] = {
    "end_turn": "The model said all it wanted to say.",
    "tool_use": "The model waits for the results of its calls.",
    "max_tokens": "The limit on new tokens was reached.",
    "stop_sequence": "A stop sequence of the request came up.",
    "content_filter": "A filter stepped in, or the model refused.",
    "context_full": "The context window is full.",
    "time_limit": "The provider's time for one answer was up.",
    "paused": "The provider paused a long turn and expects to be asked to go on.",
    "aborted": "The run was ended from outside the model; `kind` says how.",
    "other": "A word that is not mapped, kept in `detail`; empty where the stream gave none.",
}
ABORT_KINDS: dict[AbortKind, str] = {
    "cancelled": "Somebody pressed stop.",
    "timeout": "The run took too long.",
    "terminated": "A hook or the process ended it.",
    "max_iterations": "The run used up its steps.",
}
ERROR_CATEGORIES: dict[ErrorCategory, str] = {
    "auth": "The key is missing, wrong or expired.",
    "permission": "The key is good, but may not do this, or there is no credit left.",
    "rate_limit": "Too many requests or tokens, or the quota is used up.",
    "invalid_request": "The request is not one that the provider takes.",
    "not_found": "No such model, deployment or resource.",
    "context_overflow": "The request is longer than the model's context.",
    "content_filter": "A filter refused the request or the answer.",
    "overloaded": "The provider has no room at the moment.",
    "server": "The provider broke.",
    "timeout": "The provider took too long.",
    "network": "The connection could not be made, or broke.",
    "incomplete": "The stream was cut: it ended without saying how.",
    "protocol": "Bytes that break the format, or a named limit that was passed.",
    "storage": "A log or store could not be written.",
    "interrupted": "The process that ran it went away.",
    "unknown": "None of these could be told from code, type and status.",
}
FIELDS: dict[str, str] = {
    "part": "The part's number, counted through the run.",
    "output": "The output's number, which is the provider's.",
    "item": "The item's number; parts of one provider item share it.",
    "item_id": "The provider's own id of the item.",
    "call_id": "The call's id, unique in its turn.",
    "raw_reason": "The provider's own word.",
    "skipped_frames": "Frames that could not be read.",
    "started_ms": "When it began.",
    "ended_ms": "When it ended; None while it is open.",
    "provider_data": "What the provider wants back, or told, beyond the fields named here.",
    "seals": "Signatures and encrypted content, for the replay.",
}
"""Fields that mean the same wherever they stand, unless their own docstring says more."""
