"""What a chat keeps and gives away: the history of the prompt, copies, deletions, and an editor."""

from __future__ import annotations

import base64
import stat
from pathlib import Path

import pytest

from headrace.cli.commands.chat.command import HISTORY_FILE
from headrace.cli.commands.chat.display.markdown import open_rows
from headrace.cli.commands.chat.display.markdown_splitter import Splitter
from headrace.cli.commands.chat.display.prompt_history import MAX_ENTRIES, PromptHistory
from headrace.cli.terminal.row import Painter
from tests.chat.conftest import Theatre
from tests.chat.terminal import ENTER, UP


def test_the_history_of_the_prompt_outlives_the_chat(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("echo first")
    chat.wait_for("You said: echo first").wait_for_prompt()
    chat.say("/quit")
    assert chat.wait_for_exit() == 0
    file = theatre.data / HISTORY_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = theatre.stage()
    again.wait_for_prompt()
    again.send(UP + UP)
    again.wait_for(lambda shown: shown.is_typing("echo first"))
    again.send(ENTER)
    again.wait_for("You said: echo first")


def test_a_conversation_is_deleted_after_a_question(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("/delete")
    chat.wait_for("There is nothing to delete yet.").wait_for_prompt()
    chat.say("echo secret")
    chat.wait_for("You said: echo secret").wait_for_prompt()
    chat.say("/delete")
    chat.wait_for("Delete “echo secret”?")
    chat.send("n" + ENTER)
    chat.wait_for("Nothing was deleted.").wait_for_prompt()
    chat.say("/delete 1")
    chat.wait_for(lambda shown: shown.all.count("Delete “echo secret”?") == 2)
    chat.send("y" + ENTER)
    chat.wait_for("Deleted.").wait_for_prompt()
    chat.say("/list")
    chat.wait_for("There are no conversations yet.")
    assert "echo secret" not in (theatre.data / HISTORY_FILE).read_text()


def test_the_last_answer_is_copied_by_the_terminal(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("/copy")
    chat.wait_for("There is no answer to copy yet.").wait_for_prompt()
    chat.say("echo this")
    chat.wait_for("You said: echo this").wait_for_prompt()
    chat.say("/copy")
    chat.wait_for("Copied").wait_for_prompt()
    copied = base64.b64encode(b"You said: echo this")
    assert b"\x1b]52;c;" + copied in bytes(chat.raw)


def test_a_message_is_written_in_an_editor(theatre: Theatre, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "echo from the editor" > "$1"\n')
    editor.chmod(0o700)
    chat = theatre.stage(environment={"VISUAL": str(editor), "EDITOR": str(editor)})
    chat.wait_for_prompt()
    chat.send("\x18\x05")
    chat.wait_for(lambda shown: shown.is_typing("echo from the editor"))
    chat.send(ENTER)
    chat.wait_for("You said: echo from the editor")


def test_a_history_is_bounded_and_survives_damage(tmp_path: Path) -> None:
    file = tmp_path / "history"
    history = PromptHistory(file)
    for number in range(3):
        history.store_string(f"{number}\nsecond line")
    with file.open("ab") as out:
        out.write('"cut off\n"in the middle of é'.encode()[:-1] + b'"\n')
    assert next(iter(PromptHistory(file).load_history_strings())) == "2\nsecond line"
    long = "x" * 400
    for number in range(MAX_ENTRIES + 20):
        history.store_string(f"{number} {long}")
    entries = list(PromptHistory(file).load_history_strings())
    assert len(entries) == MAX_ENTRIES
    assert entries[0].startswith(f"{MAX_ENTRIES + 19} ")
    history.forget({entries[0]})
    assert entries[0] not in file.read_text()
    # Where nothing can be kept, nothing fails.
    PromptHistory(tmp_path / "history" / "below").store_string("x")
    PromptHistory(None).store_string("x")


def _draw(text: str, columns: int) -> list[str]:
    splitter = Splitter()
    blocks = [*splitter.feed(text), *splitter.close()]
    painter = Painter(has_colour=False)
    return [row.text for block in blocks for row in open_rows(painter, block, columns)]


@pytest.mark.parametrize(
    "formula", [r"\(a^2\)", r"\[x_1 + x_2\]", "$a_1 * b_1 * c$", r"$$\frac{1}{2}$$"]
)
def test_formulas_are_shown_as_they_are_written(formula: str) -> None:
    assert _draw(f"So {formula} holds, at $5 and \\*no\\* more.\n", 80) == [
        f"So {formula} holds, at $5 and *no* more."
    ]


def test_formulas_in_code_are_code() -> None:
    assert _draw(r"Write `\(a\)` or `<br>`." + "\n", 80) == [r"Write \(a\) or <br>."]


def test_breaks_are_breaks_and_other_tags_are_text() -> None:
    assert _draw("One<br>two<BR/>three <b>four</b>\n", 80) == ["One", "two", "three <b>four</b>"]


def test_a_table_that_is_too_wide_loses_nothing() -> None:
    names = [f"name{number}" for number in range(8)]
    rows = [[f"value{row}-{column}" for column in range(8)] for row in range(2)]
    lines = [names, ["---"] * 8, *rows]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    narrow = _draw(table, 40)
    assert all(len(row) <= 40 for row in narrow)
    for row in rows:
        for name, value in zip(names, row, strict=True):
            assert f"{name}: {value}" in narrow
    wide = _draw(table, 120)
    assert [row.split() for row in wide if "value" in row] == rows
