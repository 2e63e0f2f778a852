"""Adds access tokens that lapse: of Google by google-auth, of Azure by azure-identity.

A token is fetched in a thread, kept, and replaced before it lapses. It is never logged.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC
from importlib import import_module
from typing import Any, NamedTuple

import msgspec

from headrace.errors import RequestFailed, UsageError
from headrace.secrets.scrub import scrub
from headrace.transport.transport import HTTPCall

_GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_AZURE_SCOPE = "https://cognitiveservices.azure.com/.default"
# A token with less than this left is replaced in the background; with less than the second, the
# call waits for the new one.
_EARLY_S = 300.0
_LATE_S = 30.0
_TIMEOUT_S = 30.0


class AccessToken(NamedTuple):
    """A token, and when it lapses, in seconds since 1970."""

    value: str
    expires_s: float

    def __repr__(self) -> str:
        return f"AccessToken(expires_s={self.expires_s})"


class TokenSigner:
    """Adds an access token to calls. Use it as `HTTPCall.sign`.

    `fetch` returns a new token; it is called in a thread. If it raises `UsageError` or
    `RequestFailed`, so does the call.
    """

    def __init__(
        self,
        fetch: Callable[[], AccessToken],
        *,
        clock: Callable[[], float] = time.time,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._timeout_s = timeout_s
        self._token: AccessToken | None = None
        self._fetching: asyncio.Task[AccessToken] | None = None

    async def __call__(self, call: HTTPCall) -> HTTPCall:
        """Return the call with a token that has not lapsed."""
        token = self._token
        left_s = -1.0 if token is None else token.expires_s - self._clock()
        if token is None or left_s < _LATE_S:
            token = await self._wait_for_token()
        elif left_s < _EARLY_S:
            self._start_fetching()
        headers = {**call.headers, "authorization": f"Bearer {token.value}"}
        return msgspec.structs.replace(call, headers=headers)

    async def _wait_for_token(self) -> AccessToken:
        fetching = self._start_fetching()
        try:
            async with asyncio.timeout(self._timeout_s):
                return await asyncio.shield(fetching)
        except TimeoutError:
            pass
        raise RequestFailed(
            f"no access token came within {self._timeout_s:g} s", category="timeout", retryable=True
        )

    def _start_fetching(self) -> asyncio.Task[AccessToken]:
        """Return the fetch that is going on, or start one. Several calls wait for the same one."""
        fetching = self._fetching
        loop = asyncio.get_running_loop()
        if fetching is None or fetching.done() or fetching.get_loop() is not loop:
            fetching = self._fetching = asyncio.create_task(self._renew(), name="access token")
            # The next call that needs a token reports the error; nobody waits for this one.
            fetching.add_done_callback(lambda task: task.cancelled() or task.exception())
        return fetching

    async def _renew(self) -> AccessToken:
        self._token = await asyncio.to_thread(self._fetch)
        return self._token


def google_signer() -> TokenSigner:
    """Return the signer for Google's application default credentials: a service account, the login
    of gcloud, or the identity of the machine."""
    library = _import("google.auth", "google", "Google")
    new_request = _import("google.auth.transport.requests", "google", "Google").Request
    errors = _import("google.auth.exceptions", "google", "Google")
    credentials: Any = None

    def fetch() -> AccessToken:
        nonlocal credentials
        if credentials is None:
            credentials, _ = library.default(scopes=[_GOOGLE_SCOPE])
        credentials.refresh(new_request())
        return AccessToken(credentials.token, credentials.expiry.replace(tzinfo=UTC).timestamp())

    return TokenSigner(
        _explain_errors(
            fetch,
            "Google",
            missing=errors.DefaultCredentialsError,
            refused=errors.GoogleAuthError,
            advice="set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account, log in"
            " with `gcloud auth application-default login`, or pass api_key=",
        )
    )


def azure_signer() -> TokenSigner:
    """Return the signer for Microsoft Entra: by environment, managed identity or the login of
    `az`."""
    library = _import("azure.identity", "azure", "Azure")
    errors = _import("azure.core.exceptions", "azure", "Azure")
    credential: Any = None

    def fetch() -> AccessToken:
        nonlocal credential
        credential = credential or library.DefaultAzureCredential()
        token = credential.get_token(_AZURE_SCOPE)
        return AccessToken(token.token, float(token.expires_on))

    return TokenSigner(
        _explain_errors(
            fetch,
            "Azure",
            missing=library.CredentialUnavailableError,
            refused=errors.ClientAuthenticationError,
            advice="set AZURE_OPENAI_API_KEY, or AZURE_CLIENT_ID, AZURE_TENANT_ID and"
            " AZURE_CLIENT_SECRET, log in with `az login`, or pass api_key=",
        )
    )


def _explain_errors(
    fetch: Callable[[], AccessToken],
    who: str,
    *,
    missing: type[Exception],
    refused: type[Exception],
    advice: str,
) -> Callable[[], AccessToken]:
    """Return `fetch` with errors of ours instead of the library's, which may hold credentials."""

    def fetch_or_explain() -> AccessToken:
        try:
            return fetch()
        except missing:
            raise UsageError(f"no {who} credentials: {advice}") from None
        except refused as error:
            text = scrub(str(error).partition("\n")[0])
            raise RequestFailed(f"{who} gave no access token: {text}", category="auth") from None

    return fetch_or_explain


def _import(module: str, extra: str, who: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is missing: install headrace[{extra}] to sign in to {who}, or pass"
            " api_key="
        ) from None
