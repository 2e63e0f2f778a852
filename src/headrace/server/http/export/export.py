"""Exports of a conversation, written piece by piece, so that its size does not matter."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from headrace.messages import Message
from headrace.server.http.attachments import describe_attachments
from headrace.server.http.export.markdown_escape import escape_headings
from headrace.server.http.export.steps import write_steps
from headrace.server.storage.store import Conversation, MessageQuery, Store, StoredMessage

EXPORT_BYTES: Final = 1_048_576
"""About how much memory an export takes."""
_PAGE_BYTES: Final = 262_144
_encode = msgspec.json.Encoder().encode


class Export(NamedTuple):
    """A format of an export."""

    media_type: str
    write: Callable[[Store, str, Conversation], AsyncIterator[bytes]]


async def write_json(store: Store, owner: str, conversation: Conversation) -> AsyncIterator[bytes]:
    """Write all branches as a `ConversationExport`."""
    yield b'{"conversation":' + _encode(conversation) + b',"messages":['
    separator = b""
    async for stored in read_all(store, owner, conversation.id):
        yield separator + _encode(stored)
        separator = b","
    yield b"]}"


def write_markdown(store: Store, owner: str, conversation: Conversation) -> AsyncIterator[bytes]:
    """Write the branch that is shown as Markdown: questions and answers."""
    return _write_branch(
        store, owner, conversation, lambda message: [escape_headings(message.text)]
    )


def write_markdown_steps(
    store: Store, owner: str, conversation: Conversation
) -> AsyncIterator[bytes]:
    """Write the branch that is shown as Markdown, with the reasoning and the tools."""
    return _write_branch(store, owner, conversation, _list_blocks)


def _list_blocks(message: Message) -> Iterable[str]:
    return write_steps(message) if message.turns else [escape_headings(message.text)]


async def _write_branch(
    store: Store,
    owner: str,
    conversation: Conversation,
    list_blocks: Callable[[Message], Iterable[str]],
) -> AsyncIterator[bytes]:
    title = " ".join(conversation.title.split()) or "Conversation"
    yield f"# {title}\n".encode()
    leaf_id = conversation.leaf_id
    branch = set[str]() if leaf_id is None else set(await store.branch_ids(owner, leaf_id))
    async for stored in read_all(store, owner, conversation.id):
        if stored.id in branch:
            author = "Assistant" if stored.message.role == "assistant" else "User"
            yield f"\n## {author}\n".encode()
            for block in list_blocks(stored.message):
                yield f"\n{block}\n".encode()
            for file in describe_attachments(stored.message):
                yield f"\nAttached: {_plain_name(file.name)} ({file.media_type})\n".encode()


EXPORTS: Final[Mapping[str, Export]] = {
    "json": Export("application/json", write_json),
    "markdown": Export("text/markdown", write_markdown),
    "markdown-steps": Export("text/markdown", write_markdown_steps),
}


def _plain_name(name: str) -> str:
    """Return a file name without the signs that Markdown gives a meaning."""
    return re.sub(r"[`*_\[\]<>|\\#]", "", name)


async def read_all(store: Store, owner: str, conversation_id: str) -> AsyncIterator[StoredMessage]:
    """Read all messages of a conversation, the oldest first, a page at a time."""
    after, has_more = "", True
    while has_more:
        query = MessageQuery(max_bytes=_PAGE_BYTES, after=after)
        page = await store.messages(owner, conversation_id, query)
        for stored in page.messages:
            yield stored
        has_more = page.has_more and bool(page.messages)
        after = page.messages[-1].id if page.messages else ""
