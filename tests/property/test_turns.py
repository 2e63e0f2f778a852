"""The guarantees of a turn, over streams that we write ourselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import events as ev
from headrace.events import Record, decode_record, encode_record
from headrace.messages import (
    AssistantEntry,
    CallPart,
    Message,
    PromptEntry,
    ReasoningPart,
    TextPart,
    ToolResultsEntry,
    fold,
    fold_candidates,
    history,
)
from headrace.wire.dialects import DIALECT_NAMES
from tests.authored import Meant, Stream
from tests.dialect_streams import STRATEGIES
from tests.grammar import check_grammar
from tests.wire import events_of, message_of, single_bytes, sliced

streams = pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)


def test_every_dialect_has_streams_here() -> None:
    assert set(STRATEGIES) >= set(DIALECT_NAMES)


def draw_stream(strategy: Any, data: st.DataObject) -> Stream:
    stream: Stream = data.draw(strategy)
    return stream


def decode(stream: Stream, reads: list[bytes] | None = None) -> list[ev.TurnEvent]:
    return events_of(stream.data if reads is None else reads, framing=stream.framing)


@streams
@given(data=st.data())
def test_any_slicing_gives_the_same_events(strategy: Any, data: st.DataObject) -> None:
    stream = draw_stream(strategy, data)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream.data)), max_size=12)))
    whole = decode(stream)
    assert decode(stream, sliced(stream.data, cuts)) == whole
    assert decode(stream, single_bytes(stream.data)) == whole


@streams
@given(data=st.data())
def test_the_grammar_holds_and_nothing_is_lost(strategy: Any, data: st.DataObject) -> None:
    stream = draw_stream(strategy, data)
    events = decode(stream)
    check_grammar(events)
    candidates = fold_candidates(records(events))
    for candidate in candidates:
        number = candidate.turns[0].outputs[0].output
        assert_same(candidate, stream.outputs[number])


@streams
@given(data=st.data())
def test_any_cut_ends_once_and_leaves_a_replayable_history(
    strategy: Any, data: st.DataObject
) -> None:
    stream = draw_stream(strategy, data)
    at = data.draw(st.integers(0, len(stream.data)))
    events = decode(stream, [stream.data[:at]])
    check_grammar(events)
    check_history(message_of(events))


@streams
@given(data=st.data())
def test_events_and_messages_survive_json(strategy: Any, data: st.DataObject) -> None:
    events = decode(draw_stream(strategy, data))
    stamped = list(records(events))
    assert [decode_record(encode_record(record)) for record in stamped] == stamped
    message = fold(stamped)
    assert msgspec.json.decode(msgspec.json.encode(message), type=Message) == message


@streams
@given(data=st.data())
def test_folding_a_prefix_agrees_with_the_whole(strategy: Any, data: st.DataObject) -> None:
    """What has been told stays told: a later fold only goes on."""
    events = decode(draw_stream(strategy, data))
    at = data.draw(st.integers(0, len(events)))
    early, late = message_of(events[:at]), message_of(events)
    early_parts = [part for turn in early.turns for part in turn.parts]
    late_parts = [part for turn in late.turns for part in turn.parts]
    for before, after in zip(early_parts, late_parts, strict=False):
        assert type(before) is type(after)
        assert before.part == after.part
        if isinstance(before, TextPart | ReasoningPart) and isinstance(after, type(before)):
            assert after.text.startswith(before.text)


def records(events: Iterable[ev.TurnEvent]) -> list[Record]:
    return [Record(seq, 1000 + seq, event) for seq, event in enumerate(events, 1)]


def told(message: Message) -> dict[str, Any]:
    """What a message says. Blocks that overlap are told apart by their item."""
    parts = message.turns[0].parts
    return {
        "text": by_item(part for part in parts if isinstance(part, TextPart)),
        "reasoning": by_item(part for part in parts if isinstance(part, ReasoningPart)),
        "calls": [
            (part.name, part.args if part.error is None else part.error)
            for part in parts
            if isinstance(part, CallPart)
        ],
        "finish": message.finish.word if message.finish else None,
    }


def by_item(parts: Iterable[TextPart | ReasoningPart]) -> list[str]:
    blocks: dict[int, str] = {}
    for part in parts:
        blocks[part.item] = blocks.get(part.item, "") + part.text
    return list(blocks.values())


def assert_same(message: Message, meant: Meant) -> None:
    """Blocks in any order where they overlap on the wire; words always in theirs."""
    found = told(message)
    assert (found["calls"], found["finish"]) == (meant.calls, meant.finish)
    for name, blocks in (("text", meant.text), ("reasoning", meant.reasoning)):
        if meant.has_blocks:
            assert sorted(filter(None, found[name])) == sorted(filter(None, blocks))
        else:
            assert "".join(found[name]) == "".join(blocks)


def check_history(message: Message) -> None:
    """What any provider asks of a history: every call answered, right after its reply."""
    entries = history([message])
    for at, entry in enumerate(entries):
        assert not isinstance(entry, PromptEntry)
        if not isinstance(entry, AssistantEntry):
            continue
        assert entry.parts
        assert not isinstance(entry.parts[-1], ReasoningPart) or message.error is None
        calls = [
            p.call_id for p in entry.parts if isinstance(p, CallPart) and p.executor == "client"
        ]
        answers = entries[at + 1] if at + 1 < len(entries) else None
        if calls:
            assert isinstance(answers, ToolResultsEntry)
            assert [result.call_id for result in answers.results] == calls
        assert (
            all(p.error is None for p in entry.parts if isinstance(p, CallPart))
            or not message.error
        )
