"""Conversations as the tests of the request encoders write them."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.content import Content, PromptContent, TextContent
from headrace.encoders import Options, Request
from headrace.messages import (
    CallPart,
    CallResult,
    MediaPart,
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
from headrace.outcome import END_TURN, FinishReason


def _numbers(part: int, item: int | None) -> dict[str, Any]:
    item = part if item is None else item
    return {"part": part, "output": 0, "item": item, "started_ms": 0, "ended_ms": 1}


def _seals(signature: str | None, encrypted: str | None = None) -> tuple[Seal, ...]:
    found = [Seal("signature", signature)] if signature else []
    return (*found, *([Seal("encrypted", encrypted)] if encrypted else []))


def text(
    part: int, words: str, *, item: int | None = None, signature: str | None = None, **more: Any
) -> TextPart:
    return TextPart(**_numbers(part, item), text=words, seals=_seals(signature), **more)


def thought(
    part: int,
    words: str,
    *,
    item: int | None = None,
    signature: str | None = None,
    encrypted: str | None = None,
    **more: Any,
) -> ReasoningPart:
    seals = _seals(signature, encrypted)
    return ReasoningPart(**_numbers(part, item), text=words, seals=seals, **more)


def redacted(part: int, data: str, **more: Any) -> RedactedPart:
    return RedactedPart(**_numbers(part, None), data=data, **more)


def call(
    part: int,
    call_id: str = "c1",
    *,
    raw: str = '{"a": 1}',
    item: int | None = None,
    signature: str | None = None,
    **more: Any,
) -> CallPart:
    fields = {"name": "look", "args": None if "error" in more else _value(raw), **more}
    return CallPart(
        **_numbers(part, item), call_id=call_id, raw=raw, seals=_seals(signature), **fields
    )


def _value(raw: str) -> Any:
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return raw or {}


def output(part: int, call_id: str, *content: Content, **more: Any) -> OutputPart:
    item = more.pop("item", None)
    return OutputPart(**_numbers(part, item), call_id=call_id, content=content, **more)


def opaque(part: int, kind: str, data: str) -> OpaquePart:
    return OpaquePart(**_numbers(part, None), kind=kind, data=data)


def media(part: int, media_type: str, data: str, *, item: int | None = None) -> MediaPart:
    return MediaPart(**_numbers(part, item), media_type=media_type, data=data)


def result(call_id: str, *content: Content, is_error: bool = False) -> CallResult:
    return CallResult(call_id=call_id, content=content, is_error=is_error)


def asked(*content: PromptContent | str, role: Any = "user") -> Message:
    said = tuple(TextContent(entry) if isinstance(entry, str) else entry for entry in content)
    return Message(role=role, content=said)


def said(
    *parts: Part,
    results: tuple[CallResult, ...] = (),
    dialect: str = "chat",
    provider: str | None = "p",
    model: str | None = "m-1",
    finish: FinishReason | None = END_TURN,
) -> Message:
    turn = Turn(
        parts=parts,
        results=results,
        dialect=dialect,
        provider=provider,
        model=model,
        finish=finish,
    )
    return Message(role="assistant", turns=(turn,))


def request(*messages: Message, model: str = "m-1", **more: Any) -> Request:
    """A request to the provider `p`; what is no field of it is an option."""
    named = {name: more.pop(name) for name in ("instructions", "tools", "provider") if name in more}
    return Request(
        model=model,
        messages=messages or (asked("hi"),),
        options=Options(**more),
        **{"provider": "p", **named},
    )


def plain(body: Any) -> Any:
    """The body as the provider reads it."""
    return msgspec.json.decode(msgspec.json.encode(body))
