"""T9: whatever a payload holds, a reader gets it as one event with the id that we gave it."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.server.sse import FrameId, parse_frame_id, sse

EXAMPLES = int(os.environ.get("HEADRACE_SOAK_FRAMES", "500"))
HOSTILE = st.sampled_from(
    ["\n", "\r", "\r\n", "\n\n", "\0", "\ufeff", "\u2028", "\u0085", " ", ":", "{}"]
) | st.sampled_from(["id: 9.9", "event: x", "data: [DONE]", "retry: 1", ": comment", "data:"])
TEXTS = st.lists(HOSTILE | st.text(max_size=8)).map("".join)
NUMBERS = st.integers(0, 10**15)


def read(data: bytes) -> list[tuple[str, str, str]]:
    """(id, event, data) of each event, after the rules of the HTML standard."""
    text = data.decode().removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    events: list[tuple[str, str, str]] = []
    last_id, kind, lines = "", "", list[str]()
    for line in text.split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if lines:
                events.append((last_id, kind, "\n".join(lines)))
            kind, lines = "", []
        elif name == "data":
            lines.append(value)
        elif name == "id" and "\0" not in value:
            last_id = value
        elif name == "event":
            kind = value
        else:
            assert not name, f"a field that we never send: {name}"
    return events


@pytest.mark.timeout(120 + EXAMPLES // 50)
@settings(max_examples=EXAMPLES)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, TEXTS), max_size=4))
def test_t9_a_payload_is_one_event_whatever_it_holds(frames: list[tuple[int, int, str]]) -> None:
    data = b"".join(sse(FrameId(seq, place), text.encode()) for seq, place, text in frames)
    wanted = [
        (f"{seq}.{place}", "", text.replace("\r\n", "\n").replace("\r", "\n"))
        for seq, place, text in frames
    ]
    assert read(data) == wanted


@pytest.mark.timeout(120 + EXAMPLES // 50)
@settings(max_examples=EXAMPLES)
@given(st.text() | TEXTS)
def test_t9_an_id_that_a_client_sends_is_two_numbers_or_none(text: str) -> None:
    found = parse_frame_id(text)
    assert found is None or 0 <= found.seq < 10**18 > found.place >= 0


@given(NUMBERS, NUMBERS)
def test_an_id_comes_back_as_it_went_out(seq: int, place: int) -> None:
    assert parse_frame_id(str(FrameId(seq, place))) == FrameId(seq, place)
