"""The protobuf reader beside the official one: the same from the same bytes, and no bytes that
it could not stand."""

from __future__ import annotations

import sys
from typing import Any

import msgspec
import pytest
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from xai_sdk.proto import chat_pb2, sample_pb2, usage_pb2

from headrace.errors import LimitExceeded
from headrace.wire.dialects.xai import chunk as wire
from headrace.wire.protobuf import (
    FLOAT,
    INT32,
    INT64,
    TEXT,
    Enum,
    Field,
    Message,
    NotProtobuf,
    ProtobufReader,
    read_json,
)

FULL = wire.CHUNK_WITH_LOGPROBS


def read(data: bytes, message: Message[Any] = FULL, max_entries: int = 1_000) -> Any:
    return ProtobufReader(max_entries).read(data, message)


# --- what the official library says of the same -----------------------------------

TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
INTS = st.one_of(st.integers(0, 300), st.integers(-(2**31), 2**31 - 1))


def of(kind: Any, **fields: Any) -> Any:
    """Messages with some of these fields."""
    made = st.fixed_dictionaries({}, optional=fields)
    return made.map(lambda given: kind(**given))


def words(enum: Any) -> Any:
    return st.sampled_from(enum.values())


def lists(entry: Any) -> Any:
    return st.lists(entry, max_size=3)


FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
CALLS = of(
    chat_pb2.ToolCall,
    id=TEXTS,
    type=words(chat_pb2.ToolCallType),
    status=words(chat_pb2.ToolCallStatus),
    error_message=TEXTS,
    function=of(chat_pb2.FunctionCall, name=TEXTS, arguments=TEXTS),
)
SOURCES = {
    "web_citation": of(chat_pb2.WebCitation, url=TEXTS),
    "x_citation": of(chat_pb2.XCitation, url=TEXTS),
    "collections_citation": of(
        chat_pb2.CollectionsCitation,
        file_id=TEXTS,
        chunk_id=TEXTS,
        chunk_content=TEXTS,
        score=FLOATS,
        collection_ids=lists(TEXTS),
    ),
}
CITATIONS = st.one_of(
    [
        of(chat_pb2.InlineCitation, id=TEXTS, start_index=INTS, end_index=INTS, **{name: source})
        for name, source in SOURCES.items()
    ]
)
DELTAS = of(
    chat_pb2.Delta,
    content=TEXTS,
    reasoning_content=TEXTS,
    role=words(chat_pb2.MessageRole),
    tool_calls=lists(CALLS),
    encrypted_content=TEXTS,
    citations=lists(CITATIONS),
)
LOGPROB = {"token": TEXTS, "logprob": FLOATS, "bytes": st.binary(max_size=4)}
LOGPROBS = of(
    chat_pb2.LogProbs,
    content=lists(
        of(chat_pb2.LogProb, **LOGPROB, top_logprobs=lists(of(chat_pb2.TopLogProb, **LOGPROB)))
    ),
)
OUTPUTS = of(
    chat_pb2.CompletionOutputChunk,
    delta=DELTAS,
    logprobs=LOGPROBS,
    finish_reason=words(sample_pb2.FinishReason),
    index=INTS,
)
USAGES = of(
    usage_pb2.SamplingUsage,
    **dict.fromkeys(
        ("completion_tokens", "reasoning_tokens", "prompt_tokens", "total_tokens"), INTS
    ),
    cached_prompt_text_tokens=INTS,
    prompt_text_tokens=INTS,
    prompt_image_tokens=INTS,
    num_sources_used=INTS,
    server_side_tools_used=lists(words(usage_pb2.ServerSideTool)),
    cost_in_usd_ticks=st.integers(-(2**63), 2**63 - 1),
)
CHUNKS = of(
    chat_pb2.GetChatCompletionChunk,
    id=TEXTS,
    model=TEXTS,
    system_fingerprint=TEXTS,
    outputs=lists(OUTPUTS),
    usage=USAGES,
    citations=lists(TEXTS),
    output_files=lists(of(chat_pb2.OutputFile, file_id=TEXTS, name=TEXTS)),
    service_tier=words(usage_pb2.ServiceTier),
    debug_output=of(chat_pb2.DebugOutput, prompt=TEXTS, attempts=INTS),
)


def official(message: Any, table: Message[Any]) -> dict[str, Any]:
    """What the official library read, as far as our table goes; nothing for a default."""
    told: dict[str, Any] = {}
    for field in table.fields.values():
        value = getattr(message, field.name)
        enum = message.DESCRIPTOR.fields_by_name[field.name].enum_type
        if isinstance(field.kind, Message):
            if field.is_list:
                value = [official(entry, field.kind) for entry in value]
            else:
                has = message.HasField(field.name)
                value = official(value, field.kind) if has else None
        elif enum is not None:
            value = _names(enum, value) if field.is_list else _names(enum, [value])[0]
        if value not in (None, "", 0, [], _names(enum, [0])[0] if enum else None):
            told[field.name] = list(value) if field.is_list else value
    return told


