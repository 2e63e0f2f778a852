"""Reads of exactly one frame give the events that any other reads give."""

from __future__ import annotations

import json
from typing import Any
from zlib import crc32

import pytest

from headrace import Decoder
from headrace.rehearsal.script import say, think, turn
from headrace.turn.key_mask import list_events
from headrace.wire.framing import AWSEventStreamFraming, NDJSONFraming, SSEFraming
from headrace.wire.limits import WireLimits
from tests.rehearsal.scripts import FRAMINGS, bytes_of


def _chat(delta: str, beside: str = "") -> bytes:
    return f'data: {{"choices":[{{"index":0,"delta":{{{delta}}}}}]{beside}}}\n\n'.encode()


def _anthropic(delta: str, event: str = "content_block_delta") -> bytes:
    payload = f'{{"type":"content_block_delta","index":0,"delta":{{{delta}}}}}'
    return f"event: {event}\ndata: {payload}\n\n".encode()


def _anthropic_start(block: dict[str, Any]) -> bytes:
    payload = {"type": "content_block_start", "index": 0, "content_block": block}
    return f"event: content_block_start\ndata: {json.dumps(payload)}\n\n".encode()


def _gemini(part: str, beside: str = "") -> bytes:
    content = f'{{"content":{{"parts":[{{{part}}}],"role":"model"}},"index":0{beside}}}'
    usage = '{"promptTokenCount":7,"candidatesTokenCount":3}'
    return f'data: {{"candidates":[{content}],"usageMetadata":{usage}}}\r\n\r\n'.encode()


def _ollama(message: str, beside: str = '"done":false') -> bytes:
    return f'{{"model":"m","message":{{"role":"assistant",{message}}},{beside}}}\n'.encode()


_WORDS = ['"content":"one two three"', '"content":" four five six"', '"content":" seven eight"']
_TEXTS = [part.replace("content", "text") for part in _WORDS]
_DELTAS = [f'"type":"text_delta",{part}' for part in _TEXTS]
_START = _anthropic_start({"type": "text", "text": ""})

STREAMS: dict[str, tuple[str, str, list[bytes]]] = {
    "plain": ("chat", "sse", [_chat(part) for part in _WORDS]),
    "a field twice": (
        "chat",
        "sse",
        [_chat(part) for part in [*_WORDS, '"content":"x","content":"y"', *_WORDS]],
    ),
    "text beside reasoning": (
        "chat",
        "sse",
        [_chat(part) for part in [*_WORDS, '"content":"x","reasoning_content":"y"', *_WORDS]],
    ),
    "an error beside text": (
        "chat",
        "sse",
        [*map(_chat, _WORDS), _chat(_WORDS[0], ',"error":{"message":"no"}'), *map(_chat, _WORDS)],
    ),
    "halves of a pair": (
        "chat",
        "sse",
        [_chat(part) for part in [*_WORDS, '"content":"\\ud83d"', '"content":"\\ude00"', *_WORDS]],
    ),
    "not UTF-8": (
        "chat",
        "sse",
        [*map(_chat, _WORDS), _chat('"content":"?"').replace(b"?", b"\xff")],
    ),
    "a line break inside": (
        "chat",
        "sse",
        [*map(_chat, _WORDS), _chat(_WORDS[0]).replace(b",", b",\r"), *map(_chat, _WORDS)],
    ),
    "blocks": ("anthropic", "sse", [_START, *map(_anthropic, _DELTAS)]),
    "events named error": (
        "anthropic",
        "sse",
        [_START, *map(_anthropic, _DELTAS), *(_anthropic(part, "error") for part in _DELTAS)],
    ),
    "another kind of delta": (
        "anthropic",
        "sse",
        [_START, *map(_anthropic, _DELTAS), _anthropic('"type":"new_delta","text":"x"')],
    ),
    "parts": ("gemini", "sse", [_gemini(part) for part in _TEXTS]),
    "signed parts": (
        "gemini",
        "sse",
        [_gemini(part) for part in [*_TEXTS, '"text":"x","thoughtSignature":"s"', *_TEXTS]],
    ),
    "a reason beside text": (
        "gemini",
        "sse",
        [
            *map(_gemini, _TEXTS),
            _gemini(_TEXTS[0], ',"finishReason":"STOP"'),
            *map(_gemini, _TEXTS),
        ],
    ),
    "lines": ("ollama", "ndjson", [_ollama(part) for part in _WORDS]),
    "lines after the end": (
        "ollama",
        "ndjson",
        [*map(_ollama, _WORDS), _ollama(_WORDS[0], '"done":true'), *map(_ollama, _WORDS)],
    ),
}
LIMITS = {
    "default": WireLimits(),
    "part": WireLimits(max_part_chars=30),
    "frame": WireLimits(max_frame_bytes=75),
    "total": WireLimits(max_total_bytes=300),
    "blocks": WireLimits(max_silent_bytes=150),
    "depth": WireLimits(max_depth=4),
}


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS.keys())
@pytest.mark.parametrize(("dialect", "framing", "reads"), STREAMS.values(), ids=STREAMS.keys())
def test_reads_of_one_frame_give_the_same(
    dialect: str, framing: str, reads: list[bytes], limits: WireLimits
) -> None:
    whole = b"".join(reads)
    expected = _decode(dialect, framing, [whole], limits)
    assert _decode(dialect, framing, reads, limits) == expected
    assert (
        _decode(dialect, framing, [whole[i : i + 1] for i in range(len(whole))], limits) == expected
    )


