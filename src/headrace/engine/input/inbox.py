"""`Inbox`: what the user says to a run while it goes on."""

from __future__ import annotations

import threading

from headrace.events import UserMessageAdded


class Inbox:
    """Messages that wait for the next step of a run. All methods may be called from any thread."""

    __slots__ = ("_entry_ids", "_lock", "_messages")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._messages: list[UserMessageAdded] = []
        self._entry_ids: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._messages)

    @property
    def messages(self) -> list[UserMessageAdded]:
        """The messages that wait."""
        with self._lock:
            return list(self._messages)

    def ignore(self, entry_ids: set[str]) -> None:
        """Ignore entries that the run has taken before."""
        self._entry_ids |= entry_ids

    def add(self, message: UserMessageAdded) -> None:
        """Add a message. An entry that was added before is ignored."""
        with self._lock:
            if message.entry_id is not None:
                if message.entry_id in self._entry_ids:
                    return
                self._entry_ids.add(message.entry_id)
            self._messages.append(message)

    def take(self) -> list[UserMessageAdded]:
        """Return the messages that wait, and remove them."""
        with self._lock:
            messages, self._messages = self._messages, []
            return messages
