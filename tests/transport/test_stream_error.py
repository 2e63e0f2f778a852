"""What is told of an error: short, and without a key."""

from __future__ import annotations

import pytest

from headrace.transport import HTTPCall
from headrace.transport.call_secrets import secrets_of
from headrace.transport.stream_error import reason_of
from tests.transport.upstream import KEY, call_to, halves_of


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(111, "Connection refused"), "Connection refused"),
        (OSError("the name has no address"), "the name has no address"),
        (ValueError("odd"), "odd"),
        (TimeoutError(), "TimeoutError"),
        (ValueError("x" * 5_000), "x" * 200),
        (OSError(5, "y" * 5_000), "y" * 200),
    ],
)
def test_the_reason_is_what_the_system_says_and_short(error: Exception, told: str) -> None:
    assert reason_of(error) == told


def test_a_key_at_the_cut_is_not_left_in_half() -> None:
    odd = HTTPCall(url="http://h/", headers={"x-odd": "ODD CANARY " * 3}, body=b"")
    for before in range(150, 210):
        assert halves_of(KEY, reason_of(ValueError("." * before + KEY)).encode()) == []
        clean = secrets_of(odd).clean
        told = reason_of(ValueError("." * before + "ODD CANARY " * 3), clean)
        assert "ODD" not in told
    assert KEY not in reason_of(ValueError(KEY), secrets_of(call_to("http://h/")).clean)
