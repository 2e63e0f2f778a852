"""Hiding secrets in text; nothing here knows events."""

from headrace.engine.middleware.masking.mask import MARK, Mask, MaskedText
from headrace.engine.middleware.masking.pattern import API_KEYS, EMAIL, SecretPattern

__all__ = ["API_KEYS", "EMAIL", "MARK", "Mask", "MaskedText", "SecretPattern"]
