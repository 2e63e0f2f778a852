"""Finding and masking secrets in text: known values, patterns, and text that arrives in pieces."""

from headrace.secrets.mask import MARK, Mask, MaskedText
from headrace.secrets.pattern import API_KEYS, EMAIL, SecretPattern

__all__ = ["API_KEYS", "EMAIL", "MARK", "Mask", "MaskedText", "SecretPattern"]
