"""Prints a streaming answer: text on stdout, reasoning and a status line on stderr."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from msgspec.structs import replace

from headrace import events as ev
from headrace.cli.terminal.emphasis import BOLD, NOT_BOLD, Emphasis
from headrace.cli.terminal.event_text import usage_words
from headrace.cli.terminal.output import Paint, Style, is_terminal, terminal_columns, wants_color
from headrace.cli.terminal.safe_text import fit, visible, visible_lines
from headrace.cli.terminal.soft_wrap import SoftWrap
from headrace.usage import Usage

_ERASE = "\r\x1b[2K"
DIM = "\x1b[2m"
_PAUSE_S = 0.1


class AnswerPrinter:
    """Prints the events of one turn, for a person or for the next program in a pipe."""

    def __init__(self, color: str, *, shows_reasoning: bool, shows_status: bool = True) -> None:
        self._paint = Paint(wants_color(color, sys.stderr))
        self._shows_reasoning = shows_reasoning
        self._shows_status = shows_status
        self._is_watched = is_terminal(sys.stderr)
        self._shares_screen = self._is_watched and is_terminal(sys.stdout)
        self._is_safe = not sys.stdout.isatty()
        self._text = _wrap_for(sys.stdout)
        self._thought = _wrap_for(sys.stderr)
        self._bold = _emphasis_for(sys.stdout, color)
        # The end of bold text is the end of dim text, too.
        self._bold_thought = _emphasis_for(sys.stderr, color, NOT_BOLD + DIM)
        self._gap = ""
        self._started_s = time.monotonic()
        self._drawn_s = 0.0
        self._is_drawn = False
        self._is_thinking = False
        self._has_text = False
        self._text_part = -1
        self._chars = 0

    def feed(self, event: ev.TurnEvent) -> None:
        """Print one event."""
        match event:
            case ev.TextDelta(text=text):
                self._say(text)
            case ev.ReasoningDelta(text=text):
                self._think(text)
            case ev.ReasoningFinished():
                self._end_thought()
            case ev.ToolCallFinished(name=name, raw=raw):
                self._print_line(f"the model calls {name} {raw}", Style.BOLD)
            case ev.ToolCallMalformed(name=name, error=error):
                message = f"the model calls {name} with malformed arguments: {error}"
                self._print_line(message, Style.BOLD)
            case ev.PartRestored(part=part, text=text) if part == self._text_part:
                self._print_line("headrace: a piece was missing; the whole text again:", Style.RED)
                self._end_text()
                self._say(text)
            case ev.TextStarted(part=part):
                self._text_part = part
            case ev.TextFinished():
                self._write(self._text.close())
                self._end_bold()
            case _:
                pass
        self.tick()

    def tick(self) -> None:
        """Update the status line: seconds, and how much has arrived."""
        now_s = time.monotonic()
        if not self._wants_status() or now_s - self._drawn_s < _PAUSE_S:
            return
        self._drawn_s, self._is_drawn = now_s, True
        verb = "answering" if self._has_text else "thinking"
        line = f"{verb} {now_s - self._started_s:.0f} s · {self._chars:,} characters"
        shown = self._paint(fit(line, _room(sys.stderr)), Style.DIM)
        print(_ERASE + shown, end="", file=sys.stderr, flush=True)

    def close(self, usage: Usage) -> None:
        """End the turn: finish the line and print what it took."""
        self._clear()
        self._end_thought()
        self._end_text()
        if not self._is_watched:
            return
        took = f"{time.monotonic() - self._started_s:.1f} s"
        line = closing_line(took, usage, _room(sys.stderr))
        gap = "\n" if self._has_text and self._shares_screen else ""
        print(gap + self._paint(line, Style.DIM), file=sys.stderr, flush=True)

    def complain(self, message: str) -> None:
        """Print an error on a line of its own on stderr."""
        self._print_line(f"headrace: {message}", Style.RED)

    def _say(self, text: str) -> None:
        self._clear()
        self._end_thought()
        self._has_text = True
        self._chars += len(text)
        self._write(self._text.feed(text if self._is_safe else visible_lines(text)))

    def _write(self, text: str) -> None:
        sys.stdout.write(text if self._bold is None else self._bold.feed(text))
        sys.stdout.flush()

    def _end_bold(self) -> None:
        if self._bold is not None:
            sys.stdout.write(self._bold.close())
            sys.stdout.flush()

    def _end_text(self) -> None:
        """Make sure that what follows starts on a line of its own."""
        is_inside_line = self._text.is_inside_line
        self._write(self._text.close())
        self._end_bold()
        if is_inside_line:
            self._write(self._text.feed("\n"))
            self._end_bold()

    def _think(self, text: str) -> None:
        self._chars += len(text)
        if not self._shows_reasoning:
            return
        # Line breaks at the end of a thought are dropped, so that there is always one blank line.
        whole = self._gap + visible_lines(text if self._is_thinking else text.lstrip("\n"))
        shown = whole.rstrip("\n")
        self._gap = whole[len(shown) :]
        if not shown:
            return
        self._clear()
        if self._shares_screen:
            self._end_text()
        self._is_thinking = True
        self._print_thought(self._thought.feed(shown))

    def _print_thought(self, text: str) -> None:
        if self._bold_thought is not None:
            text = self._bold_thought.feed(text)
        print(self._paint(text, Style.DIM), end="", file=sys.stderr, flush=True)

    def _end_thought(self) -> None:
        if self._is_thinking:
            self._is_thinking = False
            self._gap = ""
            self._print_thought(self._thought.close())
            if self._bold_thought is not None:
                print(self._bold_thought.close(), end="", file=sys.stderr)
            self._thought = _wrap_for(sys.stderr)
            print("\n", file=sys.stderr, flush=True)

    def _print_line(self, message: str, style: Style, *, is_cut: bool = False) -> None:
        """Print a line of its own on stderr, wrapped or cut at the width."""
        self._clear()
        self._end_thought()
        if self._shares_screen:
            self._end_text()
        wrap = _wrap_for(sys.stderr)
        wrapped = wrap.feed(visible(message)) + wrap.close()
        line = fit(message, terminal_columns(sys.stderr)) if is_cut else wrapped
        print(self._paint(line, style), file=sys.stderr, flush=True)

    def _wants_status(self) -> bool:
        """Return whether nothing else is written to the same screen."""
        is_busy = self._is_thinking or (self._shares_screen and self._has_text)
        return self._shows_status and self._is_watched and not is_busy

    def _clear(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            print(_ERASE, end="", file=sys.stderr, flush=True)


def closing_line(took: str, usage: Usage, columns: int) -> str:
    """Format what an answer took, as much as fits.

    Details of counts are left out first, then the cost, then the input.
    """
    plain = replace(usage, cached_input_tokens=None, reasoning_tokens=None)
    free = replace(plain, cost=None, is_estimated=False)
    told = (usage, plain, free, replace(free, input_tokens=None), Usage())
    lines = [" · ".join(filter(None, (took, usage_words(one)))) for one in told]
    return next((line for line in lines if len(line) <= columns), fit(took, columns))


def _room(out: TextIO) -> int:
    """Return the usable width. A full line wraps in some terminals and not in others."""
    return max(terminal_columns(out) - 1, 1)


def _emphasis_for(out: TextIO, color: str, end: str = NOT_BOLD) -> Emphasis | None:
    """Return what shows bold text on a terminal; None for the next program in a pipe."""
    if not is_terminal(out):
        return None
    return Emphasis(BOLD, end) if wants_color(color, out) else Emphasis("", "")


def _wrap_for(out: TextIO) -> SoftWrap:
    return SoftWrap((lambda: _room(out)) if out.isatty() else None)
