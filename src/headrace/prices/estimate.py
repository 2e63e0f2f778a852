"""Estimates the usage of a turn that broke off before the provider reported it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from headrace.usage import Usage

_CHARS_PER_TOKEN = 4
# Images and files as base64 have no whitespace and are long; their size says nothing about tokens.
_MIN_MEDIA_CHARS = 2_000
_MEDIA_TOKENS = 1_000


def estimate_usage(reported: Usage, encode_body: Callable[[], bytes], output_chars: int) -> Usage:
    """Return the usage of a broken turn: what was reported, and estimates for the rest.

    The input is estimated from the body of the request, and the output from the characters that
    arrived, at four characters per token. An output count that is much too small was reported at
    the start, and is replaced. Reasoning that the provider hides is not counted.
    """
    tokens_in, tokens_out = reported.input_tokens, reported.output_tokens
    estimated_out = _to_tokens(output_chars)
    if tokens_in is None:
        tokens_in = estimate_body_tokens(encode_body())
    if tokens_out is None or 2 * tokens_out < estimated_out:
        tokens_out = estimated_out
    if (tokens_in, tokens_out) == (reported.input_tokens, reported.output_tokens):
        return reported
    has_total = reported.total_tokens is not None
    return msgspec.structs.replace(
        reported,
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        total_tokens=tokens_in + tokens_out if has_total else None,
        is_estimated=True,
    )


def estimate_body_tokens(body: bytes) -> int:
    """Estimate how many input tokens the body of a request is."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _to_tokens(len(body))
    chars, media = _measure(value)
    return _to_tokens(chars) + media * _MEDIA_TOKENS


def _measure(value: Any) -> tuple[int, int]:
    """Return the number of characters and of media in a JSON value."""
    if isinstance(value, str):
        is_media = len(value) >= _MIN_MEDIA_CHARS and not any(map(str.isspace, value[:1_000]))
        return (0, 1) if is_media else (len(value), 0)
    if not isinstance(value, dict | list):
        return len(str(value)), 0
    entries: list[Any] = [*value]
    if isinstance(value, dict):
        entries += value.values()
    measured = [_measure(entry) for entry in entries]
    return sum(chars for chars, _ in measured), sum(media for _, media in measured)


def _to_tokens(chars: int) -> int:
    return -(-chars // _CHARS_PER_TOKEN)
