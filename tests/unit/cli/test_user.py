"""`headrace user` adds, lists, disables and resets accounts."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest

from headrace.cli.main import main
from headrace.server.accounts.passwords import Passwords
from headrace.server.storage.accounts import Account, SQLiteAccounts
from headrace.server.storage.sqlite.database import Database

Capture = pytest.CaptureFixture[str]


def printed(capsys: Capture, data: Path, *words: str) -> str:
    assert main(["user", *words, "--data", str(data)]) == 0, capsys.readouterr().err
    return capsys.readouterr().out.strip()


def refused(capsys: Capture, data: Path, *words: str) -> str:
    assert main(["user", *words, "--data", str(data)]) == 1
    return capsys.readouterr().err


def find(data: Path, name: str) -> Account | None:
    database = Database(data / "headrace.db")
    try:
        return asyncio.run(SQLiteAccounts(database).find(name))
    finally:
        database.close()


def is_right(data: Path, name: str, password: str) -> bool:
    account = find(data, name)
    assert account is not None

    async def check() -> bool:
        passwords = Passwords()
        try:
            return await passwords.is_right(account.password_hash, password)
        finally:
            passwords.close()

    return asyncio.run(check())


def give(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(line))


def test_a_user_is_added_with_a_password_of_standard_input(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, "correct horse battery\n")
    assert printed(capsys, tmp_path, "add", "anna") == ""
    assert is_right(tmp_path, "anna", "correct horse battery")
    assert not is_right(tmp_path, "anna", "correct horse battery\n")
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert b"correct horse" not in kept
    assert "there is a user anna already" in refused(capsys, tmp_path, "add", "anna", "--generate")


def test_a_password_can_be_made_up_and_is_printed_once(capsys: Capture, tmp_path: Path) -> None:
    first = printed(capsys, tmp_path, "add", "boss", "--operator", "--generate")
    assert len(first) >= 20
    assert is_right(tmp_path, "boss", first)
    second = printed(capsys, tmp_path, "reset", "boss", "--generate")
    assert first != second
    assert not is_right(tmp_path, "boss", first)
    assert is_right(tmp_path, "boss", second)
    listed = printed(capsys, tmp_path, "list")
    assert listed.endswith("boss  operator")
    assert second not in listed


def test_a_user_is_disabled_and_enabled(capsys: Capture, tmp_path: Path) -> None:
    printed(capsys, tmp_path, "add", "anna", "--generate")
    printed(capsys, tmp_path, "disable", "anna")
    assert printed(capsys, tmp_path, "list").endswith("anna  disabled")
    printed(capsys, tmp_path, "enable", "anna")
    assert printed(capsys, tmp_path, "list").endswith("anna")


@pytest.mark.parametrize("action", ["disable", "enable", "reset"])
def test_a_user_who_is_not_there_is_said(action: str, capsys: Capture, tmp_path: Path) -> None:
    assert "there is no user nobody" in refused(capsys, tmp_path, action, "nobody")


@pytest.mark.parametrize(
    ("password", "problem"),
    [("short", "10 to 1000 characters"), ("a" * 12, "too easy"), ("Angelica123", "too easy")],
)
def test_a_bad_password_is_refused(
    password: str, problem: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, password)
    error = refused(capsys, tmp_path, "add", "angelica123")
    assert problem in error
    assert password not in error


@pytest.mark.parametrize("name", ["", " anna", "an\nna", "a" * 101])
def test_a_bad_name_is_refused(name: str, capsys: Capture, tmp_path: Path) -> None:
    assert "a user name has" in refused(capsys, tmp_path, "add", name, "--generate")
