"""Lines of an SSE stream that are no field, but JSON or HTML."""

from __future__ import annotations

import pytest

from headrace.errors import LimitExceeded
from headrace.wire.framing import create_framing
from headrace.wire.framing.sse import SSEFraming
from headrace.wire.limits import WireLimits
from tests.wire import random_cuts, single_bytes

PAGE = b"<html>\n\n<body>\nid of it\n\n</body>"
CASES = {
    "a line of JSON": (b'{"a":1}\n', [b'{"a":1}']),
    "two lines of JSON": (b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}']),
    "after an event without a blank line": (b'data: x\n{"b":2}\n\n', [b"x", b'{"b":2}']),
    "before an event": (b'{"a":1}\ndata: x\n\n', [b'{"a":1}', b"x"]),
    "JSON over several lines": (b'{\n "a": [\n1]\n}\ndata: x\n\n', [b'{\n "a": [\n1]\n}', b"x"]),
    "brackets inside strings": (b'{"a":"}",\n"b":"\\"}"}\n', [b'{"a":"}",\n"b":"\\"}"}']),
    "JSON that is cut off": (b'data: x\n\n{"a":\n', [b"x", b'{"a":']),
    "JSON without an end of line": (b'data: x\n\n{"a":1}', [b"x", b'{"a":1}']),
    "a web page": (
        b"data: x\n\n" + PAGE + b"\ndata: y\n\n",
        [b"x", PAGE.replace(b"\n\n", b"\n"), b"y"],
    ),
    "a web page to the end": (PAGE, [PAGE.replace(b"\n\n", b"\n")]),
    "a field without an end of line after a page": (b"<p>\ndata: x", [b"<p>", b"x"]),
    "an error without an end of line after a page": (b"<p>\nerror: x", [b"<p>", b"x"]),
    "another unknown field": (b"bad: x\nnot a field\ndata: y\n\n", [b"y"]),
    "a comment": (b': {"a":1}\ndata: y\n\n', [b"y"]),
}


def payloads(reads: list[bytes]) -> list[bytes]:
    framing = create_framing("sse")
    frames = [frame for read in reads for frame in framing.feed(read)]
    frames += framing.close()
    frames += [] if framing.unfinished is None else [framing.unfinished]
    return [frame.data.rstrip(b"\n") for frame in frames]


@pytest.mark.parametrize("name", CASES)
def test_stray_lines_are_frames_however_the_reads_are_cut(name: str) -> None:
    data, expected = CASES[name]
    assert payloads([data]) == expected
    assert payloads(single_bytes(data)) == expected
    for seed in range(20):
        assert payloads(random_cuts(data, seed, pieces=5)) == expected


def test_the_standard_ignores_them_unless_they_are_asked_for() -> None:
    framing = SSEFraming()
    assert [frame.data for frame in framing.feed(b'{"a":1}\ndata: x\n\n<html>\n')] == [b"x"]
    assert not framing.close()


def test_a_stray_payload_has_the_limit_of_a_frame() -> None:
    framing = create_framing("sse", WireLimits(max_frame_bytes=100))
    framing.feed(b"<p>\n" * 20)
    with pytest.raises(LimitExceeded, match="max_frame_bytes"):
        framing.feed(b"<p>\n" * 10)
