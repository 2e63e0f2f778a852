"""What a process takes."""

from __future__ import annotations

from pathlib import Path

import pytest


def resident_kb(pid: int | str = "self") -> int:
    """Of memory that is its own or shared. Skips the test where the system does not tell."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        pytest.skip("no /proc here")
    (line,) = (one for one in status.read_text().splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1])
