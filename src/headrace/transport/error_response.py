"""Turns error responses of all providers into `RequestFailed`.

Pure functions: the transport reads the status, the headers and at most `max_error_bytes` of the
body.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import responses
from typing import Any, cast

import msgspec

from headrace.errors import RequestFailed
from headrace.outcome import ErrorCategory, ErrorInfo
from headrace.secrets.known import KnownSecrets
from headrace.transport.call_secrets import address_of, secrets_of
from headrace.transport.transport import HTTPCall
from headrace.wire.error import find_error, parse_error
from headrace.wire.json.value import as_object, as_objects, as_text

_REQUEST_IDS = ("x-request-id", "request-id", "x-goog-request-id", "apim-request-id")
HINTS: dict[ErrorCategory, str] = {
    "auth": "Is the key right, and is it this provider's?",
    "not_found": "Are the address and the model's name right?",
}
"""Advice per error category, added when a response says little."""
_REDIRECT = "Redirects are not followed, since the key would go along: put the new address in."
_MAX_RETRY_AFTER_S = 7 * 24 * 3600.0


def refusal(call: HTTPCall, status: int, headers: Mapping[str, str], body: bytes) -> RequestFailed:
    """Return the error for a response without a stream. `headers` must be case-insensitive."""
    secrets = secrets_of(call)
    text = secrets.hide(body.decode("utf-8", "replace"))
    error = _error_in(text)
    # The status of a 200 response that holds an error says nothing.
    failure = parse_error(error, status=status if status >= 400 else None)
    failure = _with_details(failure, error, status)
    message = failure.message if error is not None else _without_json(text, headers)
    return RequestFailed(
        secrets.clean(_describe(call, status, message, failure.category)),
        category=failure.category,
        status=status,
        code=failure.code and secrets.clean(failure.code),
        retryable=_is_retryable(failure, headers),
        retry_after_s=retry_after_of(headers, error),
        request_id=_request_id(headers, error, secrets),
    )


def holds_error(body: bytes) -> bool:
    """Return whether a JSON response with a success status is an error body, in any shape."""
    return find_error(as_object(_error_in(body.decode("utf-8", "replace")))) is not None


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """Return the request id that the provider's support asks for."""
    return next((headers[name][:200] for name in _REQUEST_IDS if headers.get(name)), None)


def _error_in(text: str) -> Any:
    """Parse the JSON of a body, or return None. Gemini wraps it in a list."""
    try:
        value: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    if isinstance(value, list):
        return next(iter(as_objects(cast("object", value))), None)
    return as_object(value) or as_text(value)


def _with_details(failure: ErrorInfo, error: Any, status: int) -> ErrorInfo:
    """Add what a provider says outside of code and type."""
    category = failure.category
    if category == "invalid_request":
        # Gemini answers 400 for a wrong key and gives the reason in the details.
        reasons = [as_text(detail.get("reason")) for detail in _details(error)]
        if "API_KEY_INVALID" in reasons:
            category = "auth"
    return msgspec.structs.replace(failure, category=category)


def _details(error: Any) -> list[dict[str, Any]]:
    return as_objects(as_object(as_object(error).get("error")).get("details"))


def _without_json(text: str, headers: Mapping[str, str]) -> str:
    if not text.strip():
        return "no body"
    if "html" in headers.get("content-type", "") or text.lstrip().startswith("<"):
        return "a web page, not an answer of the API"
    return text.strip()[:500]


def _describe(call: HTTPCall, status: int, message: str, category: ErrorCategory) -> str:
    start = (
        f"HTTP {status} {responses.get(status, '')}".rstrip()
        + f" from {address_of(call.url)}: {message}"
    )
    hint = _REDIRECT if 300 <= status < 400 else HINTS.get(category)
    return f"{start.rstrip('.')}. {hint}" if hint else start


def _is_retryable(failure: ErrorInfo, headers: Mapping[str, str]) -> bool:
    """Return whether to retry. OpenAI and Anthropic override the status with `x-should-retry`."""
    told = headers.get("x-should-retry")
    return told == "true" if told in ("true", "false") else failure.retryable


def _request_id(headers: Mapping[str, str], error: Any, secrets: KnownSecrets) -> str | None:
    told = request_id_of(headers) or as_text(as_object(error).get("request_id"))
    return secrets.clean(told[:200]) if told else None


def retry_after_of(headers: Mapping[str, str], error: Any = None) -> float | None:
    """Return the wait in seconds that the provider asks for, in a header or in Gemini's body."""
    told = _number(headers.get("retry-after-ms"), 0.001)
    if told is None:
        told = _number(headers.get("retry-after"))
    if told is None:
        told = _until(headers.get("retry-after"))
    for detail in _details(error):
        delay = as_text(detail.get("retryDelay"))
        if told is None and delay and delay.endswith("s"):
            told = _number(delay[:-1])
    return told


def _number(text: str | None, unit: float = 1.0) -> float | None:
    if not text or not re.fullmatch(r"\d{1,12}(\.\d{1,12})?", text.strip(), re.ASCII):
        return None
    return min(float(text) * unit, _MAX_RETRY_AFTER_S)


def _until(date: str | None) -> float | None:
    try:
        moment = parsedate_to_datetime(date or "")
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    left_s = (moment - datetime.now(UTC)).total_seconds()
    return min(max(left_s, 0.0), _MAX_RETRY_AFTER_S)
