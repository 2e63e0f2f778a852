"""The folder `../shared`: recorded streams and public suites, which are other people's data.

They are read in place and never copied. A clone has no such folder: tests that read it say so
with the marker `shared(path)`, are skipped there, and the run's summary counts them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(relative: str) -> Path | None:
    """The path of `../shared/<relative>`; None where it is not there."""
    path = SHARED / relative
    return path if path.exists() else None


def shared_rows(relative: str) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines; none where the file is not there.

    Made for `parametrize`: pytest skips a test whose rows are empty. Mark it
    `shared(relative)` as well, so that the summary counts it by name.
    """
    path = shared(relative)
    if path is None:
        return []
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines() if line.strip()]
