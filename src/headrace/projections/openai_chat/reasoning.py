"""Reasoning in the Chat Completions protocol: text, and signed blocks if they are asked for."""

from __future__ import annotations

from typing import Literal, TypeAlias

from headrace import events as ev
from headrace.messages.message import Seal
from headrace.messages.seal_envelope import seal_part
from headrace.projections.openai_chat.frame import ThinkingBlock

ReasoningField: TypeAlias = Literal["reasoning_content", "reasoning", "none"]
_SIGNING_DIALECT = "anthropic"


class _Block:
    """One block of reasoning, as far as it has come."""

    def __init__(self, index: int, start: ev.ReasoningStarted | ev.ReasoningRedacted) -> None:
        self.index = index
        self.start = start
        self.text: list[str] = []
        self.seals: list[Seal] = []
        self.is_sent = False


class SignedBlocks:
    """Collects the blocks of one choice for `thinking_blocks`. Each is sent once, when it has
    ended; a signature that comes later is sent after it, under the same index.

    The signatures of Anthropic's dialect stay as they are; others are put into envelopes.
    """

    def __init__(self) -> None:
        self.origin: ev.TurnStarted | None = None
        self._blocks: dict[int, _Block] = {}
        self._count = 0

    def open(self, event: ev.ReasoningStarted) -> None:
        """Start a block."""
        self._blocks[event.part] = self._add(event)

    def extend(self, part: int, text: str) -> None:
        """Add text to a block."""
        if part in self._blocks:
            self._blocks[part].text.append(text)

    def restore(self, part: int, text: str) -> None:
        """Replace the text of a block."""
        if part in self._blocks:
            self._blocks[part].text[:] = [text]

    def close(self, event: ev.ReasoningFinished) -> tuple[ThinkingBlock, ...]:
        """End a block and return it."""
        block = self._blocks.get(event.part)
        if block is None:
            return ()
        if event.signature:
            block.seals.append(Seal("signature", event.signature))
        block.is_sent = True
        text, block.text = "".join(block.text), []
        signature = self._sign(block)
        return (
            ThinkingBlock(index=block.index, type="thinking", thinking=text, signature=signature),
        )

    def seal(self, event: ev.PartSealed) -> tuple[ThinkingBlock, ...]:
        """Take a seal; return it if its block was sent already."""
        block = self._blocks.get(event.part)
        if block is None:
            return ()
        block.seals.append(Seal(event.kind, event.value))
        if not block.is_sent:
            return ()
        del block.seals[:-1]
        return (ThinkingBlock(index=block.index, type="thinking", signature=self._sign(block)),)

    def redact(self, event: ev.ReasoningRedacted) -> tuple[ThinkingBlock, ...]:
        """Return a block that only the provider can read."""
        block = self._add(event)
        data = event.data
        if not self._is_raw:
            data = seal_part(self.origin, event, (), data=event.data)
        return (ThinkingBlock(index=block.index, type="redacted_thinking", data=data),)

    def _add(self, start: ev.ReasoningStarted | ev.ReasoningRedacted) -> _Block:
        self._count += 1
        return _Block(self._count - 1, start)

    @property
    def _is_raw(self) -> bool:
        return self.origin is None or self.origin.dialect == _SIGNING_DIALECT

    def _sign(self, block: _Block) -> str | None:
        if not self._is_raw:
            return seal_part(self.origin, block.start, block.seals)
        signatures = [seal.value for seal in block.seals if seal.kind == "signature"]
        return signatures[-1] if signatures else None


def seal_call(
    event: ev.PartSealed, start: ev.ToolCallStarted, origin: ev.TurnStarted | None
) -> str:
    """Return the signature of a call: as it is in the chat dialect, in an envelope elsewhere."""
    if origin is None or origin.dialect == "chat":
        return event.value
    seals = (Seal(event.kind, event.value),)
    return seal_part(origin, start, seals, call_id=start.call_id)
