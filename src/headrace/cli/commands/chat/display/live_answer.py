"""An answer in a live terminal: steps are redrawn in place, text is printed block by block.

Printed text is never touched again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.cli.commands.chat import answer_state as st
from headrace.cli.commands.chat.display.markdown import markdown_rows, open_rows
from headrace.cli.commands.chat.display.markdown_splitter import Block, Splitter
from headrace.cli.commands.chat.display.steps_window import Window, tool_row
from headrace.cli.commands.chat.display.typed_ahead import TypedAhead
from headrace.cli.commands.chat.step import Step, Tool
from headrace.cli.commands.chat.wording import summary
from headrace.cli.terminal.region import Region
from headrace.cli.terminal.row import BLANK, Painter, Row, Styled
from headrace.cli.terminal.safe_text import one_line
from headrace.projections.ux import UXFrame

# Only the end of a long open block is drawn.
_OPEN_CHARS = 3_000
_WAITING_ROWS = 3


class LiveAnswer:
    """Draws an answer while it arrives. `clock` returns seconds."""

    def __init__(
        self,
        region: Region,
        painter: Painter,
        clock: Callable[[], float],
        typed: TypedAhead,
        *,
        shows_reasoning: bool,
    ) -> None:
        self._typed = typed
        self._is_paused = False
        self._region = region
        self._painter = painter
        self._clock = clock
        self._window = Window(painter, shows_reasoning=shows_reasoning)
        self._draft = st.AnswerState()
        self._splitter: Splitter | None = None
        self._above: list[Row] = []
        self._phrase = ""
        self._started_s = clock()
        self._is_over = False

    def feed(self, frames: Sequence[UXFrame]) -> None:
        """Add frames; they are drawn at the next tick."""
        for frame in frames:
            for cue in self._draft.feed(frame):
                self._take(cue)

    def say(self, phrase: str) -> None:
        self._phrase = phrase
        self.tick()

    def tick(self) -> None:
        if self._is_paused:
            return
        above, self._above = self._above, []
        rows = [] if self._is_over else [*self._rows(), *self._typed_rows()]
        self._region.draw(above, rows)

    def pause(self) -> None:
        """Print what is complete, and leave the screen to a prompt."""
        above, self._above = self._above, []
        self._region.draw(above, ())
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False

    def close(self) -> None:
        """Print what is still open."""
        self._is_paused = False
        self._end_text()
        self._is_over = True
        self.tick()

    def _take(self, cue: st.DisplayEvent) -> None:
        match cue:
            case st.Says(text):
                self._splitter = self._splitter or Splitter()
                self._print(self._splitter.feed(text))
            case st.Paused():
                self._end_text()
            case st.Folded(steps):
                self._above += [*self._fold_rows(steps), BLANK]
            case st.Made(words):
                self._above += [self._line((words, "italic")), BLANK]
            case st.TakenBack():
                self._end_text()
                self._above.append(
                    self._line(("This attempt failed and is discarded; trying again.", "dim"))
                )
            case st.Ended():
                self._end_text()
                self._is_over = True
            case _:
                pass

    def _fold_rows(self, steps: list[Step]) -> list[Row]:
        tools = [step for step in steps if isinstance(step, Tool)]
        if len(tools) == len(steps):
            return [tool_row(self._painter, tool, self._columns) for tool in tools]
        return [self._line((summary(steps), "dim"))]

    def _end_text(self) -> None:
        if self._splitter is not None:
            self._print(self._splitter.close())
            self._splitter = None

    def _print(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            self._above += markdown_rows(self._painter, block, self._columns)

    # -- what is still open

    @property
    def _columns(self) -> int:
        # A full row wraps in some terminals and not in others.
        return self._region.size().columns - 1

    def _rows(self) -> list[Row]:
        ms = (self._clock() - self._started_s) * 1_000
        phrase = self._phrase or ("Writing" if self._splitter is not None else "")
        if not phrase:
            return self._window.rows(self._draft.steps, self._draft.status, ms, self._columns)
        text = self._open_text()
        gap = [BLANK] if text else []
        return [*text, *gap, self._window.header(phrase, ms, self._columns)]

    def _typed_rows(self) -> list[Row]:
        """Return what the user has typed: messages that wait, and the end of the draft."""
        waiting = [
            self._line(("Next: ", "cyan"), (one_line(text), "dim"))
            for text in self._typed.lines[-_WAITING_ROWS:]
        ]
        draft = one_line(self._typed.draft)[-max(self._columns - 2, 1) :]
        return [*waiting, *([self._line(("› ", "cyan"), (draft, ""))] if draft else [])]

    def _open_text(self) -> list[Row]:
        if self._splitter is None:
            return []
        lines = self._region.size().lines
        block = _end_of(self._splitter.open)
        return open_rows(self._painter, block, self._columns)[-max(lines - 4, 1) :]

    def _line(self, *parts: Styled) -> Row:
        return self._painter.line(*parts, columns=self._columns)


def _end_of(block: Block) -> Block:
    """Return the end of a long block, from the start of a line if possible."""
    text = block.text
    if len(text) <= _OPEN_CHARS:
        return block
    opener = text[: text.find("\n") + 1] if block.is_code else ""
    start = text.find("\n", len(text) - _OPEN_CHARS) + 1 or len(text) - _OPEN_CHARS
    return block._replace(text=opener + text[start:])
