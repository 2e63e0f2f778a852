"""`Inbox`: what the user says to a run while it goes on."""

from __future__ import annotations

from collections import deque

from headrace.events import UserMessageAdded


class Inbox:
    """Messages that wait for the next step of a run."""

    def __init__(self) -> None:
        self._messages: deque[UserMessageAdded] = deque()
        self._entry_ids: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._messages)

    @property
    def messages(self) -> list[UserMessageAdded]:
        """The messages that wait."""
        return list(self._messages)

    def ignore(self, entry_ids: set[str]) -> None:
        """Ignore entries that the run has taken before."""
        self._entry_ids |= entry_ids

    def add(self, message: UserMessageAdded) -> None:
        """Add a message. An entry that was added before is ignored."""
        if message.entry_id is not None:
            if message.entry_id in self._entry_ids:
                return
            self._entry_ids.add(message.entry_id)
        self._messages.append(message)

    def take(self) -> list[UserMessageAdded]:
        """Return the messages that wait, and remove them."""
        messages = list(self._messages)
        self._messages.clear()
        return messages
