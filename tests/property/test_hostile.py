"""Endless and broken bytes: a typed end that names the limit, and memory that stays within
twice the limit, whatever is sent without an end."""

from __future__ import annotations

import itertools
import os
import re
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.rehearsal.script import Line, say, think, turn
from headrace.rehearsal.script import call as script_call
from headrace.rehearsal.wire import steps_of
from headrace.wire.decoder import Decoder
from headrace.wire.dialects import DIALECT_NAMES
from headrace.wire.framing import FRAMINGS
from headrace.wire.framing.grpc import add_prefix
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits
from tests.fuzz.targets import check_events
from tests.grammar import check_grammar
from tests.rehearsal.scripts import FRAMINGS as FRAMING_OF
from tests.rehearsal.scripts import bytes_of, traits_of
from tests.wire import chunk, events_of, only, sse

KIB = 1024
# The decoder itself, its tables, and one read with the frames in it.
OVERHEAD_BYTES = 192 * KIB

SIZES = {
    "max_line_bytes": 64 * KIB,
    "max_frame_bytes": 128 * KIB,
    "max_total_bytes": 512 * KIB,
    "max_silent_bytes": 256 * KIB,
    "max_part_chars": 64 * KIB,
    "max_held_chars": 64 * KIB,
}
# Any other limit, those that are yet to come included, is a number of things.
COUNT = 100
SMALL = WireLimits(
    **{field.name: SIZES.get(field.name, COUNT) for field in msgspec.structs.fields(WireLimits)}
)

Reads = Iterator[bytes]


@dataclass
class Flood:
    """What came of an endless stream."""

    events: list[ev.TurnEvent]
    peak_bytes: int
    fed_bytes: int

    @property
    def limit(self) -> str:
        """The limit that the terminal event names."""
        end = self.events[-1]
        assert isinstance(end, ev.TurnFailed), end
        assert end.category == "protocol", end
        found = re.search(r"\b(max_\w+)=\d+", end.message)
        assert found, f"no limit is named: {end.message}"
        return found[1]


def flood(reads: Iterable[bytes], dialect: str | None, **options: Any) -> Flood:
    """Feed until the turn ends; an endless stream that nothing ends fails the test."""
    options.setdefault("wire_limits", SMALL)
    patience = 2 * options["wire_limits"].max_total_bytes
    fed = 0
    # Loads the modules of the dialects, which are not what is measured.
    for warm in (Decoder(), Decoder(dialect, **options)):
        warm.feed(b"data: {}\n\n")
        warm.close()
    tracemalloc.start()
    try:
        decoder = Decoder(dialect, **options)
        events: list[ev.TurnEvent] = []
        for read in reads:
            fed += len(read)
            events += decoder.feed(read)
            if decoder.is_finished:
                break
            assert fed < patience, "nothing ends the stream"
        events += decoder.close()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    check_grammar(events)
    return Flood(events, peak, fed)


# --- what comes without an end ----------------------------------------------------


def forever(piece: bytes) -> Reads:
    return itertools.repeat(piece)


def after(head: bytes, pieces: Iterable[bytes]) -> Reads:
    return itertools.chain([head], pieces)


def chats(delta: Callable[[int], Any], **top: Any) -> Reads:
    return (sse(chunk(delta(n), **top), done=False) for n in itertools.count())


def tops(top: Callable[[int], dict[str, Any]]) -> Reads:
    return (sse(chunk({}, **top(n)), done=False) for n in itertools.count())


def events(payload: Callable[[int], dict[str, Any]]) -> Reads:
    return (sse(payload(n), done=False) for n in itertools.count())


def call(index: int, arguments: str, **function: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"arguments": arguments, **function}}]}


