"""Reads replies of a model from plain dicts, in the shapes of OpenAI's and Anthropic's APIs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from headrace.content import JSONContent
from headrace.events import CallInput
from headrace.messages.message import (
    CallPart,
    Citation,
    Message,
    OpaquePart,
    OutputPart,
    Part,
    ReasoningPart,
    RedactedPart,
    Seal,
    TextPart,
    Turn,
)
from headrace.messages.plain_content import check_text, to_blocks
from headrace.messages.seal_envelope import SealEnvelope, decode_envelope
from headrace.outcome import END_TURN, TOOL_USE

_NAMED_OF_CALL = frozenset({"id", "name", "input", "cache_control"})
_NAMED_OF_RESULT = frozenset({"tool_use_id", "content", "is_error", "cache_control"})
# Fields of parts that must be texts.
_TEXT_FIELDS = ("text", "data", "call_id", "name", "raw")
_TEXTS = ("text", "output_text", "input_text")


def read_reply(entry: Mapping[str, Any], dialect: str | None = None) -> Message:
    """Read an assistant message. `dialect` is that of the protocol that the message came in; a
    part in an envelope has the dialect of its own provider."""
    reader = _ReplyReader(dialect)
    reader.read(entry)
    return reader.message


class _ReplyReader:
    """Reads the parts of one assistant message, in the order of the original reply."""

    def __init__(self, dialect: str | None) -> None:
        self._dialect = dialect
        self._origin: SealEnvelope | None = None
        self._parts: list[Part] = []
        self._items: dict[int, int] = {}
        self._next_item = 0

    @property
    def message(self) -> Message:
        """The message that was read."""
        has_calls = any(
            isinstance(part, CallPart) and part.executor == "client" for part in self._parts
        )
        origin = self._origin
        turn = Turn(
            parts=tuple(self._parts),
            finish=TOOL_USE if has_calls else END_TURN,
            dialect=self._dialect if origin is None else origin.dialect,
            provider=None if origin is None else origin.provider,
            model=None if origin is None else origin.model,
        )
        return Message(role="assistant", turns=(turn,), finish=turn.finish)

    def read(self, entry: Mapping[str, Any]) -> None:
        """Read all fields of a message."""
        self._read_reasoning(entry)
        calls, legacy = entry.get("tool_calls") or (), entry.get("function_call")
        has_more = calls or legacy or entry.get("refusal")
        for block in to_blocks(entry.get("content") if has_more else entry["content"]):
            self._read_block(block)
        if entry.get("refusal"):
            self._add(TextPart, text=entry["refusal"], is_refusal=True)
        for call in calls:
            self._read_call(call)
        if legacy:
            # Such a call has no id; its result names the function.
            self._add_call(f"call_{legacy['name']}", legacy["name"], legacy["arguments"])

    def _read_reasoning(self, entry: Mapping[str, Any]) -> None:
        """Read reasoning from the most detailed of the fields that have it."""
        if entry.get("thinking_blocks"):
            for block in entry["thinking_blocks"]:
                self._read_block(block)
            if self._dialect is not None and self._origin is None:
                # Gateways pass Anthropic's own blocks on in this field.
                self._dialect = "anthropic"
        elif entry.get("reasoning_details"):
            for detail in entry["reasoning_details"]:
                self._read_detail(detail)
        else:
            text = entry.get("reasoning_content") or entry.get("reasoning")
            if text:
                self._add(ReasoningPart, text=text)

    def _read_detail(self, detail: Mapping[str, Any]) -> None:
        """Read an entry of OpenRouter's `reasoning_details`."""
        facts = {name: detail[name] for name in ("format", "index") if detail.get(name) is not None}
        item_id = detail.get("id")
        if item_id is not None:
            check_text(item_id, "id")
        more: dict[str, Any] = {"item_id": item_id, "provider_data": facts or None}
        if detail.get("type") == "reasoning.encrypted":
            self._add(RedactedPart, data=detail["data"], **more)
            return
        kind = "summary" if detail.get("type") == "reasoning.summary" else "raw"
        text = detail.get("text") or detail.get("summary") or ""
        seals = _to_seals(detail.get("signature"))
        self._add(ReasoningPart, text=text, kind=kind, seals=seals, **more)

    # -- blocks

    def _read_block(self, block: Mapping[str, Any]) -> None:
        match block.get("type"):
            case kind if kind in _TEXTS:
                citations = tuple(Citation(raw=raw) for raw in block.get("citations") or ())
                self._add(TextPart, text=block["text"], citations=citations)
            case "refusal":
                self._add(TextPart, text=block["refusal"], is_refusal=True)
            case "thinking":
                self._read_thinking(block)
            case "redacted_thinking":
                self._read_redacted(block["data"])
            case str(kind) if kind.endswith("tool_use"):
                self._read_tool_use(block)
            case str(kind) if kind.endswith("tool_result"):
                self._read_output(block)
            case str(kind) if self._dialect == "anthropic":
                data = msgspec.json.encode(block).decode()
                self._add(OpaquePart, kind=kind, data=data)
            case kind:
                raise ValueError(f"an assistant message cannot have a part of type {kind!r}")

    def _read_thinking(self, block: Mapping[str, Any]) -> None:
        words = block.get("thinking")
        text = words if isinstance(words, str) else "".join(b["text"] for b in to_blocks(words))
        signature = block.get("signature")
        envelope = decode_envelope(signature) if signature else None
        if envelope is None:
            self._add(ReasoningPart, text=text, seals=_to_seals(signature))
            return
        if self._accepts(envelope):
            self._add(
                ReasoningPart,
                envelope,
                text=text,
                kind=envelope.kind,
                summary_index=envelope.summary_index,
                seals=envelope.seals,
                provider_data=envelope.provider_data,
            )

    def _read_redacted(self, data: str) -> None:
        envelope = decode_envelope(data)
        if envelope is None:
            self._add(RedactedPart, data=data)
        elif not self._accepts(envelope):
            return
        elif envelope.data is not None:
            facts = envelope.provider_data
            self._add(RedactedPart, envelope, data=envelope.data, provider_data=facts)
        else:
            self._seal(envelope)

    def _seal(self, envelope: SealEnvelope) -> None:
        """Attach the seals of an envelope to the call or the text that they belong to."""
        for at in range(len(self._parts) - 1, -1, -1):
            part = self._parts[at]
            is_call = isinstance(part, CallPart) and part.call_id == envelope.call_id
            if is_call or (envelope.is_of_text and isinstance(part, TextPart)):
                self._parts[at] = msgspec.structs.replace(part, seals=envelope.seals)
                return

    def _accepts(self, envelope: SealEnvelope) -> bool:
        """Return whether a part is from the provider of the whole reply: the first one decides."""
        self._origin = self._origin or envelope
        return envelope.dialect == self._origin.dialect

    # -- calls and results

    def _read_call(self, call: Mapping[str, Any]) -> None:
        extra: Any = call.get("extra_content")
        if call.get("custom"):
            custom = call["custom"]
            self._add_call(call["id"], custom["name"], custom["input"], input="text")
            return
        function = call["function"]
        google: Any = extra.get("google") if extra else None
        signature: str | None = google.get("thought_signature") if google else None
        envelope = decode_envelope(signature) if signature else None
        seals: tuple[Seal, ...] = _to_seals(signature)
        facts: dict[str, Any] | None = {"extra_content": extra} if extra else None
        if envelope is not None:
            seals, facts = (envelope.seals if self._accepts(envelope) else ()), None
        self._add_call(
            call["id"], function["name"], function["arguments"], seals=seals, provider_data=facts
        )

    def _read_tool_use(self, block: Mapping[str, Any]) -> None:
        is_ours = block["type"] == "tool_use"
        extra = {name: block[name] for name in block if name not in _NAMED_OF_CALL}
        self._add_call(
            block["id"],
            block["name"],
            msgspec.json.encode(block["input"]).decode(),
            executor="client" if is_ours else "provider",
            provider_data=None if extra == {"type": "tool_use"} else extra,
        )

    def _read_output(self, block: Mapping[str, Any]) -> None:
        content: Any = block.get("content")
        kind = str(content.get("type")) if isinstance(content, dict) else ""  # pyright: ignore
        self._add(
            OutputPart,
            call_id=block["tool_use_id"],
            content=(JSONContent(content),),
            is_error=bool(block.get("is_error")) or kind.endswith("_error"),
            provider_data={name: block[name] for name in block if name not in _NAMED_OF_RESULT},
        )

    def _add_call(
        self, call_id: str, name: str, raw: str, *, input: CallInput = "json", **fields: Any
    ) -> None:
        """Add a call. Malformed arguments, which a model may have written, stay as they are."""
        args: Any = raw if input == "text" else None
        error = None
        if input == "json":
            try:
                args = msgspec.json.decode(raw or "{}")
            except msgspec.DecodeError as problem:
                error = str(problem)
        self._add(
            CallPart,
            call_id=call_id,
            name=name,
            raw=raw,
            args=args,
            error=error,
            input=input,
            **fields,
        )

    def _add(self, create: Any, envelope: SealEnvelope | None = None, **fields: Any) -> None:
        """Add a part. Parts that were one item of the provider are one item again."""
        for name in _TEXT_FIELDS:
            if name in fields:
                check_text(fields[name], name)
        item = self._next_item
        if envelope is not None:
            item = self._items.setdefault(envelope.item, item)
            fields["item_id"] = envelope.item_id
        self._next_item += item == self._next_item
        number = len(self._parts)
        self._parts.append(
            create(part=number, output=0, item=item, started_ms=0, ended_ms=0, **fields)
        )


def _to_seals(signature: str | None) -> tuple[Seal, ...]:
    return (Seal("signature", check_text(signature, "signature")),) if signature else ()