SCRIPT = turn(
    think(pieces=[f"thought-{number} " for number in range(30)]),
    say(pieces=[f"word-{number} " for number in range(30)]),
)
FAST = ("chat", "anthropic", "responses", "gemini", "ollama", "bedrock")
"""The dialects that read single deltas without the ledger."""


@pytest.mark.parametrize("dialect", FAST)
def test_a_scripted_answer_is_the_same_in_reads_of_any_size(dialect: str) -> None:
    reads = bytes_of(SCRIPT, dialect)
    framing, whole = FRAMINGS.get(dialect, "sse"), b"".join(reads)
    expected = _decode(dialect, framing, [whole], WireLimits())
    assert _decode(dialect, framing, reads, WireLimits()) == expected


@pytest.mark.parametrize("dialect", FAST)
def test_most_deltas_do_not_pass_through_frames(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = bytes_of(SCRIPT, dialect)
    slow: list[bytes] = []
    feed_frames = Decoder._feed_frames

    def count(decoder: Decoder, data: bytes) -> Any:
        slow.append(data)
        return feed_frames(decoder, data)

    monkeypatch.setattr(Decoder, "_feed_frames", count)
    decoder = Decoder(dialect, framing=FRAMINGS.get(dialect, "sse"))
    for read in reads:
        decoder.feed(read)
    assert len(reads) > 60
    # Each part begins and ends with a few events of its own.
    assert len(slow) <= len(reads) - 50


@pytest.mark.parametrize("dialect", FAST)
def test_most_deltas_come_without_a_list(dialect: str) -> None:
    reads = bytes_of(SCRIPT, dialect)
    decoder = Decoder(dialect, framing=FRAMINGS.get(dialect, "sse"))
    listed = [read for read in reads if isinstance(decoder.feed_single(read), list)]
    assert len(listed) <= len(reads) - 50


def _decode(dialect: str, framing: str, reads: list[bytes], limits: WireLimits) -> list[Any]:
    """Return what the reads give, which is the same with a list for each read and without."""
    decoder = Decoder(dialect, framing=framing, wire_limits=limits)
    single = Decoder(dialect, framing=framing, wire_limits=limits)
    events: list[Any] = []
    for read in reads:
        new = decoder.feed(read)
        assert list_events(single.feed_single(read)) == new
        events += new
    end = decoder.close()
    assert single.close() == end
    events += end
    assert single.message == decoder.message
    return [events, decoder.usage, decoder.ignored_frames, decoder.skipped_frames, decoder.message]


@pytest.mark.parametrize(
    ("framing", "read"),
    [
        (SSEFraming(), b"data: {}\n\n"),
        (NDJSONFraming(), b'{"a":1}\n'),
    ],
)
def test_cut_single_changes_nothing_if_it_cuts_nothing(
    framing: SSEFraming | NDJSONFraming, read: bytes
) -> None:
    payload = framing.feed(read)[0].data
    for other in (b"", read[:-1], read + read, read.replace(b"{", b"{\r"), b"\n", b": x\n\n"):
        assert framing.cut_single(other) is None
        assert framing.cut_single(read) == payload


def test_a_message_with_a_wrong_checksum_is_not_cut() -> None:
    headers = b"\x0b:event-type\x07\x00\x05delta"
    payload = b'{"a":1}'
    sizes = (16 + len(headers) + len(payload)).to_bytes(4, "big") + len(headers).to_bytes(4, "big")
    start = sizes + crc32(sizes).to_bytes(4, "big") + headers + payload
    message = start + crc32(start).to_bytes(4, "big")
    framing = AWSEventStreamFraming()
    assert framing.cut_single(message) is None, "headers that have not come before"
    assert framing.feed(message)[0].data == payload
    assert framing.cut_single(message) == payload
    assert framing.single_event == "delta"
    for place in range(len(message)):
        broken = message[:place] + bytes([message[place] ^ 1]) + message[place + 1 :]
        assert framing.cut_single(broken) is None
    assert framing.cut_single(message[:-1]) is None
    assert framing.cut_single(message + message) is None
