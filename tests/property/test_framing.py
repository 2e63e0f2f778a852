"""Guarantee 1 for the framings: any cut of the same bytes gives the same frames, and the SSE
framing agrees with a second reading of the standard, written without any thought of streaming."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import WireError
from headrace.wire.framing import FRAMINGS, Frame, Framing, SSEFraming
from headrace.wire.limits import WireLimits
from tests.aws import aws_chunks, aws_exception, aws_header, aws_message

LINE_ENDS = (b"\n", b"\r", b"\r\n")
TIGHT = WireLimits(max_line_bytes=30, max_frame_bytes=20, max_headers_bytes=8, max_depth=3)


class Outcome(NamedTuple):
    frames: list[Frame]
    unfinished: Frame | None
    failure: str


def outcome(framing: Framing, reads: list[bytes]) -> Outcome:
    frames: list[Frame] = []
    try:
        for read in reads:
            frames += framing.feed(read)
        frames += framing.close()
    except WireError as failure:
        return Outcome(frames, None, str(failure))
    return Outcome(frames, framing.unfinished, "")


def cut(document: bytes, ends: list[int]) -> list[bytes]:
    edges = [0, *sorted(end % (len(document) + 1) for end in ends), len(document)]
    return [document[a:b] for a, b in pairwise(edges)]


def single_bytes(document: bytes) -> list[bytes]:
    return [document[at : at + 1] for at in range(len(document))]


def soup(*pieces: bytes) -> st.SearchStrategy[bytes]:
    """Bytes made of what matters to a format, so that chance finds its corners."""
    return st.lists(st.sampled_from(pieces), max_size=60).map(b"".join)


ends = st.lists(st.integers(min_value=0, max_value=10_000), max_size=12)

line_soup = soup(
    *(b"data: x", b"data:", b"data", b"da", b"event: a", b"event", b"id: 1", b"id", b"retry: 90"),
    *(b"retry:", b"0", b"9", b"error: e", b":", b" ", b"x", b"\r", b"\n", b"\r\n", b"\n\n"),
    *(b"\x00", b"\xff", b"\xef", b"\xbb", b"\xbf", b"\xef\xbb\xbf", b"\xe2\x82", b"[DONE]"),
)
# Providers send one event per read, and the framing takes such a read on a way of its own.
event_reads = st.lists(
    st.one_of(
        st.sampled_from(
            (
                *(b"data: x\n\n", b"data: y\r\n\r\n", b"data: \n\n", b"data: x\ndata: y\n\n"),
                *(b"event: a\ndata: x\n\n", b"event: a\ndata: x\rdata: y\n\n", b"data: x\ry\n\n"),
                *(b"event: a\ndata: x\ndata: y\n\n", b"id: 7\ndata: x\n\n", b"data: x\r\r"),
                *(b"data: %021d\n\n" % 0, b"event: a\ndata: %021d\n\n" % 0),
                *(b": hi\n\n", b"\n", b"\r", b"", b"event: a\n", b"retry: 5\n", b"data: x\n", b"x"),
            )
        ),
        line_soup,
    ),
    max_size=12,
)
json_soup = soup(
    *(b"[", b"]", b"{", b"}", b",", b'"', b"\\", b":", b" ", b"\n", b"1", b"null", b"x"),
    *(
        b'{"a":1}',
        b'"b"',
        b'"\\""',
        b"1" * 19,
        b"1" * 20,
        b'"%018d"' % 0,
        b'{"t":"]}"}',
        b"\xff",
        b"[{",
        b"},",
    ),
)

message_soup = soup(
    *(b"\0", b"\x01", b"\0\0\0\0", b"\0\0\0\0\0", b"\0\0\0\0\x01", b"\0\0\0\0\x03abc"),
    *(b"\0\0\0\0\x14" + b"x" * 20, b"\0\0\0\0\x15", b"\0\xff\xff\xff\xff", b"\n", b"x", b"\xff"),
)
aws_soup = soup(
    *(aws_message(), aws_message(b"{}"), aws_message(b"{}")[:-1], aws_message(b"{}")[:12]),
    *(
        aws_message(b"x" * 20),
        aws_message(b"x" * 21),
        aws_message(b"", aws_header("abcde", b"", 0)),
    ),
    *(aws_message(b"", b"\xff"), aws_message(b"", aws_header("abcdef", b"", 0)), b"\0", b"x"),
    *(aws_chunks({}), aws_exception("e", b"{}")),
)
nul_soup = soup(b"\0", b"\0\0", b"x", b" ", b"\n", b"{}", b"x" * 20, b"x" * 21, b"\xff")
SOUPS = {
    "json-array": json_soup,
    "grpc": message_soup,
    "aws-event-stream": aws_soup,
    "nul-json": nul_soup,
}

MAKERS: dict[str, Callable[[WireLimits], Framing]] = {
    **FRAMINGS,
    "sse with an extra field": lambda limits: SSEFraming(limits, extra_fields=("error",)),
}


@pytest.mark.parametrize("limits", [WireLimits(), TIGHT], ids=["default limits", "tight limits"])
@pytest.mark.parametrize("name", MAKERS)
@given(data=st.data(), ends=ends)
def test_any_cut_gives_the_same_frames_and_the_same_failure(
    name: str, limits: WireLimits, data: st.DataObject, ends: list[int]
) -> None:
    document = data.draw(SOUPS.get(name, line_soup))
    whole = outcome(MAKERS[name](limits), [document])
    assert outcome(MAKERS[name](limits), cut(document, ends)) == whole
    assert outcome(MAKERS[name](limits), single_bytes(document)) == whole


@pytest.mark.parametrize("limits", [WireLimits(), TIGHT], ids=["default limits", "tight limits"])
@pytest.mark.parametrize("name", ["sse", "lines", "squeezed-sse"])
@given(reads=event_reads)
def test_one_event_per_read_gives_what_the_whole_gives(
    name: str, limits: WireLimits, reads: list[bytes]
) -> None:
    whole = outcome(FRAMINGS[name](limits), [b"".join(reads)])
    assert outcome(FRAMINGS[name](limits), reads) == whole


class Reference(NamedTuple):
    """An event of the reference reader."""

    event: str
    data: str
    last_event_id: str
    retry_ms: int | None


def read_by_the_standard(document: bytes) -> list[Reference]:
    """Decode all, split all, then line by line what the standard says, in its order."""
    text = document.decode("utf-8", "replace").removeprefix("\ufeff")
    *lines, _unfinished = re.split("\r\n|\n|\r", text)
    events: list[Reference] = []
    data, event, event_id, retry = "", "", "", None
    for line in lines:
        if not line:
            if data:
                events.append(Reference(event, data[:-1], event_id, retry))
            data, event, retry = "", "", None
            continue
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "data":
            data += value + "\n"
        elif field == "event":
            event = value
        elif field == "id" and "\0" not in value:
            event_id = value
        elif field == "retry" and re.fullmatch("[0-9]+", value):
            retry = int(value)
    return events


@given(reads=st.one_of(st.builds(cut, line_soup, ends), event_reads))
def test_byte_soup_reads_as_the_standard_says(reads: list[bytes]) -> None:
    framing = SSEFraming()
    frames = [frame for read in reads for frame in framing.feed(read)]
    found = [Reference(f.event, f.text, f.last_event_id, f.retry_ms) for f in frames]
    # The framing ignores a wait of more than 15 digits, which soup seldom makes.
    assert found == [
        event._replace(retry_ms=None) if (event.retry_ms or 0) >= 10**15 else event
        for event in read_by_the_standard(b"".join(reads))
    ]


words = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=20)


@st.composite
def sse_documents(draw: st.DrawFn) -> tuple[bytes, list[Frame]]:
    """A document with a line end of its own for every line, and the frames that are in it."""
    lines: list[str] = []
    frames: list[Frame] = []
    event_id = ""
    for _ in range(draw(st.integers(0, 6))):
        data = draw(st.lists(words, min_size=1, max_size=3))
        event = draw(st.one_of(st.just(""), words))
        event_id = draw(st.one_of(st.just(event_id), words))
        fields = [f"data: {line}" for line in data] + [f"event: {event}", f"id: {event_id}"]
        comments = draw(st.lists(words.map(lambda word: ":" + word), max_size=2))
        lines += [*draw(st.permutations(comments + fields[len(data) :])), *fields[: len(data)], ""]
        payload = "\n".join(data).encode()
        frames.append(Frame(payload, event, last_event_id=event_id))
    line_ends = draw(st.lists(st.sampled_from(LINE_ENDS), min_size=len(lines), max_size=len(lines)))
    return _rendered(lines, line_ends), frames


def _rendered(lines: list[str], line_ends: list[bytes]) -> bytes:
    document = b""
    for line, line_end in zip(lines, line_ends, strict=True):
        # A blank line's LF behind a CR would make one line end of the two.
        is_merged = not line and line_end == b"\n" and document.endswith(b"\r")
        document += line.encode() + (b"\r\n" if is_merged else line_end)
    return document


@given(made=sse_documents(), ends=ends, has_mark=st.booleans())
def test_a_written_document_gives_its_frames_in_any_cut(
    made: tuple[bytes, list[Frame]], ends: list[int], has_mark: bool
) -> None:
    document, frames = made
    mark = b"\xef\xbb\xbf" if has_mark else b""
    assert outcome(SSEFraming(), cut(mark + document, ends)) == Outcome(frames, None, "")
