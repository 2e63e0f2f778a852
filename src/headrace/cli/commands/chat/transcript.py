"""Conversations as text: a list of them, one of them in Markdown, the sources of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from headrace.cli.terminal.safe_text import one_line, safe
from headrace.projections.ux import MessageEvent
from headrace.projections.ux.segment import TextSegment
from headrace.server.api import ConversationDetail, MessageView
from headrace.server.storage.store import Conversation

LISTED_AT_ONCE = 20
_MAX_SOURCES = 10


def listed(conversations: Sequence[Conversation], first: int, current_id: str | None) -> list[str]:
    """`1  2026-11-15 13:05  What is 12 * 34?`, the newest first, from the number `first` on; then
    how to see those that are older, where there are some."""
    shown = conversations[first - 1 : first - 1 + LISTED_AT_ONCE]
    rows = [
        f"{'*' if one.id == current_id else ' '}{number:>3}  {_when(one.updated_ms)}"
        f"  {one_line(one.title) or 'Conversation'}"
        for number, one in enumerate(shown, first)
    ]
    after = first + len(rows)
    return [*rows, f"     older: /list {after}"] if len(conversations) >= after else rows


def markdown(whole: ConversationDetail) -> str:
    """The branch that is shown, to read."""
    parts = [f"# {one_line(whole.conversation.title) or 'Conversation'}"]
    for message in whole.branch:
        who = "Assistant" if message.role == "assistant" else "User"
        parts.append(f"## {who}\n\n{_said(message).strip()}")
    return "\n\n".join(parts) + "\n"


def sources(event: MessageEvent) -> list[str]:
    """Where an answer has it from, each source once."""
    texts = [one for one in event.segments if isinstance(one, TextSegment)]
    cited = [*event.citations, *(one for text in texts for one in text.citations)]
    told = (" ".join(filter(None, (one.title, one.ref or one.source))) for one in cited)
    found = list(dict.fromkeys(one_line(one) for one in told if one))
    numbered = [f"{number}. {one}" for number, one in enumerate(found[:_MAX_SOURCES], 1)]
    return ["Sources", *numbered] if numbered else []


def _said(message: MessageView) -> str:
    if message.event is None:
        return safe(message.text)
    texts = [one.text for one in message.event.segments if isinstance(one, TextSegment)]
    return safe("\n\n".join(texts))


def _when(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1_000):%Y-%m-%d %H:%M}"
