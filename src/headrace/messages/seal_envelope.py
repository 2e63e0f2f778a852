"""Envelopes: carry what one provider needs back through the protocol of another.

A signature is valid only for the model that made it. Where the answer of one provider is shown in
the protocol of another, the signature is put into an envelope that names its origin. The client
sends the envelope back with the history like any signature, and the request reader opens it.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

import msgspec

from headrace.events import JSONObject, ReasoningKind, TurnStarted
from headrace.messages.message import Seal

_PREFIX = "headrace1."
_PATTERN = re.compile(r"headrace1\.([A-Za-z0-9_=-]*);")


class SealEnvelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The seals of one part, and where they are from."""

    dialect: str
    """The dialect of the provider that made the part."""
    provider: str | None = None
    model: str | None = None
    """The model that made the part."""
    item: int = 0
    """Number of the provider item. Parts of one item share it."""
    item_id: str | None = None
    """The provider's id of the item."""
    kind: ReasoningKind = "raw"
    summary_index: int | None = None
    seals: tuple[Seal, ...] = ()
    data: str | None = None
    """The encrypted reasoning of a redacted block."""
    call_id: str | None = None
    """Id of the call that is sealed, if it is a call."""
    is_of_text: bool = False
    """Whether the part is the text before the envelope."""
    provider_data: JSONObject | None = None


_decode = msgspec.json.Decoder(SealEnvelope).decode


def seal_part(origin: TurnStarted | None, start: Any, seals: Sequence[Seal], **more: Any) -> str:
    """Return the envelope of a part as text. `start` is the event that started the part, in the
    turn that started with `origin`; `more` are further fields of the envelope."""
    return encode_envelope(
        SealEnvelope(
            dialect="" if origin is None else origin.dialect,
            provider=None if origin is None else origin.provider,
            model=None if origin is None else origin.model,
            item=start.item,
            item_id=start.item_id,
            kind=getattr(start, "kind", "raw"),
            summary_index=getattr(start, "summary_index", None),
            seals=tuple(seals),
            provider_data=None if "call_id" in more else getattr(start, "provider_data", None),
            **more,
        )
    )


def encode_envelope(envelope: SealEnvelope) -> str:
    """Return an envelope as text. Several texts may be joined; `decode_envelope` merges them."""
    return f"{_PREFIX}{urlsafe_b64encode(msgspec.json.encode(envelope)).decode()};"


def is_envelope(text: str) -> bool:
    """Return whether a text is an envelope, and not a provider's own signature."""
    return text.startswith(_PREFIX)


def decode_envelope(text: str) -> SealEnvelope | None:
    """Return the envelope that a text is, or None if it is a provider's own signature.

    Raises `ValueError` for an envelope that was changed on its way.
    """
    if not is_envelope(text):
        return None
    if _PATTERN.sub("", text):
        raise ValueError("a signature of Headrace was changed or cut off")
    try:
        envelopes = [_decode(urlsafe_b64decode(body)) for body in _PATTERN.findall(text)]
    except (ValueError, msgspec.DecodeError):
        raise ValueError("a signature of Headrace was changed") from None
    seals = tuple(seal for envelope in envelopes for seal in envelope.seals)
    return msgspec.structs.replace(envelopes[0], seals=seals)