def blocks(n: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": n, "content_block": block}


def delta(index: int, type: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": type, **fields}}


X = "x" * KIB
FIRST = sse(chunk({"content": "hello"}), done=False)
OPEN_CALL = sse(chunk(call(0, '{"a": "', name="f")), done=False)
TOOL_USE = sse(blocks(0, type="tool_use", id="c", name="f", input={}), done=False)
NAMELESS = sse(chunk({"tool_calls": [{"index": 0, "id": "c"}]}), done=False)
TEXT_BLOCK = sse(blocks(0, type="text", text="hello"), done=False)

LINES: dict[str, tuple[Callable[[], Reads], str]] = {
    "line": (lambda: after(b"data: ", forever(b"x" * KIB)), "max_line_bytes"),
    "line of blanks": (lambda: forever(b" " * KIB), "max_line_bytes"),
    "line of single bytes": (lambda: after(b"data: ", forever(b"x")), "max_line_bytes"),
    "line of NUL": (lambda: forever(b"\0" * KIB), "max_line_bytes"),
    "comment": (lambda: after(b":", forever(b"x" * KIB)), "max_line_bytes"),
    "event name": (lambda: after(b"event: ", forever(b"x" * KIB)), "max_line_bytes"),
    "id": (lambda: after(b"id: ", forever(b"x" * KIB)), "max_line_bytes"),
    "retry": (lambda: after(b"retry: ", forever(b"9" * KIB)), "max_line_bytes"),
    "unknown field": (lambda: after(b"foo: ", forever(b"x" * KIB)), "max_line_bytes"),
    "error field": (lambda: after(b"error: ", forever(b"x" * KIB)), "max_line_bytes"),
    "invalid UTF-8": (lambda: after(b"data: ", forever(b"\xff\xc0" * KIB)), "max_line_bytes"),
    "data lines": (lambda: forever(b"data: " + b"x" * KIB + b"\n"), "max_frame_bytes"),
    "empty data lines": (lambda: forever(b"data\n" * 200), "max_silent_bytes"),
    "data lines ended by CR": (
        lambda: forever(b"data: " + b"x" * 200 + b"\r"),
        "max_frame_bytes",
    ),
    "comments": (lambda: forever(b": " + b"x" * KIB + b"\n"), "max_silent_bytes"),
    "event names": (
        lambda: (b"event: %d%s\n" % (n, b"x" * KIB) for n in itertools.count()),
        "max_silent_bytes",
    ),
    "ids": (
        lambda: (b"id: %d%s\n\n" % (n, b"x" * KIB) for n in itertools.count()),
        "max_silent_bytes",
    ),
    "blank lines": (lambda: forever(b"\n" * KIB), "max_silent_bytes"),
    "carriage returns": (lambda: forever(b"\r" * KIB), "max_silent_bytes"),
    "blank frames": (lambda: forever(b"data:" + b" " * 500 + b"\n\n"), "max_silent_bytes"),
    "empty frames": (lambda: forever(b"data\n\n:" + b"x" * 500 + b"\n"), "max_silent_bytes"),
    "frames that are no JSON": (lambda: forever(b"data: x\n\n"), "max_skipped_frames"),
    "frames of invalid UTF-8": (lambda: forever(b"data: \xff\n\n"), "max_skipped_frames"),
    "frames of NUL": (lambda: forever(b"data: \0\n\n"), "max_skipped_frames"),
    "deep JSON": (lambda: forever(b"data: " + b"[" * 10_000 + b"\n\n"), "max_depth"),
}

CHAT: dict[str, tuple[Callable[[], Reads], str | None]] = {
    "text": (lambda: chats(lambda n: {"content": X}), "max_part_chars"),
    "reasoning": (lambda: chats(lambda n: {"reasoning": X}), "max_part_chars"),
    "text of single characters": (lambda: chats(lambda n: {"content": "x"}), "max_total_bytes"),
    "refusal": (lambda: chats(lambda n: {"refusal": X}), "max_part_chars"),
    "tagged thinking": (
        lambda: after(
            sse(chunk({"content": "<think>"}), done=False), chats(lambda n: {"content": X})
        ),
        "max_part_chars",
    ),
    "blanks before a tag": (lambda: chats(lambda n: {"content": " "}), "max_total_bytes"),
    "beginnings of a tag": (lambda: chats(lambda n: {"content": "<think" * 99}), "max_part_chars"),
    "ends of a tag": (
        lambda: after(
            sse(chunk({"content": "<think>"}), done=False),
            chats(lambda n: {"content": "</think" * 99}),
        ),
        "max_part_chars",
    ),
    "arguments": (lambda: after(OPEN_CALL, chats(lambda n: call(0, X))), "max_part_chars"),
    "arguments in JSON": (
        lambda: after(OPEN_CALL, chats(lambda n: call(0, "{}" * KIB))),
        "max_part_chars",
    ),
    "arguments held back": (
        lambda: after(OPEN_CALL, chats(lambda n: call(1 + n % 9, X, name="g"))),
        "max_held_chars",
    ),
    "arguments of a nameless call": (
        lambda: after(NAMELESS, chats(lambda n: call(0, X))),
        "max_part_chars|max_held_chars",
    ),
    "calls": (lambda: chats(lambda n: call(n, "{}", name="f")), "max_calls"),
    "calls held back": (
        lambda: after(OPEN_CALL, chats(lambda n: call(n, "", name="f"))),
        "max_calls",
    ),
    "nameless calls": (lambda: chats(lambda n: call(n, "")), "max_calls"),
    "calls with one id": (
        lambda: chats(
            lambda n: {"tool_calls": [{"index": n, "id": "c", "function": {"name": "f"}}]}
        ),
        "max_calls",
    ),
    "parts": (
        lambda: chats(lambda n: {"content": "x"} if n % 2 else {"reasoning": "x"}),
        "max_parts",
    ),
    "parts beside an open call": (
        lambda: after(
            OPEN_CALL, chats(lambda n: {"content": "x"} if n % 2 else {"reasoning": "x"})
        ),
        "max_parts",
    ),
    "channels": (lambda: chats(lambda n: {"content": "x", "channel": str(n)}), "max_parts"),
    "reasoning details": (
        lambda: chats(lambda n: {"reasoning_details": [{"text": "x", "index": n}]}),
        "max_parts",
    ),
    "redacted blocks": (lambda: chats(lambda n: {"thinking_blocks": [{"data": "x"}]}), "max_parts"),
    "unknown entries": (lambda: chats(lambda n: {"content": [{"type": "x"}] * 9}), "max_parts"),
    "images": (lambda: chats(lambda n: {"images": [{"image_url": {"url": "x"}}]}), "max_parts"),
    "outputs": (
        lambda: (sse(chunk({}, index=n), done=False) for n in itertools.count()),
        "max_outputs",
    ),
    "outputs in one frame": (
        lambda: events(lambda n: {"choices": [{"index": 9 * n + m} for m in range(9)]}),
        "max_outputs",
    ),
    "empty choices": (lambda: forever(b'data: {"choices": [{},{},{}]}\n\n'), "max_total_bytes"),
    "lists as payloads": (lambda: forever(b"data: []\n\n"), "max_skipped_frames"),
    "usage": (lambda: tops(lambda n: {"usage": {"prompt_tokens": n}}), "max_total_bytes"),
    "notes": (lambda: events(lambda n: {f"key{n}": X}), "max_silent_bytes"),
    "notes in one frame": (
        lambda: events(lambda n: {f"key{n}.{m}": 1 for m in range(KIB)}),
        "max_silent_bytes",
    ),
    "sources": (
        lambda: tops(lambda n: {"citations": [f"{n}.{m}" for m in range(100)]}),
        None,
    ),
    "results": (
        lambda: tops(lambda n: {"search_results": [{"url": f"{n}.{m}"} for m in range(100)]}),
        None,
    ),
    "annotations": (
        lambda: after(FIRST, chats(lambda n: {"annotations": [{"type": "x"}] * 100})),
        None,
    ),
    "references": (
        lambda: after(
            FIRST,
            chats(lambda n: {"content": [{"type": "reference", "reference_ids": [1] * 100}]}),
        ),
        None,
    ),
    "sound": (lambda: chats(lambda n: {"audio": {"data": X}}), "max_part_chars"),
}

ANTHROPIC: dict[str, tuple[Callable[[], Reads], str | None]] = {
    "text": (
        lambda: after(TEXT_BLOCK, events(lambda n: delta(0, "text_delta", text=X))),
        "max_part_chars",
    ),
    "thinking": (
        lambda: events(lambda n: delta(0, "thinking_delta", thinking=X)),
        "max_part_chars",
    ),
    "arguments": (
        lambda: after(TOOL_USE, events(lambda n: delta(0, "input_json_delta", partial_json=X))),
        "max_part_chars",
    ),
    "arguments held back": (
        lambda: after(
            TOOL_USE + sse(blocks(1, type="tool_use", id="d", name="f", input={}), done=False),
            events(lambda n: delta(1, "input_json_delta", partial_json=X)),
        ),
        "max_part_chars|max_held_chars",
    ),
    "calls": (
        lambda: events(lambda n: blocks(n, type="tool_use", id=str(n), name="f", input={})),
        "max_calls|max_parts",
    ),
    "calls of the provider": (
        lambda: events(lambda n: blocks(n, type="server_tool_use", id=str(n), name="f")),
        "max_calls|max_parts",
    ),
    "blocks of text": (lambda: events(lambda n: blocks(n, type="text", text="x")), "max_parts"),
    "blocks in the message": (
        lambda: events(
            lambda n: {"type": "message_start", "message": {"content": [{"type": "x"}] * 9}}
        ),
        "max_parts",
    ),
    "switches between two blocks": (
        lambda: events(lambda n: delta(n % 2, "text_delta", text="x")),
        "max_parts",
    ),
    "results": (
        lambda: events(lambda n: blocks(n, type="x_tool_result", tool_use_id="c", content="x")),
        "max_parts",
    ),
    "redacted blocks": (
        lambda: events(lambda n: blocks(n, type="redacted_thinking", data="x")),
        "max_parts",
    ),
    "pings": (lambda: events(lambda n: {"type": "ping"}), "max_silent_bytes"),
    "unknown events": (lambda: events(lambda n: {"type": f"odd{n}"}), "max_silent_bytes"),
    "notes": (
        lambda: events(lambda n: {"type": "message_delta", "delta": {f"key{n}": X}}),
        "max_silent_bytes",
    ),
    "signatures": (
        lambda: after(TEXT_BLOCK, events(lambda n: delta(0, "signature_delta", signature=X))),
        "max_total_bytes",
    ),
    "empty blocks": (lambda: events(lambda n: blocks(n, type="text")), "max_parts"),
    "unknown blocks that never stop": (
        lambda: events(lambda n: blocks(n, type="odd")),
        "max_parts",
    ),
    "unknown deltas": (
        lambda: after(
            sse(blocks(0, type="odd", words=""), done=False),
            events(lambda n: delta(0, "odd_delta", words=X)),
        ),
        "max_part_chars",
    ),
    "usage keys": (
        lambda: events(
            lambda n: {"type": "message_delta", "usage": {f"{n}.{m}": 1 for m in range(100)}}
        ),
        None,
    ),
    "citations": (
        lambda: after(
            TEXT_BLOCK,
            events(lambda n: delta(0, "citations_delta", citation={"type": "x"})),
        ),
        None,
    ),
    "citations in one block": (
        lambda: events(lambda n: blocks(n, type="text", text="x", citations=[{"type": "x"}] * 100)),
        None,
    ),
}


def steps(
    delta: Callable[[int], dict[str, Any]], index: Callable[[int], int] = lambda n: 0
) -> Reads:
    """Chunks of xAI, in the JSON of gRPC messages."""
    outputs = ({"index": index(n), "delta": delta(n)} for n in itertools.count())
    return (add_prefix(msgspec.json.encode({"outputs": [output]})) for output in outputs)


def entry(n: int, arguments: str = "{}", kind: int = 3, **more: Any) -> dict[str, Any]:
    call = {"id": str(n), "type": kind, "function": {"name": "f", "arguments": arguments}}
    return {"tool_calls": [call | more]}


XAI: dict[str, tuple[Callable[[], Reads], str | None]] = {
    "text": (lambda: steps(lambda n: {"content": X}), "max_part_chars"),
    "reasoning": (lambda: steps(lambda n: {"reasoningContent": X}), "max_part_chars"),
    "a result": (lambda: steps(lambda n: {"role": 5, "content": X}), "max_part_chars"),
    "encrypted": (lambda: steps(lambda n: {"encryptedContent": X}), "max_part_chars"),
    "arguments": (lambda: steps(lambda n: entry(0, f"{n}{X}")), "max_part_chars"),
    "snapshots": (lambda: steps(lambda n: entry(0, X)), "max_total_bytes"),
    "calls": (lambda: steps(lambda n: entry(n, kind=1)), "max_calls"),
    "calls of the provider": (lambda: steps(entry), "max_calls"),
    "calls without an id": (
        lambda: steps(lambda n: {"tool_calls": [{"function": {"name": "f"}}]}),
        "max_calls",
    ),
    "statuses": (lambda: steps(lambda n: entry(0, status=1 + n % 3)), "max_total_bytes"),
    "outputs": (lambda: steps(lambda n: {}, lambda n: n), "max_outputs"),
    "results": (
        lambda: steps(lambda n: {"role": 5, **entry(n, status=1)}, lambda n: n),
        "max_calls|max_outputs|max_parts",
    ),
    "parts": (
        lambda: steps(lambda n: {"content": "x"} if n % 2 else {"reasoningContent": "x"}),
        "max_parts",
    ),
    "sources in the text": (
        lambda: steps(lambda n: {"content": "x", "citations": [{"id": str(n)}]}),
        "max_citations",
    ),
    "sources": (
        lambda: (add_prefix(b'{"citations":["%d"]}' % n) for n in itertools.count()),
        "max_citations",
    ),
    "empty messages": (lambda: forever(add_prefix(b"") * 99), "max_silent_bytes"),
    "messages that are none": (lambda: forever(add_prefix(b"\xff")), "max_skipped_frames"),
    "outputs in one message": (lambda: forever(add_prefix(b"\x12\0" * KIB)), "max_parts"),
    "a message of any length": (lambda: forever(b"\0\xff\xff\xff\xff"), "max_frame_bytes"),
    "deep JSON": (lambda: forever(add_prefix(b'{"a":' * 200)), "max_depth"),
}


def rows(table: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("name", table)


def assert_bounded(found: Flood, expected: str | None) -> None:
    assert re.fullmatch(expected or r"max_\w+", found.limit), found.limit
    allowed = 2 * SMALL.max_total_bytes + OVERHEAD_BYTES
    assert found.peak_bytes <= allowed, f"{found.peak_bytes} bytes for {found.fed_bytes} of them"


@rows(LINES)
@pytest.mark.parametrize("dialect", [*DIALECT_NAMES, None])
def test_endless_bytes_end_at_a_named_limit(name: str, dialect: str | None) -> None:
    reads, limit = LINES[name]
    found = flood(reads(), dialect)
    assert_bounded(found, limit)
    assert found.peak_bytes <= 2 * SIZES.get(limit, SMALL.max_frame_bytes) + OVERHEAD_BYTES


@rows(CHAT)
def test_endless_chat_ends_at_a_named_limit(name: str) -> None:
    reads, limit = CHAT[name]
    assert_bounded(flood(reads(), "chat"), limit)


@rows(ANTHROPIC)
def test_endless_anthropic_events_end_at_a_named_limit(name: str) -> None:
    reads, limit = ANTHROPIC[name]
    assert_bounded(flood(reads(), "anthropic"), limit)


@rows(XAI)
def test_endless_xai_messages_end_at_a_named_limit(name: str) -> None:
    reads, limit = XAI[name]
    assert_bounded(flood(reads(), "xai", framing="grpc"), limit)


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("piece", [b"x", b"{", b"[", b'"', b'{"a": ', b" ", b"\\", b"1", b"\xff"])
def test_no_framing_can_be_made_endless(framing: str, piece: bytes) -> None:
    """It breaks the format or passes a limit; a flood of blanks passes that of the turn."""
    reads = itertools.chain([b"["] if framing == "json-array" else [], forever(piece * 500))
    found = flood(reads, "chat", framing=framing)
    end = found.events[-1]
    assert isinstance(end, ev.TurnFailed)
    assert end.category == "protocol"
    assert found.peak_bytes <= 2 * SMALL.max_total_bytes + OVERHEAD_BYTES


@pytest.mark.parametrize(
    ("head", "limit"), [(b"data: ", "max_line_bytes"), (b"data: x\n", "max_frame_bytes")]
)
def test_the_default_limits_hold_memory_within_twice_their_size(head: bytes, limit: str) -> None:
    piece = head.partition(b"x")[0] * (limit == "max_frame_bytes") + b"x" * 65_536
    piece += b"\n" * (limit == "max_frame_bytes")
    found = flood(after(head, forever(piece)), "chat", wire_limits=DEFAULT_WIRE_LIMITS)
    assert found.limit == limit
    assert found.peak_bytes <= 2 * getattr(DEFAULT_WIRE_LIMITS, limit) + OVERHEAD_BYTES


def test_finding_the_depth_of_a_long_string_takes_no_memory() -> None:
    """A megabyte of image beside enough brackets that they must be counted one by one."""
    brackets = b"[" + b"[]," * 200 + b"0]"
    payload = b'{"choices": [{"delta": {"content": "' + b"x" * KIB * KIB + b'"}}], "a": '
    stream = b"data: " + payload + brackets + b"}\n\n"
    found = flood([stream], "chat", wire_limits=DEFAULT_WIRE_LIMITS)
    (text,) = only(found.events, ev.TextDelta)
    assert len(text.text) == KIB * KIB
    assert found.peak_bytes <= 4 * len(stream) + OVERHEAD_BYTES


def test_small_pieces_cost_their_objects_and_no_more() -> None:
    """What is 26 bytes on the wire is an event of some hundred; that is the worst."""
    entry = {"type": "text", "text": "x"}
    found = flood(chats(lambda n: {"content": [entry] * 100}), "chat")
    assert found.peak_bytes <= 6 * found.fed_bytes + OVERHEAD_BYTES


LINE_KINDS: dict[str, Callable[[int], Line]] = {
    "text": lambda n: say(pieces=(X,)),
    "short texts": lambda n: say(pieces=("x",)),
    "reasoning": lambda n: think(pieces=(X,)),
    "calls": lambda n: script_call("f", a=n),
}


def scripted_lines(dialect: str, line: Callable[[int], Line]) -> Reads:
    """The bytes of a script that never ends."""
    script = turn(*(line(n) for n in range(20_000)))
    return (step for step in steps_of(script, dialect) if isinstance(step, bytes))


@rows(LINE_KINDS)
@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_endless_lines_of_any_dialect_end_at_a_named_limit(name: str, dialect: str) -> None:
    traits = traits_of(dialect)
    is_written = {"reasoning": traits.has_reasoning, "calls": traits.has_calls}
    if is_written.get(name, True):
        reads = scripted_lines(dialect, LINE_KINDS[name])
        found = flood(reads, dialect, framing=FRAMING_OF.get(dialect, "sse"))
        assert_bounded(found, None)


def test_endless_whole_texts_end_at_a_named_limit() -> None:
    texts = (b'{"text": ["' + b"x" * KIB * n + b'"]}\0' for n in itertools.count(1))
    assert_bounded(flood(texts, "text", framing="nul-json"), None)


def test_a_frame_of_many_values_costs_their_objects_and_no_more() -> None:
    """Three bytes of JSON are a list of 64; twice, where a frame is read twice."""
    limit = SMALL.max_frame_bytes // 2
    found = flood([b'data: {"a": [' + b"[]," * (limit // 3) + b"0]}\n\n"], "chat")
    assert found.peak_bytes <= 64 * limit


BROKEN = {
    "invalid UTF-8": b"\xff\xfe\xfd",
    "overlong UTF-8": b"\xc0\x80",
    "a surrogate in UTF-8": b"\xed\xa0\x80",
    "half a character": b"\xe2\x82",
    "NUL": b"\0",
    "CR": b"\r",
    "a byte order mark": b"\xef\xbb\xbf",
    "a line separator": "\u2028".encode(),
}


@rows(BROKEN)
@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_broken_bytes_anywhere_end_the_turn_in_one_legal_way(name: str, dialect: str) -> None:
    """Put into a stream at every place in turn: it goes on or ends, and raises nothing. The short
    form takes every third place, from another one for each kind."""
    lines: list[Line] = [
        say("h\u20aci"),
        *([script_call("f")] if traits_of(dialect).has_calls else []),
    ]
    stream = b"".join(bytes_of(turn(*lines), dialect))
    framing = FRAMING_OF.get(dialect, "sse")
    first, step = (0, 1) if "HEADRACE_SOAK_EXAMPLES" in os.environ else (len(name) % 3, 3)
    for place in range(first, len(stream) + 1, step):
        damaged = stream[:place] + BROKEN[name] + stream[place:]
        events = events_of(damaged, dialect, framing=framing)
        if place % 16:
            check_grammar(events)
        else:
            check_events(events)
