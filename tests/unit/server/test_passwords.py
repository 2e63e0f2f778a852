"""Passwords are hashed with Argon2, in a bounded number of threads."""

from __future__ import annotations

import asyncio

import pytest

from headrace.server.accounts.api import PasswordChange, SignInRequest
from headrace.server.accounts.passwords import Passwords, hash_password
from headrace.server.http_error import HTTPError


def test_a_hash_costs_what_is_recommended_and_is_different_each_time() -> None:
    kind, _, costs = hash_password("correct horse").split("$")[1:4]
    assert kind == "argon2id"
    memory, rounds, _ = (int(one.partition("=")[2]) for one in costs.split(","))
    # At least what OWASP asks for.
    assert memory >= 19 * 1024
    assert rounds >= 2
    assert hash_password("correct horse") != hash_password("correct horse")


def test_the_same_letters_typed_differently_are_the_same_password() -> None:
    async def main() -> None:
        passwords = Passwords()
        composed, separate = "caf\u00e9 au lait", "cafe\u0301 au lait"
        assert await passwords.is_right(await passwords.hash(composed), separate)
        assert not await passwords.is_right("not a hash", composed)
        assert not await passwords.is_right(None, composed)
        passwords.close()

    asyncio.run(main())


def test_too_many_at_once_are_told_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.server.accounts.passwords._MAX_WAITING", 2)

    async def main() -> None:
        passwords = Passwords()
        results = await asyncio.gather(
            *(passwords.hash("correct horse") for _ in range(4)), return_exceptions=True
        )
        refused = [one for one in results if isinstance(one, HTTPError)]
        assert [one.status for one in refused] == [503, 503]
        # There is space again.
        assert (await passwords.hash("correct horse")).startswith("$argon2id$")
        passwords.close()

    asyncio.run(main())


def test_a_request_with_a_password_does_not_show_it() -> None:
    asked = (SignInRequest(user="anna", password="hunter2"), PasswordChange(old="a7", new="b7"))
    for one in asked:
        for text in (repr(one), str(one), f"{one}"):
            assert "hunter2" not in text
            assert "7" not in text
