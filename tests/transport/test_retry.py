"""Trying again: when, how often, and after how long."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace.errors import RequestFailed
from headrace.transport import NEVER, RetryingTransport, RetryPolicy
from headrace.transport.http import HTTPTransport
from tests.transport.upstream import END, answering, call_to, chunked, head, upstream, whole

BUSY = RequestFailed("busy", category="overloaded", retryable=True)
WRONG = RequestFailed("wrong", category="auth")


def asked(seconds: float) -> RequestFailed:
    return RequestFailed("later", category="rate_limit", retryable=True, retry_after_s=seconds)


class Failing:
    """A transport that fails so often, and then gives a stream."""

    def __init__(self, *failures: RequestFailed) -> None:
        self.failures = list(failures)
        self.calls = 0
        self.is_closed = False

    async def open(self, call):
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
        return "a stream"

    async def aclose(self):
        self.is_closed = True


def waits(*failures, chance=0.0, **policy):
    """What `open` gave, the waits, and the number of calls."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    inner = Failing(*failures)
    transport = RetryingTransport(
        inner,
        RetryPolicy(**policy),
        sleep=sleep,
        chance=lambda: chance,
    )
    result: Any
    try:
        result = asyncio.run(transport.open(call_to("http://h/")))
    except RequestFailed as failed:
        result = failed
    return result, slept, inner.calls


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


def test_closing_closes_the_transport_below():
    inner = Failing()
    asyncio.run(RetryingTransport(inner).aclose())
    assert inner.is_closed


def test_other_errors_pass():
    class Odd(Failing):
        async def open(self, call):
            raise KeyError("odd")

    with pytest.raises(KeyError):
        asyncio.run(RetryingTransport(Odd()).open(call_to("http://h/")))


def test_a_real_server_is_asked_again_with_the_same_body():
    busy = whole("503 Busy", b'{"error": "server busy"}', "Retry-After: 2", "Connection: close")
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    async def run():
        good = head() + chunked(b"x") + END
        async with upstream(answering(busy), answering(b""), answering(good)) as server:
            async with HTTPTransport() as transport:
                stream = await RetryingTransport(transport, sleep=sleep).open(call_to(server.url))
                assert [read async for read in stream] == [b"x"]
            return [peer.request.partition(b"\r\n\r\n")[2] for peer in server.peers]

    assert asyncio.run(run()) == [b'{"model": "m"}'] * 3
    assert slept[0] == 2
    assert len(slept) == 2
