"""Time linear in bytes, told by counts instead of clocks: the lines of ours that run, and
the bytes of arguments that are handed to a parser, for a stream and for one twice as long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from headrace.rehearsal.script import Call, Line, say, think, turn
from headrace.rehearsal.script import call as script_call
from headrace.wire.decoder import Decoder
from headrace.wire.dialects import DIALECT_NAMES
from headrace.wire.json.payload import parse
from tests.rehearsal.scripts import FRAMINGS, bytes_of, traits_of
from tests.wire import chunk, single_bytes, sse

SHORT = 300
MAX_RATIO = 2.2


class Work:
    """Counts what one decoding does."""

    def __init__(self) -> None:
        self.lines = 0
        self.parsed_bytes = 0

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.lines += 1
        return self.trace

    def parse(self, data: bytes, max_depth: int) -> Any:
        self.parsed_bytes += len(data)
        return parse(data, max_depth)


def work(
    reads: list[bytes], dialect: str, monkeypatch: pytest.MonkeyPatch, framing: str = "sse"
) -> Work:
    done = Work()
    monkeypatch.setattr("headrace.wire.call_arguments.parse", done.parse)
    decoder = Decoder(dialect, framing=framing)
    before = sys.gettrace()
    sys.settrace(done.trace)
    try:
        for read in reads:
            decoder.feed(read)
        decoder.close()
    finally:
        sys.settrace(before)
    return done


# --- streams of n steps -----------------------------------------------------------


def chat(deltas: Iterator[dict[str, Any]]) -> list[bytes]:
    return [sse(chunk(delta), done=False) for delta in deltas] + [sse(chunk({}, finish="stop"))]


def call(index: int, arguments: str, **function: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"arguments": arguments, **function}}]}


def text(n: int) -> list[bytes]:
    return chat({"content": "a few words "} for _ in range(n))


def text_byte_by_byte(n: int) -> list[bytes]:
    return single_bytes(b"".join(text(n // 10)))


def one_long_line_byte_by_byte(n: int) -> list[bytes]:
    return single_bytes(b"".join(chat({"content": "x" * 20 * n} for _ in range(1))))


def one_large_argument(n: int) -> list[bytes]:
    pieces = (call(0, 'x", "') for _ in range(n))
    return chat(iter([call(0, '{"a": ["', name="f"), *pieces]))


def arguments_that_could_end_with_every_piece(n: int) -> list[bytes]:
    pieces = (call(0, ',"aaaaaaaa"') for _ in range(n))
    return chat(iter([call(0, '["a"', name="f"), *pieces]))


def arguments_whose_pieces_repeat_the_name(n: int) -> list[bytes]:
    return chat(call(0, '["a"' if not at else ',"aaaaaaaa"', name="f") for at in range(n))


def switches_between_two_open_calls(n: int) -> list[bytes]:
    first = [call(index, '["a"', name="f") for index in (0, 1)]
    return chat(iter([*first, *(call(at % 2, ',"aaaaaaaa"') for at in range(n))]))


def switches_beside_an_open_call(n: int) -> list[bytes]:
    parts = ({"content": "x"} if at % 2 else {"reasoning": "y"} for at in range(n))
    return chat(iter([call(0, '["' + "a" * 10 * n + '"', name="f"), *parts]))


def calls(n: int) -> list[bytes]:
    return chat(call(at, "{}", name="f") for at in range(n))


def calls_with_one_id(n: int) -> list[bytes]:
    entries = ({"index": at, "id": "c", "function": {"name": "f"}} for at in range(n))
    return chat({"tool_calls": [entry]} for entry in entries)


def calls_held_back(n: int) -> list[bytes]:
    waiting = (call(1 + at, '{"a": 1}', name="g") for at in range(n))
    return chat(iter([call(0, '{"a": ', name="f"), *waiting]))


def candidates(n: int) -> list[bytes]:
    return [sse(chunk({"content": "x"}, index=at), done=False) for at in range(n)]


def sources_that_are_repeated(n: int) -> list[bytes]:
    return [sse(chunk({"content": "x"}, citations=["u1", "u2"]), done=False) for _ in range(n)]


def blocks(n: int) -> list[bytes]:
    return [
        sse({"type": "content_block_start", "index": at, "content_block": {"type": "text"}})
        + sse(
            {
                "type": "content_block_delta",
                "index": at,
                "delta": {"type": "text_delta", "text": "x"},
            }
        )
        for at in range(n)
    ]


def calls_in_blocks(n: int) -> list[bytes]:
    use = {"type": "tool_use", "name": "f", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": '"aaaa"'}
    starts = [{"type": "content_block_start", "index": at, "content_block": use} for at in (0, 1)]
    deltas = [{"type": "content_block_delta", "index": at % 2, "delta": delta} for at in range(n)]
    return [sse(payload, done=False) for payload in [*starts, *deltas]]


def xai(outputs: Iterator[dict[str, Any]]) -> list[bytes]:
    return [sse({"outputs": [output]}, done=False) for output in outputs]


def entry(call_id: str, arguments: str, **more: Any) -> dict[str, Any]:
    call = {"id": call_id, "function": {"name": "f", "arguments": arguments}, **more}
    return {"delta": {"tool_calls": [call]}}


def arguments_in_pieces(n: int) -> list[bytes]:
    return xai(entry("c", '["a"' if not at else ',"aaaaaaaa"') for at in range(n))


def calls_of_the_provider(n: int) -> list[bytes]:
    return xai(entry(str(at), "{}", type="TOOL_CALL_TYPE_MCP_TOOL") for at in range(n))


def results_that_are_repeated(n: int) -> list[bytes]:
    done = {"type": "TOOL_CALL_TYPE_MCP_TOOL", "status": "TOOL_CALL_STATUS_COMPLETED"}
    return xai(entry("c", "{}", **done) for _ in range(n))


def encrypted_pieces(n: int) -> list[bytes]:
    return xai({"delta": {"encrypted_content": "xxxx"}} for _ in range(n))


def places_in_many_parts(n: int) -> list[bytes]:
    said = ({"content": "x", "citations": [{"id": str(at), "startIndex": at}]} for at in range(n))
    return xai({"delta": {"reasoningContent": "y", **delta}} for delta in said)


CHAT = [
    text,
    text_byte_by_byte,
    one_long_line_byte_by_byte,
    one_large_argument,
    arguments_that_could_end_with_every_piece,
    arguments_whose_pieces_repeat_the_name,
    switches_between_two_open_calls,
    switches_beside_an_open_call,
    calls,
    calls_with_one_id,
    calls_held_back,
    candidates,
    sources_that_are_repeated,
]
ANTHROPIC = [blocks, calls_in_blocks]
XAI = [
    arguments_in_pieces,
    calls_of_the_provider,
    results_that_are_repeated,
    encrypted_pieces,
    places_in_many_parts,
]
STREAMS = {"chat": CHAT, "anthropic": ANTHROPIC, "xai": XAI}


@pytest.mark.parametrize(
    ("dialect", "stream"),
    [(dialect, stream) for dialect, streams in STREAMS.items() for stream in streams],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_twice_the_stream_is_twice_the_work(
    dialect: str, stream: Callable[[int], list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = work(stream(SHORT), dialect, monkeypatch)
    long = work(stream(2 * SHORT), dialect, monkeypatch)
    assert long.lines <= MAX_RATIO * short.lines
    assert long.parsed_bytes <= MAX_RATIO * max(short.parsed_bytes, 1_000)


# --- scripts, in every dialect


def pieces(n: int) -> list[Line]:
    return [say(pieces=["a few words "] * n)]


def lines(n: int) -> list[Line]:
    return [say("word") for _ in range(n)]


def thoughts(n: int) -> list[Line]:
    return [think(pieces=["a few words "] * n)]


def scripted_calls(n: int) -> list[Line]:
    return [script_call("f", a=at) for at in range(n)]


def pieces_of_arguments(n: int) -> list[Line]:
    return [script_call("f", a="x" * 4 * n, deltas=n)]


SCRIPTS = [pieces, lines, thoughts, scripted_calls, pieces_of_arguments]


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_twice_the_script_is_twice_the_work(
    dialect: str, script: Callable[[int], list[Line]], monkeypatch: pytest.MonkeyPatch
) -> None:
    if any(isinstance(line, Call) for line in script(1)) and not traits_of(dialect).has_calls:
        return
    framing = FRAMINGS.get(dialect, "sse")
    short, long = (
        work(bytes_of(turn(*script(n)), dialect), dialect, monkeypatch, framing)
        for n in (SHORT, 2 * SHORT)
    )
    assert long.lines <= MAX_RATIO * short.lines
    assert long.parsed_bytes <= MAX_RATIO * max(short.parsed_bytes, 1_000)


def test_twice_the_whole_texts_are_twice_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = [b'{"text": ["' + b"word " * at + b'"]}\0' for at in range(1, 2 * SHORT)]
    short = work(reads[:SHORT], "text", monkeypatch, "nul-json")
    assert work(reads, "text", monkeypatch, "nul-json").lines <= MAX_RATIO * short.lines
