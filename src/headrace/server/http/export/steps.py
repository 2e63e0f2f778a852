"""The Markdown of an answer with its reasoning and its tools, for exports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from headrace.content import JSONContent, TextContent
from headrace.messages import (
    CallPart,
    CallResult,
    Message,
    OutputPart,
    Part,
    ReasoningPart,
    RedactedPart,
    TextPart,
    Turn,
)
from headrace.server.http.export.markdown_escape import escape_headings

_TICKS: Final = re.compile(r"`{3,}")


def write_steps(message: Message, depth: int = 0) -> Iterator[str]:
    """Return the pieces of an answer in their order, each a block of Markdown. What a sub-agent did
    follows the result of its call, in a quotation."""
    for turn in message.turns:
        results = {result.call_id: result for result in turn.results}
        outputs = {part.call_id: part for part in turn.parts if isinstance(part, OutputPart)}
        for block in _write_turn(turn, results, outputs, depth):
            yield _quote(block, depth) if depth else block


def _write_turn(
    turn: Turn, results: dict[str, CallResult], outputs: dict[str, OutputPart], depth: int
) -> Iterator[str]:
    texts: list[str] = []
    for part in turn.parts:
        if isinstance(part, TextPart):
            texts.append(part.text)
            continue
        if texts:
            yield escape_headings("".join(texts))
            texts = []
        yield from _write_part(part, results, outputs, depth)
    if texts:
        yield escape_headings("".join(texts))


def _write_part(
    part: Part, results: dict[str, CallResult], outputs: dict[str, OutputPart], depth: int
) -> Iterator[str]:
    if isinstance(part, ReasoningPart):
        if part.text.strip():
            yield f"**Reasoning**\n\n{_quote(escape_headings(part.text), 1)}"
    elif isinstance(part, RedactedPart):
        yield "**Reasoning** (hidden by the provider)"
    elif isinstance(part, CallPart):
        yield f"**Tool** {_code(part.name)}\n\n{_fence(_to_text(part.args, part.raw))}"
        result = results.get(part.call_id) or outputs.get(part.call_id)
        if result is not None:
            word = "Error" if result.is_error else "Result"
            yield f"**{word}** of {_code(part.name)}\n\n{_fence(_list_content(result.content))}"
        if isinstance(result, CallResult) and result.message is not None and depth == 0:
            yield from write_steps(result.message, depth + 1)


def _list_content(content: tuple[Any, ...]) -> str:
    return "\n".join(_describe_content(one) for one in content)


def _describe_content(content: Any) -> str:
    if isinstance(content, TextContent):
        return content.text
    if isinstance(content, JSONContent):
        return _to_text(content.value)
    # The bytes of images and files are in the JSON export.
    name = getattr(content, "name", None) or getattr(content, "media_type", None)
    return f"[{name or type(content).__name__}]"


def _to_text(value: Any, fallback: str = "") -> str:
    if value is None:
        return fallback
    if isinstance(value, str):
        return value
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _quote(text: str, depth: int) -> str:
    mark = "> " * depth
    return "\n".join(f"{mark}{line}".rstrip() for line in text.split("\n"))


def _fence(text: str) -> str:
    """Return a code block whose fence is longer than any in the text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    longest = max((len(match[0]) for match in _TICKS.finditer(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _code(name: str) -> str:
    return f"`{name.replace('`', '')}`"
