"""The objects of a stream have slots: a server has dozens of them for each live stream."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from headrace import Decoder
from headrace.events import Record, Stamp
from headrace.server.sse import FrameEncoder
from tests.wire import chunk, sse

READS = [sse(chunk({"reasoning_content": "hm "})), sse(chunk({"content": "yes "}))]
# Generic bases, and classes that dialects share.
MAY_HAVE_DICT = {"ChatDialect", "PayloadDecoder"}


def create_decoder() -> Decoder:
    decoder = Decoder("chat", keeps_message=False)
    for read in READS * 3:
        decoder.feed(read)
    return decoder


def create_encoder() -> FrameEncoder:
    decoder, encoder = Decoder("chat"), FrameEncoder("ux", "msg_1")
    events = [event for read in READS for event in decoder.feed(read)]
    records: list[Record] = Stamp(lambda: 0).feed(events)
    for record in records:
        encoder.feed(record)
    return encoder


@pytest.mark.parametrize("root", [create_decoder(), create_encoder()])
def test_objects_of_a_stream_have_no_dict(root: Any) -> None:
    found = {type(one).__name__ for one in _find_objects(root) if hasattr(one, "__dict__")}
    assert found <= MAY_HAVE_DICT


def _find_objects(root: Any) -> list[Any]:
    """Return all objects of our classes that this one leads to."""
    seen: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        one = waiting.pop()
        is_container = isinstance(one, dict | list | tuple) or hasattr(one, "__self__")
        is_ours = type(one).__module__.startswith("headrace.")
        if id(one) in seen or isinstance(one, type) or not (is_ours or is_container):
            continue
        seen[id(one)] = one
        waiting += gc.get_referents(one)
    ours = [one for one in seen.values() if type(one).__module__.startswith("headrace.")]
    assert len(ours) > 5
    return ours
