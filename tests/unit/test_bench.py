"""The streams that `make bench` measures are what they claim to be."""

from __future__ import annotations

import msgspec
import pytest

from bench import cloud_streams, streams, typed_stream
from headrace import Decoder
from headrace.messages import CallPart, Message, ReasoningPart, TextPart

STREAMS = {
    "chat": lambda: streams.chat(200),
    "chat argument": lambda: streams.chat_argument(50, 3_000),
    "chat switches": lambda: streams.chat_switches(40),
    "anthropic": lambda: streams.anthropic(200),
    "anthropic argument": lambda: streams.anthropic_argument(50, 3_000),
    "responses": lambda: streams.responses(200),
    "gemini": lambda: streams.gemini(200),
    "ollama": lambda: streams.ollama(200),
    "bedrock": lambda: cloud_streams.bedrock(200),
    "cohere": lambda: cloud_streams.cohere(200),
}


def decoded(stream: streams.Stream, reads: list[bytes]) -> Message:
    decoder = Decoder(stream.dialect, framing=stream.framing)
    for read in reads:
        decoder.feed(read)
    decoder.close()
    assert decoder.error is None
    return decoder.message


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("size", [None, 7])
def test_a_stream_decodes_to_what_it_says(name, size):
    stream = STREAMS[name]()
    message = decoded(stream, streams.recut(stream.reads, size) if size else stream.reads)
    parts = message.turns[0].parts
    assert "".join(p.text for p in parts if isinstance(p, ReasoningPart)) == stream.reasoning
    assert "".join(p.text for p in parts if isinstance(p, TextPart)) == stream.text
    assert tuple(p.raw for p in parts if isinstance(p, CallPart)) == stream.arguments


@pytest.mark.parametrize("events", [100, 200])
@pytest.mark.parametrize(
    "make",
    [
        streams.chat,
        streams.anthropic,
        streams.responses,
        streams.gemini,
        streams.ollama,
        cloud_streams.bedrock,
        cloud_streams.cohere,
    ],
)
def test_a_stream_has_the_promised_number_of_events(make, events):
    stream = make(events)
    assert stream.events == events
    start = b"data: {" if stream.framing == "sse" else b"{"
    assert sum(start in read for read in stream.reads) == events


@pytest.mark.parametrize("chunks", [50, 400])
def test_the_typed_answer_has_the_promised_size_and_type(chunks):
    stream = typed_stream.survey(chunks)
    assert 4 * chunks <= len(stream.text) < 4 * chunks + 200
    assert msgspec.json.decode(stream.text, type=typed_stream.Survey).places
    (part,) = decoded(stream, stream.reads).turns[0].parts
    assert isinstance(part, TextPart)
    assert part.text == stream.text
