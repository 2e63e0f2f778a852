"""Clients that watch runs: how many there are, and who each of them is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection

from headrace.server.http_error import HTTPError
from headrace.server.settings import Settings
from headrace.server.storage.access_tokens import User

_RETRY_S = 5.0


class Watcher:
    """One client that watches a run, or is about to."""

    def __init__(self, watchers: Watchers, user: User) -> None:
        self._watchers = watchers
        self.user = user
        self.run_id: str | None = None
        self.stop: Callable[[], None] | None = None
        """Ends the stream of this client."""

    def join(self, run_id: str) -> None:
        """Note which run is watched. Raises an `HTTPError` of 429 if too many watch it."""
        self._watchers.join(self, run_id)

    def leave(self) -> None:
        """Note that this client does not watch any more."""
        # The stream refers to this object: without the cycle, both are freed at once.
        self.stop = None
        self._watchers.leave(self)


class Watchers:
    """All clients that watch runs. The limit per user applies if the server has users."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._watchers: set[Watcher] = set()
        self._by_owner: Counter[str] = Counter()
        self._by_run: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._watchers)

    def enter(self, user: User) -> Watcher:
        """Add a client of this user. Raises an `HTTPError` of 429 if the user has too many."""
        limit = self._settings.max_watchers_per_user
        if self._settings.has_users and self._by_owner[user.owner] >= limit:
            text = f"too many open streams: a user may have {limit}"
            raise HTTPError(429, "too_many_watchers", text, retry_after_s=_RETRY_S)
        watcher = Watcher(self, user)
        self._watchers.add(watcher)
        self._by_owner[user.owner] += 1
        return watcher

    def join(self, watcher: Watcher, run_id: str) -> None:
        """Note which run a client watches. Raises an `HTTPError` of 429 if too many watch it."""
        limit = self._settings.max_watchers_per_run
        if self._by_run[run_id] >= limit:
            text = f"too many open streams of this answer: it may have {limit}"
            raise HTTPError(429, "too_many_watchers", text, retry_after_s=_RETRY_S)
        watcher.run_id = run_id
        self._by_run[run_id] += 1

    def leave(self, watcher: Watcher) -> None:
        """Remove a client; nothing happens if it has left already."""
        if watcher not in self._watchers:
            return
        self._watchers.remove(watcher)
        _decrease(self._by_owner, watcher.user.owner)
        if watcher.run_id is not None:
            _decrease(self._by_run, watcher.run_id)

    @property
    def users(self) -> set[User]:
        """The users who watch, each with the access token or the sign-in that they use."""
        return {watcher.user for watcher in self._watchers}

    def stop_all(self, users: Collection[User]) -> None:
        """End the streams that were opened by one of these, with the same access token or
        sign-in."""
        for watcher in list(self._watchers):
            if watcher.user in users and watcher.stop is not None:
                watcher.stop()


def _decrease(counter: Counter[str], name: str) -> None:
    counter[name] -= 1
    if not counter[name]:
        del counter[name]
