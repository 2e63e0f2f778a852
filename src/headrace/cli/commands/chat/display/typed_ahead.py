"""What the user types while an answer arrives: finished lines wait to be asked next, the rest is a
draft. Only a few keys are handled; the prompt that follows has all of them."""

from __future__ import annotations

import codecs
import re

_PASTE = re.compile(r"\x1b\[20[01]~")
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\[O])")
_OPEN_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)?\Z")
_NEW_LINE = ("\x1b\r", "\x1b\n")


class TypedAhead:
    """Collects keys. `lines` are the messages that were sent with Enter, the oldest first."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.draft = ""
        """What was typed after the last Enter."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> None:
        """Add bytes of the terminal. An escape sequence that is not complete waits for its end."""
        text = _PASTE.sub("", self._rest + self._decoder.decode(data))
        self._rest = ""
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self._press(text[at])
                at += 1
            elif _OPEN_SEQUENCE.match(text, at):
                self._rest = text[at:]
                return
            else:
                found = _SEQUENCE.match(text, at)
                key = found[0] if found else text[at]
                self.draft += "\n" if key in _NEW_LINE else ""
                at += len(key)

    def take_line(self) -> str | None:
        """Remove and return the oldest line, or None if there is none."""
        return self.lines.pop(0) if self.lines else None

    def take_draft(self) -> str:
        """Remove and return the draft."""
        draft, self.draft, self._rest = self.draft, "", ""
        return draft

    def withdraw(self) -> None:
        """Put the lines that wait back into the draft."""
        self.draft = "\n".join([*self.lines, *filter(None, [self.draft])])
        self.lines = []

    def _press(self, key: str) -> None:
        if key in "\r\n":
            self._press_enter()
        elif key in "\x7f\x08":
            self.draft = self.draft[:-1]
        elif key == "\x15":
            self.draft = ""
        elif key.isprintable() or key == "\t":
            self.draft += key

    def _press_enter(self) -> None:
        if self.draft.endswith("\\"):
            self.draft = self.draft[:-1] + "\n"
        elif self.draft.strip():
            self.lines.append(self.draft)
            self.draft = ""
