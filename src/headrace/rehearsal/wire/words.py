"""Finish reasons and errors in the words of each dialect."""

from __future__ import annotations

from typing import Any

from headrace.outcome import ErrorCategory

CHAT_REASONS = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "context_full": "model_length",
}
ANTHROPIC_REASONS = {
    "content_filter": "refusal",
    "paused": "pause_turn",
    "context_full": "model_context_window_exceeded",
}
RESPONSES_REASONS = {"max_tokens": "max_output_tokens"}
"""Reasons that are not in a table are sent as they are."""

_OPENAI: dict[ErrorCategory, str] = {
    "auth": "invalid_api_key",
    "permission": "insufficient_permissions",
    "rate_limit": "rate_limit_exceeded",
    "invalid_request": "invalid_request_error",
    "not_found": "model_not_found",
    "context_overflow": "context_length_exceeded",
    "content_filter": "content_filter",
    "overloaded": "server_overloaded",
    "server": "server_error",
    "timeout": "timeout",
}
_ANTHROPIC: dict[ErrorCategory, str] = {
    "auth": "authentication_error",
    "permission": "permission_error",
    "rate_limit": "rate_limit_error",
    "invalid_request": "invalid_request_error",
    "not_found": "not_found_error",
    "context_overflow": "invalid_request_error",
    "content_filter": "content_filter",
    "overloaded": "overloaded_error",
    "server": "api_error",
    "timeout": "timeout_error",
}
_AWS: dict[ErrorCategory, str] = {
    "auth": "unrecognizedClientException",
    "permission": "accessDeniedException",
    "rate_limit": "throttlingException",
    "invalid_request": "validationException",
    "context_overflow": "validationException",
    "not_found": "resourceNotFoundException",
    "overloaded": "serviceUnavailableException",
    "server": "internalServerException",
    "timeout": "modelTimeoutException",
}


def openai_error(category: ErrorCategory, message: str) -> dict[str, Any]:
    """Return the error object of OpenAI's grammars."""
    word = _OPENAI.get(category, category)
    return {"message": message, "type": word, "param": None, "code": word}


def anthropic_error(category: ErrorCategory, message: str) -> dict[str, Any]:
    """Return Anthropic's error object. Only its message tells that a prompt is too long."""
    if category == "context_overflow" and "prompt is too long" not in message:
        message = f"prompt is too long: {message}"
    return {"type": _ANTHROPIC.get(category, category), "message": message}


def aws_error(category: ErrorCategory, message: str) -> tuple[str, str]:
    """Return name and message of an exception of AWS. Only its message tells that a prompt is too
    long."""
    if category == "context_overflow":
        message = f"Input is too long for requested model: {message}"
    return _AWS.get(category, category), message
