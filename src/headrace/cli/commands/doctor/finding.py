"""What the doctor finds."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

State: TypeAlias = Literal["fine", "note", "doubtful", "broken"]
"""`note` is worth knowing, `doubtful` may bite later, `broken` does now."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at: what it is like, and how to mend it."""

    name: str
    state: State
    told: str
    mend: str = ""
