"""`CancelToken`: cancels several runs at once, such as those of a request or a user."""

from __future__ import annotations

import threading
from collections.abc import Callable


class CancelToken:
    """A token for any number of runs. `cancel()` ends those that are running, and later ones as
    soon as they start. Can be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[object, Callable[[str], None]] = {}
        self._detail: str | None = None

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel()` was called."""
        return self._detail is not None

    def cancel(self, detail: str = "cancelled by a token") -> None:
        """End the runs. Only the first call has an effect."""
        with self._lock:
            if self._detail is not None:
                return
            self._detail = detail
            listeners, self._listeners = list(self._listeners.values()), {}
        for listener in listeners:
            listener(detail)

    def add(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call a listener on `cancel()`, or at once if that was called already. Returns a
        function that removes the listener."""
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
