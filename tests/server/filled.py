"""A data folder with a conversation in it, without a server that has to answer first."""

from __future__ import annotations

import asyncio
from pathlib import Path

from headrace.content import TextContent
from headrace.messages import Message, TextPart, Turn
from headrace.server.storage.access_tokens import LOCAL
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.store import RunStart, SQLiteStore, StoredMessage


def fill_conversation(
    data: Path, *texts: str, has_answers: bool = False, owner: str = LOCAL
) -> None:
    """Store the conversation `conv_0` with these questions, one below the other."""
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    database = Database(data / "headrace.db")
    try:
        asyncio.run(_fill(SQLiteStore(database), texts, has_answers, owner))
        database.write_now(lambda c: c.execute("DELETE FROM runs WHERE state = 'live'"))
    finally:
        database.close()


async def _fill(store: SQLiteStore, texts: tuple[str, ...], has_answers: bool, owner: str) -> None:
    for number, text in enumerate(texts):
        at_ms = 1_700_000_000_000 + 10 * number
        message = Message(role="user", content=(TextContent(text),), created_at_ms=at_ms)
        prompt = StoredMessage(
            id=f"ask_{number}", conversation_id="conv_0", parent_id=None, message=message
        )
        start = RunStart(
            owner=owner,
            run_id=f"run_{number}",
            message_id=f"msg_{number}",
            model="default",
            now_ms=at_ms,
            fingerprint="",
            conversation_id="conv_0",
            is_new=number == 0,
            prompt=prompt,
            is_branch=True,
        )
        run = (await store.begin(start)).run
        part = TextPart(part=0, output=0, item=0, started_ms=at_ms, text=f"Answer {number}.")
        answer = Message(role="assistant", created_at_ms=at_ms + 5, turns=(Turn(parts=(part,)),))
        if has_answers:
            await store.commit(run, answer, [])
