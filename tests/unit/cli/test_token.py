"""`headrace token`: made once, listed without the token, revoked by id."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headrace.cli.main import main
from headrace.server.service import now_ms
from headrace.server.storage.access_tokens import AccessTokens
from headrace.server.storage.sqlite.database import Database

Capture = pytest.CaptureFixture[str]


def printed(capsys: Capture, data: Path, *words: str) -> str:
    assert main(["token", *words, "--data", str(data)]) == 0
    return capsys.readouterr().out.strip()


def owner_of(data: Path, token: str) -> Any:
    database = Database(data / "headrace.db")
    try:
        user = asyncio.run(AccessTokens(database).find_user(token, now_ms()))
        return None if user is None else user.owner
    finally:
        database.close()


def test_a_token_is_made_listed_and_revoked(capsys: Capture, tmp_path: Path) -> None:
    data = tmp_path / "data"
    token = printed(capsys, data, "create", "anna", "--name", "laptop")
    printed(capsys, data, "create", "bert")
    assert owner_of(data, token) == "anna"
    first, second = printed(capsys, data, "list").splitlines()
    assert first.endswith("anna  (used " + first.split()[1] + ")  laptop")
    assert second.endswith("bert  (never used)")
    assert token not in first
    assert printed(capsys, data, "revoke", first.split()[0]) == ""
    assert owner_of(data, token) is None
    assert printed(capsys, data, "list") == second


def test_the_name_of_a_user_is_written_as_accounts_are(capsys: Capture, tmp_path: Path) -> None:
    token = printed(capsys, tmp_path, "create", "Rene\u0301")
    assert owner_of(tmp_path, token) == "Ren\u00e9"
    for name in ("", " anna", "(deleted)", "an\nna"):
        assert main(["token", "create", name, "--data", str(tmp_path)]) == 1
        assert "a user name has 1 to 100 printable characters" in capsys.readouterr().err


def test_a_token_can_expire_and_be_rotated(capsys: Capture, tmp_path: Path) -> None:
    old = printed(capsys, tmp_path, "create", "anna", "--expires", "30d")
    (line,) = printed(capsys, tmp_path, "list").splitlines()
    assert ", never used)" in line
    assert "(expires " in line
    new = printed(capsys, tmp_path, "rotate", line.split()[0], "--grace", "0s")
    assert (owner_of(tmp_path, old), owner_of(tmp_path, new)) == (None, "anna")
    first, second = printed(capsys, tmp_path, "list").splitlines()
    assert "(expired " in first
    assert "(expires " in second
    third = printed(capsys, tmp_path, "rotate", second.split()[0])
    # For a day both are valid.
    assert (owner_of(tmp_path, new), owner_of(tmp_path, third)) == ("anna", "anna")
    assert main(["token", "rotate", "none", "--data", str(tmp_path)]) == 1
    assert "no token none" in capsys.readouterr().err


@pytest.mark.parametrize("time", ["30", "d", "1w", "-1d", "1.5h", ""])
def test_a_time_that_cannot_be_read_is_refused(time: str, capsys: Capture, tmp_path: Path) -> None:
    assert main(["token", "create", "anna", f"--expires={time}", "--data", str(tmp_path)]) == 2
    assert "expected a time such as 12h or 30d" in capsys.readouterr().err


def test_a_token_that_is_not_there_cannot_be_revoked(capsys: Capture, tmp_path: Path) -> None:
    assert main(["token", "revoke", "none", "--data", str(tmp_path)]) == 1
    assert "no token none" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["create"], ["revoke"], ["anna"]])
def test_a_wrong_command_line_is_said(words: list[str], capsys: Capture) -> None:
    assert main(["token", *words]) == 2
    assert "try: headrace token" in capsys.readouterr().err


def test_the_folder_is_its_owners_alone(capsys: Capture, tmp_path: Path) -> None:
    printed(capsys, tmp_path / "data", "create", "anna")
    assert (tmp_path / "data").stat().st_mode & 0o077 == 0
