"""gRPC messages: the prefix is believed for where a message ends, and for nothing else."""

from __future__ import annotations

import tracemalloc

import pytest

from headrace.errors import LimitExceeded, WireError
from headrace.wire.framing.grpc import GRPCFraming, add_prefix
from headrace.wire.limits import WireLimits

SMALL = WireLimits(max_frame_bytes=8)


def payloads(*reads: bytes, limits: WireLimits = SMALL) -> list[bytes]:
    framing = GRPCFraming(limits)
    frames = [frame for read in reads for frame in framing.feed(read)]
    return [frame.data for frame in frames + framing.close()]


def test_a_prefix_is_a_flag_and_four_bytes_of_length() -> None:
    assert add_prefix(b"abc") == b"\0\0\0\0\x03abc"
    assert add_prefix(b"") == b"\0\0\0\0\0"
    assert add_prefix(b"x" * 0x01_02_03)[:5] == b"\0\0\x01\x02\x03"


def test_an_empty_message_is_a_frame() -> None:
    assert payloads(add_prefix(b"")) == [b""]
    assert payloads(add_prefix(b"") * 2 + add_prefix(b"a")) == [b"", b"", b"a"]


@pytest.mark.parametrize("size", [7, 8])
def test_a_message_up_to_the_limit_is_taken(size: int) -> None:
    assert payloads(add_prefix(b"x" * size)) == [b"x" * size]


@pytest.mark.parametrize("reads", [[add_prefix(b"x" * 9)], [b"\0", b"\0\0\0", b"\x09"]])
def test_a_longer_one_is_refused_when_its_prefix_is_known(reads: list[bytes]) -> None:
    with pytest.raises(LimitExceeded, match="max_frame_bytes=8"):
        payloads(*reads)


def test_no_length_sizes_an_allocation() -> None:
    framing = GRPCFraming(WireLimits(max_frame_bytes=2**32))
    tracemalloc.start()
    try:
        assert framing.feed(b"\0\xff\xff\xff\xff" + b"x" * 100) == []
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("flag", [1, 2, 255])
def test_a_compressed_message_is_refused(flag: int) -> None:
    with pytest.raises(WireError, match=f"flag {flag}"):
        payloads(bytes([flag]) + add_prefix(b"a")[1:])


def test_what_was_whole_before_a_failure_comes_first() -> None:
    framing = GRPCFraming(SMALL)
    assert [frame.data for frame in framing.feed(add_prefix(b"a") + b"\x01\0\0\0\0")] == [b"a"]
    with pytest.raises(WireError):
        framing.feed(b"")
    with pytest.raises(WireError):
        framing.close()


@pytest.mark.parametrize(
    ("rest", "unfinished"),
    [(b"\0\0\0\0\x03ab", b"ab"), (b"\0\0\0\0\x03", None), (b"\0\0", None), (b"", None)],
)
def test_a_message_that_is_cut_off_is_unfinished(rest: bytes, unfinished: bytes | None) -> None:
    framing = GRPCFraming(SMALL)
    assert len(framing.feed(add_prefix(b"whole") + rest)) == 1
    assert framing.close() == []
    assert (framing.unfinished and framing.unfinished.data) == unfinished
