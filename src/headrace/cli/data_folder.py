"""The data folder that commands use by default."""

from __future__ import annotations

import os
from pathlib import Path


def data_folder(given: str | None) -> Path:
    """Return `given`, or the user's own data folder if it is None."""
    if given is not None:
        return Path(given)
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(home) / "headrace"
