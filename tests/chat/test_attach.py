"""Files in the terminal chat: `/attach`, `-f`, and what the server does not take."""

from __future__ import annotations

from pathlib import Path

from headrace.client import Client
from headrace.engine import Agent
from tests.chat.test_plain import run_piped


def _attachments(folder: Path) -> list[list[str]]:
    """Names of the files of each question."""
    client = Client.for_folder(folder / "data", lambda: Agent("rehearsal:demo"))
    with client:
        (conversation,) = client.conversations()
        detail = client.conversation(conversation.id)
    questions = [one for one in detail.messages if one.role == "user"]
    return [[file.name for file in one.attachments] for one in questions]


def test_files_go_with_the_next_message_and_only_with_that(tmp_path: Path) -> None:
    (tmp_path / "first.txt").write_text("one")
    (tmp_path / "second.csv").write_text("a,b\n1,2\n")
    text = "What is this?\n/attach second.csv\nAnd this?\nAnd now?\n"
    done = run_piped(tmp_path, text, "-m", "rehearsal:demo", "-f", "first.txt")
    assert done.returncode == 0, done.stderr
    assert _attachments(tmp_path) == [["first.txt"], ["second.csv"], []]


def test_a_file_that_is_not_there_or_not_taken_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04\0")
    done = run_piped(tmp_path, "/attach none.txt\n/attach a.zip\n", "-m", "rehearsal:demo")
    said = (done.stdout + done.stderr).decode()
    assert "none.txt: No such file" in said
    assert "send an image" in said
