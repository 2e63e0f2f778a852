"""`Finding`: something that was wrong, with the tests that hold it."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One finding: its subject, what was wrong, and `file::test` of each test that shows it."""

    subject: str
    what: str
    tests: tuple[str, ...] = ()
