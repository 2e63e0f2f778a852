"""Seals as one text, for protocols whose clients keep encrypted reasoning and send it back.

A seal is valid only for the model that made it, so the text names that model beside the seals.
"""

from __future__ import annotations

import base64
from binascii import Error as Base64Error

import msgspec

from headrace.events import JSONObject, SealKind
from headrace.messages.message import Seal

_PREFIX = "hr1."


class PortableSeal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The seals of one part, and where they are valid."""

    dialect: str | None = None
    provider: str | None = None
    model: str | None = None
    seals: tuple[tuple[SealKind, str], ...] = ()
    """Kind and value of each seal."""
    redacted: str | None = None
    """The data of a redacted block, if the part is one."""
    provider_data: JSONObject | None = None
    """What the provider needs back with the part."""
    call_id: str | None = None
    """The call that the seals belong to, if they belong to one and not to reasoning."""
    text: int | None = None
    """Number of the text in its turn that the seals belong to, if they belong to one."""

    def to_seals(self) -> tuple[Seal, ...]:
        """Return the seals as values."""
        return tuple(Seal(kind, value) for kind, value in self.seals)


_decode = msgspec.json.Decoder(PortableSeal).decode


def encode_seal(seal: PortableSeal) -> str:
    """Encode the seals as one text of letters, digits and a few signs."""
    return _PREFIX + base64.urlsafe_b64encode(msgspec.json.encode(seal)).decode()


def decode_seal(text: str) -> PortableSeal | None:
    """Decode a text of `encode_seal()`. Returns None for any other text."""
    if not text.startswith(_PREFIX):
        return None
    try:
        return _decode(base64.b64decode(text[len(_PREFIX) :], altchars=b"-_", validate=True))
    except (Base64Error, msgspec.DecodeError, ValueError):
        return None
