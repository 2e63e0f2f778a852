"""The headers of a proxy count only if it is trusted, and say one thing."""

from __future__ import annotations

import pytest
from starlette.requests import HTTPConnection

from headrace.errors import UsageError
from headrace.server.accounts.trusted_proxy import TrustedProxies
from headrace.server.http_error import HTTPError

NETWORKS = ("10.0.0.0/8", "192.0.2.1", "2001:db8::1")


def asked(peer: str | None, *headers: tuple[str, bytes]) -> HTTPConnection:
    scope = {
        "type": "http",
        "client": None if peer is None else (peer, 1),
        "headers": [(name.encode(), value) for name, value in headers],
    }
    return HTTPConnection(scope)


@pytest.mark.parametrize(
    ("peer", "is_trusted"),
    [
        ("10.1.2.3", True),
        ("192.0.2.1", True),
        ("::ffff:10.1.2.3", True),
        ("2001:db8::1", True),
        ("192.0.2.2", False),
        ("127.0.0.1", False),
        ("2001:db8::2", False),
        ("not an address", False),
        (None, False),
    ],
)
def test_a_name_counts_only_from_a_trusted_address(peer: str | None, is_trusted: bool) -> None:
    proxies = TrustedProxies(NETWORKS, "X-Remote-User")
    found = proxies.read_user(asked(peer, ("x-remote-user", b"anna")))
    assert found == ("anna" if is_trusted else None)


@pytest.mark.parametrize("values", [[b"anna", b"bert"], [b"\xff\xfe"], [b" anna"], [b"a\x00"]])
def test_anything_but_one_valid_name_is_refused(values: list[bytes]) -> None:
    proxies = TrustedProxies(NETWORKS, "X-Remote-User")
    with pytest.raises(HTTPError, match="exactly one"):
        proxies.read_user(asked("10.0.0.1", *(("x-remote-user", value) for value in values)))


def test_a_name_can_have_any_letters() -> None:
    proxies = TrustedProxies(NETWORKS, "X-Remote-User")
    sent = ("x-remote-user", "Žofie".encode())
    assert proxies.read_user(asked("10.0.0.1", sent)) == "Žofie"
    assert proxies.read_user(asked("10.0.0.1", ("x-remote-user", b""))) is None
    assert proxies.read_user(asked("10.0.0.1")) is None


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("192.0.2.9", ["1.2.3.4"], "192.0.2.9"),
        ("10.0.0.1", ["1.2.3.4"], "1.2.3.4"),
        ("10.0.0.1", ["6.6.6.6, 1.2.3.4"], "1.2.3.4"),
        ("10.0.0.1", ["6.6.6.6", "1.2.3.4, 10.9.9.9"], "1.2.3.4"),
        ("10.0.0.1", ["nonsense"], "10.0.0.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("2001:db9::1:2:3:4", [], "2001:db9::/64"),
    ],
)
def test_the_address_of_a_client_is_the_last_that_is_no_proxy(
    peer: str, forwarded: list[str], address: str
) -> None:
    headers = [("x-forwarded-for", value.encode()) for value in forwarded]
    assert TrustedProxies(NETWORKS).find_address(asked(peer, *headers)) == address


def test_settings_that_make_no_sense_are_said() -> None:
    with pytest.raises(UsageError, match="--trusted-proxy"):
        TrustedProxies((), "X-Remote-User")
    with pytest.raises(UsageError, match="address or network"):
        TrustedProxies(("proxy.example.org",))
    with pytest.raises(UsageError, match="host bits"):
        TrustedProxies(("10.0.0.1/8",))
