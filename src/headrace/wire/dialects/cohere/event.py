"""Structs of Cohere events: every field is optional, and only used fields are listed."""

from __future__ import annotations

from typing import Any

import msgspec

JSONObject = dict[str, Any]


class WireContent(msgspec.Struct, gc=False):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None


class WireFunction(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: str | None = None


class WireCall(msgspec.Struct, gc=False):
    id: str | None = None
    function: WireFunction | None = None


class WireMessage(msgspec.Struct, gc=False):
    """The message of a delta. The first one has empty lists in place of objects."""

    role: str | None = None
    content: WireContent | list[Any] | None = None
    tool_plan: str | None = None
    tool_calls: WireCall | list[Any] | None = None
    citations: JSONObject | list[Any] | None = None


class WireDelta(msgspec.Struct, gc=False):
    message: WireMessage | None = None
    finish_reason: str | None = None
    usage: JSONObject | None = None
    error: Any = None


class WireEvent(msgspec.Struct, gc=False):
    """An event of version 2 (`type`) or of version 1 (`event_type`)."""

    type: str | None = None
    id: str | None = None
    index: int = 0
    delta: WireDelta | None = None
    event_type: str | None = None
    generation_id: str | None = None
    text: str | None = None
    finish_reason: str | None = None
    response: JSONObject | None = None
    tool_call_delta: JSONObject | None = None
    tool_calls: list[JSONObject] | None = None
    citations: list[JSONObject] | None = None
    documents: list[JSONObject] | None = None
