"""Signs calls to AWS with Signature Version 4, by botocore.

Credentials are found by botocore's default chain: environment, profile, role of the machine. They
are refreshed before they lapse, and never logged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import msgspec

from headrace.errors import UsageError
from headrace.transport.transport import HTTPCall


def _import_botocore(name: str) -> Any:
    # The package has no types.
    try:
        return import_module(f"botocore.{name}")
    except ModuleNotFoundError:
        raise UsageError(
            "botocore is missing: install headrace[aws] to sign calls to AWS, or set"
            " AWS_BEARER_TOKEN_BEDROCK"
        ) from None


_auth = _import_botocore("auth")
_BotoCoreError: type[Exception] = _import_botocore("exceptions").BotoCoreError
_new_request = _import_botocore("awsrequest").AWSRequest
_new_session = _import_botocore("session").Session
_NO_CREDENTIALS = (
    "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or"
    " AWS_BEARER_TOKEN_BEDROCK, or pass api_key="
)


class AWSSigner:
    """Signs calls to one service in one region. Use it as `HTTPCall.sign`."""

    def __init__(
        self,
        region: str,
        *,
        service: str = "bedrock",
        session: Any = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._region = region
        self._service = service
        self._session: Any = session
        self._credentials: Any = None
        self._clock = clock or _now

    async def __call__(self, call: HTTPCall) -> HTTPCall:
        """Return the call with its signature. Raises `UsageError` without credentials."""
        # The first credentials, and new ones, may come over the network.
        frozen = await asyncio.to_thread(self._freeze_credentials)
        request = _new_request("POST", call.url, headers=call.headers, data=call.body)
        signer = _auth.SigV4Auth(frozen, self._service, self._region)
        _add_signature(signer, request, self._clock())
        headers = {str(name).lower(): str(value) for name, value in request.headers.items()}
        return msgspec.structs.replace(call, headers=headers)

    def _freeze_credentials(self) -> Any:
        """Return the credentials as of now. botocore refreshes temporary ones here."""
        try:
            if self._credentials is None:
                self._session = self._session or _new_session()
                self._credentials = self._session.get_credentials()
            if self._credentials is None:
                raise UsageError(_NO_CREDENTIALS)
            return self._credentials.get_frozen_credentials()
        except _BotoCoreError as error:
            raise UsageError(f"AWS credentials could not be loaded: {error}") from None


def _add_signature(signer: Any, request: Any, now: datetime) -> None:
    """Sign a request like `SigV4Auth.add_auth()`, but at a given time, and without its log, which
    would show the session token."""
    request.context["timestamp"] = now.strftime(_auth.SIGV4_TIMESTAMP)
    signer._modify_request_before_signing(request)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    signer._inject_signature_to_request(request, signer.signature(text, request))


def _now() -> datetime:
    return datetime.now(UTC)


def find_profile_region() -> str | None:
    """Return the region of the AWS profile in use, or None."""
    try:
        region: str | None = _new_session().get_config_variable("region")
    except _BotoCoreError as error:
        raise UsageError(f"the AWS configuration could not be loaded: {error}") from None
    return region
