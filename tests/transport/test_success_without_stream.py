"""HTTP 200 with a body that is no stream: the answer or the right error, with one request."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import headrace
from headrace.errors import RequestFailed
from headrace.transport.http import HTTPTransport
from headrace.transport.retry import RetryPolicy
from tests.transport.drain import PATIENT
from tests.transport.upstream import answering, head, upstream, whole
from tests.unit.wire.test_foreign_payloads import ERRORS, WHOLE

MODELS = {
    "chat": "llamacpp:m",
    "anthropic": "anthropic:claude-sonnet-4-5",
    "responses": "openai:gpt-5",
    "gemini": "gemini:gemini-2.5-flash",
    "ollama": "ollama:m",
}
# Retries as usual, but without waiting for them.
QUICK = RetryPolicy(base_s=0.001)
DIALECTS = ("chat", "anthropic", "responses", "gemini", "ollama")
KINDS = ("application/json", "text/event-stream", "text/plain", "text/html")


def ask(dialect: str, body: bytes, kind: str, *, has_length: bool) -> tuple[Any, int]:
    """The result or the error of a turn, and how many requests were sent."""
    answer = whole("200 OK", body, kind=kind)
    if not has_length:
        answer = head("200 OK", kind, chunked=False) + body

    async def run() -> tuple[Any, int]:
        async with upstream(answering(answer)) as server, HTTPTransport(timeouts=PATIENT) as http:
            base_url = f"http://127.0.0.1:{server.port}/v1"
            try:
                result: Any = await headrace.complete_async(
                    MODELS[dialect],
                    "Hi",
                    base_url=base_url,
                    api_key="k",
                    transport=http,
                    policy=QUICK,
                )
            except RequestFailed as error:
                result = error
            return result, len(server.peers)

    return asyncio.run(asyncio.wait_for(run(), 60))


def category_of(result: Any) -> str:
    error = result if isinstance(result, RequestFailed) else result.error
    assert error is not None
    return str(error.category)


def message_of(result: Any) -> str:
    return str(result) if isinstance(result, RequestFailed) else result.error.message


@pytest.mark.parametrize("has_length", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dialect", MODELS)
def test_a_json_answer_is_the_answer(dialect: str, kind: str, has_length: bool) -> None:
    body = json.dumps(WHOLE[dialect], indent=2).encode()
    result, requests = ask(dialect, body, kind, has_length=has_length)
    assert (result.text, result.error, requests) == ("Hi.", None, 1)


@pytest.mark.parametrize("has_length", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dialect", MODELS)
def test_an_error_keeps_its_message_and_category(dialect: str, kind: str, has_length: bool) -> None:
    body = json.dumps(
        {"error": {"message": "no such key", "type": "authentication_error"}}
    ).encode()
    result, requests = ask(dialect, body, kind, has_length=has_length)
    assert (category_of(result), requests) == ("auth", 1)
    assert "no such key" in message_of(result)


@pytest.mark.parametrize("shape", ERRORS)
@pytest.mark.parametrize("dialect", MODELS)
def test_an_error_in_any_shape_keeps_its_message(dialect: str, shape: str) -> None:
    body = json.dumps(ERRORS[shape]).encode()
    for kind in ("application/json", "text/plain"):
        result, _ = ask(dialect, body, kind, has_length=True)
        assert "boom" in message_of(result)


@pytest.mark.parametrize("has_length", [True, False])
@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("dialect", MODELS)
def test_a_web_page_is_no_stream(dialect: str, kind: str, has_length: bool) -> None:
    page = b"<!doctype html>\n<html><head><title>Sign in</title></head>\n\n<body>Hi</body></html>\n"
    result, requests = ask(dialect, page, kind, has_length=has_length)
    assert (category_of(result), requests) == ("protocol", 1)
    assert "web page" in message_of(result)


@pytest.mark.parametrize("has_length", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dialect", MODELS)
def test_a_plain_text_error_keeps_its_text(dialect: str, kind: str, has_length: bool) -> None:
    result, requests = ask(dialect, b"Invalid API key\n", kind, has_length=has_length)
    assert (category_of(result), requests) == ("auth", 1)
    assert "Invalid API key" in message_of(result)


def test_a_large_header_is_no_problem() -> None:
    body = json.dumps(WHOLE["chat"]).encode()
    header = f"x-policy: {'p' * 30_000}"

    async def run() -> str:
        answer = answering(whole("200 OK", body, header))
        async with upstream(answer) as server, HTTPTransport(timeouts=PATIENT) as http:
            base_url = f"http://127.0.0.1:{server.port}/v1"
            result = await headrace.complete_async(
                "llamacpp:m", "Hi", base_url=base_url, transport=http
            )
            return result.text

    assert asyncio.run(asyncio.wait_for(run(), 60)) == "Hi."
