"""Structs of Anthropic events: every field is optional, and only used fields are listed."""

from __future__ import annotations

from typing import Any

import msgspec

JSONObject = dict[str, Any]


class WireDelta(msgspec.Struct, gc=False):
    """The delta of a content block, or of the message."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    signature: str | None = None
    citation: JSONObject | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None


class WireEvent(msgspec.Struct, gc=False):
    type: str | None = None
    index: int = 0
    delta: WireDelta | None = None
    content_block: JSONObject | None = None
    message: JSONObject | None = None
    usage: JSONObject | None = None
    error: Any = None