def _names(enum: Any, numbers: Any) -> list[str]:
    known = enum.values_by_number
    return [known[n].name if n in known else str(n) for n in numbers]


def ours(value: Any, table: Message[Any]) -> dict[str, Any]:
    """What we read, without defaults."""
    told: dict[str, Any] = {}
    for field in table.fields.values():
        entry = getattr(value, field.name)
        if isinstance(field.kind, Message) and entry is not None:
            many = entry if field.is_list else [entry]
            plain = [ours(one, field.kind) for one in many]
            entry = plain if field.is_list else plain[0]
        default = field.kind.words[0] if isinstance(field.kind, Enum) else None
        if entry not in (None, "", 0, [], default):
            told[field.name] = entry
    return told


@given(CHUNKS)
def test_bytes_and_json_give_what_the_official_library_gives(message: Any) -> None:
    expected = official(message, FULL)
    assert ours(read(message.SerializeToString()), FULL) == expected
    for names in (False, True):
        for numbers in (False, True):
            value = json_format.MessageToDict(
                message, preserving_proto_field_name=names, use_integers_for_enums=numbers
            )
            again = msgspec.json.decode(msgspec.json.encode(value))
            assert ours(read_json(again, FULL), FULL) == expected


@given(CHUNKS, CHUNKS)
def test_one_message_after_the_other_is_the_two_merged(first: Any, second: Any) -> None:
    whole = first.SerializeToString() + second.SerializeToString()
    merged = chat_pb2.GetChatCompletionChunk.FromString(whole)
    assert ours(read(whole), FULL) == official(merged, FULL)


@given(st.binary(max_size=64))
def test_any_bytes_are_a_message_or_unreadable(data: bytes) -> None:
    _never_more_lenient(data)


@given(CHUNKS, st.data())
def test_damaged_messages_are_a_message_or_unreadable(message: Any, data: st.DataObject) -> None:
    whole = bytearray(message.SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        if whole:
            at = data.draw(st.integers(0, len(whole) - 1))
            whole[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    _never_more_lenient(bytes(whole))
    _never_more_lenient(bytes(whole[:cut]))


def _never_more_lenient(data: bytes) -> None:
    """What we take the official library takes too, but for text that is no UTF-8 and for
    groups, which nobody here sends; and we take nothing for what it is not."""
    try:
        made = read(data)
    except NotProtobuf:
        return
    assert isinstance(made, wire.WireChunk)
    try:
        told = chat_pb2.GetChatCompletionChunk.FromString(data)
    except (DecodeError, UnicodeDecodeError):
        return
    if not _has_oneof_twice(made):
        assert ours(made, FULL) == official(told, FULL)


def _has_oneof_twice(made: Any) -> bool:
    """Of several sources in one citation the last is meant; ours has them all."""
    citations = [
        citation
        for output in made.outputs or ()
        for citation in (output.delta and output.delta.citations) or ()
    ]
    return any(sum(getattr(c, name) is not None for name in SOURCES) > 1 for c in citations)


def test_every_field_of_the_table_is_the_published_one() -> None:
    _same_fields(FULL, chat_pb2.GetChatCompletionChunk.DESCRIPTOR)


def _same_fields(table: Message[Any], descriptor: Any) -> None:
    assert set(table.new.__struct_fields__) == {field.name for field in table.fields.values()}
    for number, field in table.fields.items():
        published = descriptor.fields_by_number[number]
        assert published.name == field.name
        assert published.is_repeated == field.is_list
        if isinstance(field.kind, Message):
            _same_fields(field.kind, published.message_type)
        elif isinstance(field.kind, Enum):
            known = {value.number: value.name for value in published.enum_type.values}
            assert field.kind.words == known
        else:
            # Unsigned numbers are read as 64 bits, which hold all that occur.
            kinds = {9: TEXT, 5: INT32, 3: INT64, 4: INT64, 13: INT64, 2: FLOAT}
            assert field.kind is kinds[published.type]


# --- the wire format, byte by byte ------------------------------------------------


class Few(msgspec.Struct):
    number: int | None = None
    text: str | None = None
    texts: list[str] | None = None
    numbers: list[int] | None = None
    inner: Few | None = None
    fraction: float | None = None


INNER = Message(Few, {1: Field("number", INT32), 2: Field("text", TEXT)})
FEW = Message(
    Few,
    {
        1: Field("number", INT64),
        2: Field("text", TEXT),
        3: Field("texts", TEXT, is_list=True),
        4: Field("numbers", INT32, is_list=True),
        5: Field("inner", INNER),
        6: Field("fraction", FLOAT),
    },
)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", Few()),
        (b"\x08\x05", Few(number=5)),
        (b"\x08\x05\x08\x06", Few(number=6)),
        (b"\x08\xac\x02", Few(number=300)),
        (b"\x08" + b"\xff" * 9 + b"\x01", Few(number=-1)),
        (b"\x12\x01a", Few(text="a")),
        (b"\x12\x02a\xff", Few(text="a\ufffd")),
        (b"\x1a\x01a\x1a\x00", Few(texts=["a", ""])),
        (b"\x20\x01\x22\x02\x02\x03\x20\x04", Few(numbers=[1, 2, 3, 4])),
        (b"\x2a\x02\x08\x01\x2a\x03\x12\x01a", Few(inner=Few(number=1, text="a"))),
        (b"\x35\x00\x00\xc0\x3f", Few(fraction=1.5)),
        (b"\x0a\x01a\x08\x05", Few(number=5)),
        (b"\x10\x05\x12\x01a", Few(text="a")),
        (b"\xfa\x7f\x01x\x79" + b"x" * 8 + b"\x7d" + b"x" * 4 + b"\x08\x01", Few(number=1)),
    ],
    ids=[
        *("nothing", "a number", "the last one wins", "two bytes", "a negative number", "text"),
        *("bad UTF-8", "a list of texts", "packed and unpacked", "a message in two pieces"),
        *("a fraction", "a number's wrong type", "a text's wrong type", "unknown fields"),
    ],
)
def test_each_thing_is_read(data: bytes, expected: Few) -> None:
    assert read(data, FEW) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"\x08",
        b"\x08\xff",
        b"\x08" + b"\xff" * 10 + b"\x01",
        b"\x12",
        b"\x12\x02a",
        b"\x12\xff\xff\xff\xff\x0f",
        b"\x35\x00\x00",
        b"\x0b\x0c",
        b"\x0c",
        b"\x0e",
        b"\x0f",
        b"\x00\x01",
        b"\x02\x00",
        b"\x22\x01\xff",
        b"\x2a\x01\x08\x05",
        b"\xff\xff\xff\xff\x7f\x00",
        b"{",
    ],
)
def test_what_is_no_message_is_unreadable(data: bytes) -> None:
    with pytest.raises(NotProtobuf):
        read(data, FEW)


