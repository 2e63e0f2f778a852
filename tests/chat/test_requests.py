"""Calls that need approval and tools that ask: how the terminal asks the user, and what it does
with what was typed before."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headrace.cli.commands.chat.display.typed_ahead import TypedAhead
from tests.chat.conftest import STAGE, Theatre
from tests.chat.stage import HOSTILE
from tests.chat.terminal import CTRL_C, CTRL_D, ENTER, Terminal
from tests.chat.test_plain import run_piped

_CHOICES = "Allow? y: yes"


def _asked(chat: Terminal, question: str = _CHOICES) -> Terminal:
    """Wait until the last line is a question without an answer."""
    return chat.wait_for(lambda shown: _last(shown).startswith(question) and _ends(shown))


def _last(chat: Terminal) -> str:
    return next((row for row in reversed(chat.rows) if row), "")


def _ends(chat: Terminal) -> bool:
    return _last(chat).endswith(("›", ":"))


def test_a_call_is_shown_and_allowed(theatre: Theatre) -> None:
    chat = theatre.stage(columns=100)
    chat.say("pay 5")
    _asked(chat)
    assert "● pay needs your approval" in chat.all
    assert '"amount": 5' in chat.all
    assert "paid" not in chat.all
    chat.send("y" + ENTER)
    chat.wait_for("Results: paid 5 to the miller").wait_for_prompt()


def test_a_call_is_denied_with_a_reason(theatre: Theatre) -> None:
    chat = theatre.stage(columns=100)
    chat.say("pay 5")
    _asked(chat).send("perhaps" + ENTER)
    chat.wait_for("Type y, n, e or a")
    _asked(chat).send("n" + ENTER)
    _asked(chat, "Reason, or Enter").send("too much" + ENTER)
    chat.wait_for("Results: ").wait_for("too much").wait_for_prompt()
    assert "paid" not in chat.all


def test_the_arguments_of_a_call_are_edited(theatre: Theatre) -> None:
    chat = theatre.stage(columns=100)
    chat.say("pay 5")
    _asked(chat).send("e" + ENTER)
    given = 'Arguments › {"amount":5,"to":"the miller"}'
    chat.wait_for(given).send("\x7f" + ENTER)
    chat.wait_for("This is no valid JSON")
    # What was typed is kept; the amount is the wrong type next, which the server refuses.
    chat.wait_for(lambda shown: _last(shown) == given[:-1]).send("\x15[5]" + ENTER)
    chat.wait_for(lambda shown: shown.all.count("Allow?") == 2)
    _asked(chat).send("e" + ENTER)
    chat.wait_for(lambda shown: _last(shown) == given)
    chat.send("\x15" + '{"amount": 7, "to": "the smith"}' + ENTER)
    chat.wait_for("paid 7 to the smith").wait_for_prompt()


def test_a_call_of_the_provider_is_allowed_but_not_edited(theatre: Theatre) -> None:
    chat = theatre.open(columns=100)
    chat.say("approval: delete it")
    _asked(chat, "Allow? y: yes, n: no, a: always").send("e" + ENTER)
    chat.wait_for("Type y, n or a")
    assert "● delete_file needs your approval" in chat.all
    assert "files" in chat.all
    _asked(chat, "Allow?").send("y" + ENTER)
    chat.wait_for_prompt()
    assert "not approved" not in chat.all


def test_always_holds_for_the_rest_of_the_answer(theatre: Theatre) -> None:
    chat = theatre.stage(columns=100)
    chat.say("pay 5 6 7")
    _asked(chat).send("a" + ENTER)
    chat.wait_for("paid 5 to the miller; paid 6 to the miller; paid 7 to the miller")
    chat.wait_for_prompt()
    chat.say("pay 8")
    _asked(chat).send("y" + ENTER)
    chat.wait_for("paid 8").wait_for_prompt()


def test_ctrl_c_at_the_question_cancels_the_answer(theatre: Theatre) -> None:
    chat = theatre.stage(columns=100)
    chat.say("pay 5")
    _asked(chat).send(CTRL_D + CTRL_C)
    chat.wait_for("You stopped this answer.").wait_for_prompt()
    assert "paid" not in chat.all
    chat.say("echo next")
    chat.wait_for("You said: echo next").wait_for_prompt()


def test_a_text_and_a_form_are_asked_for(theatre: Theatre) -> None:
    chat = theatre.stage(columns=100)
    chat.say("consult river form")
    _asked(chat, "Text ›")
    assert "Which river?" in chat.all
    chat.send("the Weser" + ENTER)
    _asked(chat, "JSON ›").send('{"head": "high"}' + ENTER)
    chat.wait_for("is not of type 'number'")
    _asked(chat, "JSON ›").send('{"head": 3.1}' + ENTER)
    chat.wait_for("Results: got the Weser; got {'head': 3.1}").wait_for_prompt()


def test_arguments_cannot_write_escape_sequences(theatre: Theatre) -> None:
    chat = theatre.stage(columns=100)
    chat.say("pay 666")
    _asked(chat).send("n" + ENTER)
    _asked(chat, "Reason").send(ENTER)
    chat.wait_for_prompt()
    assert HOSTILE.encode() not in chat.raw
    assert "stolen" not in chat.title


def test_a_request_of_an_earlier_chat_is_asked_again(theatre: Theatre) -> None:
    chat = theatre.stage(columns=100)
    chat.say("pay 5")
    _asked(chat).wait_for(lambda _: _is_suspended(theatre.data))
    chat.process.kill()
    chat.process.wait()
    again = theatre.stage("--continue", columns=100)
    _asked(again).send("y" + ENTER)
    again.wait_for("Results: paid 5 to the miller").wait_for_prompt()
    # The stored answer has the request as well: nobody is asked twice.
    assert again.all.count(_CHOICES) == 1


def _is_suspended(data: Path) -> bool:
    with closing(sqlite3.connect(data / "headrace.db")) as database:
        return bool(database.execute("SELECT 1 FROM runs WHERE suspended_ms > 0").fetchall())


# -- what is typed during an answer


def test_a_message_typed_during_an_answer_is_asked_next(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("half")
    chat.wait_for("The second is cut").send("echo one" + ENTER + "echo two")
    chat.wait_for("Next: echo one").wait_for(lambda shown: "› echo two" in shown.rows)
    theatre.gate(1)
    chat.wait_for("You said: echo one").wait_for(lambda shown: _last(shown) == "› echo two")
    assert "Next:" not in chat.all
    chat.send(ENTER)
    chat.wait_for("You said: echo two").wait_for_prompt()


def test_what_was_typed_before_a_question_is_no_answer_to_it(theatre: Theatre) -> None:
    theatre.gate(*range(1, 4))
    chat = theatre.stage(columns=100)
    chat.say("half-pay 5")
    chat.wait_for("Before the payment").send("y" + ENTER + "a")
    chat.wait_for("Next: y")
    theatre.gate(9)
    _asked(chat).send("n" + ENTER)
    _asked(chat, "Reason").send(ENTER)
    chat.wait_for("You said: y").wait_for(lambda shown: _last(shown) == "› a")
    assert "paid" not in chat.all


def test_a_message_is_not_asked_after_an_answer_that_was_stopped(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("stall")
    chat.wait_for("It stops here").send("echo one" + ENTER)
    chat.wait_for("Next: echo one").send(CTRL_C)
    chat.wait_for("You stopped this answer.").wait_for(lambda shown: _last(shown) == "› echo one")
    assert "You said" not in chat.all


@pytest.mark.parametrize(
    ("keys", "lines", "draft"),
    [
        ("one\rtwo\nthree", ["one", "two"], "three"),
        ("onx\x7fe\x1b[A\x1bOB\x1b[1;5C!", [], "one!"),
        ("gone\x15 \r\r", [], " "),
        ("a\\\rb\x1b\rc\r", ["a\nb\nc"], ""),
        ("\x1b[200~pasted\x1b[201~ é水", [], "pasted é水"),
    ],
)
def test_typed_keys_make_lines_in_any_slicing(keys: str, lines: list[str], draft: str) -> None:
    data = keys.encode()
    for cut in range(len(data) + 1):
        typed = TypedAhead()
        typed.feed(data[:cut])
        typed.feed(data[cut:])
        assert (typed.lines, typed.draft) == (lines, draft)


# -- plain


def test_a_pipe_answers_with_its_next_lines(tmp_path: Path) -> None:
    said = 'pay 5\ny\npay 6\nn\ntoo much\npay 7\ne\n[\n{"amount": 8, "to": "me"}\n'
    done = run_piped(tmp_path, said + "consult river\nthe Weser\n", *STAGE)
    told = done.stdout.decode()
    assert "paid 5 to the miller" in told
    assert "too much" in told
    assert "paid 8 to me" in told
    assert "got the Weser" in told
    assert "paid 6" not in told
    assert "paid 7" not in told
    errors = done.stderr.decode()
    assert "pay needs your approval" in errors
    assert "This is no valid JSON" in errors
    assert "Which river?" in errors
    assert "\x1b" not in told + errors


@pytest.mark.parametrize("argv", [[], ["--once"]])
def test_a_request_is_denied_if_the_input_has_ended(tmp_path: Path, argv: list[str]) -> None:
    done = run_piped(tmp_path, "pay 5", *STAGE, *argv)
    assert "nobody could be asked" in done.stdout.decode()
    assert "Denied, because nobody could be asked" in done.stderr.decode()
    assert "paid" not in done.stdout.decode()


def test_a_plain_terminal_asks_in_plain_lines(theatre: Theatre) -> None:
    chat = theatre.stage("--plain", columns=100)
    chat.wait_for("\n>").send("pay 5\n")
    _asked(chat).send("y\n")
    chat.wait_for("paid 5 to the miller").wait_for(lambda shown: _last(shown) == ">")
    chat.send("pay 6\n")
    _asked(chat).send(CTRL_C)
    chat.wait_for("You stopped this answer.").wait_for(lambda shown: _last(shown) == ">")
    assert "\x1b" not in chat.raw.decode()
