"""The input prompt. Enter sends; Alt+Enter, or a backslash before Enter, starts a new line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import (
    CompleteEvent,
    Completer,
    Completion,
    get_common_complete_suffix,
)
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import HTML
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

from headrace.cli.commands.chat.display.prompt_history import PromptHistory
from headrace.cli.terminal.safe_text import safe

Completes = Callable[[str], Iterable[tuple[str, str]]]
"""Completions of the last word of a line, as (word, meaning)."""

_STYLE = Style.from_dict(
    {
        "prompt": "bold ansicyan",
        "placeholder": "ansibrightblack",
        "completion-menu": "bg:default fg:default noreverse",
        "completion-menu.completion": "bg:default fg:default",
        "completion-menu.completion.current": "bg:default fg:ansicyan bold noreverse",
        "completion-menu.meta.completion": "bg:default fg:ansibrightblack",
        "completion-menu.meta.completion.current": "bg:default fg:ansibrightblack bold",
        "scrollbar.background": "bg:default",
        "scrollbar.button": "bg:default",
    }
)
_MENU_ROWS = 6
_LAST_WORD = re.compile(r"\S*$")


class Prompt:
    """Reads messages one after the other."""

    def __init__(self, completes: Completes, history: PromptHistory) -> None:
        self._history = history
        completer = _Commands(completes)
        self._session: PromptSession[str] = PromptSession(
            message=[("class:prompt", "› ")],
            prompt_continuation="  ",
            placeholder=HTML("<placeholder>Ask, or /help</placeholder>"),
            multiline=True,
            key_bindings=_keys(completer),
            completer=completer,
            complete_while_typing=Condition(self._is_command),
            reserve_space_for_menu=_MENU_ROWS,
            history=self._history,
            style=_STYLE,
            enable_suspend=True,
            # Editors color the file by it.
            tempfile_suffix=".md",
        )

    async def read(self, default: str = "") -> str:
        """Return the next message. `default` is what the user has typed of it already.

        Raises `EOFError` for Ctrl-D and `KeyboardInterrupt` for Ctrl-C at an empty prompt.
        """
        return await self._session.prompt_async(default=default, handle_sigint=False)

    async def ask(self, question: str, default: str = "") -> str:
        """Return one line, which may be empty. It is not kept in the history.

        Raises `EOFError` at the end of the input and `KeyboardInterrupt` for Ctrl-C.
        """
        session: PromptSession[str] = PromptSession(
            message=[("class:prompt", question)], key_bindings=_question_keys(), style=_STYLE
        )
        return await session.prompt_async(default=default, handle_sigint=False)

    def remember(self, questions: Sequence[str]) -> None:
        """Add a message to the history of the arrow keys."""
        for question in questions:
            self._history.remember(safe(question))

    def _is_command(self) -> bool:
        return self._session.default_buffer.text.startswith("/")


class _Commands(Completer):
    def __init__(self, completes: Completes) -> None:
        self._completes = completes

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        line = document.text_before_cursor
        if not line.startswith("/") or "\n" in line:
            return
        found = _LAST_WORD.search(line)
        word = found[0] if found else ""
        for text, meaning in self._completes(line):
            yield Completion(text, start_position=-len(word), display_meta=meaning)


def _keys(completer: Completer) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("tab")
    def complete(event: KeyPressEvent) -> None:
        _complete(event.current_buffer, completer)

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        _send(event.current_buffer)

    @keys.add("escape", "enter")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-x", "c-e")
    def edit(event: KeyPressEvent) -> None:
        # By $VISUAL or $EDITOR; what was written comes back to the prompt.
        event.current_buffer.open_in_editor()

    @keys.add("c-c")
    def forget(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt, style="class:aborting")

    return keys


def _question_keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("c-c")
    def interrupt(event: KeyPressEvent) -> None:
        event.app.exit(exception=KeyboardInterrupt, style="class:aborting")

    @keys.add("c-d")
    def ignore(event: KeyPressEvent) -> None:
        """Do nothing: a key that usually quits must not answer."""

    return keys


def _complete(buffer: Buffer, completer: Completer) -> None:
    """Complete at once: what was just typed may have no menu yet."""
    found = list(completer.get_completions(buffer.document, CompleteEvent()))
    if buffer.complete_state:
        buffer.complete_next()
    elif len(found) == 1:
        buffer.apply_completion(found[0])
    elif common := get_common_complete_suffix(buffer.document, found):
        buffer.insert_text(common)
    elif found:
        buffer.start_completion(select_first=True)


def _send(buffer: Buffer) -> None:
    buffer.cancel_completion()
    if buffer.document.text_before_cursor.endswith("\\"):
        buffer.delete_before_cursor()
        buffer.insert_text("\n")
    elif buffer.text.strip():
        buffer.validate_and_handle()