@pytest.mark.parametrize("entry", [b"\x1a\x00", b"\x20\x01", b"\x22\x01\x01"])
def test_entries_are_counted(entry: bytes) -> None:
    read(entry * 10, FEW, max_entries=10)
    with pytest.raises(LimitExceeded, match="max_parts=10"):
        read(entry * 11, FEW, max_entries=10)


def test_the_count_begins_anew_with_each_message() -> None:
    reader = ProtobufReader(10)
    for _ in range(3):
        reader.read(b"\x1a\x00" * 10, FEW)


@pytest.mark.parametrize(
    "message",
    [
        lambda n: b"\x12\x01\x0a" * n,
        lambda n: b"\x12\x02\x0a\x00" * n,
        lambda n: b"\x32\x02\x08\x01" * n,
        lambda n: b"\x3a\x01u" * n,
        lambda n: b"\x80\x01\x01" * n,
    ],
    ids=["broken outputs", "outputs", "pieces of usage", "citations", "unknown fields"],
)
def test_twice_the_bytes_are_twice_the_work(message: Any) -> None:
    assert _lines(message(2_000)) <= 2.2 * _lines(message(1_000))


def _lines(data: bytes) -> int:
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        read(data, FULL, max_entries=100_000)
    except NotProtobuf:
        pass
    finally:
        sys.settrace(before)
    return count


# --- the JSON ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"costInUsdTicks": "12"}, 12),
        ({"cost_in_usd_ticks": 12}, 12),
        ({"costInUsdTicks": 12.0}, 12),
        ({"costInUsdTicks": "-5"}, -5),
        ({"costInUsdTicks": "--5"}, None),
        ({"costInUsdTicks": "9" * 30}, None),
        ({"costInUsdTicks": 10**30}, None),
        ({"costInUsdTicks": True}, None),
        ({"costInUsdTicks": 1.5}, None),
        ({"costInUsdTicks": [1]}, None),
        ({"costInUsdTicks": None}, None),
    ],
)
def test_numbers_come_in_all_spellings(value: dict[str, Any], expected: int | None) -> None:
    usage = read_json({"usage": value}, FULL).usage
    assert usage is not None
    assert usage.cost_in_usd_ticks == expected


def test_an_enum_without_a_word_is_its_number() -> None:
    assert read(b"\x60\x63").service_tier == "99"
    assert read_json({"serviceTier": 99}, FULL).service_tier == "99"
    assert read_json({"serviceTier": "SERVICE_TIER_NEW"}, FULL).service_tier == "SERVICE_TIER_NEW"
