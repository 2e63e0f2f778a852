"""The store: conversations, their messages as a tree, and runs, each with an owner."""

from headrace.server.storage.snippet import SnippetPart
from headrace.server.storage.store.inbox import EntryKind, InboxEntry
from headrace.server.storage.store.sqlite import SQLiteStore
from headrace.server.storage.store.store import (
    Conversation,
    ConversationNote,
    KeyTaken,
    MessagePage,
    MessageQuery,
    NotFound,
    PageCursor,
    RunLive,
    RunRow,
    RunStart,
    SearchHit,
    StartedRun,
    Store,
    StoredMessage,
)

__all__ = [
    "Conversation",
    "ConversationNote",
    "EntryKind",
    "InboxEntry",
    "KeyTaken",
    "MessagePage",
    "MessageQuery",
    "NotFound",
    "PageCursor",
    "RunLive",
    "RunRow",
    "RunStart",
    "SQLiteStore",
    "SearchHit",
    "SnippetPart",
    "StartedRun",
    "Store",
    "StoredMessage",
]
