"""The gateway file, and what it allows whom."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from headrace.errors import UsageError
from headrace.server.gateway import Gateway, GatewayConfig, read_gateway_config
from headrace.server.storage.access_tokens import User, token_id_of

FILE = """
[models.fast]
model = "anthropic:claude-haiku-4-5"
fallback = ["openai:gpt-5-mini"]
options = { max_tokens = 500 }

[models.big]
model = "openai:gpt-5"

[providers.openai]
api_key_env = "PROD_KEY"

[providers.groq]
is_open = true

[limits]
requests_per_minute = 60

[users.anna]
models = ["fast"]
limits = { cost_per_month = 1.5 }
"""
ENVIRON = {"PROD_KEY": "sk-prod"}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant")
    monkeypatch.setenv("GROQ_API_KEY", "sk-groq")


def read(tmp_path: Path, text: str) -> GatewayConfig:
    path = tmp_path / "providers.toml"
    path.write_text(text)
    return read_gateway_config(path)


def test_everybody_may_ask_for_everything_but_those_with_a_list(tmp_path: Path) -> None:
    gateway = Gateway(read(tmp_path, FILE), environ=ENVIRON)
    anna, ben = User("anna"), User("ben")
    assert gateway.names(ben) == ["fast", "big"]
    assert gateway.names(anna) == ["fast"]
    assert gateway.find(anna, "big") is None
    assert gateway.find(ben, "nothing") is None
    big = gateway.find(ben, "big")
    assert big is not None
    assert big.model == "openai:gpt-5"


def test_an_open_provider_offers_all_of_its_models(tmp_path: Path) -> None:
    gateway = Gateway(read(tmp_path, FILE), environ=ENVIRON)
    offer = gateway.find(User("ben"), "groq:llama-4")
    assert offer is not None
    assert offer.model == "groq:llama-4"
    assert gateway.find(User("ben"), "groq:llama-4") is offer
    # Others are reached only by the names of the file, and a list holds for these too.
    assert gateway.find(User("ben"), "openai:gpt-5") is None
    assert gateway.find(User("anna"), "groq:llama-4") is None


def test_clients_cannot_fill_the_memory_with_names(tmp_path: Path) -> None:
    gateway = Gateway(read(tmp_path, FILE), environ=ENVIRON)
    for number in range(1_000):
        assert gateway.find(User("ben"), f"groq:model-{number}") is not None
    assert len(gateway._open_offers) <= 256


def test_a_token_has_precedence_over_its_user(tmp_path: Path) -> None:
    token_hash = hashlib.sha256(b"hr_x").digest()
    token_id = token_id_of(token_hash)
    text = FILE + f'\n[tokens.{token_id}]\nmodels = ["big"]\nlimits = {{ tokens_per_minute = 9 }}\n'
    gateway = Gateway(read(tmp_path, text), environ=ENVIRON)
    anna = User("anna", token_hash=token_hash)
    assert gateway.names(anna) == ["big"]
    assert gateway.limits_of(anna).tokens_per_minute == 9
    assert gateway.limits_of(User("anna")).cost_per_month == 1.5
    assert gateway.limits_of(User("anna")).requests_per_minute is None
    assert gateway.limits_of(User("ben")).requests_per_minute == 60


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "offers nothing"),
        ("[models.x]\nmodle = 'openai:gpt-5'", "modle"),
        ("[models.x", "Expected"),
        ("[providers.openai]\nis_open = 1", "bool"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=r"providers\.toml") as raised:
        read(tmp_path, text)
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[models.x]\nmodel = 'nobody:gpt'", "nobody"),
        ("[models.x]\nmodel = 'openai:gpt-5'\n[providers.openai]\napi_key_env = 'NO'", "NO is not"),
        ("[models.x]\nmodel = 'openai:gpt-5'\noptions = { efort = 'low' }", "effort"),
        ("[providers.nobody]\nis_open = true", "nobody"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_the_start(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        Gateway(read(tmp_path, text), environ={})


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_gateway_config(tmp_path / "missing.toml")


@pytest.mark.parametrize("model", ["../../v1/files", "..", "a/../../b"])
def test_a_name_does_not_lead_to_another_address(tmp_path: Path, model: str) -> None:
    gateway = Gateway(read(tmp_path, FILE), environ=ENVIRON)
    assert gateway.find(User("ben"), f"groq:{model}") is None
