"""Structs of Converse events: every field is optional, and only used fields are listed."""

from __future__ import annotations

from typing import Any

import msgspec

JSONObject = dict[str, Any]


class WireReasoning(msgspec.Struct, gc=False, rename="camel"):
    text: str | None = None
    signature: str | None = None
    redacted_content: str | None = None


class WireToolUse(msgspec.Struct, gc=False):
    input: str | None = None


class WireDelta(msgspec.Struct, gc=False, rename="camel"):
    """The delta of a content block: one of these."""

    text: str | None = None
    tool_use: WireToolUse | None = None
    reasoning_content: WireReasoning | None = None
    citation: JSONObject | None = None
    tool_result: list[Any] | None = None
    image: JSONObject | None = None


class WireEvent(msgspec.Struct, gc=False, rename="camel"):
    """The payload of an event whose kind is in the headers of its message."""

    content_block_index: int = 0
    delta: WireDelta | None = None
    start: JSONObject | None = None
    role: str | None = None
    stop_reason: str | None = None
    usage: JSONObject | None = None


class WrappedEvent(WireEvent, gc=False, rename="camel"):
    """The payload of an event, or an object with one field that names the kind of the event."""

    message_start: WireEvent | None = None
    content_block_start: WireEvent | None = None
    content_block_delta: WireEvent | None = None
    content_block_stop: WireEvent | None = None
    message_stop: WireEvent | None = None
    metadata: WireEvent | None = None
