"""From a request to the bytes that go to an endpoint."""

from __future__ import annotations

import msgspec

from headrace.encoders import REQUEST_ENCODERS, Request
from headrace.events import JSONObject
from headrace.providers import Endpoint, Provider
from headrace.transport.transport import HTTPCall


def body_for(provider: Provider, request: Request) -> JSONObject:
    """The provider's JSON for a request."""
    return REQUEST_ENCODERS[provider.dialect](request, provider.request_quirks)


def call_for(endpoint: Endpoint, request: Request) -> HTTPCall:
    """The whole HTTP request."""
    body = msgspec.json.encode(body_for(endpoint.provider, request))
    return HTTPCall(url=endpoint.url, headers=endpoint.headers, body=body)
