"""`headrace token`: made once, listed without the token, revoked by id."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headrace.cli.main import main
from headrace.server.storage.access_tokens import AccessTokens
from headrace.server.storage.sqlite.database import Database

Capture = pytest.CaptureFixture[str]


def printed(capsys: Capture, data: Path, *words: str) -> str:
    assert main(["token", *words, "--data", str(data)]) == 0
    return capsys.readouterr().out.strip()


def owner_of(data: Path, token: str) -> Any:
    database = Database(data / "headrace.db")
    try:
        user = asyncio.run(AccessTokens(database).find_user(token))
        return None if user is None else user.owner
    finally:
        database.close()


def test_a_token_is_made_listed_and_revoked(capsys: Capture, tmp_path: Path) -> None:
    data = tmp_path / "data"
    token = printed(capsys, data, "create", "anna", "--name", "laptop")
    printed(capsys, data, "create", "bert")
    assert owner_of(data, token) == "anna"
    first, second = printed(capsys, data, "list").splitlines()
    assert first.endswith("anna  laptop")
    assert second.endswith("bert")
    assert token not in first
    assert printed(capsys, data, "revoke", first.split()[0]) == ""
    assert owner_of(data, token) is None
    assert printed(capsys, data, "list") == second


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
