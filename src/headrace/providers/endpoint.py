"""Resolves a model string into an endpoint: provider, model, address and key.

A model string is `provider:model`, such as `anthropic:claude-sonnet-4-5`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from typing import Any
from urllib.parse import quote

import msgspec

from headrace.address import get_host, is_this_machine
from headrace.errors import UsageError
from headrace.providers.catalog import CATALOG
from headrace.providers.provider import Provider
from headrace.transport.transport import Signer

_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d{1,2}")
_AWS_REGION = re.compile(rf"[.-]({_REGION.pattern})\.(?:amazonaws\.com|api\.aws)")
# Other credentials need another signer.
_IDENTITY_VARIABLES = (
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AZURE_CLIENT_ID",
    "AZURE_TENANT_ID",
    "AZURE_CLIENT_SECRET",
    "IDENTITY_ENDPOINT",
)
_CREDENTIAL_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
)


class Endpoint(msgspec.Struct, frozen=True):
    """Where a request is sent. The headers hold the key, so they are never shown."""

    provider: Provider
    model: str
    url: str
    headers: dict[str, str]
    sign: Signer | None = None
    """Signs each call, or None if the headers have the key."""

    def __repr__(self) -> str:
        return f"Endpoint({self.provider.name}:{self.model})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Hide the headers in tracebacks that rich prints with local variables."""
        return [("model", f"{self.provider.name}:{self.model}")]


def resolve(
    model: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    environ: Mapping[str, str] | None = None,
    path: str | None = None,
) -> Endpoint:
    """Resolve a model string. With `path`, the address is another one of the same provider. Raises
    `UsageError`, which says what to do, for an unknown provider, a missing key or a missing
    address."""
    environ = os.environ if environ is None else environ
    provider, name = _parse_model_string(model)
    base = base_url or environ.get(provider.base_url_variable or "") or provider.base_url
    if base is None:
        raise UsageError(
            f"{provider.title} has no address of its own: pass base_url="
            f" or set {provider.base_url_variable}"
        )
    # Some SDKs write a model as `models/NAME`, which the path already says.
    in_path = name.removeprefix("models/") if "/models/{model}" in provider.path else name
    # The name of a model on AWS may be an address with slashes of its own.
    safe = "@:.-" if provider.auth == "aws" else "/@:.-"
    path = (path or provider.path).replace("{model}", quote(in_path, safe=safe))
    key = api_key or find_key(provider, environ)
    region = _find_region(provider, base, environ, is_signed=key is None)
    base = base.replace("{region}", region or "")
    url = _join_url(_add_scheme(base, provider).rstrip("/"), path)
    sign = None if key is not None else _find_signer(provider, region or "")
    headers = _build_headers(provider, key, is_signed=sign is not None)
    return Endpoint(provider, name, url, headers, sign)


def _find_region(
    provider: Provider, base: str, environ: Mapping[str, str], *, is_signed: bool
) -> str | None:
    """Return the region for the address and the signature: that of the address, of the environment
    or of the AWS profile. Raises `UsageError` if it is needed and none is known."""
    if not provider.region_variables:
        return None
    in_address = _AWS_REGION.search(base)
    found = in_address[1] if in_address else None
    found = found or next((environ[n] for n in provider.region_variables if environ.get(n)), None)
    if found is None and is_signed:
        found = _import_signer().find_profile_region()
    if found is None and (is_signed or "{region}" in base):
        names = " or ".join(provider.region_variables)
        raise UsageError(f"no region for {provider.title}: set {names}, or pass base_url=")
    if found is not None and not _REGION.fullmatch(found):
        raise UsageError(f"expected a region such as us-east-1, not {found!r}")
    return found


def _find_signer(provider: Provider, region: str) -> Signer | None:
    """Return what adds credentials to each call of a provider without a key, or None."""
    if provider.auth == "aws":
        return _create_signer(region)
    if provider.identity is None:
        return None
    return _keep_token_signer(
        provider.identity, tuple(os.environ.get(name) for name in _IDENTITY_VARIABLES)
    )


@lru_cache(maxsize=32)
def _keep_token_signer(identity: str, kept: tuple[str | None, ...]) -> Signer:
    """Return the signer of a cloud, for credentials that the environment names. It is kept, because
    it keeps its token."""
    signer: Signer = getattr(
        import_module("headrace.transport.signers.token_signer"), f"{identity}_signer"
    )()
    return signer


def _import_signer() -> Any:
    return import_module("headrace.transport.signers.aws_signer")


def _create_signer(region: str) -> Signer:
    """Return the signer of a region. It is kept, because its credentials are slow to find."""
    kept = tuple(os.environ.get(name) for name in _CREDENTIAL_VARIABLES)
    return _keep_signer(region, kept)


@lru_cache(maxsize=32)
def _keep_signer(region: str, kept: tuple[str | None, ...]) -> Signer:
    signer: Signer = _import_signer().AWSSigner(region)
    return signer


def _join_url(address: str, path: str) -> str:
    """Join an address, which may already have the path or its version, with the path.

    A query of the address, such as Azure's `api-version`, follows the path.
    """
    address, _, query = address.partition("?")
    address = address.rstrip("/")
    version = f"/{path.split('/')[1]}"
    if version == "/v1":
        address = address.removesuffix(path).removesuffix(version)
    url = address.removesuffix(path) + path
    if not query:
        return url
    return f"{url}{'&' if '?' in url else '?'}{query}"


def find_key(provider: Provider, environ: Mapping[str, str]) -> str | None:
    """Return the first key that the environment has for a provider, or None."""
    found = (environ.get(name) for name in provider.key_variables)
    return next((key for key in found if key), None)


def _parse_model_string(model: str) -> tuple[Provider, str]:
    name, colon, rest = model.partition(":")
    if not colon or not rest:
        raise UsageError(f"expected provider:model, such as openai:gpt-5, not {model!r}")
    if name not in CATALOG:
        near = get_close_matches(name, CATALOG, n=1)
        hint = f"; did you mean {near[0]}?" if near else f": there are {', '.join(CATALOG)}"
        raise UsageError(f"no provider {name!r}{hint}")
    return CATALOG[name], rest


def _add_scheme(base: str, provider: Provider) -> str:
    """Add a scheme: a key is sent over TLS, except to this machine."""
    if "://" in base:
        return base
    host = base.partition("/")[0]
    is_near = is_this_machine(get_host(f"//{host}")) or provider.auth == "none"
    scheme = "http" if is_near else "https"
    has_port = ":" in host.rpartition("]")[2]
    port = f":{provider.default_port}" if provider.default_port and not has_port else ""
    return f"{scheme}://{host}{port}{base[len(host) :]}"


def _build_headers(provider: Provider, key: str | None, *, is_signed: bool) -> dict[str, str]:
    headers = {"content-type": "application/json", **provider.headers}
    if provider.auth != "none" and key is None and not is_signed:
        names = " or ".join(provider.key_variables)
        raise UsageError(f"no key for {provider.title}: set {names}")
    if key is None:
        return headers
    if any(character in key for character in "\r\n\0") or not key.isascii():
        raise UsageError(
            f"the key for {provider.title} has characters that are not allowed in a header"
        )
    if provider.auth in ("bearer", "aws", "none"):
        return headers | {"authorization": f"Bearer {key}"}
    return headers | {provider.auth: key}
