"""The result of one check of the doctor."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

State: TypeAlias = Literal["fine", "note", "doubtful", "broken"]
"""`note` is worth knowing, `doubtful` may cause trouble later, `broken` does now."""


class Finding(msgspec.Struct, frozen=True):
    """One check: its result, and how to fix a problem."""

    name: str
    state: State
    told: str
    mend: str = ""
