"""Error text without secrets: anything that looks like a key is replaced; the length is capped."""

from __future__ import annotations

import re

MAX_MESSAGE_CHARS = 2_000
"""Longest error message that is kept."""

# Wider than `API_KEYS`: an error message may show a shortened or masked key.
_SECRETS = re.compile(
    r"""
    \b(?:sk|csk|pk|rk|gsk|xai|hf|r8|nvapi|pplx|fw|tgp|key|ghp|gho|ghu|glpat)[-_][A-Za-z0-9_\-.*]{8,}
    | \bAIza[0-9A-Za-z_\-]{20,}
    | \bey[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*
    | (?<=Bearer\ )[^\s"',;]+
    | (?<=[?&]key=)[^\s&"']+
    | (?<=api[-_]key[=:])\s*[^\s&"',;]+
    """,
    re.VERBOSE | re.IGNORECASE,
)


def scrub(text: str) -> str:
    """Return `text` with anything that looks like a key replaced by `[secret]`.

    The result is cut to `MAX_MESSAGE_CHARS`.
    """
    clean = _SECRETS.sub("[secret]", text[: 2 * MAX_MESSAGE_CHARS])
    if len(clean) <= MAX_MESSAGE_CHARS:
        return clean
    return clean[: MAX_MESSAGE_CHARS - 1] + "…"
