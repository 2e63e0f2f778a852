"""An answer as it streams: text on stdout, thoughts and a status line on stderr."""

from __future__ import annotations

import sys
import time

from headrace import events as ev
from headrace.cli.colour import Paint, Style, is_terminal, wants_colour
from headrace.cli.glyph import visible
from headrace.cli.preview import usage_words
from headrace.content import Usage

_ERASE = "\r\x1b[2K"
_PAUSE_S = 0.1


class AnswerPrinter:
    """Prints the events of one turn for a person, or for the next program in a pipe."""

    def __init__(self, color: str, *, shows_reasoning: bool) -> None:
        self._paint = Paint(wants_colour(color, sys.stderr))
        self._shows_reasoning = shows_reasoning
        self._is_watched = is_terminal(sys.stderr)
        self._shares_screen = self._is_watched and is_terminal(sys.stdout)
        self._is_safe = not sys.stdout.isatty()
        self._started_s = time.monotonic()
        self._drawn_s = 0.0
        self._is_drawn = False
        self._column = 0
        self._is_thinking = False
        self._has_text = False
        self._chars = 0

    def feed(self, event: ev.TurnEvent) -> None:
        """One event."""
        match event:
            case ev.TextDelta(text=text):
                self._say(text)
            case ev.ReasoningDelta(text=text):
                self._think(text)
            case ev.ReasoningFinished():
                self._end_thought()
            case ev.ToolCallFinished(name=name, raw=raw):
                self._tell(f"the model calls {name} {raw}")
            case ev.ToolCallMalformed(name=name, error=error):
                self._tell(f"the model calls {name} with malformed arguments: {error}")
            case ev.TextFinished():
                sys.stdout.flush()
            case _:
                pass
        self.tick()

    def tick(self) -> None:
        """Keep the status line alive: seconds, and how much has come."""
        now_s = time.monotonic()
        if not self._wants_status() or now_s - self._drawn_s < _PAUSE_S:
            return
        self._drawn_s, self._is_drawn = now_s, True
        verb = "answering" if self._has_text else "thinking"
        line = f"{verb} {now_s - self._started_s:.0f} s · {self._chars:,} characters"
        print(_ERASE + self._paint(line, Style.DIM), end="", file=sys.stderr, flush=True)

    def close(self, usage: Usage) -> None:
        """The turn has ended: finish the line, and say what it took."""
        self._clear()
        self._end_thought()
        if self._has_text and self._column:
            print(flush=True)
        if self._is_watched:
            words = usage_words(usage)
            took = f"{time.monotonic() - self._started_s:.1f} s"
            line = " · ".join(filter(None, (took, words)))
            print(self._paint(line, Style.DIM), file=sys.stderr, flush=True)

    def complain(self, message: str) -> None:
        """Something went wrong: a line of its own on stderr."""
        self._clear()
        self._end_thought()
        if self._column and self._shares_screen:
            print(flush=True)
            self._column = 0
        text = self._paint(visible(f"headrace: {message}"), Style.RED)
        print(text, file=sys.stderr, flush=True)

    def _say(self, text: str) -> None:
        self._clear()
        self._end_thought()
        self._has_text = True
        self._chars += len(text)
        shown = text if self._is_safe else _safe(text)
        self._column = len(shown) - shown.rfind("\n") - 1 + (0 if "\n" in shown else self._column)
        sys.stdout.write(shown)
        sys.stdout.flush()

    def _think(self, text: str) -> None:
        self._chars += len(text)
        if not self._shows_reasoning:
            return
        self._clear()
        self._is_thinking = True
        print(self._paint(_safe(text), Style.DIM), end="", file=sys.stderr, flush=True)

    def _end_thought(self) -> None:
        if self._is_thinking:
            self._is_thinking = False
            print("\n", file=sys.stderr, flush=True)

    def _tell(self, message: str) -> None:
        self._clear()
        print(self._paint(visible(message), Style.BOLD), file=sys.stderr, flush=True)

    def _wants_status(self) -> bool:
        """Only where nothing else is being written to the same screen."""
        is_busy = self._is_thinking or (self._shares_screen and self._has_text)
        return self._is_watched and not is_busy

    def _clear(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            print(_ERASE, end="", file=sys.stderr, flush=True)


def _safe(text: str) -> str:
    """Lines and tabs stay; nothing else may steer the terminal."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))
