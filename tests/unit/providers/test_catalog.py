"""The rows of the catalog say how well their facts are known."""

from __future__ import annotations

import pytest

from docs import recorded
from headrace.providers import CATALOG, Provider

APIS = {
    "chat": "openai-chat",
    "responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "ollama": "ollama",
    "bedrock": "bedrock-converse",
    "cohere": "cohere-v2",
    "interactions": "gemini-interactions",
    "ollama-generate": "ollama-generate",
}
# Rows whose streams were recorded under another name.
RECORDED_AS = {
    "gemini": "google",
    "gemini-interactions": "google",
    "ollama-generate": "ollama",
    "compatible": "openai-compatible",
    "bedrock-anthropic": "bedrock",
    "vercel": "vercel-gateway",
}


@pytest.mark.parametrize("provider", CATALOG.values(), ids=lambda provider: provider.name)
def test_a_row_is_recorded_exactly_where_a_stream_of_it_was_recorded(provider: Provider) -> None:
    name = RECORDED_AS.get(provider.name, provider.name.removesuffix("-chat"))
    streams = recorded.load().exact.get(
        APIS.get(provider.request_encoder or provider.dialect, ""), {}
    )
    assert (provider.verified == "recorded") == (name in streams)
    assert provider.verified == "assumed" or provider.source or provider.is_rehearsal
