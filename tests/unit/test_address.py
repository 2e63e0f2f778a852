"""Which hosts are this machine: who may ask it, and who may be asked in clear."""

from __future__ import annotations

import pytest

from headrace.address import get_host, is_loopback, is_this_machine

LOOPBACK = ["localhost", "LocalHost", "127.0.0.1", "127.0.0.2", "127.255.255.254", "::1"]
LOOPBACK += ["0:0:0:0:0:0:0:1"]
# Every address of this machine where one listens, this machine where one connects.
ANY = ["0.0.0.0", "::"]
ELSEWHERE = ["", "localhost.evil.com", "127.0.0.1.evil.com", "0.0.0.0.evil", "evil.localhost.com"]
ELSEWHERE += [
    "192.168.0.1",
    "10.0.0.1",
    "169.254.169.254",
    "192.0.2.1",
    "example.org",
    "2001:db8::1",
]
# Forms that other readers take for another address, or for none.
ELSEWHERE += ["127.1", "0177.0.0.1", "2130706433", "127.000.000.001", "127.0.0.256", "128.0.0.1"]
ELSEWHERE += ["::1%eth0", "64:ff9b::7f00:1", "0.0.0.1", "[::1]", "localhost:80", " localhost"]


@pytest.mark.parametrize(
    ("host", "is_only_here", "is_here"),
    [
        *((host, True, True) for host in LOOPBACK),
        *((host, False, True) for host in ANY),
        *((host, False, False) for host in ELSEWHERE),
    ],
)
def test_a_host_is_this_machine_or_it_is_not(host: str, is_only_here: bool, is_here: bool) -> None:
    assert is_loopback(host) is is_only_here
    assert is_this_machine(host) is is_here


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://LOCALHOST:80/x", "localhost"),
        ("//[::1]:80", "::1"),
        ("//127.0.0.1", "127.0.0.1"),
        ("http://localhost@evil.com", "evil.com"),
        ("//localhost:80@evil.com", "evil.com"),
        ("http://[::1", ""),
        ("null", ""),
        ("", ""),
    ],
)
def test_the_host_of_an_address_is_what_is_asked(url: str, host: str) -> None:
    assert get_host(url) == host
