"""Streams as tests write them, and decoding them in one go or in pieces."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from headrace.events import Record, TurnEvent, TurnFailed, TurnFinished
from headrace.messages import Message, fold
from headrace.usage import Usage
from headrace.wire.decoder import Decoder


def sse(*payloads: Any, done: bool = True, names: bool = False) -> bytes:
    """An SSE stream: objects as JSON, bytes as they are; `[DONE]` at the end if wanted,
    and the payload's type as the event name if wanted."""
    frames = [_frame(payload, names) for payload in payloads]
    return b"".join(frames) + (b"data: [DONE]\n\n" if done else b"")


def _frame(payload: Any, names: bool) -> bytes:
    if isinstance(payload, bytes):
        return payload
    name = f"event: {payload['type']}\n".encode() if names else b""
    return name + b"data: " + msgspec.json.encode(payload) + b"\n\n"


def chunk(delta: Any = None, *, index: int = 0, finish: Any = None, **top: Any) -> dict[str, Any]:
    """One chat chunk with one choice."""
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return {
        "id": "r1",
        "model": "m1",
        "object": "chat.completion.chunk",
        "choices": [choice],
        **top,
    }


def events_of(
    data: bytes | Iterable[bytes], dialect: str | None = None, **options: Any
) -> list[TurnEvent]:
    """All events of a stream, fed in the reads given."""
    decoder = Decoder(dialect, **options)
    events: list[TurnEvent] = []
    for read in [data] if isinstance(data, bytes) else data:
        events += decoder.feed(read)
    return events + decoder.close()


def usage_of(events: Sequence[TurnEvent]) -> Usage:
    """The usage in the last event, which must be the end of the turn."""
    end = events[-1]
    assert isinstance(end, TurnFinished | TurnFailed)
    assert end.usage is not None
    return end.usage


def message_of(events: Iterable[TurnEvent]) -> Message:
    """The events of one turn, folded; times are the record numbers."""
    return fold(Record(seq, seq, event) for seq, event in enumerate(events, 1))


def kinds(events: Iterable[TurnEvent]) -> list[str]:
    """The names of the events, in order."""
    return [type(event).__name__ for event in events]


def only(events: Iterable[TurnEvent], *types: type) -> list[Any]:
    """The events of these types."""
    return [event for event in events if isinstance(event, types)]


def single_bytes(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def random_cuts(data: bytes, seed: int, pieces: int = 40) -> list[bytes]:
    rng = random.Random(seed)
    cuts = sorted(rng.sample(range(len(data) + 1), min(pieces, len(data) + 1)))
    return sliced(data, cuts)


def sliced(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    edges = [0, *cuts, len(data)]
    return [data[start:end] for start, end in pairwise(edges)]
