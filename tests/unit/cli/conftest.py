"""What the tests of the command line share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_columns(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """The width of whoever runs the tests is not theirs."""
    monkeypatch.delenv("COLUMNS", raising=False)
