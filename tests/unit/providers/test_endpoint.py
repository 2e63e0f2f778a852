"""From a model string to an address and a key, and what is said where that fails."""

from __future__ import annotations

import pytest

from headrace.errors import UsageError
from headrace.providers import CATALOG, Provider, find_key, resolve
from headrace.wire.dialects import DIALECT_NAMES
from headrace.wire.framing import FRAMINGS

KEY = "sk-CANARY-0123456789"


def test_a_model_string_becomes_an_address_with_its_key() -> None:
    endpoint = resolve("anthropic:claude-x", environ={"ANTHROPIC_API_KEY": KEY})
    assert endpoint.url == "https://api.anthropic.com/v1/messages"
    assert endpoint.headers["x-api-key"] == KEY
    assert endpoint.headers["anthropic-version"]
    assert endpoint.model == "claude-x"


def test_the_model_may_stand_in_the_address_and_may_hold_colons_and_slashes() -> None:
    gemini = resolve("gemini:gemini-2.5-flash", api_key=KEY, environ={})
    assert gemini.url.endswith("/models/gemini-2.5-flash:streamGenerateContent?alt=sse")
    assert KEY not in gemini.url
    assert resolve("ollama:qwen3:4b", environ={}).model == "qwen3:4b"
    assert resolve("openrouter:z-ai/glm-4.6", api_key=KEY, environ={}).model == "z-ai/glm-4.6"


def test_a_model_name_cannot_change_the_address() -> None:
    url = resolve("gemini:../../x?y#z", api_key=KEY, environ={}).url
    assert "?y" not in url
    assert "#z" not in url


def test_the_address_may_come_from_the_caller_or_the_environment() -> None:
    assert resolve("ollama:x", base_url="http://h:1/", environ={}).url == "http://h:1/api/chat"
    environ = {"OLLAMA_HOST": "127.0.0.1:9"}
    assert resolve("ollama:x", environ=environ).url == "http://127.0.0.1:9/api/chat"


def test_the_callers_key_wins() -> None:
    endpoint = resolve("openai:x", api_key="mine", environ={"OPENAI_API_KEY": KEY})
    assert endpoint.headers["authorization"] == "Bearer mine"


def test_a_server_without_keys_takes_one_where_it_is_given() -> None:
    assert "authorization" not in resolve("vllm:x", environ={}).headers
    assert resolve("vllm:x", api_key="k", environ={}).headers["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("gpt-5", "provider:model"),
        ("openai:", "provider:model"),
        ("opena:gpt-5", "did you mean openai?"),
        ("klingon:x", "there are openai,"),
        ("openai:gpt-5", "set OPENAI_API_KEY"),
        ("gemini:x", "set GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("azure:x", "pass base_url= or set AZURE_OPENAI_BASE_URL"),
    ],
)
def test_errors_say_what_to_do(model: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(model, environ={})
    assert message in str(caught.value)


@pytest.mark.parametrize("key", ["a\r\nx: y", "ключ", "a\0b"])
def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve("openai:x", api_key=key, environ={})
    assert key not in str(caught.value)


def test_an_endpoint_never_shows_its_key() -> None:
    endpoint = resolve("openai:gpt-5", api_key=KEY, environ={})
    assert KEY not in repr(endpoint)
    assert KEY not in str(endpoint)


@pytest.mark.parametrize("provider", CATALOG.values(), ids=CATALOG)
def test_every_row_is_whole(provider: Provider) -> None:
    assert provider.dialect in DIALECT_NAMES
    assert provider.framing in FRAMINGS
    assert provider.source.startswith("https://")
    assert provider.path.startswith("/")
    assert (provider.auth == "none") == (not provider.key_variables)
    assert provider.base_url is not None or provider.base_url_variable is not None
    if provider.base_url is not None:
        schemes = ("https://", "http://127.0.0.1:", "rehearsal://")
        assert provider.base_url.startswith(schemes)
        is_played = provider.transport == "rehearsal"
        assert provider.base_url.startswith("rehearsal://") == is_played
        assert not provider.base_url.endswith("/")


def test_empty_variables_are_no_keys() -> None:
    provider = CATALOG["gemini"]
    assert find_key(provider, {"GEMINI_API_KEY": "", "GOOGLE_API_KEY": "g"}) == "g"


def test_a_key_never_goes_out_in_clear_but_to_this_machine() -> None:
    environ = {"AZURE_OPENAI_BASE_URL": "res.openai.azure.com/openai/v1"}
    assert resolve("azure:x", api_key=KEY, environ=environ).url.startswith("https://res.")
    assert resolve("openai:x", base_url="localhost:1/v1", api_key=KEY, environ={}).url.startswith(
        "http://localhost:1/"
    )


def test_a_host_alone_gets_its_port() -> None:
    url = resolve("ollama:x", environ={"OLLAMA_HOST": "0.0.0.0"}).url
    assert url == "http://0.0.0.0:11434/api/chat"


def test_an_address_that_has_the_path_already_does_not_get_it_twice() -> None:
    url = resolve("vllm:x", base_url="http://h/v1/chat/completions", environ={}).url
    assert url == "http://h/v1/chat/completions"


@pytest.mark.parametrize("host", ["localhost.evil.com", "127.0.0.1.evil.com", "0.0.0.0.evil"])
def test_a_host_that_only_begins_like_this_machine_is_not_it(host: str) -> None:
    assert resolve("openai:x", base_url=host, api_key=KEY, environ={}).url.startswith("https://")


def test_a_bare_ipv6_host_gets_its_port() -> None:
    assert resolve("ollama:x", base_url="[::1]", environ={}).url == "http://[::1]:11434/api/chat"


@pytest.mark.parametrize("base", ["https://h", "https://h/v1", "https://h/v1/messages"])
def test_a_version_or_path_that_is_given_already_is_not_doubled(base: str) -> None:
    url = resolve("anthropic:x", base_url=base, api_key=KEY, environ={}).url
    assert url == "https://h/v1/messages"


@pytest.mark.parametrize(
    ("model", "base_url", "url"),
    [
        (
            "azure-chat:x",
            "https://a.example/openai/deployments/x?api-version=2026-01-01",
            "https://a.example/openai/deployments/x/chat/completions?api-version=2026-01-01",
        ),
        (
            "gemini:m",
            "https://g.example/v1beta?tenant=a",
            "https://g.example/v1beta/models/m:streamGenerateContent?alt=sse&tenant=a",
        ),
        (
            "vllm:m",
            "http://127.0.0.1:8000/v1/chat/completions?a=b",
            "http://127.0.0.1:8000/v1/chat/completions?a=b",
        ),
    ],
)
def test_the_query_of_an_address_stays_behind_the_path(model, base_url, url):
    assert resolve(model, base_url=base_url, api_key="k").url == url


def test_a_model_name_may_repeat_the_folder_of_its_address():
    plain, full = (resolve(f"gemini:{name}", api_key="k").url for name in ("m", "models/m"))
    assert plain == full
