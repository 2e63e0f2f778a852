"""One content block of a Converse stream, from its start or first delta to its stop."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Hashable
from typing import Any

from headrace.content import Content, JSONContent, TextContent
from headrace.events import CitationAdded, DeltaEvent
from headrace.wire.citation_buffer import CitationBuffer
from headrace.wire.dialects.bedrock.event import WireDelta, WireReasoning
from headrace.wire.json.payload import encode_json, repair_surrogates
from headrace.wire.json.value import as_object, as_objects, as_text
from headrace.wire.ledger import Call, Output

_NAMED_OF_CALL = frozenset({"toolUseId", "name"})
_NAMED_OF_RESULT = frozenset({"toolUseId", "status"})
# Blocks of models that begin a new block with every delta share this key, and so their part.
_SHARED = "shared"


class Block:
    """States the facts of one block to the output. The block itself is the key there.

    `is_continued` tells that the model begins a new block with every delta of the same text.
    """

    def __init__(self, output: Output, start: dict[str, Any], *, is_continued: bool) -> None:
        self._output = output
        self._key: Hashable = _SHARED if is_continued else self
        self._is_continued = is_continued
        self._call: Call | None = None
        self._result = as_object(start.get("toolResult"))
        self._image = as_object(start.get("image"))
        self._entries: list[Any] = []
        self._image_data: list[str] = []
        self._image_url: str | None = None
        self._redacted: list[str] = []
        self._held_chars = 0
        self._citations = CitationBuffer(output, self, _create_citation)
        self._start(start)

    def _start(self, start: dict[str, Any]) -> None:
        use = as_object(start.get("toolUse"))
        if use:
            self._start_call(use)
        elif start and not self._result and not self._image:
            self._output.add_opaque(next(iter(start)), encode_json(start))

    def _start_call(self, use: dict[str, Any]) -> None:
        """Start a call: those of the type `server_tool_use` are run by Bedrock."""
        kind = as_text(use.get("type"))
        extra = {name: value for name, value in use.items() if name not in _NAMED_OF_CALL}
        call_id = as_text(use.get("toolUseId"))
        self._call = self._output.add_call(
            call_id=call_id,
            name=as_text(use.get("name")),
            executor="provider" if kind == "server_tool_use" else "client",
            item_key=self,
            item_id=call_id,
            provider_data=extra if extra and extra != {"type": "tool_use"} else None,
        )

    # -- deltas

    def feed(self, delta: WireDelta, size: int) -> bool:
        """Take one delta. Returns False for an unknown delta. `size` is that of the frame."""
        if delta.text is not None:
            self._output.add_text(delta.text, self._key, self)
            if self._citations.pending:
                self._citations.flush()
        elif delta.tool_use is not None:
            self._add_args(delta.tool_use.input or "")
        elif delta.reasoning_content is not None:
            self._add_reasoning(delta.reasoning_content, size)
        elif delta.citation is not None:
            self._citations.add(repair_surrogates(delta.citation))
        elif delta.tool_result is not None:
            self._hold(size)
            self._entries += repair_surrogates(delta.tool_result)
        elif delta.image is not None:
            self._hold(size)
            return self._add_image(delta.image)
        else:
            return False
        return True

    def read_delta(self, delta: WireDelta) -> DeltaEvent | None:
        """Return the event of a delta that only continues the open part, or None; see
        `JSONDialect.read_delta`."""
        if delta.text is not None:
            if self._citations.pending:
                return None
            return self._output.extend_text(delta.text, self._key)
        if delta.tool_use is not None:
            if self._call is None:
                return None
            return self._output.extend_args(self._call, delta.tool_use.input)
        reasoning = delta.reasoning_content
        if reasoning is None or reasoning.signature or reasoning.redacted_content:
            return None
        return self._output.extend_reasoning(reasoning.text, self)

    def _hold(self, size: int) -> None:
        self._held_chars += size
        self._output.check_size(self._held_chars)

    def _add_args(self, text: str) -> None:
        if not text:
            return
        if self._call is None:
            self._call = self._output.add_call(call_id=None, name=None, item_key=self)
        self._output.add_args(self._call, text)

    def _add_reasoning(self, reasoning: WireReasoning, size: int) -> None:
        self._output.add_reasoning(reasoning.text or "", self, self)
        if reasoning.signature:
            self._output.sign(reasoning.signature, self, self)
        if reasoning.redacted_content:
            self._hold(size)
            self._redacted.append(reasoning.redacted_content)

    def _add_image(self, image: dict[str, Any]) -> bool:
        source = as_object(image.get("source"))
        data = as_text(source.get("bytes"))
        url = as_text(as_object(source.get("s3Location")).get("uri"))
        if data:
            self._image_data.append(data)
        self._image_url = url or self._image_url
        return bool(data or url)

    # -- stop

    def stop(self) -> None:
        """End the block; called once, at its stop."""
        if self._call is not None:
            self._output.end_call(self._call)
        elif not self._is_continued:
            self._output.end_prose(self)
        self.abandon()

    def abandon(self) -> None:
        """End the block without its stop: what was held back is kept, but the arguments of a call
        do not count as complete."""
        if self._redacted:
            self._output.add_redacted(_join_base64(self._redacted))
        if self._image_data or self._image_url:
            self._output.add_media(
                f"image/{as_text(self._image.get('format')) or 'png'}",
                data=_join_base64(self._image_data) if self._image_data else None,
                url=self._image_url,
            )
        if self._result or self._entries:
            self._add_result()
        self._citations.close()

    def _add_result(self) -> None:
        extra = {key: value for key, value in self._result.items() if key not in _NAMED_OF_RESULT}
        self._output.add_tool_output(
            as_text(self._result.get("toolUseId")) or "",
            tuple(_to_content(entry) for entry in self._entries),
            is_error=self._result.get("status") == "error",
            provider_data=extra or None,
        )


def _to_content(entry: Any) -> Content:
    text = as_text(as_object(entry).get("text"))
    if text is not None:
        return TextContent(text)
    return JSONContent(as_object(entry).get("json", entry))


def _join_base64(pieces: list[str]) -> str:
    """Join pieces that were encoded one by one."""
    if len(pieces) == 1:
        return pieces[0]
    try:
        data = b"".join(base64.b64decode(piece, validate=True) for piece in pieces)
    except (binascii.Error, ValueError):
        return "".join(pieces)
    return base64.b64encode(data).decode()


def _create_citation(part: int | None, citation: dict[str, Any]) -> CitationAdded:
    """Create a citation. Its positions are places in the source, so they stay in `raw`."""
    location = as_object(citation.get("location"))
    quotes = (as_text(entry.get("text")) for entry in as_objects(citation.get("sourceContent")))
    return CitationAdded(
        part=part,
        source=next(iter(location), None),
        ref=as_text(as_object(location.get("web")).get("url")) or as_text(citation.get("source")),
        title=as_text(citation.get("title")),
        quote="".join(quote for quote in quotes if quote) or None,
        raw=citation,
    )
