"""Titles of conversations, written by a model beside the first answer."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from headrace.engine import Agent
from headrace.log import get_logger
from headrace.server.storage.store import Store

INSTRUCTIONS: Final = (
    "Write a title of at most six words for a conversation that begins with the message of the"
    " user. Write it in the language of the message. Reply with the title alone: no quotes, no"
    " full stop, no explanation. Do not answer the message."
)
MAX_TITLE_CHARS: Final = 80
"""Longest title that a model may write."""
_MAX_QUESTION_CHARS: Final = 2_000
_MAX_PENDING: Final = 50
_TIMEOUT_S: Final = 30.0
# Quotes, emphasis and full stops around a title.
_MARKS: Final = "\"'“”‘’«»「」『』*_`.。 "
_logger = get_logger("server")


class TitleWriter:
    """Asks a model for titles. Nothing waits for it, and its errors are only logged: then the
    beginning of the question stays the title."""

    def __init__(self, agent: Agent, store: Store) -> None:
        self._agent = agent.replace(instructions=INSTRUCTIONS)
        self._store = store
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, owner: str, conversation_id: str, question: str) -> None:
        """Begin to write the title of a new conversation."""
        if not question.strip() or len(self._tasks) >= _MAX_PENDING:
            return
        task = asyncio.create_task(self._write(owner, conversation_id, question), name="title")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write(self, owner: str, conversation_id: str, question: str) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                result = await self._agent.complete_async(question[:_MAX_QUESTION_CHARS])
            error = result.message.error
            if error is not None:
                _logger.warning("no title for %s: %s", conversation_id, error.category)
                return
            title = clean_title(result.text)
            if title:
                await self._store.suggest_title(owner, conversation_id, title)
        except Exception as error:  # noqa: BLE001 (whatever it is, the answer is not concerned)
            # Not its text, which may contain what the user has written.
            _logger.warning("no title for %s: %s", conversation_id, type(error).__name__)

    async def aclose(self) -> None:
        """Give up the titles that are not written yet."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._agent.aclose()


def clean_title(text: str) -> str:
    """Return the first line of a model's answer without quotes and marks, or an empty string if it
    is no title."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    title = " ".join(line.split()).lstrip("# ")
    title = title.strip(_MARKS)
    title = re.sub(r"^title:\s*", "", title, flags=re.IGNORECASE).strip(_MARKS)
    if len(title) <= MAX_TITLE_CHARS:
        return title
    return title[: MAX_TITLE_CHARS - 1].rsplit(" ", 1)[0] + "…"
