"""The gRPC stream of xAI, rewritten, cut and damaged: its messages are binary, so it has mutations
of its own."""

from __future__ import annotations

import pytest

from headrace.wire.framing.grpc import add_prefix
from tests import xai
from tests.mutation.content import content_of, is_said, runnable_calls
from tests.mutation.sample import Sample, Sent
from tests.wire import random_cuts, single_bytes

# Fields that no version of xAI's messages has: a number and a text.
UNKNOWN = b"\xf8\xff\x01\x05" + b"\xfa\xff\x01\x03odd"


def client_call() -> list[object]:
    args = '{"city": "Zürich"}'
    return [
        xai.chunk(xai.output(reasoning_content="Let me ")),
        xai.chunk(xai.output(reasoning_content="see.")),
        *(xai.chunk(xai.output(content=text)) for text in ("The dose is ", "NOT ", "10 mg.")),
        xai.chunk(xai.output(tool_calls=[xai.call("c1", args, name="look", type="CLIENT_SIDE")])),
        xai.chunk(xai.output(finish="REASON_TOOL_CALLS")),
    ]


def sample_of(name: str, chunks: list[object]) -> Sample:
    frames = tuple(Sent(chunk.SerializeToString()) for chunk in chunks)  # type: ignore[attr-defined]
    return Sample(name, "xai", "grpc", frames)


SAMPLES = [sample_of("search", xai.seed_trace()), sample_of("call", client_call())]
each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=["search", "call"])


@each_sample
def test_harmless_mutations_leave_the_events_as_they_are(sample: Sample) -> None:
    known = [frame.data for frame in sample.frames]
    unknown = b"".join(add_prefix(data + UNKNOWN) for data in known)
    with_empty = b"".join(add_prefix(data) + add_prefix(b"") for data in known)
    for data in (single_bytes(sample.data), random_cuts(sample.data, seed=3), unknown, with_empty):
        assert sample.decode(data) == sample.events


@each_sample
def test_a_cut_before_the_last_message_is_no_success(sample: Sample) -> None:
    for place in range(len(sample.frames)):
        head = sample.write(sample.frames[:place])
        rest = sample.write(sample.frames[place : place + 1])
        for cut in (head, head + rest[:3], head + rest[: len(rest) - 1]):
            assert is_said(sample.decode(cut)), (place, cut[-20:])


DAMAGES = {
    "truncated": lambda data: data[: len(data) // 2],
    "last byte lost": lambda data: data[:-1],
    "another wire type": lambda data: b"\x0f" + data,
    "HTML": lambda data: b"<html>502 Bad Gateway</html>",
}


@each_sample
@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_message_is_said(sample: Sample, name: str) -> None:
    calls = runnable_calls(sample.events)
    for place, frame in enumerate(sample.frames):
        damaged = Sent(DAMAGES[name](frame.data))
        data = sample.write([*sample.frames[:place], damaged, *sample.frames[place + 1 :]])
        events = sample.decode(data)
        assert is_said(events) or content_of(events) == sample.content, (place, events[-1])
        assert all(call in calls for call in runnable_calls(events)), place
