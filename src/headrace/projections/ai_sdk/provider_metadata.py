"""Signatures and encrypted content as `providerMetadata`, under the names of the AI SDK."""

from __future__ import annotations

from typing import NamedTuple

from headrace.events import SealKind
from headrace.projections.ai_sdk.frame import ProviderMetadata


class _Names(NamedTuple):
    """The AI SDK's names for a provider, and for what it wants back with a block."""

    provider: str
    signature: str = "signature"
    encrypted: str = "encryptedContent"


_NAMES = {
    "anthropic": _Names("anthropic", encrypted="redactedData"),
    "bedrock": _Names("bedrock", encrypted="redactedData"),
    "responses": _Names("openai", encrypted="reasoningEncryptedContent"),
    "gemini": _Names("google", signature="thoughtSignature"),
    "interactions": _Names("google", signature="thoughtSignature"),
}
_OTHER = _Names("headrace")


def to_metadata(
    dialect: str, seals: dict[SealKind, str], item_id: str | None = None
) -> ProviderMetadata | None:
    """Return the metadata of a part with these seals, or None if it has none. The names depend on
    the dialect of the provider."""
    if not seals:
        return None
    names = _NAMES.get(dialect, _OTHER)
    fields = {getattr(names, kind): value for kind, value in seals.items()}
    if item_id is not None and names.provider == "openai":
        fields["itemId"] = item_id
    return {names.provider: fields}
