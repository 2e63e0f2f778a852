"""Conversations as text: the list, one conversation in Markdown, and the sources of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from headrace.cli.terminal.safe_text import one_line, safe
from headrace.projections.ux import MessageEvent
from headrace.projections.ux.segment import TextSegment
from headrace.server.api import ConversationDetail, MessageView
from headrace.server.http.export.markdown_escape import escape_headings
from headrace.server.storage.store import Conversation

LISTED_AT_ONCE = 20
_MAX_SOURCES = 10


def format_list(
    conversations: Sequence[Conversation], first: int, current_id: str | None
) -> list[str]:
    """Format the list of conversations, newest first, from number `first` on.

    Each line looks like `1 2026-11-15 13:05 What is 12 * 34?`. A last line says how to see older
    ones.
    """
    shown = conversations[first - 1 : first - 1 + LISTED_AT_ONCE]
    rows = [
        f"{'*' if one.id == current_id else ' '}{number:>3}  {_when(one.updated_ms)}"
        f"  {one_line(one.title) or 'Conversation'}"
        for number, one in enumerate(shown, first)
    ]
    after = first + len(rows)
    return [*rows, f"     older: /list {after}"] if len(conversations) >= after else rows


def markdown(whole: ConversationDetail) -> str:
    """Return the visible branch of a conversation as Markdown."""
    parts = [f"# {one_line(whole.conversation.title) or 'Conversation'}"]
    for message in whole.branch:
        who = "Assistant" if message.role == "assistant" else "User"
        parts.append(f"## {who}\n\n{escape_headings(_message_text(message).strip())}")
    return "\n\n".join(parts) + "\n"


def sources(event: MessageEvent) -> list[str]:
    """Return the sources of an answer, each once."""
    texts = [one for one in event.segments if isinstance(one, TextSegment)]
    cited = [*event.citations, *(one for text in texts for one in text.citations)]
    told = (" ".join(filter(None, (one.title, one.ref or one.source))) for one in cited)
    found = list(dict.fromkeys(one_line(one) for one in told if one))
    numbered = [f"{number}. {one}" for number, one in enumerate(found[:_MAX_SOURCES], 1)]
    return ["Sources", *numbered] if numbered else []


def answer_text(event: MessageEvent) -> str:
    """Return the text of an answer, a paragraph for each piece."""
    texts = [one.text for one in event.segments if isinstance(one, TextSegment)]
    return safe("\n\n".join(texts))


def _message_text(message: MessageView) -> str:
    return safe(message.text) if message.event is None else answer_text(message.event)


def _when(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1_000):%Y-%m-%d %H:%M}"
