"""The result of one check of the doctor."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

State: TypeAlias = Literal["ok", "note", "warning", "error"]
"""`note` is worth knowing, `warning` may cause trouble later, `error` does now."""


class Finding(msgspec.Struct, frozen=True):
    """One check: its result, and how to fix a problem."""

    name: str
    state: State
    message: str
    fix: str = ""
