"""Structs of Interactions events: every field is optional, and only used fields are listed."""

from __future__ import annotations

from typing import Any

import msgspec

JSONObject = dict[str, Any]


class WireDelta(msgspec.Struct, gc=False):
    type: str | None = None
    text: str | None = None
    content: JSONObject | None = None
    signature: str | None = None
    arguments: str | None = None


class WireEvent(msgspec.Struct, gc=False):
    event_type: str | None = None
    index: int = 0
    step: JSONObject | None = None
    delta: WireDelta | None = None
    interaction: JSONObject | None = None
