"""The interface between a run and the log that stores its records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from headrace.errors import HeadraceError
from headrace.events import Record
from headrace.secrets.scrub import scrub


class SinkFailed(HeadraceError):
    """The log could not store a record; the run ends with an error of category `storage`."""

    @classmethod
    def because(cls, error: Exception) -> SinkFailed:
        """Return the error for an exception of the log.

        An exception with a `public_text` is for the log's own operator: only that text is shown.
        """
        public_text: str | None = getattr(error, "public_text", None)
        if public_text is not None:
            return cls(public_text)
        return cls(f"the log failed: {scrub(f'{type(error).__name__}: {error}')}")


class Sink(Protocol):
    """A log. No record is shown to anyone before the log has stored it."""

    async def append(self, records: Sequence[Record]) -> None:
        """Store these records, in order."""
        ...


@runtime_checkable
class PromptSink(Sink, Protocol):
    """A log that accepts records without a wait for each. It is used if no middleware rewrites
    or observes events; records are still not shown before they are stored."""

    @property
    def is_shared(self) -> bool:
        """Whether other processes may claim the run. Then nothing begins before the record that
        announces it is stored."""
        ...

    def put(self, records: Sequence[Record], done: Callable[[Exception | None], None]) -> None:
        """Store these records after those of earlier calls. Calls `done` on the event loop, in
        the order of the calls. After an error, no later record may be stored."""
        ...
