"""One content block of an Anthropic stream, from its start to its stop."""

from __future__ import annotations

from typing import Any

from headrace.content import JSONContent
from headrace.events import CitationAdded, DeltaEvent
from headrace.wire.citation_buffer import CitationBuffer
from headrace.wire.dialects.anthropic.event import WireDelta
from headrace.wire.json.payload import encode_json, extract_field
from headrace.wire.json.value import as_list, as_object, as_objects, as_text
from headrace.wire.ledger import Call, Output

_NAMED_OF_CALL = frozenset({"id", "name", "input"})
_NAMED_OF_RESULT = frozenset({"tool_use_id", "content", "is_error"})


class Block:
    """States the facts of one block to the output. The block itself is the key there."""

    def __init__(self, output: Output, block: dict[str, Any], as_written: str) -> None:
        self._output = output
        self._block = block
        self._as_written = as_written
        self._kind = as_text(block.get("type")) or "unknown"
        self._call: Call | None = None
        self._has_args = False
        self._is_opaque = False
        self._is_changed = False
        self._pieces: dict[str, list[str]] = {}
        self._merged_chars = 0
        self._citations = CitationBuffer(output, self, _create_citation)
        self._start()

    # -- start

    def _start(self) -> None:
        match self._kind:
            case "text":
                self._output.add_text(as_text(self._block.get("text")) or "", self, self)
                for citation in as_objects(self._block.get("citations")):
                    self._citations.add(citation)
            case "thinking":
                # The text may come late or never: the block's start is when the model began.
                self._output.open_reasoning(self, self)
                self._output.add_reasoning(as_text(self._block.get("thinking")) or "", self, self)
                self._sign(as_text(self._block.get("signature")))
            case "redacted_thinking":
                self._output.add_redacted(as_text(self._block.get("data")) or "")
            case kind if kind.endswith("tool_use"):
                self._start_call()
            case kind if kind.endswith("tool_result"):
                self._add_result()
            case _:
                self._is_opaque = True

    def _start_call(self) -> None:
        """Start a call: `tool_use` is for the client, `server_tool_use`, `mcp_tool_use` and so on
        are not."""
        is_ours = self._kind == "tool_use"
        call_id = as_text(self._block.get("id"))
        self._call = self._output.add_call(
            call_id=call_id,
            name=as_text(self._block.get("name")),
            executor="client" if is_ours else "provider",
            item_key=self,
            item_id=call_id,
            provider_data=self._collect_extra(_NAMED_OF_CALL, {"type": "tool_use"}),
        )

    def _add_result(self) -> None:
        content = self._block.get("content")
        kind = as_text(as_object(content).get("type")) or ""
        is_error = self._block.get("is_error") is True or kind.endswith("_error")
        self._output.add_tool_output(
            as_text(self._block.get("tool_use_id")) or "",
            (JSONContent(content),),
            is_error=is_error,
            provider_data=self._collect_extra(_NAMED_OF_RESULT, {}),
        )

    def _collect_extra(self, named: frozenset[str], usual: dict[str, Any]) -> dict[str, Any] | None:
        """Return what must be sent back with the block beyond the fields of the events."""
        extra = {key: value for key, value in self._block.items() if key not in named}
        return extra if extra != usual else None

    # -- deltas

    def feed(self, delta: WireDelta) -> bool:
        """Take one delta. Returns False for an unknown delta, which must then be given to `merge`
        with all its fields."""
        match delta.type:
            case "text_delta":
                self._output.add_text(delta.text or "", self, self)
                if self._citations.pending:
                    self._citations.flush()
            case "thinking_delta":
                self._output.add_reasoning(delta.thinking or "", self, self)
            case "input_json_delta":
                self._add_args(delta.partial_json or "")
            case "signature_delta":
                self._sign(delta.signature)
            case "citations_delta" if delta.citation is not None:
                self._citations.add(delta.citation)
            case None if not self._is_opaque and (delta.text or delta.thinking):
                self._output.add_text(delta.text or "", self, self)
                self._output.add_reasoning(delta.thinking or "", self, self)
            case _:
                return False
        return True

    def read_delta(self, delta: WireDelta) -> DeltaEvent | None:
        """Return the event of a delta that only continues the open part, or None; see
        `JSONDialect.read_delta`."""
        kind = delta.type
        if kind == "text_delta":
            if self._citations.pending:
                return None
            return self._output.extend_text(delta.text, self)
        if kind == "thinking_delta":
            return self._output.extend_reasoning(delta.thinking, self)
        if kind == "input_json_delta" and self._has_args and self._call is not None:
            return self._output.extend_args(self._call, delta.partial_json)
        return None

    def _add_args(self, text: str) -> None:
        if not text:
            return
        self._has_args = True
        if self._call is None:
            self._call = self._output.add_call(call_id=None, name=None, item_key=self)
        self._output.add_args(self._call, text)

    def _sign(self, signature: str | None) -> None:
        if signature:
            self._output.sign(signature, self, self)

    def merge(self, delta: dict[str, Any], size: int) -> None:
        """Merge an unknown delta. An unknown block grows like the known ones: strings and lists are
        appended, anything else is replaced. In a known block, the delta is kept as an item of its
        own. `size` is that of the frame."""
        if not self._is_opaque:
            kind = as_text(delta.get("type")) or "unknown"
            self._output.add_opaque(kind, encode_json(delta))
            return
        self._is_changed = True
        self._merged_chars += size
        self._output.check_size(self._merged_chars)
        for key, value in delta.items():
            if key == "type" or value is None:
                continue
            known = self._block.get(key)
            if isinstance(known, str) and isinstance(value, str):
                # Joined once, at the end: a longer string with every delta is quadratic.
                self._pieces.setdefault(key, [known]).append(value)
            elif as_list(known) is known and as_list(value) is value:
                as_list(known).extend(as_list(value))
            else:
                self._pieces.pop(key, None)
                self._block[key] = value

    # -- stop

    def stop(self) -> None:
        """End the block; called once, at its stop or at the end of the stream."""
        if self._call is not None:
            self._stop_call(self._call)
        elif self._is_opaque:
            for key, pieces in self._pieces.items():
                self._block[key] = "".join(pieces)
            data = encode_json(self._block) if self._is_changed else self._as_written
            self._output.add_opaque(self._kind, data, item_id=as_text(self._block.get("id")))
        else:
            self._output.end_prose(self)
            self._citations.close()

    def _stop_call(self, call: Call) -> None:
        if not self._has_args and self._block.get("input"):
            self._output.add_args(call, extract_field(self._as_written, "input") or "")
        self._output.end_call(call)

    def abandon(self) -> None:
        """End the block without its stop: its content is kept, but the arguments of a call do not
        count as complete."""
        if self._is_opaque:
            self.stop()
        elif self._call is not None and not self._has_args and self._block.get("input"):
            self._output.add_args(self._call, extract_field(self._as_written, "input") or "")


def _create_citation(part: int | None, citation: dict[str, Any]) -> CitationAdded:
    """Create a citation. Its character indexes are places in the source, so they stay in `raw`."""
    return CitationAdded(
        part=part,
        source=as_text(citation.get("type")),
        ref=as_text(citation.get("url")) or as_text(citation.get("source")),
        title=as_text(citation.get("title")) or as_text(citation.get("document_title")),
        quote=as_text(citation.get("cited_text")),
        raw=citation,
    )
