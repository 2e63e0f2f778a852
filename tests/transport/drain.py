"""Reading an answer to its end over a real socket."""

from __future__ import annotations

import asyncio

import pytest

from headrace.errors import RequestFailed
from headrace.transport import StreamBroken, Timeouts
from headrace.transport.http import HTTPTransport
from headrace.transport.limits import DEFAULT_HTTP_LIMITS
from tests.transport.upstream import call_to, upstream

_S = 60
PATIENT = Timeouts(connect_s=_S, first_event_s=_S, idle_s=_S)
"""For tests about something else: a stalled machine must not decide them."""
SHORT_FIRST_EVENT = Timeouts(connect_s=_S, first_event_s=0.3, idle_s=_S)
SHORT_IDLE = Timeouts(connect_s=_S, first_event_s=_S, idle_s=0.3)


async def drained(stream):
    reads = []
    try:
        while read := await anext(stream, None):
            reads.append(read)
    except StreamBroken as broken:
        return reads, broken.error
    finally:
        await stream.aclose()
    return reads, None


async def pushed(stream):
    """The same as `drained()`, with the reads pushed by the socket."""
    reads = []

    def take(read):
        reads.append(read)
        return False

    try:
        assert await stream.drain(take) is False
    except StreamBroken as broken:
        return reads, broken.error
    finally:
        await stream.aclose()
    return reads, None


def reads_of(*answers, timeouts=PATIENT, limits=DEFAULT_HTTP_LIMITS):
    """All reads, and the failure that ended them; a `RequestFailed` is raised. Both ways of reading
    must give the same."""

    async def run(read):
        transport = HTTPTransport(timeouts=timeouts, limits=limits)
        async with upstream(*answers) as server, transport:
            return await read(await transport.open(call_to(server.url)))

    reads, failure = asyncio.run(asyncio.wait_for(run(drained), 90))
    others, other_failure = asyncio.run(asyncio.wait_for(run(pushed), 90))
    assert b"".join(others) == b"".join(reads)
    assert other_failure == failure
    return reads, failure


def failed_with(*answers, **options) -> RequestFailed:
    with pytest.raises(RequestFailed) as caught:
        reads_of(*answers, **options)
    return caught.value
