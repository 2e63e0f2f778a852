"""Trying again: when, how often, and after how long."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace.errors import RequestFailed
from headrace.transport import NEVER, RetryPolicy, retry
from headrace.transport.http import HTTPTransport
from tests.transport.upstream import END, answering, call_to, chunked, head, upstream, whole

BUSY = RequestFailed("busy", category="overloaded", retryable=True)
WRONG = RequestFailed("wrong", category="auth")


def asked(seconds: float) -> RequestFailed:
    return RequestFailed("later", category="rate_limit", retryable=True, retry_after_s=seconds)


def waits(*failures, chance=0.0, **policy):
    """What the last attempt gave, the waits, and the number of attempts."""
    slept: list[float] = []
    left = list(failures)
    calls = 0

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def attempt() -> str:
        nonlocal calls
        calls += 1
        if left:
            raise left.pop(0)
        return "a stream"

    result: Any
    try:
        trying = retry(attempt, RetryPolicy(**policy), sleep=sleep, chance=lambda: chance)
        result = asyncio.run(trying)
    except RequestFailed as failed:
        result = failed
    return result, slept, calls


def test_the_wait_doubles_up_to_its_cap():
    result, slept, _ = waits(*[BUSY] * 6, attempts=7, base_s=0.5, cap_s=4)
    assert result == "a stream"
    assert slept == [0.5, 1, 2, 4, 4, 4]


def test_chance_shortens_a_wait_by_its_share():
    assert waits(BUSY, chance=1.0, base_s=1.0, jitter=0.5)[1] == [0.5]
    assert waits(BUSY, chance=0.5, base_s=1.0, jitter=0.5)[1] == [0.75]


def test_the_last_failure_is_raised_after_so_many_attempts():
    last = asked(0)
    result, slept, calls = waits(BUSY, BUSY, last, attempts=3)
    assert result is last
    assert (len(slept), calls) == (2, 3)


def test_what_will_not_help_is_not_tried():
    assert waits(WRONG) == (WRONG, [], 1)
    assert waits(BUSY, attempts=NEVER.attempts) == (BUSY, [], 1)


def test_the_time_that_the_provider_asks_for_is_given():
    assert waits(asked(7))[1] == [7]
    assert waits(asked(0.1), base_s=0.5)[1] == [0.5]


def test_a_provider_that_asks_for_longer_than_the_cap_is_not_asked_again():
    failed = asked(31)
    assert waits(failed, cap_s=30) == (failed, [], 1)


def test_other_errors_pass():
    with pytest.raises(KeyError):
        waits(KeyError("odd"))


def test_a_real_server_is_asked_again_with_the_same_body():
    busy = whole("503 Busy", b'{"error": "server busy"}', "Retry-After: 2", "Connection: close")
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    async def run():
        good = head() + chunked(b"x") + END
        async with upstream(answering(busy), answering(b""), answering(good)) as server:
            async with HTTPTransport() as transport:
                call = call_to(server.url)
                stream = await retry(lambda: transport.open(call), sleep=sleep)
                assert [read async for read in stream] == [b"x"]
            return [peer.request.partition(b"\r\n\r\n")[2] for peer in server.peers]

    assert asyncio.run(run()) == [b'{"model": "m"}'] * 3
    assert slept[0] == 2
    assert len(slept) == 2
