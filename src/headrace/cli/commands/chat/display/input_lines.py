"""Reads lines of standard input without a thread, which could not be stopped while it waits."""

from __future__ import annotations

import asyncio
import os
import select
import stat
import sys

_MAX_READ = 65_536


class InputLines:
    """Reads lines of a pipe, a file or a terminal. With `is_whole`, the whole input is one line."""

    def __init__(self, file: int | None = None, *, is_whole: bool = False) -> None:
        self._file = sys.stdin.fileno() if file is None else file
        self.is_terminal = os.isatty(self._file)
        self._is_whole = is_whole
        self._rest = b""
        self._aside: list[bytes] = []
        self._is_over = False
        self._waiting: asyncio.Future[None] | None = None

    async def read(self) -> str:
        """Return the next line.

        Raises `EOFError` at the end, and `KeyboardInterrupt` after `interrupt()`.
        """
        line = self._aside.pop(0) if self._aside else await self._next()
        return line.decode("utf-8", "replace").rstrip("\r\n")

    async def read_answer(self) -> str:
        """Return the next line that was not set aside. Raises what `read()` raises."""
        return (await self._next()).decode("utf-8", "replace").rstrip("\r\n")

    def set_aside(self) -> None:
        """Keep lines that were typed before a question for `read()`. In a pipe they are answers."""
        if not self.is_terminal:
            return
        while not self._is_over and select.select([self._file], [], [], 0)[0]:
            self._fill()
        while (line := self._line()) is not None:
            self._aside.append(line)

    async def _next(self) -> bytes:
        while True:
            line = self._line()
            if line is not None:
                return line
            if self._is_over:
                raise EOFError
            await self._readable()
            self._fill()

    def _fill(self) -> None:
        data = os.read(self._file, _MAX_READ)
        self._rest += data
        self._is_over = not data

    def interrupt(self) -> None:
        """Stop the current read."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(KeyboardInterrupt)

    def _line(self) -> bytes | None:
        end = -1 if self._is_whole else self._rest.find(b"\n")
        if end >= 0:
            line, self._rest = self._rest[:end], self._rest[end + 1 :]
            return line
        if self._is_over and self._rest:
            line, self._rest = self._rest, b""
            return line
        return None

    async def _readable(self) -> None:
        if stat.S_ISREG(os.fstat(self._file).st_mode):
            return
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        loop.add_reader(self._file, self._came)
        try:
            await self._waiting
        finally:
            loop.remove_reader(self._file)
            self._waiting = None

    def _came(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
