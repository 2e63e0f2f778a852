"""T1, T2 and T16 together: whatever one user sends, made up from the OpenAPI document and with the
ids of another, shows and changes nothing of the other, and breaks nothing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from starlette.testclient import TestClient

from headrace.server.storage.accounts import Role
from tests.server.users import Carrier, User, document, guarded

EXAMPLES = int(os.environ.get("HEADRACE_SOAK_GENERATED", "4"))
"""Requests for each operation; more of them in `make soak`."""
MARK = "heliotrope of the owner"
SIGN_OUT = "/api/sign-out"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    limits = {"asks_per_minute": 100_000, "searches_per_minute": 100_000}
    with guarded(tmp_path, **limits) as client:
        yield client


def _send(client: TestClient, user: User, case: Any, ids: dict[str, str]) -> Any:
    """Send a request as a user, with these ids in its address."""
    path = case.operation.path
    given = {**case.path_parameters, **ids}
    names = [one for one in given if f"{{{one}}}" in path]
    address = path.format_map({name: quote(str(given[name]), safe="") for name in names})
    body, sent = case.body, dict[str, Any]()
    if isinstance(body, bytes):
        sent["content"] = body
    elif isinstance(body, dict | list | str | int | float | bool):
        sent["json"] = body
    return client.request(
        case.method,
        address,
        params={name: str(value) for name, value in (case.query or {}).items()},
        headers={**user.headers, "idempotency-key": "k"},
        **sent,
    )


@pytest.mark.parametrize(
    ("carrier", "role"),
    [("token", "user"), ("cookie", "user"), ("proxy", "user"), ("cookie", "operator")],
)
def test_whatever_a_stranger_sends_is_about_the_stranger(
    client: TestClient, carrier: Carrier, role: Role, record_property: Any
) -> None:
    owner, stranger = User(client, "anna", "token"), User(client, "eve", carrier, role)
    owner.ask(MARK)
    path = f"/api/conversations/{owner.ids['conversation_id']}"
    before = owner.send("get", path).json()
    listed = owner.send("get", "/api/conversations").json()
    assert MARK in str(before)
    found: list[Any] = list(schemathesis.openapi.from_dict(document(client)).get_all_operations())
    sent: Counter[int] = Counter()
    for operation in (one.ok() for one in found):
        if operation.path == SIGN_OUT:
            continue

        @settings(
            max_examples=EXAMPLES,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            deadline=None,
        )
        @given(case=operation.as_strategy())
        def each(case: Any) -> None:
            response = _send(client, stranger, case, owner.ids)
            sent[response.status_code] += 1
            assert response.status_code < 500, response.text
            assert MARK not in response.text
            for id in set(owner.ids.values()) - {"0", "req_x"}:
                assert response.status_code != 200 or id not in response.text

        each()
    assert owner.send("get", path).json() == before
    assert owner.send("get", "/api/conversations").json() == listed
    assert owner.send("get", "/api/account").json()["settings"] == {}
    assert 404 in sent
    told = ", ".join(f"{status}: {count}" for status, count in sorted(sent.items()))
    record_property(
        "summary",
        f"T1, T2: {sent.total()} made-up requests of the {role} with a {carrier} ({told})",
    )
