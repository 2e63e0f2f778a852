"""States the reasoning of one chat delta once, whichever fields it comes in."""

from __future__ import annotations

from headrace.wire.dialects.chat.chunk import WireDelta, WireDetail, WireThinkingBlock
from headrace.wire.ledger import Output

_BLOCK = ("thinking_block",)


def feed_reasoning(output: Output, delta: WireDelta, *, has_only_blocks: bool) -> None:
    """State all reasoning of a delta. Providers repeat the same words in several fields: what the
    detailed form says is not repeated by a plain one, and the words of `thinking_blocks` count
    only with `has_only_blocks`."""
    said = False
    details = delta.reasoning_details
    for detail in [details] if isinstance(details, WireDetail) else details or ():
        said = _feed_detail(output, detail) or said
    if not said:
        _feed_plain(output, delta.reasoning_content, delta.reasoning, delta.reasoning_text)
    if delta.reasoning_opaque:
        _feed_opaque(output, delta.reasoning_opaque)
    for block in delta.thinking_blocks or ():
        if has_only_blocks and block.thinking:
            output.add_reasoning(block.thinking, _BLOCK)
        _feed_block(output, block)


def is_in_blocks_alone(delta: WireDelta) -> bool:
    """Return whether the reasoning of a delta is in `thinking_blocks` and in no other field."""
    others = (
        delta.reasoning_details,
        delta.reasoning_content,
        delta.reasoning,
        delta.reasoning_text,
    )
    return not any(others) and any(block.thinking for block in delta.thinking_blocks or ())


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
    """Take the seals of a block. Its text mostly comes in `reasoning_content` too."""
    if block.data:
        output.add_redacted(block.data)
    elif block.signature:
        _feed_opaque(output, block.signature)
