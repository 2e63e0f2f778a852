"""People sign in with a name and a password, see where they are signed in, and have settings."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from headrace.engine import Agent
from headrace.rehearsal.script import say, stall, turn
from headrace.rehearsal.transport import ScriptedTransport
from tests.server.accounts import (
    PASSWORD,
    add_user,
    call,
    open_to_users,
    password_hash,
    send_sign_in,
    service_of,
    sign_in,
)
from tests.server.serving import scripted, served
from tests.server.tokens import create_token
from tests.server.users import FROM_PAGE, client_of


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with open_to_users(tmp_path) as client:
        add_user(client, "anna")
        add_user(client, "boss", "operator")
        yield client


def test_nobody_is_told_how_to_sign_in(client: TestClient) -> None:
    response = client.get("/api/account")
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (401, "no_token")
    assert error["sign_in"] == ["password", "token"]


def test_the_account_says_who_one_is_and_how_the_request_says_so(client: TestClient) -> None:
    cookie = client.get("/api/account", headers=sign_in(client, "boss")).json()
    assert cookie == {"user": "boss", "role": "operator", "carrier": "cookie", "settings": {}}
    token = create_token(service_of(client), "boss")
    bearer = {"authorization": f"Bearer {token}"}
    assert client.get("/api/account", headers=bearer).json() == {
        "user": "boss",
        "role": "user",
        "carrier": "token",
        "settings": {},
    }


def test_without_users_the_user_is_local_and_has_settings_too(tmp_path: Path) -> None:
    with client_of(scripted(turn(say("x"))), tmp_path) as client:
        changed = client.patch("/api/account/settings", json={"theme": "dark"})
        assert (changed.status_code, changed.json()) == (200, {"theme": "dark"})
        assert client.get("/api/account").json() == {
            "user": "local",
            "role": "operator",
            "carrier": "none",
            "settings": {"theme": "dark"},
        }
        assert client.get("/api/sign-ins").json() == {"items": []}
        refused = client.post("/api/sign-in", json={"user": "x", "password": "y"})
        assert refused.json()["error"]["code"] == "no_sign_in"


def test_a_sign_in_sets_a_cookie_that_scripts_and_other_sites_do_not_get(
    client: TestClient,
) -> None:
    response = send_sign_in(client, "anna")
    assert response.json()["user"] == "anna"
    name, *attributes = response.headers["set-cookie"].split("; ")
    assert name.startswith("headrace=hrs_")
    assert set(attributes) == {"Path=/", "Max-Age=7776000", "HttpOnly", "SameSite=Strict"}
    remote = {"host": "chat.example.org", "origin": "https://chat.example.org"}
    with open_to_users(service_of(client).settings.data / "more", hosts=("chat.example.org",)) as (
        other
    ):
        add_user(other, "anna")
        sent = send_sign_in(other, "anna", **remote).headers["set-cookie"].split("; ")
        assert sent[0].startswith("__Host-headrace=hrs_")
        assert {"Path=/", "Secure", "HttpOnly", "SameSite=Strict"} <= set(sent)
        plain = send_sign_in(other, "anna", **{**remote, "origin": "http://chat.example.org"})
        assert plain.json()["error"]["code"] == "needs_https"
        assert "set-cookie" not in plain.headers


def test_only_the_hash_of_the_cookie_and_of_the_password_are_stored(
    client: TestClient, tmp_path: Path
) -> None:
    cookie = sign_in(client, "anna")["cookie"].partition("=")[2]
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("headrace.db*"))
    assert b"anna" in kept
    assert cookie.encode() not in kept
    assert PASSWORD.encode() not in kept


@pytest.mark.parametrize(
    ("name", "password"),
    [("anna", "wrong"), ("nobody", PASSWORD), ("", ""), ("an\0na", PASSWORD), ("dora", PASSWORD)],
)
def test_whatever_is_wrong_the_answer_is_the_same(
    client: TestClient, name: str, password: str
) -> None:
    add_user(client, "dora")
    call(client, service_of(client).accounts.set_disabled, "dora", True)
    response = send_sign_in(client, name, password)
    error = response.json()["error"]
    del error["request_id"]
    assert (response.status_code, error) == (
        401,
        {"code": "sign_in_failed", "message": "the name or the password is wrong"},
    )
    assert "set-cookie" not in response.headers


def test_a_password_is_checked_whether_or_not_there_is_such_a_user(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_user(client, "dora")
    call(client, service_of(client).accounts.set_disabled, "dora", True)
    passwords, checked = service_of(client).sign_ins._passwords, []
    verify = passwords._verify

    def count(password_hash: str, password: str) -> bool:
        checked.append(password_hash.split("$")[1:4])
        return verify(password_hash, password)

    monkeypatch.setattr(passwords, "_verify", count)
    for name in ("anna", "nobody", "dora"):
        send_sign_in(client, name, "wrong password")
    # The same work: three checks of hashes with the same parameters.
    assert len(checked) == 3
    assert checked[0] == checked[1] == checked[2]


def test_each_sign_in_has_a_value_of_its_own_and_replaces_the_one_before(
    client: TestClient,
) -> None:
    first, second = sign_in(client, "anna"), sign_in(client, "anna")
    assert first["cookie"] != second["cookie"]
    again = client.post("/api/sign-in", json={"user": "anna", "password": PASSWORD}, headers=first)
    client.cookies.clear()
    assert again.headers["set-cookie"].partition(";")[0] not in (first["cookie"], second["cookie"])
    assert client.get("/api/account", headers=first).status_code == 401
    assert client.get("/api/account", headers=second).status_code == 200


def test_sign_ins_are_listed_and_ended(client: TestClient) -> None:
    here = sign_in(client, "anna", **{"user-agent": "Firefox\x7f" + "x" * 300})
    there = sign_in(client, "anna", **{"user-agent": "Safari"})
    items = client.get("/api/sign-ins", headers=here).json()["items"]
    assert {one["client"][:7] for one in items} == {"Firefox", "Safari"}
    assert all(len(one["client"]) <= 200 and one["client"].isprintable() for one in items)
    (current,) = [one for one in items if one["is_current"]]
    assert current["client"].startswith("Firefox")
    (other,) = [one for one in items if not one["is_current"]]
    assert set(other) == {"id", "created_ms", "last_used_ms", "client", "is_current"}
    path = f"/api/sign-ins/{other['id']}"
    assert client.delete(path, headers=here).status_code == 204
    assert client.delete(path, headers=here).status_code == 404
    assert client.get("/api/account", headers=there).status_code == 401
    ended = client.post("/api/sign-out", headers=here)
    assert ended.status_code == 204
    assert "Max-Age=0" in ended.headers["set-cookie"]
    assert client.get("/api/account", headers=here).status_code == 401


def test_a_new_password_ends_all_other_sign_ins(client: TestClient) -> None:
    here, there = sign_in(client, "anna"), sign_in(client, "anna")

    def change(old: str, new: str) -> Any:
        body = {"old": old, "new": new}
        return client.post("/api/account/password", json=body, headers=here)

    assert change("wrong", "another good one").json()["error"]["code"] == "wrong_password"
    for bad in ("short", "aaaaaaaaaaaaaaa"):
        assert change(PASSWORD, bad).json()["error"]["code"] == "bad_password"
    assert change(PASSWORD, "another good one").status_code == 204
    assert client.get("/api/account", headers=here).status_code == 200
    assert client.get("/api/account", headers=there).status_code == 401
    assert send_sign_in(client, "anna").status_code == 401
    assert send_sign_in(client, "anna", "another good one").status_code == 200


def test_a_sign_in_ends_if_it_is_unused_or_too_old(tmp_path: Path) -> None:
    now_s = 1_000_000.0
    with open_to_users(tmp_path, sign_in_idle_s=100.0, sign_in_max_s=250.0) as client:
        identity = service_of(client).identity
        identity._clock = service_of(client).sign_ins._clock = lambda: int(now_s * 1000)
        add_user(client, "anna")
        headers = sign_in(client, "anna")
        for step in (90, 90, 60):
            now_s += step
            assert client.get("/api/account", headers=headers).status_code == 200
        now_s += 20
        assert client.get("/api/account", headers=headers).status_code == 401
        headers = sign_in(client, "anna")
        now_s += 101
        assert client.get("/api/account", headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"theme": "blue"}, "bad_field"),
        ({"unknown": 1}, "bad_field"),
        ({"effort": "enormous"}, "bad_field"),
        ({"effort": "high"}, "unknown_effort"),
        ({"model": "m" * 201}, "bad_field"),
        ({"instructions": "i" * 8_001}, "bad_field"),
        ({"send_key": "space"}, "bad_field"),
        ({"language": "de"}, "bad_field"),
        ([], "bad_field"),
    ],
)
def test_a_setting_that_is_not_valid_changes_nothing(tmp_path: Path, body: Any, code: str) -> None:
    with client_of(scripted(turn(say("x"))), tmp_path, efforts=("low",)) as client:
        client.patch("/api/account/settings", json={"theme": "light"})
        refused = client.patch("/api/account/settings", json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, code)
        assert client.get("/api/account").json()["settings"] == {"theme": "light"}


def test_every_setting_is_kept_and_removed_with_null(tmp_path: Path) -> None:
    values = {
        "theme": "system",
        "effort": "low",
        "model": "default",
        "instructions": "Be brief.",
        "send_key": "mod_enter",
        "language": "zh",
    }
    with client_of(scripted(turn(say("x"))), tmp_path) as client:
        assert client.patch("/api/account/settings", json=values).json() == values
        assert client.get("/api/account").json()["settings"] == values
        gone = client.patch("/api/account/settings", json=dict.fromkeys(values))
        assert gone.json() == {}


def test_instructions_reach_the_model_and_stay_with_the_run(tmp_path: Path) -> None:
    transport = ScriptedTransport(lambda heard: turn(say("Yes.")), dialect="chat")
    agent = Agent(
        "openai-chat:test", transport=transport, api_key="k", instructions="You are a clerk."
    )
    with client_of(agent, tmp_path) as client:
        client.patch("/api/account/settings", json={"instructions": "Answer in rhymes."})
        client.post("/api/chat", json={"message": "Hello."})
        client.patch("/api/account/settings", json={"instructions": None})
        client.post("/api/chat", json={"message": "Hello."})
    first, second = (str(request["messages"][0]["content"]) for request in transport.requests)
    assert first == "You are a clerk.\n\nAnswer in rhymes."
    assert second == "You are a clerk."
    with closing(sqlite3.connect(tmp_path / "headrace.db")) as database:
        rows = database.execute("SELECT request FROM runs ORDER BY created_ms").fetchall()
    # Whoever continues the run reads them there.
    assert [("Answer in rhymes." in request) for (request,) in rows] == [True, False]


def test_open_streams_end_with_the_sign_in(tmp_path: Path) -> None:
    async def main() -> None:
        agent = scripted(turn(say("Hello."), stall()))
        async with served(agent, tmp_path, needs_sign_in=True) as server:
            accounts = server.service.accounts
            await accounts.add("anna", "user", password_hash(), 1)
            page = {**FROM_PAGE, "origin": server.url}

            async def enter() -> dict[str, str]:
                body = {"user": "anna", "password": PASSWORD}
                url = f"{server.url}/api/sign-in"
                async with server.http.post(url, json=body, headers=page) as response:
                    assert response.status == 200
                    cookie = response.headers["set-cookie"].partition(";")[0]
                server.http.cookie_jar.clear()
                return {**page, "cookie": cookie}

            here, there = await enter(), await enter()
            async with server.open("Go.", headers=here) as stream:
                assert stream.status == 200
                await stream.content.readline()
                url = f"{server.url}/api/sign-ins"
                async with server.http.get(url, headers=there) as response:
                    items = (await response.json())["items"]
                (other,) = [one["id"] for one in items if not one["is_current"]]
                async with server.http.delete(f"{url}/{other}", headers=there) as response:
                    assert response.status == 204
                async with asyncio.timeout(30):
                    await stream.content.read()
            assert server.service.runs.count == 1

    asyncio.run(main())
