"""T20: the cookie of a sign-in serves its owner alone: not the page of another site or a sibling,
not somebody who guesses passwords, plants a cookie, frames the page, or has a token."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from starlette.testclient import TestClient

from headrace.rehearsal.script import say, turn
from headrace.server.accounts import sign_ins
from headrace.server.accounts.cookie import COOKIE, LOOPBACK_COOKIE
from headrace.server.storage.accounts.account import MAX_SIGN_INS
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
from tests.server.operation import CLIENT_NAMES, RUN_IDS, every
from tests.server.serving import scripted, served
from tests.server.users import FROM_PAGE, USER_HEADER, Carrier, User, document, guarded

NOBODY = {"event_id": "msg_x", "conversation_id": "conv_x", **RUN_IDS, **CLIENT_NAMES}
FOREIGN: dict[str, dict[str, str]] = {
    "another site": {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
    "a sibling": {"origin": "https://evil.127.0.0.1", "sec-fetch-site": "same-site"},
    "another port": {"origin": "http://127.0.0.1:9999", "sec-fetch-site": "same-site"},
    "a sibling that says nothing else": {"sec-fetch-site": "same-site"},
    "a link of another site": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    "no origin": {"origin": "null"},
    "an old browser": {"origin": "https://evil.example"},
}
PERSONAL = ("/api/sign-ins", "/api/account/password", "/api/sign-out")
"""What an access token may not do."""
APP = "https://app.example.org"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with open_to_users(tmp_path / "one") as client:
        add_user(client, "anna")
        yield client


@pytest.fixture
def open_client(tmp_path: Path) -> Iterator[TestClient]:
    """A client of a server that known carriers of all kinds may use."""
    with guarded(tmp_path / "two", asks_per_minute=10_000, origins=(APP,)) as client:
        yield client


def decisions(
    client: TestClient, headers: dict[str, str], *, without: tuple[str, ...] = ()
) -> dict[tuple[str, str], int]:
    """The decisions of all routes, and of those that are not in the document."""
    places = [*every(document(client), NOBODY), ("get", "/metrics", None)]
    return {
        (verb, path): client.request(verb.upper(), path, json=body, headers=headers).status_code
        for verb, path, body in places
        if path not in without
    }


def test_t3_the_same_right_has_the_same_decision_with_every_carrier(
    open_client: TestClient,
) -> None:
    # Signing out would change what comes after it.
    left_out = ("/api/sign-out", "/api/sign-in", "/api/account/password")
    carriers: tuple[Carrier, ...] = ("token", "cookie", "proxy")
    told = {
        carrier: decisions(
            open_client, User(open_client, carrier, carrier).headers, without=left_out
        )
        for carrier in carriers
    }
    assert 401 not in set(told["cookie"].values())
    assert told["cookie"] == told["proxy"]
    differences = {key for key in told["token"] if told["token"][key] != told["cookie"][key]}
    assert all(path.startswith(PERSONAL) for _, path in differences)
    assert {told["token"][key] for key in differences} == {403}


@pytest.mark.parametrize("kind", ["nothing", "wrong cookie", "proxy from elsewhere", "wrong name"])
def test_t3_who_is_not_known_is_refused_by_every_route(
    client: TestClient, open_client: TestClient, kind: str
) -> None:
    anna = User(open_client, "anna", "cookie")
    headers = {
        "nothing": {},
        "wrong cookie": {**FROM_PAGE, "cookie": f"{LOOPBACK_COOKIE}={anna.cookie[:-1]}x"},
        # The client of the other fixture is no trusted proxy.
        "proxy from elsewhere": {USER_HEADER: "anna"},
        # At this host name, the cookie of other hosts does not count.
        "wrong name": {**FROM_PAGE, "cookie": f"{COOKIE}={anna.cookie}"},
    }[kind]
    asked = client if kind == "proxy from elsewhere" else open_client
    assert set(decisions(asked, headers).values()) == {401}


@pytest.mark.parametrize("kind", FOREIGN)
def test_t20_a_cookie_that_another_origin_makes_the_browser_send_is_none(
    open_client: TestClient, kind: str
) -> None:
    anna = User(open_client, "anna", "cookie")
    headers = {"cookie": anna.headers["cookie"], **FOREIGN[kind]}
    told = decisions(open_client, headers)
    # Reads are those of nobody; what changes something is refused before.
    assert {status for (verb, _), status in told.items() if verb == "get"} == {401}
    assert {status for (verb, _), status in told.items() if verb != "get"} == {403}
    assert anna.send("get", "/api/account").status_code == 200


@pytest.mark.parametrize("carrier", ["cookie", "proxy"])
def test_t20_an_allowed_origin_gets_nothing_with_a_cookie(
    open_client: TestClient, carrier: Carrier
) -> None:
    anna = User(open_client, "anna", carrier)
    allowed = {"origin": APP, "sec-fetch-site": "cross-site"}
    told = decisions(open_client, {**anna.headers, **allowed}, without=("/api/sign-in",))
    assert set(told.values()) == {401}
    bearer = {"authorization": f"Bearer {anna.token}"}
    both = open_client.get("/api/account", headers={**anna.headers, **allowed, **bearer})
    assert (both.status_code, both.json()["carrier"]) == (200, "token")
    assert "access-control-allow-credentials" not in both.headers
    entered = open_client.post(
        "/api/sign-in", json={"user": "anna", "password": PASSWORD}, headers=allowed
    )
    assert entered.status_code == 403
    assert "set-cookie" not in entered.headers


def test_t20_a_change_needs_a_word_of_the_browser(client: TestClient) -> None:
    cookie = {"cookie": sign_in(client, "anna")["cookie"]}
    assert client.get("/api/account", headers=cookie).status_code == 200
    for headers in ({}, {"sec-fetch-site": "none"}):
        told = client.post("/api/chat", json={"message": "x"}, headers={**cookie, **headers})
        assert told.status_code == 401
    for headers in ({"origin": "http://127.0.0.1"}, {"sec-fetch-site": "same-origin"}):
        told = client.post("/api/chat", json={"message": "x"}, headers={**cookie, **headers})
        assert told.status_code == 200


def test_t20_a_websocket_needs_the_origin_of_the_page(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(scripted(turn(say("x"))), tmp_path, needs_sign_in=True) as server:
            await server.service.accounts.add("anna", "user", password_hash(), 1)
            page, url = {"origin": server.url}, f"{server.url}/v1/responses"
            body = {"user": "anna", "password": PASSWORD}
            async with server.http.post(
                f"{server.url}/api/sign-in", json=body, headers=page
            ) as response:
                cookie = {"cookie": response.headers["set-cookie"].partition(";")[0]}
            server.http.cookie_jar.clear()
            async with server.http.ws_connect(url, headers={**cookie, **page}):
                pass
            for headers in ({}, *FOREIGN.values()):
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await server.http.ws_connect(url, headers={**cookie, **headers})
                assert refused.value.status in (401, 403), headers

    asyncio.run(main())


def test_t20_a_token_wins_over_a_cookie_and_a_wrong_one_is_not_forgiven(
    open_client: TestClient,
) -> None:
    anna, bert = User(open_client, "anna", "cookie"), User(open_client, "bert", "token")
    both = open_client.get("/api/account", headers={**anna.headers, **bert.headers})
    assert (both.json()["user"], both.json()["carrier"]) == ("bert", "token")
    wrong = {**anna.headers, "authorization": "Bearer hr_wrong"}
    assert open_client.get("/api/account", headers=wrong).status_code == 401


def test_t20_two_cookies_of_the_same_name_are_none(open_client: TestClient) -> None:
    anna, eve = User(open_client, "anna", "cookie"), User(open_client, "eve", "cookie")
    for first, second in ((anna, eve), (eve, anna)):
        planted = f"{LOOPBACK_COOKIE}={first.cookie}; {LOOPBACK_COOKIE}={second.cookie}"
        told = open_client.get("/api/account", headers={**FROM_PAGE, "cookie": planted})
        assert told.status_code == 401


def test_t20_a_planted_cookie_is_not_the_one_of_the_sign_in(client: TestClient) -> None:
    for planted in ("hrs_planted", "hrs_" + "a" * 43):
        given = {**FROM_PAGE, "cookie": f"{LOOPBACK_COOKIE}={planted}"}
        body = {"user": "anna", "password": PASSWORD}
        response = client.post("/api/sign-in", json=body, headers=given)
        client.cookies.clear()
        assert response.status_code == 200
        assert planted not in response.headers["set-cookie"]
        assert client.get("/api/account", headers=given).status_code == 401


def test_t20_guessing_is_limited_by_name_and_who_is_signed_in_stays_so(
    client: TestClient,
) -> None:
    timer = [0.0]
    service_of(client).sign_ins._timer = lambda: timer[0]
    headers = sign_in(client, "anna")
    add_user(client, "bert")
    limit = sign_ins.FOR_NAME.at_once
    tried = [send_sign_in(client, "anna", f"guess {n}").status_code for n in range(limit + 2)]
    assert tried == [401] * limit + [429] * 2
    refused = send_sign_in(client, "anna", PASSWORD)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_attempts")
    assert int(refused.headers["retry-after"]) >= 60
    # It is the same for a name that does not exist.
    unknown = [send_sign_in(client, "nobody", "x").status_code for _ in range(limit + 1)]
    assert unknown == [401] * limit + [429]
    assert client.get("/api/account", headers=headers).status_code == 200
    change = {"old": PASSWORD, "new": "another good one"}
    told = client.post("/api/account/password", json=change, headers=headers)
    assert told.status_code == 204
    assert send_sign_in(client, "bert").status_code == 200
    timer[0] += float(refused.headers["retry-after"]) + 1
    assert send_sign_in(client, "anna", "another good one").status_code == 200


def test_t20_guessing_is_limited_by_address_and_right_passwords_are_free(
    client: TestClient,
) -> None:
    service_of(client).sign_ins._timer = lambda: 0.0
    limit = sign_ins.FOR_ADDRESS.at_once
    for _ in range(3):
        assert send_sign_in(client, "anna").status_code == 200
    tried = [send_sign_in(client, f"name {n}", "x").status_code for n in range(limit + 1)]
    assert tried == [401] * limit + [429]
    assert send_sign_in(client, "anna").status_code == 429
    # What a client says about its address counts only from a trusted proxy.
    faked = send_sign_in(client, "anna", **{"x-forwarded-for": "192.0.2.7"})
    assert faked.status_code == 429


def test_t20_behind_a_proxy_each_client_has_its_own_address(open_client: TestClient) -> None:
    add_user(open_client, "anna")
    service_of(open_client).sign_ins._timer = lambda: 0.0
    limit = sign_ins.FOR_ADDRESS.at_once
    for number in range(limit + 1):
        send_sign_in(open_client, f"name {number}", "x", **{"x-forwarded-for": "9.9.9.9, 1.2.3.4"})
    refused = send_sign_in(open_client, "anna", **{"x-forwarded-for": "8.8.8.8, 1.2.3.4"})
    assert refused.status_code == 429
    assert send_sign_in(open_client, "anna", **{"x-forwarded-for": "1.2.3.5"}).status_code == 200


def test_t20_the_old_password_cannot_be_guessed_with_a_stolen_cookie(client: TestClient) -> None:
    service_of(client).sign_ins._timer = lambda: 0.0
    headers = sign_in(client, "anna")
    limit = sign_ins.FOR_NAME.at_once
    tried = [
        client.post(
            "/api/account/password",
            json={"old": f"guess {number}", "new": "another good one"},
            headers=headers,
        ).status_code
        for number in range(limit + 1)
    ]
    assert tried == [403] * limit + [429]
    # And the owner can still sign in.
    assert send_sign_in(client, "anna").status_code == 200


def test_t20_who_knows_the_old_password_cannot_undo_a_reset(client: TestClient) -> None:
    """The operator resets a password while its thief replaces it."""
    service = service_of(client)
    thief = sign_in(client, "anna")
    passwords = service.sign_ins._passwords
    hash_new = passwords.hash

    async def reset_meanwhile(password: str) -> str:
        assert await service.accounts.set_password("anna", password_hash("of the operator"))
        return str(await hash_new(password))

    # The thief's old password has been found right by now.
    passwords.hash = reset_meanwhile
    body = {"old": PASSWORD, "new": "of the thief now"}
    told = client.post("/api/account/password", json=body, headers=thief)
    assert (told.status_code, told.json()["error"]["code"]) == (403, "wrong_password")
    assert send_sign_in(client, "anna", "of the thief now").status_code == 401
    assert send_sign_in(client, "anna", "of the operator").status_code == 200


def test_t20_attempts_that_were_not_checked_do_not_count(client: TestClient) -> None:
    """Somebody keeps the threads busy that check passwords."""
    service = service_of(client)
    service.sign_ins._timer = lambda: 0.0
    passwords = service.sign_ins._passwords
    passwords._waiting = 1_000
    limit = sign_ins.FOR_ADDRESS.at_once
    tried = {send_sign_in(client, "anna").status_code for _ in range(limit + 1)}
    assert tried == {503}
    passwords._waiting = 0
    assert send_sign_in(client, "anna").status_code == 200


def test_t20_sign_ins_of_a_user_are_limited_and_the_oldest_ends(client: TestClient) -> None:
    accounts = service_of(client).accounts
    account = call(client, accounts.find, "anna")
    add_user(client, "bert")
    other = sign_in(client, "bert")
    for number in range(MAX_SIGN_INS):
        assert call(client, accounts.add_sign_in, bytes([number]) * 32, account, "x", number)
    headers = sign_in(client, "anna")
    items = client.get("/api/sign-ins", headers=headers).json()["items"]
    assert len(items) == MAX_SIGN_INS
    assert items[0]["is_current"]
    assert [one["created_ms"] for one in items[1:]] == list(range(MAX_SIGN_INS - 1, 0, -1))
    assert client.get("/api/account", headers=other).status_code == 200


def test_t20_a_token_cannot_become_more_than_it_is(open_client: TestClient) -> None:
    boss = User(open_client, "boss", "token", "operator")
    for verb, path, body in (
        ("get", "/api/sign-ins", None),
        ("delete", f"/api/sign-ins/{boss.ids['sign_in_id']}", None),
        ("post", "/api/account/password", {"old": "x", "new": "another good one"}),
        ("get", "/metrics", None),
    ):
        assert boss.send(verb, path, body).status_code == 403, path
    assert boss.send("post", "/api/sign-out").status_code == 409
    account = call(open_client, service_of(open_client).accounts.sign_ins, "boss")
    assert len(account) == 1


@pytest.mark.parametrize(
    "values",
    [["anna", "bert"], ["anna\x01"], ["anna "], [" "], ["x" * 101]],
)
def test_t20_a_proxy_that_sends_no_single_valid_name_is_refused(
    open_client: TestClient, values: list[str]
) -> None:
    headers = [(USER_HEADER.encode(), value.encode("latin-1")) for value in values]
    told = open_client.get("/api/account", headers=headers)
    assert (told.status_code, told.json()["error"]["code"]) == (400, "bad_user")


def test_t20_a_disabled_user_is_refused_with_every_carrier(open_client: TestClient) -> None:
    for carrier, status in (("token", 401), ("cookie", 401), ("proxy", 403)):
        user = User(open_client, f"user of {carrier}", carrier)  # type: ignore[arg-type]
        assert user.send("get", "/api/conversations").status_code == 200
        call(open_client, service_of(open_client).accounts.set_disabled, user.name, True)
        assert user.send("get", "/api/conversations").status_code == status


def test_t20_no_answer_can_be_framed(client: TestClient) -> None:
    headers = sign_in(client, "anna")
    for verb, path, body in every(document(client), NOBODY):
        told = client.request(verb.upper(), path, json=body, headers=headers)
        assert "frame-ancestors 'none'" in told.headers["content-security-policy"], path
    assert "frame-ancestors 'none'" in client.get("/").headers["content-security-policy"]


def test_t20_passwords_and_cookies_are_in_no_log_and_no_error(
    client: TestClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    headers = sign_in(client, "anna")
    cookie = headers["cookie"].partition("=")[2]
    texts = [
        client.post("/api/sign-in", json=body, headers=FROM_PAGE).text
        for body in (
            {"user": "anna", "password": ["hunter22hunter"]},
            {"user": "anna", "password": "hunter22hunter", "more": 1},
            {"user": ["hunter22hunter"], "password": "x"},
            {"user": "anna", "password": "hunter22hunter" * 100},
            {"user": "anna", "password": "hunter22hunter"},
        )
    ]

    async def fail(*values: Any) -> None:
        raise RuntimeError("the disk is on fire")

    monkeypatch.setattr(service_of(client).accounts, "find", fail)
    body = {"user": "anna", "password": "hunter22hunter"}
    broken = client.post("/api/sign-in", json=body, headers=headers)
    assert broken.status_code == 500
    texts += [broken.text, caplog.text]
    assert "the disk is on fire" in caplog.text
    for text in texts:
        assert "hunter22" not in text
        assert cookie not in text
