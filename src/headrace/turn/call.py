"""From a request to the bytes that go to an endpoint."""

from __future__ import annotations

import msgspec

from headrace.encoders import (
    Request,
    encode_anthropic,
    encode_chat,
    encode_gemini,
    encode_ollama,
    encode_responses,
    encode_xai,
)
from headrace.events import JSONObject
from headrace.providers import Endpoint, Provider
from headrace.transport.transport import HTTPCall


def body_for(provider: Provider, request: Request) -> JSONObject:
    """The provider's JSON for a request."""
    match provider.dialect:
        case "chat":
            return encode_chat(request, provider.request_quirks)
        case "anthropic":
            return encode_anthropic(request)
        case "responses":
            return encode_responses(request)
        case "gemini":
            return encode_gemini(request)
        case "ollama":
            return encode_ollama(request)
        case "xai":
            return encode_xai(request)
        case other:
            raise AssertionError(f"the catalog names a dialect without an encoder: {other}")


def call_for(endpoint: Endpoint, request: Request) -> HTTPCall:
    """The whole HTTP request."""
    body = msgspec.json.encode(body_for(endpoint.provider, request))
    return HTTPCall(url=endpoint.url, headers=endpoint.headers, body=body)
