"""`ContentRecorder`: the texts of prompts, answers and calls as attributes, without secrets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec

from headrace import events as ev
from headrace.content import Content, JSONContent, PromptContent, TextContent
from headrace.messages import CallPart, Message, ReasoningPart, TextPart, Turn
from headrace.secrets import Mask
from headrace.telemetry import names
from headrace.telemetry.span import Span

MAX_CHARS = 16_384
"""Most characters of one text, and about the most of one attribute."""
_Path = tuple[str, ...]
_Part = dict[str, Any]


class ContentRecorder:
    """Collects the output of open turns, and writes content to spans. Secrets are masked, long
    texts are cut, and of a long conversation only the newest messages are kept."""

    def __init__(self, mask: Mask, max_chars: int = MAX_CHARS) -> None:
        self._mask = mask
        self._max_chars = max_chars
        self._parts: dict[_Path, dict[int, _OpenPart]] = {}

    def hide(self, text: str) -> str:
        """Return a text without secrets, cut to the limit."""
        return self._cut(self._mask.hide(text[: 2 * self._max_chars]))

    def _cut(self, text: str) -> str:
        return text if len(text) <= self._max_chars else text[: self._max_chars - 1] + "…"

    def feed(self, path: _Path, event: Any) -> None:
        """Take an event of an open turn."""
        match event:
            case ev.TextDelta() | ev.ReasoningDelta():
                parts = self._parts.setdefault(path, {})
                part = parts.get(event.part)
                if part is None:
                    is_text = isinstance(event, ev.TextDelta)
                    part = parts[event.part] = _OpenPart("text" if is_text else "reasoning")
                if part.size < 2 * self._max_chars:
                    part.add(event.text)
            case ev.ToolCallFinished():
                parts = self._parts.setdefault(path, {})
                parts[event.part] = _OpenPart("tool_call", event)
            case _:
                pass

    def fill_output(self, path: _Path, span: Span, finish_reasons: Sequence[str]) -> None:
        """Set what the model has answered."""
        parts = [self._finish(part) for part in self._parts.pop(path, {}).values()]
        if parts:
            reason = finish_reasons[0] if finish_reasons else "error"
            answer = {"role": "assistant", "parts": parts, "finish_reason": reason}
            span.set(names.OUTPUT_MESSAGES, _encode([answer]))

    def fill_input(self, span: Span, instructions: str | None, messages: Sequence[Message]) -> None:
        """Set what the model is asked."""
        if instructions:
            told = [{"type": "text", "content": self.hide(instructions)}]
            span.set(names.SYSTEM_INSTRUCTIONS, _encode(told))
        kept: list[Any] = []
        size = 0
        for message in reversed(messages):
            entries = self._clean(list(_describe(message)))
            size += len(_encode(entries))
            if kept and size > self._max_chars:
                break
            kept = [*entries, *kept]
        span.set(names.INPUT_MESSAGES, _encode(kept))

    def fill_arguments(self, span: Span, args: Any) -> None:
        """Set the arguments of a call."""
        # Cut again: arguments may have many short texts.
        span.set(names.TOOL_ARGUMENTS, self._cut(_encode(self._clean(args))))

    def fill_result(self, span: Span, content: Sequence[Content]) -> None:
        """Set the result of a call."""
        span.set(names.TOOL_RESULT, self.hide(_text_of(content)))

    def _finish(self, part: _OpenPart) -> _Part:
        if part.call is not None:
            call: _Part = self._clean(_describe_call(part.call))
            return call
        return {"type": part.kind, "content": self.hide("".join(part.pieces))}

    def _clean(self, value: Any) -> Any:
        """Return a JSON value with all its texts masked and cut."""
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, dict):
            fields = cast("dict[object, object]", value)
            return {self.hide(str(name)): self._clean(one) for name, one in fields.items()}
        if isinstance(value, list | tuple):
            return [self._clean(one) for one in cast("Sequence[Any]", value)]
        return value


class _OpenPart:
    """A part of an answer that is being received."""

    __slots__ = ("call", "kind", "pieces", "size")

    def __init__(self, kind: str, call: ev.ToolCallFinished | None = None) -> None:
        self.kind = kind
        self.call = call
        self.pieces: list[str] = []
        self.size = 0

    def add(self, text: str) -> None:
        self.pieces.append(text)
        self.size += len(text)


def _encode(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


def _describe(message: Message) -> Iterable[_Part]:
    """Describe a message in the form of the conventions."""
    if message.content:
        yield {"role": message.role, "parts": [_describe_content(one) for one in message.content]}
    for turn in message.turns:
        yield {"role": "assistant", "parts": list(_describe_turn(turn))}
        for result in turn.results:
            response = _text_of(result.content)
            part = {"type": "tool_call_response", "id": result.call_id, "response": response}
            yield {"role": "tool", "parts": [part]}


def _describe_turn(turn: Turn) -> Iterable[_Part]:
    for part in turn.parts:
        match part:
            case TextPart():
                yield {"type": "text", "content": part.text}
            case ReasoningPart():
                yield {"type": "reasoning", "content": part.text}
            case CallPart():
                yield _describe_call(part)
            case _:
                pass


def _describe_call(call: ev.ToolCallFinished | CallPart) -> _Part:
    return {"type": "tool_call", "id": call.call_id, "name": call.name, "arguments": call.args}


def _describe_content(content: PromptContent) -> _Part:
    match content:
        case TextContent():
            return {"type": "text", "content": content.text}
        case JSONContent():
            return {"type": "text", "content": _encode(content.value)}
        case _:
            # Images and files are named, and not copied.
            kind = type(content).__name__.removesuffix("Content").lower()
            return {"type": kind, "mime_type": getattr(content, "media_type", "")}


def _text_of(content: Sequence[Content]) -> str:
    parts = (str(_describe_content(one).get("content", "")) for one in content)
    return "\n".join(filter(None, parts))
