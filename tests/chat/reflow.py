"""Emulators of the two kinds of terminals: those that leave rows as they are when they become
narrower, and cut them (xterm), and those that break them anew, and join them again when they
become wider (nearly all others)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyte
from pyte.screens import Char, StaticDefaultDict

_Line = StaticDefaultDict[int, Char]


class Screen(pyte.HistoryScreen):
    """Answers where it is asked for the cursor's place, as terminals do."""

    answer: Callable[[str], None]

    def select_graphic_rendition(self, *attrs: int, **more: Any) -> None:
        """It knows no dim text: that is what blinks here."""
        super().select_graphic_rendition(*(5 if one == 2 else one for one in attrs), **more)

    def write_process_input(self, data: str) -> None:
        self.answer(data)


class ReflowScreen(Screen):
    """Remembers which rows go on in the next one. The cursor stays at its sign."""

    _is_drawing = False

    def draw(self, data: str) -> None:
        self._is_drawing = True
        super().draw(data)
        self._is_drawing = False

    def linefeed(self) -> None:
        """One that the terminal makes itself, at the end of a full row, breaks nothing."""
        if self._is_drawing:
            _set_going_on(self.buffer[self.cursor.y])
        super().linefeed()

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:
        super().erase_in_line(how, private)
        _set_going_on(self.buffer[self.cursor.y], False)

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        super().erase_in_display(how, *args, **kwargs)
        for at in range(self.cursor.y + (how == 1), self.lines):
            _set_going_on(self.buffer[at], False)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        lines, columns = lines or self.lines, columns or self.columns
        if (lines, columns) == (self.lines, self.columns):
            return
        rows = [*self.history.top, *(self.buffer[at] for at in range(self._end()))]
        at_row = len(self.history.top) + self.cursor.y
        broken, row, column = self._broken(rows, at_row, columns)
        start = max(0, len(broken) - lines)
        self.history.top.clear()
        self.history.top.extend(broken[:start])
        self.lines, self.columns = lines, columns
        self.set_margins()
        self.buffer.clear()
        self.buffer.update(enumerate(broken[start:]))
        self.cursor.y, self.cursor.x = max(row - start, 0), column
        self.dirty.update(range(lines))

    def _end(self) -> int:
        filled = [at for at, row in enumerate(self.display) if row.strip()]
        return max(self.cursor.y, *filled, 0) + 1

    def _broken(self, rows: list[_Line], at_row: int, columns: int) -> tuple[list[_Line], int, int]:
        made: list[_Line] = []
        row = column = 0
        whole: list[Char] = []
        cursor: int | None = None
        for at, line in enumerate(rows):
            if at == at_row:
                cursor = len(whole) + self.cursor.x
            whole += [line[x] for x in range(self.columns)]
            if _is_going_on(line):
                continue
            pieces = _pieces(whole, columns)
            if cursor is not None:
                piece = min(cursor // columns, len(pieces) - 1)
                row, column = len(made) + piece, cursor - piece * columns
            made += pieces
            whole, cursor = [], None
        return made, row, min(column, columns)


def _pieces(whole: list[Char], columns: int) -> list[_Line]:
    while whole and whole[-1].data == " ":
        whole.pop()
    pieces: list[_Line] = []
    for start in range(0, max(len(whole), 1), columns):
        line: _Line = StaticDefaultDict(Char(" "))
        line.update(enumerate(whole[start : start + columns]))
        _set_going_on(line, start + columns < len(whole))
        pieces.append(line)
    return pieces


def _is_going_on(line: _Line) -> bool:
    return bool(getattr(line, "is_going_on", False))


def _set_going_on(line: _Line, is_going_on: bool = True) -> None:
    line.is_going_on = is_going_on  # type: ignore[attr-defined]
