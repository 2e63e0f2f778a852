"""A terminal for tests: the real command behind a pseudo-terminal, and an emulator that tells
what its screen shows."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pyte

from tests.chat.reflow import ReflowScreen, Screen
from tests.forking.forked_process import ROOT, ForkedProcess

_WAIT_S = 60.0
ENTER, CTRL_C, CTRL_D, ALT_ENTER, UP = "\r", "\x03", "\x04", "\x1b\r", "\x1b[A"
# pyte takes these two for something else; a terminal that does not know them passes over them.
_BEGUN, _DRAWN = b"\x1b[?2026h", b"\x1b[?2026l"
_UNKNOWN = re.compile(rb"\x1b\[[>=?][0-9;]*[a-zA-Z]")
_MODES = re.compile(rb"\x1b\[\?(?:25|7|1|1049)[hl]")


class Terminal:
    """`headrace chat` in a terminal of its own. Use it with `with`."""

    def __init__(
        self,
        *argv: str,
        data: Path,
        columns: int = 80,
        lines: int = 24,
        environment: dict[str, str] | None = None,
        is_forked: bool = True,
        does_reflow: bool = False,
        python: str = sys.executable,
    ) -> None:
        self.raw = b""
        kind = ReflowScreen if does_reflow else Screen
        self._screen = kind(columns, lines, history=10_000, ratio=0.1)
        self._stream = pyte.ByteStream(self._screen)
        self._screen.answer = self.send
        self._leader, follower = pty.openpty()
        _set_size(self._leader, columns, lines)
        kept = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
        xterm = {} if does_reflow else _XTERM
        env = {**kept, **_ENVIRONMENT, **xterm, **(environment or {})}
        given = ["--data", str(data), *argv]
        self.process: ForkedProcess | subprocess.Popen[bytes]
        if is_forked:
            terminal = os.ttyname(follower)
            self.process = ForkedProcess(
                ["chat", *given], env, folder=data.parent, terminal=terminal
            )
        else:
            self.process = subprocess.Popen(
                [python, "-m", "headrace", "chat", *given],
                stdin=follower,
                stdout=follower,
                stderr=follower,
                start_new_session=True,
                preexec_fn=_take_terminal,  # noqa: PLW1509 (it can be taken nowhere else)
                cwd=data.parent,
                env=env,
            )
        # Kept open: what the other end wrote last must not be lost with it.
        self._follower = follower

    @property
    def leader(self) -> int:
        """Our end of the terminal."""
        return self._leader

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(_WAIT_S)
        os.close(self._leader)
        os.close(self._follower)

    # -- what is typed

    def send(self, keys: str) -> None:
        os.write(self._leader, keys.encode())

    def say(self, text: str) -> None:
        """Write it at the prompt, and send it."""
        echo = f"› {text}"[: self._screen.columns]
        before = self.wait_for_prompt().all.count(echo)
        self.send(text + ENTER)
        self.wait_for(lambda shown: shown.all.count(echo) > before and not shown.is_typing(text))

    def resize(self, columns: int, lines: int) -> None:
        """Change the size between two drawings: one that begins at one width and ends at another
        may leave something behind."""
        self._stop()
        while self.raw.count(_BEGUN) > self.raw.count(_DRAWN):
            self.process.send_signal(signal.SIGCONT)
            self._read(0.02)
            self._stop()
        self._screen.resize(lines, columns)
        _set_size(self._leader, columns, lines)
        self.process.send_signal(signal.SIGCONT)

    def _stop(self) -> None:
        """Stop the command, and read everything that it has written."""
        self.process.send_signal(signal.SIGSTOP)
        stat = Path(f"/proc/{self.process.pid}/stat")
        until = time.monotonic() + _WAIT_S
        while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "TtZ":
            assert time.monotonic() < until, "it does not stop"
            time.sleep(0.001)
        while self._read(0):
            pass

    # -- what is shown

    @property
    def rows(self) -> list[str]:
        """The screen."""
        return [row.rstrip() for row in self._screen.display]

    @property
    def past(self) -> list[str]:
        """What has gone off the top of the screen."""
        return [_row(line, self._screen.columns) for line in self._screen.history.top]

    @property
    def all(self) -> str:
        """Everything that can be seen, if one scrolls up."""
        return "\n".join([*self.past, *self.rows])

    @property
    def shown(self) -> str:
        return "\n".join(self.rows)

    @property
    def title(self) -> str:
        return str(self._screen.title)

    @property
    def is_cursor_hidden(self) -> bool:
        return bool(self._screen.cursor.hidden)

    @property
    def words(self) -> str:
        """The same in one line, wherever it was broken."""
        return " ".join(self.all.replace("│", " ").split())

    def shows(self, what: str | Callable[[Terminal], Any]) -> bool:
        if isinstance(what, str):
            return what in self.all or what in self.words
        return bool(what(self))

    def wait_for(self, what: str | Callable[[Terminal], Any]) -> Terminal:
        """Until it can be seen."""
        until = time.monotonic() + _WAIT_S
        while not self.shows(what):
            assert time.monotonic() < until, f"{what!r} is not shown:\n{self.all}"
            is_over = self.process.poll() is not None
            if not self._read(0.05) and is_over and not self.shows(what):
                raise AssertionError(f"it ended before {what!r} was shown:\n{self.all}")
        return self

    def wait_for_drawing(self) -> Terminal:
        """Until something has been drawn after this call; what is half drawn does not count."""
        drawn = self.raw.count(_DRAWN)
        return self.wait_for(lambda shown: shown.raw.count(_DRAWN) > drawn + 1)

    def wait_for_prompt(self) -> Terminal:
        """Until the last line waits for a message."""
        return self.wait_for(lambda shown: shown.is_at_prompt)

    @property
    def is_at_prompt(self) -> bool:
        filled = [row for row in self.rows if row]
        return bool(filled) and filled[-1].startswith("› Ask, or /help")

    def is_typing(self, text: str) -> bool:
        """Whether it stands at the prompt, and is not sent yet."""
        row = self.rows[self._screen.cursor.y]
        return not self.is_at_prompt and row.endswith(text[-self._screen.columns + 2 :])

    def wait_for_exit(self) -> int:
        """What it ended with."""
        until = time.monotonic() + _WAIT_S
        while self.process.poll() is None:
            assert time.monotonic() < until, f"it does not end:\n{self.all}"
            self._read(0.02)
        while self._read(0):
            pass
        return self.process.wait()

    def _read(self, timeout_s: float) -> bool:
        ready, _, _ = select.select([self._leader], [], [], timeout_s)
        if not ready:
            return False
        try:
            data = os.read(self._leader, 65_536)
        except OSError:  # Linux says EIO where the other end is closed
            return False
        self.raw += data
        self._stream.feed(_UNKNOWN.sub(lambda m: m[0] if _MODES.fullmatch(m[0]) else b"", data))
        return bool(data)

    @property
    def screen(self) -> pyte.HistoryScreen:
        """The emulator, for those who draw it."""
        return self._screen


_ENVIRONMENT = {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
# What tells that rows are not broken anew when the terminal becomes narrower.
_XTERM = {"XTERM_VERSION": "1"}
_LEFT_OUT = (
    "XTERM_VERSION",
    "NO_COLOR",
    "COLUMNS",
    "LINES",
    "HEADRACE_MODEL",
    "HEADRACE_TOKEN",
    "TERM_PROGRAM",
)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _set_size(file: int, columns: int, lines: int) -> None:
    fcntl.ioctl(file, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


def _row(line: Any, columns: int) -> str:
    return "".join(line[at].data for at in range(columns)).rstrip()
