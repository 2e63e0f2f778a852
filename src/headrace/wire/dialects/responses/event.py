"""Structs of Responses events: every field is optional, and only used fields are listed."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.wire.json.payload import encode_json

JSONObject = dict[str, Any]


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
    response: JSONObject | None = None
    error: Any = None
    partial_image_b64: str | None = None
    partial_image_index: int | None = None

    def preview(self) -> JSONObject | None:
        """Return the preview of an image, if the event has one."""
        if self.partial_image_b64 is None:
            return None
        return {"index": self.partial_image_index, "data": self.partial_image_b64}


class _RawItem(msgspec.Struct):
    item: msgspec.Raw = msgspec.Raw()


_decode_item = msgspec.json.Decoder(_RawItem).decode


def extract_item_json(data: bytes, item: JSONObject) -> str:
    """Return the JSON of the item of a frame, byte for byte if the bytes are valid."""
    try:
        return bytes(_decode_item(data).item).decode() or encode_json(item)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return encode_json(item)
