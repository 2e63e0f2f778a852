"""Lists of models and counts of tokens, asked from a server on loopback that answers as the
providers do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import headrace
from headrace.cli.main import main
from headrace.errors import RequestFailed, UsageError
from headrace.testing import ScriptedTransport
from tests.transport.json_server import Asked, serving_json

KEY = "sk-secret-1234567890"


class Provider:
    """Records what it was asked, and answers from a table by path."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[tuple[str, str, dict[str, str], Any]] = []

    def answer(self, path: str, query: dict[str, list[str]]) -> tuple[int, Any]:
        match path:
            case "/v1/models" if "after_id" in query:
                return 200, {"data": [{"id": "b", "display_name": "B"}], "has_more": False}
            case "/v1/models" if "limit" in query:
                first = {"id": "c", "display_name": "C", "max_input_tokens": 200_000}
                return 200, {"data": [first], "has_more": True, "last_id": "c"}
            case "/v1/models":
                return 200, {"data": [{"id": "m-2"}, {"id": "m-1", "context_window": 8_192}]}
            case "/models" if "pageToken" in query:
                return 200, {"models": [{"name": "models/g-1"}]}
            case "/models":
                entry = {"name": "models/g-2", "displayName": "G", "inputTokenLimit": 1_048_576}
                return 200, {"models": [entry], "nextPageToken": "x y"}
            case "/api/tags":
                return 200, {"models": [{"name": "llama:8b", "model": "llama:8b"}]}
            case "/v1/messages/count_tokens" | "/v1/responses/input_tokens":
                return 200, {"input_tokens": 42}
            case "/models/g-2:countTokens":
                return 200, {"totalTokens": 43}
            case _:
                return 401, {"error": {"message": f"bad key {KEY}"}}


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    told = Provider()

    def answer(asked: Asked) -> tuple[int, Any]:
        told.asked.append(
            (asked.method, asked.path, asked.headers, json.loads(asked.body or b"null"))
        )
        parts = urlsplit(asked.path)
        return told.answer(parts.path, parse_qs(parts.query))

    with serving_json(answer) as told.url:
        yield told


@pytest.mark.parametrize(
    ("name", "path", "ids"),
    [
        ("openai", "/v1", ["m-1", "m-2"]),
        ("compatible", "/v1", ["m-1", "m-2"]),
        ("anthropic", "", ["b", "c"]),
        ("gemini", "", ["g-1", "g-2"]),
        ("gemini-interactions", "", ["g-1", "g-2"]),
        ("ollama", "", ["llama:8b"]),
    ],
)
def test_all_pages_of_a_list_are_read(
    provider: Provider, name: str, path: str, ids: list[str]
) -> None:
    models = headrace.list_models(name, base_url=provider.url + path, api_key=KEY)
    assert [model.id for model in models] == ids
    method, _, headers, _ = provider.asked[-1]
    assert method == "GET"
    assert KEY in "".join(headers.values())


def test_what_is_known_of_a_model_is_told(provider: Provider) -> None:
    models = headrace.list_models("gemini", base_url=provider.url, api_key=KEY)
    assert models[1] == headrace.ListedModel(id="g-2", title="G", context_tokens=1_048_576)
    assert headrace.list_models("rehearsal")[0].id == "any"


@pytest.mark.parametrize(
    ("model", "path", "tokens", "fields"),
    [
        ("anthropic:c", "", 42, {"model", "messages", "system"}),
        ("openai:m", "/v1", 42, {"model", "input", "instructions"}),
        ("gemini:g-2", "", 43, {"generateContentRequest"}),
    ],
)
def test_the_provider_counts(
    provider: Provider, model: str, path: str, tokens: int, fields: set[str]
) -> None:
    options: dict[str, Any] = {"base_url": provider.url + path, "api_key": KEY}
    count = headrace.count_tokens(model, "Why?", instructions="Be brief.", **options)
    assert count == headrace.TokenCount(tokens=tokens)
    assert provider.asked[-1][0] == "POST"
    assert set(provider.asked[-1][3]) == fields


def test_the_first_model_of_a_fallback_counts(provider: Provider) -> None:
    first = headrace.FallbackEntry("anthropic:c", base_url=provider.url, api_key=KEY)
    count = headrace.count_tokens(headrace.Fallback(first, "vllm:m"), "Why?")
    assert count == headrace.TokenCount(tokens=42)


def test_a_count_is_asked_for_with_the_headers_of_the_request(provider: Provider) -> None:
    headrace.count_tokens(
        "anthropic:c",
        "Why?",
        base_url=provider.url,
        api_key=KEY,
        betas=["new-thing"],
        extra_headers={"x-team": "tides"},
    )
    headers = provider.asked[-1][2]
    assert headers["anthropic-beta"] == "new-thing"
    assert headers["x-team"] == "tides"


@pytest.mark.parametrize(("model", "path"), [("openai:m", "/v1"), ("gemini:g-2", "")])
def test_a_count_keeps_the_query_of_the_address(provider: Provider, model: str, path: str) -> None:
    address = f"{provider.url}{path}?api-version=preview"
    assert not headrace.count_tokens(model, "Why?", base_url=address, api_key=KEY).is_estimated
    assert urlsplit(provider.asked[-1][1]).query == "api-version=preview"


def test_a_count_goes_through_the_transport_of_the_caller(provider: Provider) -> None:
    asked = len(provider.asked)
    script = ScriptedTransport(["Because."], dialect="anthropic")
    count = headrace.count_tokens(
        "anthropic:c", "Why?", base_url=provider.url, api_key=KEY, transport=script
    )
    assert count.is_estimated
    assert len(provider.asked) == asked


def test_elsewhere_the_count_is_an_estimate() -> None:
    short = headrace.count_tokens("vllm:m", "Why?")
    long = headrace.count_tokens("vllm:m", "Why do rivers bend? " * 500)
    assert short.is_estimated
    assert long.is_estimated
    assert 1_500 < long.tokens - short.tokens < 5_000


def test_errors_say_what_is_wrong_without_the_key(provider: Provider) -> None:
    with pytest.raises(RequestFailed) as raised:
        headrace.list_models("openai", base_url=provider.url + "/none", api_key=KEY)
    assert raised.value.category == "auth"
    assert KEY not in str(raised.value)
    with pytest.raises(UsageError, match="no list of models"):
        headrace.list_models("vertex", base_url=provider.url, api_key=KEY)
    with pytest.raises(UsageError, match="no provider 'opena'"):
        headrace.list_models("opena")


def test_the_command_prints_model_strings(
    provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "ollama", "--base-url", provider.url]) == 0
    assert capsys.readouterr().out == "ollama:llama:8b\n"
    assert main(["models", "ollama", "--base-url", provider.url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"id": "llama:8b"}
    assert main(["models", "nonsense"]) == 2
    assert main(["models", "ollama", "--base-url", "http://127.0.0.1:9"]) == 1


@pytest.mark.parametrize(
    "body", [b"<html>", b'{"data": [{"id": "\xc0"}]}', b"\xff\xfe", b"[" * 5000]
)
def test_a_list_that_is_not_json_is_told(body: bytes) -> None:
    with (
        serving_json(lambda _: (200, body)) as url,
        pytest.raises(RequestFailed, match="the answer is not JSON") as failed,
    ):
        headrace.list_models("compatible", base_url=url, api_key=KEY)
    assert failed.value.category == "protocol"
