"""One content block, from its start to its stop."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.content import JSONContent
from headrace.events import CitationAdded
from headrace.wire.dialects.anthropic.event import WireDelta, input_as_written
from headrace.wire.ledger import Call, Output

_NAMED_OF_CALL = frozenset({"id", "name", "input"})
_NAMED_OF_RESULT = frozenset({"tool_use_id", "content", "is_error"})


class Block:
    """A block states its facts to the output; it is its own key there."""

    def __init__(self, output: Output, block: dict[str, Any], as_written: str) -> None:
        self._output = output
        self._block = block
        self._as_written = as_written
        self._kind = _text(block.get("type")) or "unknown"
        self._call: Call | None = None
        self._has_args = False
        self._is_opaque = False
        self._is_changed = False
        self._start()

    # -- start

    def _start(self) -> None:
        match self._kind:
            case "text":
                self._output.text(_text(self._block.get("text")) or "", self, self)
                for citation in _list(self._block.get("citations")):
                    self._cite(citation)
            case "thinking":
                self._output.reasoning(_text(self._block.get("thinking")) or "", self, self)
                self._sign(_text(self._block.get("signature")))
            case "redacted_thinking":
                self._output.redacted(_text(self._block.get("data")) or "")
            case kind if kind.endswith("tool_use"):
                self._start_call()
            case kind if kind.endswith("tool_result"):
                self._result()
            case _:
                self._is_opaque = True

    def _start_call(self) -> None:
        """`tool_use` is ours to run; `server_tool_use`, `mcp_tool_use` … are not."""
        is_ours = self._kind == "tool_use"
        call_id = _text(self._block.get("id"))
        self._call = self._output.call(
            call_id=call_id,
            name=_text(self._block.get("name")),
            executor="client" if is_ours else "provider",
            item_key=self,
            item_id=call_id,
            provider_data=self._beside(_NAMED_OF_CALL, {"type": "tool_use"}),
        )

    def _result(self) -> None:
        content = self._block.get("content")
        is_error = self._block.get("is_error") is True or (
            isinstance(content, dict) and str(content.get("type", "")).endswith("_error")
        )
        self._output.tool_output(
            _text(self._block.get("tool_use_id")) or "",
            (JSONContent(content),),
            is_error=is_error,
            provider_data=self._beside(_NAMED_OF_RESULT, {}),
        )

    def _beside(
        self, named: frozenset[str], usual: dict[str, Any]
    ) -> dict[str, Any] | None:
        """What a replay needs of the block beyond the fields that events name."""
        extra = {key: value for key, value in self._block.items() if key not in named}
        return extra if extra != usual else None

    # -- deltas

    def feed(self, delta: WireDelta, whole: Any) -> None:
        """One delta; `whole` gives it with all its fields, for those we do not know."""
        match delta.type:
            case "text_delta":
                self._output.text(delta.text or "", self, self)
            case "thinking_delta":
                self._output.reasoning(delta.thinking or "", self, self)
            case "input_json_delta":
                self._args(delta.partial_json or "")
            case "signature_delta":
                self._sign(delta.signature)
            case "citations_delta" if delta.citation is not None:
                self._cite(delta.citation)
            case _ if self._is_opaque:
                self._merge(whole())
            case _:
                pass

    def _args(self, text: str) -> None:
        if not text:
            return
        self._has_args = True
        if self._call is None:
            self._call = self._output.call(call_id=None, name=None, item_key=self)
        self._output.args(self._call, text)

    def _sign(self, signature: str | None) -> None:
        if signature:
            self._output.sign(signature, self, self)

    def _cite(self, citation: dict[str, Any]) -> None:
        part = self._output.part_of_item(self)
        start = citation.get("start_char_index")
        end = citation.get("end_char_index")
        self._output.cite(
            CitationAdded(
                part=part if part is not None else self._output.last_text_part,
                source=_text(citation.get("type")),
                ref=_text(citation.get("url")) or _text(citation.get("source")),
                title=_text(citation.get("title")) or _text(citation.get("document_title")),
                quote=_text(citation.get("cited_text")),
                raw={**citation, "start_char_index": start, "end_char_index": end}
                if start is not None
                else citation,
            )
        )

    def _merge(self, delta: dict[str, Any]) -> None:
        """A block that we do not know grows as all known ones do: strings and lists go
        on, anything else is replaced."""
        self._is_changed = True
        for key, value in delta.items():
            if key == "type":
                continue
            known = self._block.get(key)
            if isinstance(known, str) and isinstance(value, str):
                self._block[key] = known + value
            elif isinstance(known, list) and isinstance(value, list):
                self._block[key] = [*known, *value]
            else:
                self._block[key] = value

    # -- stop

    def stop(self) -> None:
        """The block has ended; called once, by its stop or by the end of the stream."""
        if self._call is not None:
            self._stop_call(self._call)
        elif self._is_opaque:
            data = (
                msgspec.json.encode(self._block).decode() if self._is_changed else self._as_written
            )
            self._output.opaque(self._kind, data, item_id=_text(self._block.get("id")))
        else:
            self._output.end_prose(self)

    def _stop_call(self, call: Call) -> None:
        if not self._has_args and self._block.get("input"):
            self._output.args(call, input_as_written(self._as_written))
        self._output.end_call(call)

    def abandon(self) -> None:
        """The stream ends without the block's stop: an item is not lost, but a call's
        arguments are not called whole."""
        if self._is_opaque:
            self.stop()
        elif self._call is not None and not self._has_args and self._block.get("input"):
            self._output.args(self._call, input_as_written(self._as_written))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _list(value: Any) -> list[dict[str, Any]]:
    entries: list[Any] = value if isinstance(value, list) else []
    return [entry for entry in entries if isinstance(entry, dict)]
