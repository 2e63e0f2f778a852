"""What keeps one file from being decoded."""

from __future__ import annotations

from headrace.errors import HeadraceError


class Problem(HeadraceError):
    """This file cannot be decoded; the others still are. The message is for the user and
    stands after the file's name."""
