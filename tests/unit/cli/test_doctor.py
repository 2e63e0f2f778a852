"""`headrace doctor`: what is wrong, and how to mend it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import headrace
from headrace.cli.commands.doctor import data as doctor_data
from headrace.cli.commands.doctor import machine as doctor_machine
from headrace.cli.commands.doctor import package as doctor_package
from headrace.cli.commands.doctor import port as doctor_port
from headrace.cli.commands.doctor.machine import clock_finding
from headrace.cli.commands.doctor.package import extras_of, numbers
from headrace.cli.main import main
from headrace.cli.parser import build_parser
from headrace.providers import CATALOG
from headrace.server.storage import data_folder
from headrace.server.storage.data_folder import DataFolder, Holder, find_holder
from headrace.server.storage.migrations import MIGRATIONS
from tests.server.serving import scripted, served
from tests.unit.cli.folder import TURNS, change, kept

Capture = pytest.CaptureFixture[str]
KEY = "sk-CANARY-0123456789abcdef"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    for provider in CATALOG.values():
        for name in provider.key_variables:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("HEADRACE_MODEL", raising=False)


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return int(listener.getsockname()[1])


def examined(capsys: Capture, data: Path, port: int | None = None) -> tuple[int, dict[str, Any]]:
    """The exit code, and the findings by name; of several the worst."""
    argv = ["doctor", "--json", "--data", str(data), "--port", str(port or free_port())]
    status = main(argv)
    worst = ["ok", "note", "warning", "error"]
    rows = sorted(json.loads(capsys.readouterr().out), key=lambda row: worst.index(row["state"]))
    return status, {row["name"]: row for row in rows}


def test_a_new_machine_is_fine(capsys: Capture, tmp_path: Path) -> None:
    status, found = examined(capsys, tmp_path / "new")
    assert status == 0
    assert found["python"]["state"] == found["sqlite"]["state"] == "ok"
    assert found["data"]["state"] == "note"
    assert found["port"]["state"] == "ok"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("columns", [80, 40])
def test_it_fits_the_terminal_and_says_what_to_do(
    columns: int, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("HEADRACE_MODEL", "gpt-5")
    assert main(["doctor", "--data", str(tmp_path), "--port", str(free_port())]) == 1
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= columns
    assert "HEADRACE_MODEL is gpt-5" in " ".join(shown.split())
    assert shown.rstrip().endswith("the fix is below it")


# --- keys ----------------------------------------------------------------------------


def test_keys_are_counted_and_never_shown(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    for argv in ([], ["--json"]):
        main(["doctor", "--data", str(tmp_path), "--port", str(free_port()), *argv])
        shown = capsys.readouterr()
        assert "set for anthropic" in shown.out
        assert "CANARY" not in shown.out + shown.err


def test_a_key_with_a_line_break_is_broken_once(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
    assert main(["doctor", "--data", str(tmp_path), "--port", str(free_port())]) == 1
    shown = capsys.readouterr().out
    assert shown.count("OPENAI_API_KEY starts or ends with a space") == 1
    assert "CANARY" not in shown


# --- what is installed ----------------------------------------------------------------


def test_extras_are_read_off_the_package() -> None:
    told = extras_of(
        [
            "msgspec>=0.20",
            "aiohttp>=3.14; extra == 'http'",
            'aiohttp>=3.14; extra == "server"',
            "uvicorn; extra == 'server'",
        ]
    )
    assert told == {"http": {"aiohttp": "3.14"}, "server": {"aiohttp": "3.14", "uvicorn": ""}}
    assert set(extras_of(doctor_package._requirements())) >= {"http", "server", "xai"}


def test_versions_are_compared_as_numbers() -> None:
    assert numbers("3.9") < numbers("3.14") < numbers("3.14.1rc2")
    assert numbers("") < numbers("0.1")


def test_missing_and_old_packages_are_told_apart(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = {"aiohttp": "3.2", "starlette": None}
    told = ["aiohttp>=3.14; extra == 'http'", "starlette>=1.0; extra == 'server'"]
    monkeypatch.setattr(doctor_package, "_requirements", lambda: told)
    monkeypatch.setattr(doctor_package, "_version", versions.get)
    rows = list(doctor_package._extras())
    assert [(row.state, row.fix) for row in rows] == [
        ("error", "pip install --upgrade 'headrace[http]'"),
        ("note", "pip install --upgrade 'headrace[server]'"),
    ]


def test_it_needs_no_more_than_the_core(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "missing = ('aiohttp', 'starlette', 'uvicorn', 'rich', 'grpc')\n"
        "sys.modules.update(dict.fromkeys(missing))\n"
        "from headrace.cli.main import main\n"
        f"sys.exit(main(['doctor', '--data', {str(tmp_path)!r}, '--port', '{free_port()}']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_page_that_is_not_built_is_doubtful(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(headrace, "__file__", str(tmp_path / "__init__.py"))
    finding = doctor_package._page()
    assert finding.state == "warning"
    assert "make web" in finding.fix


# --- the machine -----------------------------------------------------------------------


def test_a_clock_of_long_ago_is_broken() -> None:
    assert clock_finding(0.0).state == "error"
    assert clock_finding(time.time()).state == "ok"


def test_a_terminal_without_unicode_is_doubtful(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "headrace", "doctor", "--data", str(tmp_path)]
    command += ["--port", str(free_port())]
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert b"PYTHONUTF8=1" in done.stdout, done.stderr
    assert b"+  python" in done.stdout


def test_an_sqlite_without_search_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_machine, "_has_fts5", lambda: False)
    finding = doctor_machine._sqlite()
    assert finding.state == "error"
    assert "without FTS5" in finding.message


# --- the data folder ---------------------------------------------------------------------


def test_a_folder_that_is_whole_is_fine(capsys: Capture, tmp_path: Path) -> None:
    data = tmp_path / "data"
    kept(data)
    status, found = examined(capsys, data)
    assert status == 0
    assert f"version {len(MIGRATIONS)} · WAL" in found["database"]["message"]
    assert found["integrity"]["state"] == "ok"
    assert "server" not in found


def test_a_server_is_named_and_asked_and_not_disturbed(capsys: Capture, tmp_path: Path) -> None:
    async def beside() -> tuple[int, dict[str, Any]]:
        async with served(scripted(*TURNS), tmp_path, address="") as server:
            path = tmp_path / "server.lock"
            told = {"pid": os.getpid(), "address": server.url}
            path.write_text(json.dumps(told))
            port = int(server.url.rpartition(":")[2])
            found = await asyncio.to_thread(examined, capsys, tmp_path, port)
            assert json.loads(path.read_text()) == told
            await server.ask("Still there?")
            return found

    status, found = asyncio.run(beside())
    assert status == 0, found
    assert found["server"]["message"].endswith("and answers")
    assert found["port"]["message"].endswith("the server of this data folder")


def test_a_server_that_does_not_answer_is_broken(capsys: Capture, tmp_path: Path) -> None:
    folder = DataFolder(tmp_path, address=f"http://127.0.0.1:{free_port()}")
    try:
        status, found = examined(capsys, tmp_path)
    finally:
        folder.close()
    assert status == 1
    assert f"kill {os.getpid()}" in found["server"]["fix"]
    assert "server" not in examined(capsys, tmp_path)[1]


def test_a_server_elsewhere_is_not_asked(capsys: Capture, tmp_path: Path) -> None:
    folder = DataFolder(tmp_path, address="http://203.0.113.7:8700")
    try:
        assert "not checked" in examined(capsys, tmp_path)[1]["server"]["message"]
    finally:
        folder.close()


def test_without_a_list_of_locks_the_process_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_folder, "_PROC_LOCKS", tmp_path / "none")
    folder = DataFolder(tmp_path, address="")
    assert find_holder(tmp_path) == Holder(os.getpid())
    folder.close()
    assert find_holder(tmp_path) is None
    (tmp_path / "server.lock").write_text("?")
    assert find_holder(tmp_path) is None


def test_a_damaged_database_is_broken(capsys: Capture, tmp_path: Path) -> None:
    data = tmp_path / "data"
    kept(data)
    change(data, "PRAGMA wal_checkpoint(TRUNCATE)")
    file = data / "headrace.db"
    with file.open("r+b") as out:
        out.seek(3 * 4096)
        out.write(os.urandom(4096 * 4))
    status, found = examined(capsys, data)
    assert status == 1
    assert "restore" in (found.get("integrity") or found["database"])["fix"]
    for beside in data.glob("*-*"):
        beside.unlink()
    file.write_bytes(b"no database at all" * 100)
    status, found = examined(capsys, data)
    assert status == 1
    assert "is not a database" in found["database"]["message"]


def test_data_of_the_future_is_broken(capsys: Capture, tmp_path: Path) -> None:
    data = tmp_path / "data"
    kept(data)
    change(data, f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    status, found = examined(capsys, data)
    assert status == 1
    assert "update it" in found["database"]["fix"]


def test_answers_that_broke_off_are_told(capsys: Capture, tmp_path: Path) -> None:
    data = tmp_path / "data"
    kept(data)
    change(data, "UPDATE runs SET state = 'live'")
    status, found = examined(capsys, data)
    assert status == 0
    assert found["answers"]["message"].startswith("1 answer broke off")


def test_a_folder_that_others_can_read_is_doubtful(capsys: Capture, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    status, found = examined(capsys, tmp_path)
    assert status == 0
    assert found["data"]["fix"] == f"chmod 700 {tmp_path}"


def test_a_file_in_its_place_is_broken(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    status, found = examined(capsys, tmp_path / "data")
    assert status == 1
    assert "is not a folder" in found["data"]["message"]


class Usage(NamedTuple):
    free: int


@pytest.mark.parametrize(("free", "state"), [(10, "error"), (10**8, "warning"), (10**10, "ok")])
def test_a_full_disk_is_said(
    free: int, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(free))
    assert doctor_data._space(tmp_path / "not" / "there").state == state


# --- the port ------------------------------------------------------------------------------


def test_a_port_that_another_program_has_names_it(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        finding = doctor_port.port_finding(taken.getsockname()[1], tmp_path)
    assert finding.state == "error"
    if Path("/proc/net/tcp").exists():
        assert f"process {os.getpid()}" in finding.message


def test_a_port_of_another_headrace_is_doubtful(tmp_path: Path) -> None:
    async def beside() -> str:
        async with served(scripted(*TURNS), tmp_path / "other") as server:
            port = int(server.url.rpartition(":")[2])
            finding = await asyncio.to_thread(doctor_port.port_finding, port, tmp_path)
            return finding.state

    assert asyncio.run(beside()) == "warning"


def test_what_is_no_port_is_said(tmp_path: Path) -> None:
    assert doctor_port.port_finding(70_000, tmp_path).state == "error"


def test_help_teaches_with_examples(capsys: Capture) -> None:
    for command in ("replay", "record", "inspect", "doctor"):
        assert main([command, "--help"]) == 0
        assert "examples:" in capsys.readouterr().out
    assert build_parser().parse_args(["doctor"]).port == 8700
