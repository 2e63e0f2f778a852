"""States the reasoning of one chat delta once, whichever fields it comes in."""

from __future__ import annotations

from headrace.wire.dialects.chat.chunk import WireDelta, WireDetail, WireThinkingBlock
from headrace.wire.ledger import Output

_BLOCK = ("thinking_block",)


def feed_reasoning(output: Output, delta: WireDelta) -> None:
    """State all reasoning of a delta. Providers repeat the same words in several fields: what the
    detailed form says is not repeated by a plain one."""
    said = False
    if delta.reasoning_details:
        for detail in delta.reasoning_details:
            said = _feed_detail(output, detail) or said
    if not said:
        _feed_plain(output, delta.reasoning_content, delta.reasoning, delta.reasoning_text)
    if delta.reasoning_opaque:
        _feed_opaque(output, delta.reasoning_opaque)
    if delta.thinking_blocks:
        for block in delta.thinking_blocks:
            _feed_block(output, block)


def _feed_plain(output: Output, *spellings: str | None) -> None:
    spoken: str | None = None
    for text in spellings:
        if text and text != spoken:
            output.add_reasoning(text)
            spoken = text


def _feed_detail(output: Output, detail: WireDetail) -> bool:
    """State one entry of `reasoning_details`; return whether it had text."""
    place = detail.index if detail.index is not None else detail.id
    key = ("detail", place, detail.type)
    facts = {
        name: value
        for name, value in (("format", detail.format), ("index", detail.index))
        if value is not None
    }
    words = detail.text or detail.summary
    if words:
        is_summary = not detail.text
        output.add_reasoning(
            words,
            key,
            key,
            "summary" if is_summary else "raw",
            detail.index if is_summary else None,
            detail.id,
            facts or None,
        )
    if detail.signature:
        output.sign(detail.signature, key, key)
    if detail.data:
        output.add_redacted(detail.data, item_id=detail.id, provider_data=facts or None)
    return bool(words)


def _feed_opaque(output: Output, value: str) -> None:
    """Attach a signature to the last reasoning part, even if it has already finished."""
    if output.last_reasoning_part is None:
        output.open_reasoning(_BLOCK)
    if output.last_reasoning_part is not None:
        output.seal(output.last_reasoning_part, "signature", value)


def _feed_block(output: Output, block: WireThinkingBlock) -> None:
    """Take the seals of a block. Its text also comes in `reasoning_content`."""
    if block.data:
        output.add_redacted(block.data)
    elif block.signature:
        _feed_opaque(output, block.signature)
