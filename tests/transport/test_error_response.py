"""Error bodies of every provider's shape become the right `RequestFailed`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import msgspec
import pytest

from headrace.errors import RequestFailed
from headrace.transport.error_response import holds_error, refusal
from headrace.transport.http import HTTPTransport
from tests.transport.upstream import KEY, answering, call_to, upstream, whole


def openai(message, kind, code=None):
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def anthropic(message, kind):
    error = {"type": kind, "message": message}
    return {"type": "error", "error": error, "request_id": "req_body"}


def gemini(code, message, status, *details):
    return [{"error": {"code": code, "message": message, "status": status, "details": details}}]


def vllm(code, message, kind):
    return {"object": "error", "message": message, "type": kind, "param": None, "code": code}


INVALID = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
CONTEXT = "context_overflow"

# (who, status, body, category, retryable)
ROWS = [
    ("openai", 429, openai("Rate limit reached", "requests", "rate_limit_exceeded"), "rate_limit"),
    ("openai quota", 429, openai("You exceeded", "insufficient_quota", "insufficient_quota"), "-"),
    ("openai", 503, openai("Overloaded", "service_unavailable_error"), "overloaded"),
    ("openai", 500, openai("The server had an error", "server_error"), "server"),
    ("openai", 401, openai("Incorrect key", "invalid_request_error", "invalid_api_key"), "auth"),
    ("openai", 403, openai("No access", "invalid_request_error"), "invalid_request"),
    ("openai", 404, openai("no model", "invalid_request_error", "model_not_found"), "not_found"),
    ("openai", 400, openai("Unknown parameter", "invalid_request_error"), "invalid_request"),
    (
        "openai",
        400,
        openai("too long", "invalid_request_error", "context_length_exceeded"),
        CONTEXT,
    ),
    (
        "openai words",
        400,
        openai("This model's maximum context length is 128000 tokens.", "invalid_request_error"),
        CONTEXT,
    ),
    (
        "responses words",
        400,
        openai("Your input exceeds the context window of this model.", "invalid_request_error"),
        CONTEXT,
    ),
    ("anthropic", 429, anthropic("slow down", "rate_limit_error"), "rate_limit"),
    ("anthropic", 529, anthropic("Overloaded", "overloaded_error"), "overloaded"),
    ("anthropic", 500, anthropic("Internal server error", "api_error"), "server"),
    ("anthropic", 401, anthropic("invalid x-api-key", "authentication_error"), "auth"),
    ("anthropic", 403, anthropic("not allowed", "permission_error"), "permission"),
    ("anthropic", 413, anthropic("Request too large", "request_too_large"), "invalid_request"),
    (
        "anthropic",
        400,
        anthropic("prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error"),
        CONTEXT,
    ),
    (
        "anthropic both",
        400,
        anthropic(
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            "invalid_request_error",
        ),
        CONTEXT,
    ),
    ("gemini", 429, gemini(429, "quota", "RESOURCE_EXHAUSTED", RETRY), "rate_limit"),
    ("gemini", 503, gemini(503, "The model is overloaded.", "UNAVAILABLE"), "overloaded"),
    ("gemini", 500, gemini(500, "An internal error", "INTERNAL"), "server"),
    ("gemini key", 400, gemini(400, "API key not valid.", "INVALID_ARGUMENT", INVALID), "auth"),
    ("gemini", 401, gemini(401, "missing credential", "UNAUTHENTICATED"), "auth"),
    ("gemini", 403, gemini(403, "denied", "PERMISSION_DENIED"), "permission"),
    (
        "gemini",
        400,
        gemini(
            400,
            "The input token count (1200000) exceeds the maximum number of tokens allowed",
            "INVALID_ARGUMENT",
        ),
        CONTEXT,
    ),
    ("ollama", 404, {"error": "model 'x' not found"}, "not_found"),
    ("ollama", 500, {"error": "llama runner process has terminated"}, "server"),
    ("ollama", 503, {"error": "server busy"}, "overloaded"),
    ("ollama", 401, {"error": "unauthorized"}, "auth"),
    ("ollama", 429, {"error": "too many concurrent requests"}, "rate_limit"),
    ("ollama", 400, {"error": "the input length exceeds the context length"}, CONTEXT),
    ("vllm", 400, vllm(400, "max_tokens must be at least 1", "BadRequestError"), "invalid_request"),
    (
        "vllm",
        400,
        vllm(400, "This model's maximum context length is 4096 tokens.", "BadRequestError"),
        CONTEXT,
    ),
    ("vllm", 404, vllm(404, "The model `x` does not exist.", "NotFoundError"), "not_found"),
    ("vllm", 401, {"error": "Unauthorized"}, "auth"),
    (
        "llama.cpp",
        400,
        {"error": {"code": 400, "message": "too big", "type": "exceed_context_size_error"}},
        CONTEXT,
    ),
    (
        "llama.cpp words",
        400,
        {"error": {"code": 400, "message": "the request exceeds the available context size"}},
        CONTEXT,
    ),
    ("llama.cpp", 503, openai("Loading model", "unavailable_error", 503), "overloaded"),
    ("llama.cpp", 401, openai("Invalid API Key", "authentication_error", 401), "auth"),
    ("mistral", 401, {"message": "Unauthorized", "request_id": "req_body"}, "auth"),
    (
        "mistral",
        422,
        {"detail": [{"loc": ["body", "model"], "msg": "Field required", "type": "missing"}]},
        "invalid_request",
    ),
    (
        "mistral",
        400,
        {
            "object": "error",
            "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum"
            " context length",
        },
        CONTEXT,
    ),
    ("xai", 429, {"code": "Some resource has been exhausted", "error": "slow"}, "rate_limit"),
    (
        "xai",
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "This model's maximum prompt length is 131072 but the request contains 140000",
        },
        CONTEXT,
    ),
    ("openrouter", 402, {"error": {"code": 402, "message": "credits"}}, "permission"),
    ("openrouter", 529, {"error": {"code": 529, "message": "Overloaded"}}, "overloaded"),
    ("tgi", 429, {"error": "Model is overloaded", "error_type": "overloaded"}, "overloaded"),
    ("tgi", 422, {"error": "bad", "error_type": "validation"}, "invalid_request"),
    ("fastapi", 500, {"detail": "Internal Server Error"}, "server"),
    ("a number", 500, 7, "server"),
    ("a list of none", 502, [], "server"),
    ("a text", 503, "busy", "overloaded"),
]  # fmt: skip
RETRYABLE = {"rate_limit", "overloaded", "server", "timeout"}


@pytest.mark.parametrize(
    ("who", "status", "body", "category"), ROWS, ids=[f"{row[0]}-{row[1]}-{row[3]}" for row in ROWS]
)
def test_a_body_gives_the_right_category(who, status, body, category):
    failed = refusal(call_to("http://h/v1?key=q"), status, {}, msgspec.json.encode(body))
    expected = "rate_limit" if category == "-" else category
    assert failed.category == expected
    assert failed.status == status
    assert failed.retryable == (category in RETRYABLE)
    assert str(failed).startswith(f"HTTP {status}")
    assert "http://h/v1" in str(failed)


@pytest.mark.parametrize(
    "message",
    [
        "The input (7000 tokens) is longer than the model's context length (4096 tokens).",
        "The number of tokens to keep from the initial prompt is greater than the context length",
        "Please reduce the length of the messages or completion.",
        "Your request exceeded model token limit: 262144 (requested: 300000)",
        "invalid params, context window exceeds limit",
        "prompt too long; exceeded max context length by 12 tokens",
    ],
)
def test_an_overflow_is_known_by_its_words(message):
    body = msgspec.json.encode(openai(message, "invalid_request_error"))
    assert refusal(call_to("http://h/"), 400, {}, body).category == CONTEXT


@pytest.mark.parametrize("message", ["the context of this request is invalid", "max_tokens: 5"])
def test_a_word_of_context_alone_is_no_overflow(message):
    body = msgspec.json.encode(openai(message, "invalid_request_error"))
    assert refusal(call_to("http://h/"), 400, {}, body).category == "invalid_request"


def test_overflow_is_not_read_into_other_failures():
    body = msgspec.json.encode(openai("prompt is too long", "rate_limit_error"))
    assert refusal(call_to("http://h/"), 429, {}, body).category == "rate_limit"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "no body"),
        (b"<html><h1>502 Bad Gateway</h1>", "a web page"),
        (b"upstream connect error", "upstream connect error"),
        (b"\xff\xfe{", "�"),
        (b"[" * 100_000, "[["),
        (b'{"detail": [{"loc": ["body", 1], "msg": "missing"}]}', "body.1: missing"),
    ],
)
def test_a_body_without_an_error_object_is_told_too(body, told):
    failed = refusal(call_to("http://h/"), 502, {}, body)
    assert told in str(failed)
    assert failed.category == "server"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "999999999"}, 604_800),
        ({}, None),
    ],
    ids=str,
)
def test_the_time_to_wait_is_read(headers, expected):
    assert refusal(call_to("http://h/"), 429, headers, b"{}").retry_after_s == expected


@pytest.mark.parametrize(("seconds", "expected"), [(60, 60), (-60, 0)])
def test_the_time_to_wait_may_be_a_date(seconds, expected):
    moment = datetime.now(UTC) + timedelta(seconds=seconds)
    headers = {"retry-after": format_datetime(moment, usegmt=True)}
    failed = refusal(call_to("http://h/"), 429, headers, b"{}")
    assert failed.retry_after_s == pytest.approx(expected, abs=30)


def test_gemini_tells_the_time_in_its_body():
    body = msgspec.json.encode(gemini(429, "quota", "RESOURCE_EXHAUSTED", RETRY))
    assert refusal(call_to("http://h/"), 429, {}, body).retry_after_s == 34.5


def test_should_retry_overrules_the_status():
    assert not refusal(call_to("http://h/"), 500, {"x-should-retry": "false"}, b"").retryable
    assert refusal(call_to("http://h/"), 409, {"x-should-retry": "true"}, b"").retryable


def test_the_request_id_comes_from_a_header_or_the_body():
    body = msgspec.json.encode(anthropic("x", "api_error"))
    assert refusal(call_to("http://h/"), 500, {"request-id": "r1"}, body).request_id == "r1"
    assert refusal(call_to("http://h/"), 500, {}, body).request_id == "req_body"
    assert refusal(call_to("http://h/"), 500, {}, b"").request_id is None


def test_only_an_error_field_makes_an_error():
    assert holds_error(b'{"error": {"message": "x"}}')
    assert holds_error(b'[{"error": {"message": "x"}}]')
    assert not holds_error(b'{"error": null, "choices": []}')
    assert not holds_error(b'{"choices": []}')
    assert not holds_error(b'{"error": ')


def test_the_key_is_taken_out_of_whatever_comes_back():
    told = f"key {KEY} and 'Bearer {KEY}' of q-secret-value"
    body = msgspec.json.encode(openai(told, KEY, KEY))
    call = call_to("http://user:pass-word-1@h/v1?key=q-secret-value")
    failed = refusal(call, 401, {"x-request-id": KEY}, body)
    for text in (str(failed), repr(failed), failed.code, failed.request_id):
        assert KEY not in str(text)
        assert "q-secret-value" not in str(text)
        assert "pass-word-1" not in str(text)


@pytest.mark.parametrize("status", [429, 529, 500, 401])
def test_headers_and_body_come_over_a_real_socket(status):
    body = msgspec.json.encode(anthropic("told", "unheard_of"))
    lines = ("Retry-After: 3", "Request-Id: req_head")

    async def run():
        answer = answering(whole(f"{status} X", body, *lines))
        async with upstream(answer) as server, HTTPTransport() as transport:
            await transport.open(call_to(server.url))

    with pytest.raises(RequestFailed, match="told") as caught:
        asyncio.run(run())
    assert caught.value.status == status
    assert caught.value.retry_after_s == 3
    assert caught.value.request_id == "req_head"
    assert caught.value.__context__ is None
