"""Error objects become failures: the right category, and no secret in the text."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.outcome import ERROR_CATEGORIES
from headrace.secrets.scrub import MAX_MESSAGE_CHARS, scrub
from headrace.wire.error import categorize, parse_error


@pytest.mark.parametrize(
    ("error", "category", "is_retryable"),
    [
        (
            {"type": "invalid_request_error", "code": "context_length_exceeded"},
            "context_overflow",
            False,
        ),
        ({"type": "invalid_request_error", "code": "invalid_api_key"}, "auth", False),
        ({"type": "rate_limit_error"}, "rate_limit", True),
        ({"type": "tokens", "code": "rate_limit_exceeded"}, "rate_limit", True),
        ({"code": "insufficient_quota"}, "rate_limit", False),
        ({"code": 503}, "overloaded", True),
        ({"code": "502"}, "server", True),
        ({"code": 418}, "invalid_request", False),
        ({"code": 599}, "server", True),
        ({"status": "RESOURCE_EXHAUSTED"}, "rate_limit", True),
        ({"type": "not_a_rate_limit_error_at_all"}, "unknown", False),
        ({}, "unknown", False),
    ],
)
def test_categories_come_from_code_type_and_status(
    error: dict[str, Any], category: str, is_retryable: bool
) -> None:
    failure = parse_error({"message": "m", **error})
    assert (failure.category, failure.retryable) == (category, is_retryable)


def test_the_http_status_counts_where_words_say_nothing() -> None:
    assert parse_error("busy", status=529).category == "overloaded"
    assert categorize(kind="what", status=401) == "auth"


@pytest.mark.parametrize("error", [None, 5, [], "", {"message": ["x"]}, {"error": {}}])
def test_any_shape_has_a_message(error: Any) -> None:
    failure = parse_error(error)
    assert failure.message
    assert failure.category in ERROR_CATEGORIES


@pytest.mark.parametrize(
    "secret",
    [
        "sk-CANARY-1234567890abcdef",
        "sk-proj-abc_DEF-1234567890",
        "gsk_abcdefghijklmnop",
        "xai-abcdefghijklmnop",
        "hf_abcdefghijklmnop",
        "AIzaSyA1234567890abcdefghijkl",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abc",
    ],
)
def test_secrets_are_scrubbed(secret: str) -> None:
    for text in (f"Incorrect API key provided: {secret}.", f"GET /v1?key={secret}&x=1"):
        assert secret not in scrub(text)
    assert secret not in parse_error({"message": secret, "code": secret}).message


def test_bearer_tokens_and_key_parameters_are_scrubbed() -> None:
    assert "abc123" not in scrub("Authorization: Bearer abc123")
    assert "abc123" not in scrub("https://x/v1?alt=sse&key=abc123")
    assert "abc123" not in scrub("api_key=abc123")


def test_long_messages_are_capped() -> None:
    assert len(scrub("x" * 100_000)) == MAX_MESSAGE_CHARS


def test_ordinary_words_stay() -> None:
    text = "The key-value store is task-specific; max_tokens is too large."
    assert scrub(text) == text
