"""A token that ends several runs at once: those of a request, of a user, of a process."""

from __future__ import annotations

import threading
from collections.abc import Callable


class CancelToken:
    """Give it to any number of runs; `cancel()` ends those that go on, and those that are
    given it later as soon as they begin. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[object, Callable[[str], None]] = {}
        self._detail: str | None = None

    @property
    def is_cancelled(self) -> bool:
        """Whether it has been used."""
        return self._detail is not None

    def cancel(self, detail: str = "cancelled by a token") -> None:
        """End the runs. Only the first call counts."""
        with self._lock:
            if self._detail is not None:
                return
            self._detail = detail
            listeners, self._listeners = list(self._listeners.values()), {}
        for listener in listeners:
            listener(detail)

    def add(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Tell somebody too, at once where it has been used. Returns what takes that back."""
        key = object()
        with self._lock:
            if self._detail is None:
                self._listeners[key] = listener
                return lambda: self._remove(key)
        listener(self._detail)
        return lambda: None

    def _remove(self, key: object) -> None:
        with self._lock:
            self._listeners.pop(key, None)
