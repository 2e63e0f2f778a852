"""Access tokens of clouds, fetched from a real token server on loopback: kept, replaced before they
lapse, and errors that say what to do."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import headrace
from headrace.errors import RequestFailed, UsageError
from headrace.providers import resolve
from headrace.providers.endpoint import _keep_token_signer
from headrace.transport.signers.token_signer import (
    AccessToken,
    TokenSigner,
    azure_signer,
    google_signer,
)
from headrace.transport.transport import HTTPCall
from tests.transport.json_server import serving_json

CALL = HTTPCall(url="https://example.com", headers={"x": "y"}, body=b"{}")


class TokenServer:
    """Gives tokens, and counts them."""

    def __init__(self) -> None:
        self.asked = 0
        self.lifetime_s = 3_600
        self.status = 200
        self.delay_s = 0.0
        self.url = ""

    def answer(self) -> tuple[int, dict[str, Any]]:
        time.sleep(self.delay_s)
        self.asked += 1
        if self.status != 200:
            return self.status, {"error": "invalid_grant", "error_description": "revoked"}
        expires = {"expires_in": self.lifetime_s, "expires_on": int(time.time()) + self.lifetime_s}
        token = {"access_token": f"ya29.token-{self.asked}", "token_type": "Bearer", **expires}
        return 200, token


@contextmanager
def serving() -> Iterator[TokenServer]:
    tokens = TokenServer()
    with serving_json(lambda _: tokens.answer()) as url:
        tokens.url = f"{url}/token"
        yield tokens


@pytest.fixture
def google(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TokenServer]:
    with serving() as tokens:
        key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
        pem = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        account = {
            "type": "service_account",
            "client_email": "me@example.iam.gserviceaccount.com",
            "private_key": pem.decode(),
            "private_key_id": "1",
            "project_id": "p",
            "token_uri": tokens.url,
        }
        file = tmp_path / "account.json"
        file.write_text(json.dumps(account))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
        yield tokens


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch) -> Iterator[TokenServer]:
    with serving() as tokens:
        # The managed identity of App Service, which is reached over HTTP.
        monkeypatch.setenv("IDENTITY_ENDPOINT", tokens.url)
        monkeypatch.setenv("IDENTITY_HEADER", "header")
        yield tokens


@pytest.fixture(params=["google", "azure"])
def cloud(request: pytest.FixtureRequest) -> tuple[TokenServer, TokenSigner]:
    tokens = request.getfixturevalue(request.param)
    return tokens, google_signer() if request.param == "google" else azure_signer()


async def token_of(signer: TokenSigner) -> str:
    call = await signer(CALL)
    assert call.headers["x"] == "y"
    return call.headers["authorization"]


def test_a_token_is_fetched_once_for_many_calls(cloud: tuple[TokenServer, TokenSigner]) -> None:
    tokens, signer = cloud

    async def ask() -> set[str]:
        together = await asyncio.gather(*(token_of(signer) for _ in range(20)))
        return {*together, await token_of(signer)}

    assert asyncio.run(ask()) == {"Bearer ya29.token-1"}
    assert tokens.asked == 1
    # Another event loop, as in synchronous use, gets the same token.
    assert asyncio.run(token_of(signer)) == "Bearer ya29.token-1"


def test_a_revoked_login_is_an_auth_error_without_secrets(
    cloud: tuple[TokenServer, TokenSigner],
) -> None:
    tokens, signer = cloud
    tokens.status = 400
    with pytest.raises((RequestFailed, UsageError)) as raised:
        asyncio.run(token_of(signer))
    assert "PRIVATE KEY" not in str(raised.value)
    tokens.status = 200
    assert asyncio.run(token_of(signer)).startswith("Bearer ya29.")


# --- time, with a clock of our own -----------------------------------------------------


class Fetcher:
    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.count = 0
        self.delay_s = 0.0
        self.error: Exception | None = None

    def __call__(self) -> AccessToken:
        time.sleep(self.delay_s)
        if self.error is not None:
            raise self.error
        self.count += 1
        return AccessToken(f"t{self.count}", self.now_s + 3_600)


def test_a_token_is_replaced_before_it_lapses() -> None:
    async def body() -> None:
        fetch = Fetcher()
        signer = TokenSigner(fetch, clock=lambda: fetch.now_s)
        assert await token_of(signer) == "Bearer t1"
        fetch.now_s += 3_200
        assert await token_of(signer) == "Bearer t1"
        # In its last minutes it still serves, while the next one is fetched.
        fetch.now_s += 200
        assert await token_of(signer) == "Bearer t1"
        async with asyncio.timeout(60):
            while await token_of(signer) == "Bearer t1":
                await asyncio.sleep(0.01)
        assert await token_of(signer) == "Bearer t2"
        # Long after it has lapsed, a call waits for a new one.
        fetch.now_s += 10_000
        assert await token_of(signer) == "Bearer t3"

    asyncio.run(body())


def test_an_error_in_the_background_does_not_hurt_while_the_token_holds() -> None:
    async def body() -> None:
        fetch = Fetcher()
        signer = TokenSigner(fetch, clock=lambda: fetch.now_s)
        await token_of(signer)
        fetch.error = RequestFailed("no", category="auth")
        fetch.now_s += 3_400
        for _ in range(3):
            assert await token_of(signer) == "Bearer t1"
            await asyncio.sleep(0.02)
        fetch.now_s += 300
        with pytest.raises(RequestFailed, match="no"):
            await token_of(signer)

    asyncio.run(body())


def test_a_slow_token_server_is_a_timeout_and_its_token_is_used_later() -> None:
    async def body() -> None:
        fetch = Fetcher()
        fetch.delay_s = 0.3
        signer = TokenSigner(fetch, clock=lambda: fetch.now_s, timeout_s=0.05)
        with pytest.raises(RequestFailed, match="no access token") as raised:
            await token_of(signer)
        assert raised.value.retryable
        await asyncio.sleep(0.5)
        assert await token_of(signer) == "Bearer t1"
        assert fetch.count == 1

    asyncio.run(body())


def test_a_token_is_never_shown() -> None:
    assert "secret" not in repr(AccessToken("secret", 1.0))


# --- providers -------------------------------------------------------------------------


def test_vertex_and_azure_sign_in_without_a_key(google: TokenServer) -> None:
    endpoint = resolve("vertex:gemini-3-pro", base_url="https://example.com", environ={})
    assert isinstance(endpoint.sign, TokenSigner)
    assert "authorization" not in endpoint.headers
    with_key = resolve("vertex:m", base_url="https://example.com", api_key="k", environ={})
    assert with_key.sign is None
    assert with_key.headers["authorization"] == "Bearer k"
    azure = resolve("azure:gpt-5", base_url="https://example.com", environ={})
    assert isinstance(azure.sign, TokenSigner)


def test_without_any_credentials_the_error_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    _keep_token_signer.cache_clear()
    with pytest.raises(UsageError, match="GOOGLE_APPLICATION_CREDENTIALS"):
        headrace.complete("vertex:gemini-3-pro", "?", base_url="https://example.com")
