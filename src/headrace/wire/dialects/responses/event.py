"""Structs of Responses events: every field is optional, and only used fields are listed."""

from __future__ import annotations

from typing import Any

import msgspec

JSONObject = dict[str, Any]


class PlainEvent(msgspec.Struct, gc=False):
    """A delta of text, like nearly all events."""

    type: str
    output_index: int
    delta: str
    content_index: int = 0
    summary_index: int = 0
    item: None = None
    response: None = None
    error: None = None


class WireEvent(msgspec.Struct, gc=False):
    type: str | None = None
    delta: str | JSONObject | None = None
    output_index: int | None = None
    content_index: int = 0
    summary_index: int = 0
    item_id: str | None = None
    item: JSONObject | None = None
    part: JSONObject | None = None
    text: str | None = None
    refusal: str | None = None
    arguments: str | None = None
    input: str | None = None
    code: str | None = None
    annotation: JSONObject | None = None
    annotation_index: int | None = None
    response: JSONObject | None = None
    error: Any = None
    partial_image_b64: str | None = None
    partial_image_index: int | None = None

    def preview(self) -> JSONObject | None:
        """Return the preview of an image, if the event has one."""
        if self.partial_image_b64 is None:
            return None
        return {"index": self.partial_image_index, "data": self.partial_image_b64}
