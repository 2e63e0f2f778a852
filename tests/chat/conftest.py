"""What the terminal's tests share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.chat.terminal import Terminal

STAGE = ("--agent", "tests.chat.stage:agent")


class Theatre:
    """Terminals on one data folder, and the gates of the stage."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._stack = stack

    def open(self, *argv: str, **options: Any) -> Terminal:
        """A chat with the rehearsal model."""
        return self._stack.enter_context(Terminal(*argv, data=self.data, **options))

    def stage(self, *argv: str, **options: Any) -> Terminal:
        """A chat with the scripted model."""
        return self.open(*STAGE, *argv, **options)

    def gate(self, *numbers: int) -> None:
        """Let the model go on."""
        for number in numbers:
            (self.folder / f"gate{number}").touch()


@pytest.fixture
def theatre(tmp_path: Path) -> Iterator[Theatre]:
    with ExitStack() as stack:
        yield Theatre(tmp_path, stack)
