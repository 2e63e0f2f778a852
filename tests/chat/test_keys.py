"""What keys and commands do."""

from __future__ import annotations

import signal
import sqlite3
import termios
from contextlib import closing
from pathlib import Path

import pytest

from tests.chat.conftest import Theatre
from tests.chat.terminal import ALT_ENTER, CTRL_C, CTRL_D, ENTER, UP, Terminal

_PASTE = "\x1b[200~{}\x1b[201~"


def _stopped(chat: Terminal) -> Terminal:
    chat.send(CTRL_C)
    return chat.wait_for("You stopped this answer. The partial answer is kept.")


# -- Ctrl-C


def test_ctrl_c_stops_the_answer_and_keeps_it(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("stall")
    chat.wait_for("It stops here").wait_for("Writing · ")
    _stopped(chat).wait_for_prompt()
    assert "Thought for a moment" in chat.all
    assert "It stops here" in chat.all
    chat.say("/save kept.md")
    chat.wait_for("Saved to kept.md").wait_for_prompt()
    assert "First words.\n\nIt stops here\n" in (theatre.folder / "kept.md").read_text()
    chat.say("echo next")
    chat.wait_for("You said: echo next").wait_for_prompt()


def test_ctrl_c_before_the_first_word_stops_as_well(theatre: Theatre) -> None:
    chat = theatre.open()
    chat.say("slow: hello")
    chat.wait_for("Thinking · ")
    _stopped(chat).wait_for_prompt()


def test_ctrl_c_twice_leaves_and_gives_the_terminal_back(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("stall")
    chat.wait_for("It stops here")
    # Before the prompt is there, the key would be a signal.
    _stopped(chat).wait_for_prompt()
    # Slow machines may be past the two seconds: then it is the next one.
    chat.send(CTRL_C)
    chat.wait_for(lambda shown: shown.process.poll() is not None or "again to quit" in shown.all)
    if chat.process.poll() is None:
        chat.send(CTRL_C)
    assert chat.wait_for_exit() == 130
    assert not chat.is_cursor_hidden
    flags = termios.tcgetattr(chat.leader)[3]
    assert flags & termios.ECHO
    assert flags & termios.ICANON


def test_ctrl_c_twice_at_an_empty_prompt_leaves(theatre: Theatre) -> None:
    chat = theatre.open()
    chat.wait_for_prompt().send("half a thought")
    chat.wait_for("› half a thought").send(CTRL_C)
    chat.wait_for_prompt().send(CTRL_C)
    chat.wait_for("Press Ctrl-C again").wait_for_prompt().send(CTRL_C)
    assert chat.wait_for_exit() == 130
    assert "half a thought" not in chat.all


@pytest.mark.parametrize("keys", [CTRL_D, "/quit\r", "/exit\r"])
def test_ctrl_d_and_quit_leave(theatre: Theatre, keys: str) -> None:
    chat = theatre.open()
    chat.wait_for_prompt().send(keys)
    assert chat.wait_for_exit() == 0


def test_a_terminal_that_goes_away_leaves_nothing_half_written(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("stall")
    chat.wait_for("It stops here")
    chat.process.send_signal(signal.SIGTERM)
    assert chat.wait_for_exit() == 143
    assert not chat.is_cursor_hidden
    again = theatre.stage("--continue")
    again.wait_for("Thought for a moment").wait_for("It stops here").wait_for_prompt()


# -- writing


def test_a_message_may_have_several_lines(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.wait_for_prompt().send(f"echo one{ALT_ENTER}two\\{ENTER}three")
    chat.wait_for(lambda shown: "  three" in shown.rows)
    chat.send(ENTER)
    chat.wait_for("You said: echo one two three").wait_for_prompt()
    chat.say("/save lines.md")
    chat.wait_for("Saved")
    assert "## User\n\necho one\ntwo\nthree\n" in (theatre.folder / "lines.md").read_text()


def test_what_is_pasted_keeps_its_lines_and_waits_for_enter(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.wait_for_prompt().send(_PASTE.format("echo first\nsecond\n"))
    chat.wait_for(lambda shown: "  second" in shown.rows)
    assert "You said" not in chat.all
    chat.send(ENTER)
    chat.wait_for("You said: echo first second")


def test_what_is_typed_while_an_answer_comes_waits_for_the_prompt(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("half")
    chat.wait_for("The second is cut")
    chat.send("echo typed ahead")
    chat.wait_for(lambda shown: shown.rows.count("› echo typed ahead") == 1)
    theatre.gate(1)
    chat.wait_for("goes on.").wait_for(lambda shown: not shown.is_cursor_hidden)
    chat.wait_for(lambda shown: shown.rows.count("› echo typed ahead") == 1)
    assert "typed" not in chat.all.partition("goes on.")[0]
    chat.send(ENTER)
    chat.wait_for("You said: echo typed ahead")


def test_commands_are_completed(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.wait_for_prompt().send("/re")
    chat.wait_for("/reasoning").wait_for("/retry")
    chat.send("t\t")
    chat.wait_for(lambda shown: any(row.startswith("› /retry") for row in shown.rows))
    chat.send(ENTER)
    chat.wait_for("There is no answer to regenerate yet.").wait_for_prompt()
    chat.send("/effort hi\t")
    chat.wait_for("› /effort high").send(ENTER)
    chat.wait_for("Effort: high.").wait_for_prompt()
    chat.send("/model anth")
    chat.wait_for("anthropic:")


def test_earlier_questions_come_back_with_the_arrow(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("echo remember me")
    chat.wait_for("You said: echo remember me").wait_for_prompt().send(UP)
    chat.wait_for(lambda shown: shown.rows.count("› echo remember me") == 2)


# -- commands


def test_help_lists_every_command(theatre: Theatre) -> None:
    chat = theatre.stage(lines=40)
    chat.say("/help")
    chat.wait_for("earlier messages").wait_for_prompt()
    for name in "help model effort reasoning tools retry new list open save quit".split():
        assert f"/{name} " in chat.all


def test_what_is_no_command_is_said_and_a_path_is_a_message(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("/fly")
    chat.wait_for("There is no /fly. /help lists the commands.").wait_for_prompt()
    chat.say("/etc/hosts is what?")
    chat.wait_for("You said: /etc/hosts is what?")


def test_retry_answers_the_same_question_again_and_keeps_both(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("echo once")
    chat.wait_for("You said: echo once").wait_for_prompt()
    chat.say("/retry")
    chat.wait_for(lambda shown: shown.all.count("You said: echo once") == 2).wait_for_prompt()
    chat.say("/list")
    chat.wait_for("*  1  ").wait_for_prompt()
    chat.say("/save once.md")
    chat.wait_for("Saved").wait_for_prompt()
    # One branch is shown, and saved.
    assert (theatre.folder / "once.md").read_text().count("You said") == 1


def test_save_writes_markdown_and_overwrites_nothing(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("/save early.md")
    chat.wait_for("There is nothing to save yet.").wait_for_prompt()
    chat.say("answer")
    chat.wait_for("Water never tires.").wait_for_prompt()
    chat.say("/save talk.md")
    chat.wait_for("Saved to talk.md.").wait_for_prompt()
    written = (theatre.folder / "talk.md").read_text()
    assert written.startswith("# answer\n\n## User\n\nanswer\n\n## Assistant\n\nAbout **55 kW**")
    chat.say("/save talk.md")
    chat.wait_for("talk.md: File exists").wait_for_prompt()
    assert (theatre.folder / "talk.md").read_text() == written


def test_reasoning_is_shown_in_full_when_asked_for(theatre: Theatre) -> None:
    chat = theatre.stage(lines=50)
    chat.say("/reasoning")
    chat.wait_for("There is no reasoning to show.").wait_for_prompt()
    theatre.gate(*range(1, 9))
    chat.say("survey the river")
    chat.wait_for("Water never tires.").wait_for_prompt()
    assert "An undershot wheel" not in chat.words
    chat.say("/reasoning")
    chat.wait_for("An undershot wheel").wait_for("small mill.").wait_for_prompt()
    chat.say("/reasoning off")
    chat.wait_for("Reasoning is not shown live.")


def test_tools_tells_what_there_is_and_what_was_used(theatre: Theatre) -> None:
    chat = theatre.stage(lines=50)
    theatre.gate(*range(1, 9))
    chat.say("survey the river")
    chat.wait_for("Water never tires.").wait_for_prompt()
    chat.say("/tools")
    chat.wait_for("The model may use survey, hostile_tool, pay, consult.")
    chat.wait_for("✓ survey Weser → 2.4 m³/s over 3.1 m · ").wait_for('"river": "Weser"')


def test_another_model_may_answer(theatre: Theatre) -> None:
    chat = theatre.open()
    chat.say("/model")
    chat.wait_for("* rehearsal:demo · a stand-in, no language model").wait_for_prompt()
    chat.say("/model nowhere:none")
    chat.wait_for("nowhere").wait_for_prompt()
    chat.say("/model rehearsal:other")
    chat.wait_for("* rehearsal:other").wait_for_prompt()


def test_conversations_are_listed_opened_and_gone_on_with(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("echo first talk")
    chat.wait_for("You said: echo first talk").wait_for_prompt()
    chat.say("/new")
    chat.wait_for("New conversation.").wait_for_prompt()
    chat.say("echo second talk")
    chat.wait_for("You said: echo second talk").wait_for_prompt()
    chat.say("/list")
    chat.wait_for(lambda shown: "  2  " in shown.shown and "echo first talk" in shown.shown)
    chat.wait_for_prompt()
    chat.say("/open 3")
    chat.wait_for("There is no number 3").wait_for_prompt()
    chat.say("/open 2")
    chat.wait_for("echo first talk · 2 messages").wait_for_prompt()
    chat.send(CTRL_D)
    assert chat.wait_for_exit() == 0
    again = theatre.stage("--continue")
    again.wait_for("echo second talk · 2 messages").wait_for("You said: echo second talk")
    again.say("echo third")
    again.wait_for("You said: echo third").wait_for_prompt()
    again.say("/save all.md")
    again.wait_for("Saved")
    assert (theatre.folder / "all.md").read_text().count("## User") == 2


def test_conversations_of_long_ago_are_reached(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("echo the newest")
    chat.wait_for("You said: echo the newest").wait_for_prompt()
    chat.send(CTRL_D)
    assert chat.wait_for_exit() == 0
    with closing(sqlite3.connect(theatre.data / "headrace.db")) as database, database:
        for number in range(2, 132):
            database.execute(
                "INSERT INTO conversations (id, owner, title, created_ms, updated_ms)"
                " SELECT 'c' || ?, owner, 'title ' || ?, created_ms, updated_ms - ?"
                " FROM conversations WHERE title LIKE 'echo%'",
                (number, number, number),
            )
    chat = theatre.stage()
    chat.say("/list")
    chat.wait_for("title 20").wait_for("older: /list 21").wait_for_prompt()
    assert "title 21" not in chat.all
    chat.say("/list 121")
    chat.wait_for("title 131").wait_for_prompt()
    assert "title 120" not in chat.all
    chat.say("/open 131")
    chat.wait_for("title 131 · 0 messages").wait_for_prompt()


def test_a_missing_extra_says_what_to_install(theatre: Theatre) -> None:
    blocker = Path(theatre.folder / "rich")
    blocker.mkdir()
    (blocker / "__init__.py").write_text("raise ModuleNotFoundError('no rich', name='rich')")
    blocked = {"PYTHONPATH": str(theatre.folder)}
    chat = theatre.open(environment=blocked, is_forked=False)
    assert chat.wait_for_exit() == 1
    assert "headrace chat: rich is missing: install headrace[chat]" in chat.all
