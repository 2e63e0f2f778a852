"""Parses error objects of providers into an `ErrorInfo`, and decides their category."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from headrace.outcome import ErrorCategory, ErrorInfo
from headrace.secrets.scrub import MAX_MESSAGE_CHARS, scrub
from headrace.wire.json.value import as_int, as_list, as_object, as_objects, as_text

_WORDS: dict[ErrorCategory, str] = {
    "auth": "authentication_error invalid_api_key invalid_authentication unauthorized "
    "unauthenticated authentication_failed incorrect_api_key unrecognizedclientexception "
    "expiredtokenexception invalidsignatureexception missingauthenticationtokenexception",
    "permission": "permission_error permission_denied forbidden billing_error access_denied "
    "insufficient_permissions account_deactivated insufficient_credits accessdeniedexception",
    "rate_limit": "rate_limit_error rate_limit_exceeded too_many_requests insufficient_quota "
    "tokens requests resource_exhausted rate_limited quota_exceeded rate_limit_reached_error "
    "too_many_tokens_error token_quota_exceeded throttlingexception "
    "servicequotaexceededexception",
    "invalid_request": "invalid_request_error invalid_request bad_request invalid_argument "
    "request_too_large tool_use_failed invalid_prompt unsupported_parameter invalid_value "
    "validation_error failed_precondition json_validate_failed validationexception "
    "conflictexception",
    "not_found": "not_found_error not_found model_not_found deployment_not_found "
    "resourcenotfoundexception",
    "context_overflow": "context_length_exceeded context_window_exceeded context_overflow "
    "exceed_context_size_error model_context_window_exceeded string_above_max_length",
    "content_filter": "content_filter content_policy_violation responsibleaipolicyviolation "
    "content_filtered safety moderation_blocked sensitive",
    "overloaded": "overloaded_error overloaded service_unavailable unavailable "
    "server_overloaded engine_overloaded engine_overloaded_error "
    "insufficient_system_resource service_unavailable_error serviceunavailableexception "
    "modelnotreadyexception",
    "server": "server_error api_error internal_server_error internal_error internal "
    "internalservererror bad_gateway internalserverexception modelstreamerrorexception "
    "modelerrorexception dependencyfailedexception badgatewayexception",
    "timeout": "timeout_error timeout request_timeout deadline_exceeded gateway_timeout "
    "modeltimeoutexception",
}
_BY_WORD: dict[str, ErrorCategory] = {
    word: category for category, words in _WORDS.items() for word in words.split()
}
_BY_STATUS: dict[int, ErrorCategory] = {
    400: "invalid_request",
    401: "auth",
    402: "permission",
    403: "permission",
    404: "not_found",
    408: "timeout",
    409: "invalid_request",
    413: "invalid_request",
    415: "invalid_request",
    422: "invalid_request",
    429: "rate_limit",
    498: "overloaded",
    500: "server",
    502: "server",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
_RETRYABLE = frozenset({"rate_limit", "overloaded", "server", "timeout", "network", "incomplete"})
# Out of quota looks like a rate limit, but waiting does not help.
_FINAL_CODES = frozenset({"insufficient_quota", "quota_exceeded"})

# Most providers have no code for a prompt that does not fit: they report an invalid request and
# explain it in the message. These phrases were in use by 2026-11. They are checked only if code,
# type and status say no more.
_OVERFLOW = r"""
      prompt\ is\ too\ long                                     # Anthropic
    | input\ length\ and\ `?max_tokens`?\ exceed\ context\ limit  # Anthropic
    | maximum\ (?:context|prompt)\ length\ is                   # OpenAI, DeepSeek, vLLM, xAI
    | exceeds\ the\ context\ window                             # OpenAI Responses
    | exceeds\ the\ available\ context\ size                    # llama.cpp
    | input\ token\ count.{0,40}\ exceeds\ the\ maximum         # Gemini
    | (?:input|prompt)\ (?:length\ |is\ )?exceeds\ (?:the\ )?(?:max(?:imum)?\ )?context\ length # Ollama
    | exceed(?:s|ed)?\ (?:the\ )?(?:model(?:'s)?\ )?(?:maximum\ |max\ )?context\ (?:length|window|limit)
    | longer\ than\ the\ (?:model's\ )?(?:maximum\ )?context\ length   # SGLang, Together
    | greater\ than\ the\ context\ length                        # LM Studio
    | reduce\ the\ length\ of\ the\ messages                     # Groq
    | exceeded\ model\ token\ limit                             # Moonshot
    | context\ window\ exceeds\ limit                           # MiniMax
    | ContextWindowExceededError                               # LiteLLM
    | input\ is\ too\ long\ for\ requested\ model                 # Bedrock
    | too\ large\ for\ model\ with\ \d+\ maximum\ context\ length      # Mistral
    """  # noqa: E501

_ERROR_MESSAGES = ("errorMessage", "error_message", "error_msg")
_MESSAGES = ("message", "detail", "msg", "status_msg", *_ERROR_MESSAGES, "error")
_CODES = ("status_code", "http_code", "error_code")
# Words for success in the places of a code or a status.
_SUCCESS = frozenset({"0", "200", "ok", "success"})
# Fields of answers: a payload with one of them is no error because it also has a message.
_ANSWER_FIELDS = ("object", "usage", "choices", "candidates", "output", "outputs", "content")
_FIELDS = (":", "data:", "event:", "id:", "retry:")
_TITLE = re.compile(r"<title[^<>]*>([^<]{1,200})", re.IGNORECASE)
_TAGS = re.compile(
    r"<(?:style|script)\b.*?</(?:style|script)>|<[^<>]*+>", re.DOTALL | re.IGNORECASE
)
_PHRASES = re.compile(
    r"\b(?:unauthorized|invalid api key|incorrect api key|forbidden|permission denied"
    r"|access denied|too many requests|rate limit exceeded|rate limited|quota exceeded"
    r"|bad request|not found|overloaded|service unavailable|internal server error|bad gateway"
    r"|gateway timeout|request timeout)\b",
    re.IGNORECASE,
)


def categorize(
    *, code: str | None = None, kind: str | None = None, status: int | None = None
) -> ErrorCategory:
    """Return the category of an error: by its code, then its type, then the HTTP status. Words are
    compared as a whole."""
    for word in (code, kind):
        if word and word.lower() in _BY_WORD:
            return _BY_WORD[word.lower()]
    if status is None and code and code.isascii() and code.isdigit() and len(code) == 3:
        status = int(code)
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status is not None and status >= 400:
        return "server" if status >= 500 else "invalid_request"
    return "unknown"


def is_error(value: Any) -> bool:
    """Return whether the value of an `error` field reports an error. Some servers send the field
    with every chunk, and leave it or its fields empty."""
    fields = as_object(value)
    return any(fields.values()) if fields else bool(value)


def find_error(payload: dict[str, Any]) -> ErrorInfo | None:
    """Return the error that a payload outside the dialect reports, or None.

    Servers and gateways use many shapes. Some of them have no other mark than a text such as
    `message`, so ask only about payloads that have no content.
    """
    return parse_error(payload) if _has_error(payload) or _is_message(payload) else None


def _has_error(payload: dict[str, Any]) -> bool:
    """Return whether a payload has a field that only errors have."""
    return (
        is_error(payload.get("error"))
        or any(map(is_error, as_list(payload.get("errors"))))
        or payload.get("success") is False
        or "error" in (payload.get("type"), payload.get("object"), payload.get("status"))
        or as_object(payload.get("base_resp")).get("status_code") not in (None, 0)
        or (_has_text(payload, _ERROR_MESSAGES) and not _is_success(payload))
    )


def _is_message(payload: dict[str, Any]) -> bool:
    """Return whether a payload has a message, and nothing that makes it something else than an
    error: an event of an unknown type or a chunk may well have a message."""
    kind = (as_text(payload.get("type")) or "error").lower()
    if "error" not in kind and kind not in _BY_WORD:
        return False
    if any(payload.get(name) for name in _ANSWER_FIELDS) or _is_success(payload):
        return False
    return bool(as_list(payload.get("detail"))) or _has_text(payload, _MESSAGES)


def _is_success(payload: dict[str, Any]) -> bool:
    """Return whether a payload says that nothing is wrong, such as `"code": 0`."""
    words = (_to_text(payload.get(name)) for name in ("code", "status", *_CODES))
    return payload.get("success") is True or any((word or "").lower() in _SUCCESS for word in words)


def _has_text(payload: dict[str, Any], names: tuple[str, ...]) -> bool:
    return any(as_text(payload.get(name)) for name in names)


def describe_body(body: bytes) -> ErrorInfo | None:
    """Return the error for a response body that is no stream: a web page or a plain text.

    Returns None if the body has no text besides SSE fields, comments and JSON.
    """
    text = "\n".join(_plain_lines(body.decode("utf-8", "replace")))
    if not text or text.startswith(("{", "[")):
        return None
    if not "".join(text.split()).isprintable():
        return ErrorInfo("protocol", "the response is neither a stream nor a text")
    is_page = text.startswith("<")
    if is_page:
        title = _TITLE.search(text)
        text = " ".join((title[1] if title else _TAGS.sub(" ", text)).split())
    category = _categorize_text(text)
    if is_page and category == "unknown":
        return ErrorInfo("protocol", "the response is a web page, not a stream")
    return ErrorInfo(category, scrub(text), retryable=category in _RETRYABLE)


def _plain_lines(text: str) -> list[str]:
    """Return the lines that are neither fields nor comments. The last one may be a field that was
    cut off."""
    lines = [line.strip() for line in text.splitlines()]
    return [
        line
        for line in lines
        if not line.startswith(_FIELDS) and not any(field.startswith(line) for field in _FIELDS)
    ]


def _categorize_text(text: str) -> ErrorCategory:
    """Return the category of an error that is only a text, by the phrases that HTTP servers and
    gateways use."""
    match = _PHRASES.search(text[:MAX_MESSAGE_CHARS])
    return _BY_WORD[match[0].lower().replace(" ", "_")] if match else "unknown"


def _format_validation(problems: Any) -> str:
    """Format FastAPI's list of validation errors, as sent by vLLM and Mistral."""
    lines = [
        f"{'.'.join(str(step) for step in as_list(problem.get('loc')))}: {problem.get('msg')}"
        for problem in as_objects(problems)
    ]
    return "; ".join(lines) or "the request is not valid"


def find_exception(payload: dict[str, Any]) -> ErrorInfo | None:
    """Return the error of a payload with a field that is named like an exception of AWS."""
    for name, value in payload.items():
        if name.endswith("Exception"):
            return parse_error({**as_object(value), "code": name})
    return None


def parse_error(error: Any, *, status: int | None = None) -> ErrorInfo:
    """Parse a provider's error: an object, an object in an `error` field, or a text.

    The message is scrubbed of secrets and cut to a maximum length.
    """
    outer = as_object(error)
    inner = (
        as_object(outer.get("error"))
        or as_object(outer.get("base_resp"))
        or next(iter(as_objects(outer.get("errors"))), dict[str, Any]())
    )
    # Fields next to the error object fill in what the object itself lacks.
    told = {**outer, **{name: value for name, value in inner.items() if value is not None}}
    code = _find_text(told, "code", *_CODES)
    kind = _find_text(told, "type", "error_type", "status")
    category = categorize(code=code, kind=kind, status=status)
    message = _to_text(error) or _find_text(told, *_MESSAGES)
    if message is None and as_list(outer.get("detail")):
        message = _format_validation(outer["detail"])
    if message is None:
        message = next((text for text in map(as_text, as_list(outer.get("errors"))) if text), None)
    if category == "invalid_request" and _is_overflow(message or ""):
        category = "context_overflow"
    return ErrorInfo(
        category,
        scrub(message or f"the provider gave no message (code {code}, type {kind})"),
        code=scrub(code or kind or "") or None,
        retryable=category in _RETRYABLE and code not in _FINAL_CODES,
    )


def _find_text(told: dict[str, Any], *names: str) -> str | None:
    found = (_to_text(told.get(name)) for name in names)
    return next((words for words in found if words is not None), None)


def _to_text(value: object) -> str | None:
    number = as_int(value)
    return as_text(value) if number is None else str(number)


@cache
def _compile_overflow() -> re.Pattern[str]:
    # On first use: it takes a millisecond of the import, and most streams have no error.
    return re.compile(_OVERFLOW, re.VERBOSE | re.IGNORECASE)


def _is_overflow(message: str) -> bool:
    return _compile_overflow().search(message[:MAX_MESSAGE_CHARS]) is not None
