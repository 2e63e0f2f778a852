"""The store: conversations, messages as a tree, runs, and who they belong to."""

from headrace.server.storage.store.sqlite import SQLiteStore
from headrace.server.storage.store.store import (
    Begun,
    Conversation,
    KeyTaken,
    Mark,
    NotFound,
    RunLive,
    RunRow,
    Start,
    Store,
    StoredMessage,
)

__all__ = [
    "Begun",
    "Conversation",
    "KeyTaken",
    "Mark",
    "NotFound",
    "RunLive",
    "RunRow",
    "SQLiteStore",
    "Start",
    "Store",
    "StoredMessage",
]
