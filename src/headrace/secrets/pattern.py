"""Secrets that are recognized by their shape."""

from __future__ import annotations

import re
import string

from headrace.errors import UsageError


class SecretPattern:
    """A regular expression for secrets, and the greatest length of a match.

    With an `alphabet`, a match consists of its characters only: text is held back at most to the
    end of a word, and a word that begins like a match of `max_chars` is hidden to its end. Without
    one, `max_chars` - 1 characters are always held back, so keep it small. Lookahead counts for
    `max_chars`.
    """

    def __init__(self, regex: str, *, max_chars: int, alphabet: str | None = None) -> None:
        self.regex = re.compile(regex)
        if max_chars < 1 or self.regex.search("") is not None:
            raise UsageError(f"expected a pattern of 1 character or more; got {regex!r}")
        self.max_chars = max_chars
        self.alphabet = alphabet
        self.run = None if alphabet is None else re.compile(f"[{re.escape(alphabet)}]+")


_WORD = string.ascii_letters + string.digits + "_-"
API_KEYS: tuple[SecretPattern, ...] = (
    SecretPattern(
        r"(?<![A-Za-z0-9])(?:sk|csk|pk|rk|gsk|xai|hf|r8|nvapi|pplx|fw|tgp|glpat|github_pat|gh[opurs]"
        r"|xox[abeoprs]|xapp)[-_][A-Za-z0-9_-]{16,}"
        r"|(?<![A-Za-z0-9])AIza[0-9A-Za-z_-]{35}|(?<![A-Za-z0-9])A[KS]IA[0-9A-Z]{16}",
        max_chars=256,
        alphabet=_WORD,
    ),
    # A JSON web token.
    SecretPattern(
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        max_chars=4_096,
        alphabet=_WORD + ".",
    ),
)
"""Common API keys: model providers, GitHub, GitLab, Slack, Google, AWS, and JSON web tokens."""
EMAIL = SecretPattern(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}",
    max_chars=320,
    alphabet=_WORD + ".%+@",
)
"""Email addresses; not used unless asked for."""
