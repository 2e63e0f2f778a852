"""`headrace requests` against a real server whose answers wait."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.cli.main import main
from tests.server.server_process import ServerProcess, serve

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ServerProcess]:
    with serve(tmp_path / "data", "tests.server.resumable_agent:agent") as server:
        yield server


def ask(server: ServerProcess) -> str:
    """Ask a question whose answer waits for an approval; return the id of the answer."""
    request = server.http.build_request("POST", "/api/chat", json={"message": "Go."})
    response = server.http.send(request, stream=True)
    for _ in range(400):
        if server.get("/api/requests")["runs"]:
            return response.headers["x-event-id"]
        time.sleep(0.05)
    raise AssertionError("nothing waits")


def requests(capsys: Capture, *options: str) -> tuple[int, str, str]:
    status = main(["requests", *options])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_what_waits_is_listed_and_answered(
    capsys: Capture, site: ServerProcess, tmp_path: Path
) -> None:
    data = ("--data", str(tmp_path / "data"))
    assert requests(capsys, *data) == (0, "", "headrace requests: nothing waits for an answer\n")
    ask(site)
    status, out, _ = requests(capsys, *data)
    assert status == 0
    request_id, kind, call = out.split(None, 2)
    assert (kind, call.strip()) == ("approval", 'pay({"amount":5})')
    status, out, _ = requests(capsys, "--url", site.url, "--json")
    row: dict[str, Any] = json.loads(out)
    assert row["request_id"] == request_id
    answered = requests(capsys, *data, "--allow", request_id[:12], "--value", '{"amount": 4}')
    assert answered == (0, 'accepted: pay({"amount":5})\n', "")
    for _ in range(400):
        if not site.get("/api/requests")["runs"]:
            break
        time.sleep(0.05)
    status, _, err = requests(capsys, *data, "--deny", request_id)
    assert (status, err) == (
        1,
        f"headrace requests: no request has an id that begins with {request_id}\n",
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--value", "3"), "--value, --reason and --always need --allow or --deny"),
        (("--allow", "req_", "--value", "{"), "--value is not JSON"),
    ],
)
def test_a_wrong_command_line_changes_nothing(
    capsys: Capture, site: ServerProcess, tmp_path: Path, options: tuple[str, ...], problem: str
) -> None:
    ask(site)
    status, _, err = requests(capsys, "--data", str(tmp_path / "data"), *options)
    assert status == 2
    assert problem in err
    assert site.get("/api/requests")["runs"]


def test_without_a_server_the_user_is_told_to_start_one(capsys: Capture, tmp_path: Path) -> None:
    status, _, err = requests(capsys, "--data", str(tmp_path))
    assert status == 2
    assert "start one with `headrace serve`" in err
    status, _, err = requests(capsys, "--url", "http://127.0.0.1:9")
    assert status == 1
