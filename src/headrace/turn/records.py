"""An iterable over records that works with both `for` and `async for`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

from headrace.events import Record


class Records:
    """The records of a turn or run as they arrive. Iterate with `for` inside a `with` block,
    and with `async for` inside an `async with` block."""

    __slots__ = ("_iterate", "_iterate_async")

    def __init__(
        self,
        iterate: Callable[[], Iterator[Record]],
        iterate_async: Callable[[], AsyncIterator[Record]],
    ) -> None:
        self._iterate = iterate
        self._iterate_async = iterate_async

    def __iter__(self) -> Iterator[Record]:
        return self._iterate()

    def __aiter__(self) -> AsyncIterator[Record]:
        return self._iterate_async()
