"""A server, or another chat, on the same data folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from headrace.server.storage.data_folder import DataFolder
from tests.chat.conftest import STAGE, Theatre
from tests.chat.terminal import CTRL_C, CTRL_D
from tests.chat.test_plain import _ENVIRONMENT, run_piped


@contextmanager
def _served(theatre: Theatre, *argv: str) -> Iterator[str]:
    """The real command, on the same folder; its address."""
    data = str(theatre.data)
    command = [sys.executable, "-m", "headrace", "serve", "--port", "0", "--data", data, *argv]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=theatre.folder, env=_ENVIRONMENT
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert " at http" in line
        yield line.rpartition(" at ")[2].strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _conversations(url: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = httpx.get(f"{url}/api/conversations", timeout=60).json()[
        "conversations"
    ]
    return found


def test_beside_a_server_the_chat_talks_to_it_and_both_show_the_same(theatre: Theatre) -> None:
    with _served(theatre, "tests.chat.stage:agent") as url:
        httpx.post(f"{url}/api/chat", json={"message": "echo from the page"}, timeout=60)
        chat = theatre.open(lines=40)
        chat.wait_for(f"Connected to the server at {url}, which stores the conversations.")
        chat.say("/list")
        chat.wait_for("echo from the page").wait_for_prompt()
        chat.say("survey the river")
        theatre.gate(1, 2)
        chat.wait_for("then the power.")
        (live,) = [one for one in _conversations(url) if one["title"] == "survey the river"]
        assert (
            len(httpx.get(f"{url}/api/conversations/{live['id']}", timeout=60).json()["live"]) == 1
        )
        theatre.gate(*range(3, 9))
        chat.wait_for("Water never tires.").wait_for_prompt()
        whole = httpx.get(f"{url}/api/conversations/{live['id']}", timeout=60).json()
        assert [one["role"] for one in whole["messages"]] == ["user", "assistant"]
        chat.say("/model")
        chat.wait_for("* openai-chat:scripted").wait_for_prompt()
        chat.say("/model other")
        chat.wait_for("has no model 'other': default").wait_for_prompt()
        chat.send(CTRL_D)
        assert chat.wait_for_exit() == 0
        # The server has not been disturbed.
        assert httpx.get(f"{url}/readyz", timeout=60).json()["is_ready"]


def test_ctrl_c_stops_an_answer_of_the_server(theatre: Theatre) -> None:
    with _served(theatre, "tests.chat.stage:agent") as url:
        chat = theatre.open()
        chat.say("stall")
        chat.wait_for("It stops here").send(CTRL_C)
        chat.wait_for("You stopped this answer. The partial answer is kept.").wait_for_prompt()
        assert httpx.get(f"{url}/readyz", timeout=60).json()["live_runs"] == 0


def test_leaving_ends_the_watching_and_the_next_chat_watches_on(theatre: Theatre) -> None:
    with _served(theatre, "tests.chat.stage:agent"):
        chat = theatre.open()
        chat.say("half")
        chat.wait_for("The second is cut").process.kill()
        again = theatre.open("--continue")
        again.wait_for("The second is cut").wait_for("Writing · ")
        theatre.gate(1)
        again.wait_for("The second is cut here, and goes on.").wait_for_prompt()


def test_a_server_with_tokens_wants_one(theatre: Theatre) -> None:
    with _served(theatre, "tests.chat.stage:agent", "--tokens"):
        refused = run_piped(theatre.folder, "echo hi\n")
        assert refused.returncode == 1
        assert b"this server requires an access token" in refused.stderr
        assert b"Put an access token into HEADRACE_TOKEN" in refused.stderr
        command = [sys.executable, "-m", "headrace", "token", "create", "ann"]
        made = subprocess.check_output([*command, "--data", str(theatre.data)], text=True)
        (theatre.folder / "token").write_text(made)
        done = run_piped(theatre.folder, "echo hi\n", "--token-file", "token")
        assert done.stdout == b"You said: echo hi\n"
        (theatre.folder / "token").write_text("hr_wrong")
        wrong = run_piped(theatre.folder, "echo hi\n", "--token-file", "token")
        assert b"this access token is unknown to the server" in wrong.stderr
        assert b"hr_wrong" not in wrong.stderr


def test_an_agent_of_ones_own_is_refused_beside_a_server(theatre: Theatre) -> None:
    with _served(theatre) as url:
        done = run_piped(theatre.folder, "echo hi\n", *STAGE)
        assert done.returncode == 1
        assert f"{url} uses this data folder and its own agent" in done.stderr.decode()


def test_a_server_may_start_while_a_chat_waits_for_its_user(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("echo alone")
    chat.wait_for("You said: echo alone").wait_for_prompt()
    with _served(theatre, "tests.chat.stage:agent") as url:
        assert [one["title"] for one in _conversations(url)] == ["echo alone"]
        chat.say("echo together")
        chat.wait_for("You said: echo together").wait_for_prompt()
        (only,) = _conversations(url)
        whole = httpx.get(f"{url}/api/conversations/{only['id']}", timeout=60).json()
        assert len(whole["messages"]) == 4


def test_two_chats_take_turns(theatre: Theatre) -> None:
    first, second = theatre.stage(), theatre.stage()
    first.say("half")
    first.wait_for("The second is cut")
    second.say("echo from the second")
    second.wait_for(f"Waiting for process {first.process.pid}, which has the data folder · ")
    theatre.gate(1)
    second.wait_for("You said: echo from the second").wait_for_prompt()
    first.wait_for("goes on.").wait_for_prompt()
    second.say("/list")
    second.wait_for("half")


def test_a_chat_that_waits_for_its_turn_can_be_stopped(theatre: Theatre) -> None:
    first, second = theatre.stage(), theatre.stage()
    first.say("half")
    first.wait_for("The second is cut")
    second.say("echo from the second")
    second.wait_for("Waiting for process").send(CTRL_C)
    second.wait_for("Stopped before the question was sent.").wait_for_prompt()


def test_an_address_that_nobody_answers_at_is_said(theatre: Theatre) -> None:
    """The lock is held, and what holds it is not there."""
    address = "http://127.0.0.1:9"
    folder = DataFolder(theatre.data, address=address)
    try:
        done = run_piped(Path(theatre.folder), "echo hi\n", *STAGE)
    finally:
        folder.close()
    assert done.returncode == 1
    assert f"cannot reach {address}" in done.stderr.decode()
