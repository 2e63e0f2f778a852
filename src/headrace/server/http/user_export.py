"""Exports everything of a user as lines of JSON, one thing per line, so that its size does not
matter."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import msgspec

from headrace.server.accounts.user_deletion import UserStorage
from headrace.server.http.export.export import read_all
from headrace.server.storage.files import FileInfo
from headrace.server.storage.files.file_type import FileRefused
from headrace.server.storage.store import Conversation, PageCursor

MEDIA_TYPE: Final = "application/jsonl"
EXPORT_BYTES: Final = 4_194_304
"""What an export reserves of the memory for responses: it may have to hold a file as a whole."""
_PAGE: Final = 100
# A multiple of three, so that the codes of the pieces are those of the whole.
_FILE_PIECE_BYTES: Final = 49_152
_encode = msgspec.json.Encoder().encode


async def export_user(storage: UserStorage, owner: str) -> AsyncIterator[bytes]:
    """Write the account, settings, sign-ins, access tokens, conversations, messages, uploaded files
    and usage of a user. Passwords, cookies and access tokens are not part of it, nor hashes."""
    account = await storage.accounts.find(owner)
    known = {} if account is None else {"role": account.role, "created_ms": account.created_ms}
    yield _line("user", {"name": owner, **known})
    yield _line("settings", await storage.accounts.settings(owner))
    for sign_in in await storage.accounts.sign_ins(owner):
        yield _line("sign_in", sign_in)
    for access_token in await storage.user_data.access_tokens(owner):
        yield _line("access_token", access_token)
    async for conversation in _read_conversations(storage, owner):
        yield _line("conversation", conversation)
        async for message in read_all(storage.store, owner, conversation.id):
            yield _line("message", message)
    for info in await storage.files.list(owner):
        try:
            _, data = await storage.files.load(owner, info.id)
        except FileRefused:
            # Sent or deleted in between.
            continue
        for piece in _write_file(info, data):
            yield piece
    for row in await storage.user_data.usage(owner):
        yield _line("usage", row)


async def _read_conversations(storage: UserStorage, owner: str) -> AsyncIterator[Conversation]:
    cursor: PageCursor | None = None
    while page := await storage.store.conversations(owner, _PAGE, cursor):
        for conversation in page:
            yield conversation
        cursor = PageCursor(page[-1].updated_ms, page[-1].id)


def _write_file(info: FileInfo, data: bytes) -> Iterator[bytes]:
    """Write the line of a file in pieces: others are served in between, and the file is in memory
    only once."""
    line = _line("file", {**msgspec.to_builtins(info), "data": ""})
    end = b'"}}\n'
    assert line.endswith(end)
    yield line.removesuffix(end)
    for start in range(0, len(data), _FILE_PIECE_BYTES):
        yield base64.b64encode(data[start : start + _FILE_PIECE_BYTES])
    yield end


def _line(kind: str, value: Any) -> bytes:
    return _encode({"type": kind, kind: value}) + b"\n"
