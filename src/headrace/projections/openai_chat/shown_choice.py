"""The state of one choice: what was sent of it, and what is sent with its end."""

from __future__ import annotations

from typing import Any

from headrace import events as ev
from headrace.messages.message import Citation
from headrace.outcome import FinishReason
from headrace.projections.openai_chat.frame import (
    CallDelta,
    CustomDelta,
    FunctionDelta,
    TextField,
)
from headrace.projections.openai_chat.reasoning import SignedBlocks


class ShownText:
    """A text part: where its text begins in the content."""

    def __init__(self, choice: ShownChoice, is_refusal: bool) -> None:
        self.choice = choice
        self.is_refusal = is_refusal
        self.offset: int | None = None


class ShownCall:
    """A call that the client has to answer, and the pieces of its arguments so far."""

    def __init__(self, choice: ShownChoice, index: int, start: ev.ToolCallStarted) -> None:
        self.choice = choice
        self.index = index
        self.start = start
        self.is_text = start.input == "text"
        self.extra: Any = (start.provider_data or {}).get("extra_content")
        """What the provider needs back with the call, if it said so at the start."""
        self.pieces: list[str] = []

    def extend(self, text: str) -> CallDelta:
        """Return the delta that adds to the arguments."""
        self.pieces.append(text)
        if self.is_text:
            return CallDelta(self.index, custom=CustomDelta(text))
        return CallDelta(self.index, function=FunctionDelta(text))

    def restore(self, whole: str) -> str | None:
        """Return what is missing at the end, or None if something else is missing."""
        sent = "".join(self.pieces)
        return whole[len(sent) :] if whole.startswith(sent) else None


class ShownChoice:
    """One choice of the answer."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.is_started = False
        """Whether its first chunk was sent."""
        self.sent_chars = 0
        """Length of the content so far."""
        self.has_reasoning = False
        self.is_text_broken = False
        """Whether the next text begins a new paragraph, because it belongs to another step."""
        self.is_reasoning_broken = False
        self.call_count = 0
        self.image_count = 0
        self.annotations: list[dict[str, Any]] = []
        self.reason: FinishReason | None = None
        self.blocks = SignedBlocks()
        self.prefixes: dict[TextField, bytes] = {}
        """How chunks with text of a field begin."""

    def begin_step(self) -> None:
        """Note that another step begins."""
        self.is_text_broken = self.sent_chars > 0
        self.is_reasoning_broken = self.has_reasoning


def to_annotation(citation: ev.CitationAdded | Citation, offset: int) -> dict[str, Any] | None:
    """Return a citation as an annotation, or None: the protocol has them only for addresses."""
    address = citation.ref or ""
    if not address.startswith(("http://", "https://")):
        return None
    cited: dict[str, Any] = {
        "url": address,
        "title": citation.title or "",
        "start_index": offset + (citation.start or 0),
        "end_index": offset + (citation.end or 0),
    }
    if citation.quote:
        cited["content"] = citation.quote
    return {"type": "url_citation", "url_citation": cited}
