"""Masks a few known values, such as the key of one call, in text and in bytes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from headrace.secrets.scrub import scrub

HIDDEN = "[secret]"
"""Replacement for a secret in text."""

# Shorter values, such as the key "none" of a local server, occur in any message.
_MIN_SECRET_CHARS = 8


class KnownSecrets:
    """Removes known values from text and bytes. Very short values are ignored."""

    def __init__(self, values: Iterable[str]) -> None:
        secrets = {value for value in values if len(value) >= _MIN_SECRET_CHARS}
        # The longest first: one may be a part of another.
        self._values = sorted(secrets, key=len, reverse=True)

    @cached_property
    def _encoded(self) -> list[bytes]:
        # Only recordings need it.
        return sorted((value.encode() for value in self._values), key=len, reverse=True)

    @property
    def longest_bytes(self) -> int:
        """Length of the longest secret in bytes, or 0 if there is none."""
        return len(self._encoded[0]) if self._encoded else 0

    def hide(self, text: str) -> str:
        """Return the text with every secret replaced by `HIDDEN`."""
        for value in self._values:
            text = text.replace(value, HIDDEN)
        return text

    def mask(self, data: bytes) -> bytes:
        """Return the bytes with asterisks in place of every secret; the length is kept."""
        for secret in self._encoded:
            data = data.replace(secret, b"*" * len(secret))
        return data

    def mask_end(self, data: bytes) -> bytes:
        """Mask the last bytes of a stream, including a secret that is cut off at the end."""
        cut = len(data) - self._partial_bytes(data)
        return self.mask(data)[:cut] + b"*" * (len(data) - cut)

    def clean(self, text: str) -> str:
        """Return the text fit for an error: also without anything that looks like a key."""
        return self.hide(scrub(self.hide(text)))

    def _partial_bytes(self, data: bytes) -> int:
        """Return how many bytes at the end may be the beginning of a secret."""
        longest = min(len(data), self.longest_bytes - 1)
        for size in range(longest, _MIN_SECRET_CHARS - 1, -1):
            end = data[-size:]
            if any(secret.startswith(end) for secret in self._encoded):
                return size
        return 0
