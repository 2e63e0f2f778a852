"""A script that is played and decoded again is the script."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import events as ev
from headrace.errors import UsageError
from headrace.messages import Message, OpaquePart, ReasoningPart, RedactedPart
from headrace.outcome import MAX_TOKENS, PAUSED
from headrace.rehearsal.script import (
    ScriptedTurn,
    call,
    cut,
    error,
    finish,
    no_finish,
    raw,
    redacted,
    say,
    stall,
    think,
    turn,
    usage,
    wait,
)
from headrace.rehearsal.wire import steps_of
from headrace.wire.dialects import DIALECT_NAMES
from tests.grammar import check_grammar
from tests.rehearsal import scripts
from tests.rehearsal.scripts import DIALECTS, bytes_of
from tests.wire import message_of

each_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def test_every_dialect_can_be_written() -> None:
    assert set(DIALECTS) == set(DIALECT_NAMES)


def each_with(trait: str) -> pytest.MarkDecorator:
    """Every dialect that can express something."""
    names = [name for name in DIALECTS if getattr(scripts.traits_of(name), trait)]
    return pytest.mark.parametrize("dialect", names)


def played(script: ScriptedTurn, dialect: str, **facts: Any) -> list[ev.TurnEvent]:
    return scripts.decode(bytes_of(script, dialect, **facts), dialect)


def message(script: ScriptedTurn, dialect: str, **facts: Any) -> Message:
    return message_of(played(script, dialect, **facts))


@each_dialect
@given(data=st.data())
def test_what_is_decoded_is_what_was_written(dialect: str, data: Any) -> None:
    script = data.draw(scripts.scripts(dialect))
    events = played(script, dialect)
    check_grammar(events)
    heard = message_of(events)
    lines = script.lines
    assert heard.error is None
    assert heard.text == scripts.text_of(lines)
    assert heard.reasoning == scripts.reasoning_of(lines, dialect)
    called = [(part.name, part.raw) for part in heard.calls]
    if scripts.traits_of(dialect).has_raw_arguments:
        assert called == scripts.calls_of(lines)
    else:
        parsed = [(name, json.loads(raw or "{}")) for name, raw in scripts.calls_of(lines)]
        assert [(part.name, part.args) for part in heard.calls] == parsed
    opaque = [part for part in heard.turns[0].parts if isinstance(part, OpaquePart)]
    assert len(opaque) == (dialect == "bedrock-agent")
    assert heard.turns[0].skipped_frames == 0


@given(scripts.scripts())
def test_every_thought_of_anthropic_has_its_signature(script: ScriptedTurn) -> None:
    parts = message(script, "anthropic").turns[0].parts
    signatures = [part.signature for part in parts if isinstance(part, ReasoningPart)]
    assert sum(map(bool, signatures)) == scripts.signed_of(script.lines)
    hidden = [part.data for part in parts if isinstance(part, RedactedPart)]
    assert hidden == scripts.redacted_of(script.lines)


@each_dialect
@given(data=st.data())
def test_a_script_is_always_the_same_bytes(dialect: str, data: st.DataObject) -> None:
    script = data.draw(scripts.scripts(dialect))
    assert bytes_of(script, dialect) == bytes_of(script, dialect)


@each_dialect
@given(data=st.data())
def test_the_bytes_tell_their_dialect(dialect: str, data: st.DataObject) -> None:
    script = data.draw(scripts.scripts(dialect))
    started = scripts.decode(bytes_of(script, dialect), dialect, detects=True)[0]
    assert isinstance(started, ev.TurnStarted)
    assert started.dialect == dialect


@each_with("has_reasons")
def test_the_reason_is_that_of_the_calls_unless_it_is_written(dialect: str) -> None:
    assert str(message(turn("Hi"), dialect).finish) == "end_turn"
    if scripts.traits_of(dialect).has_calls:
        assert str(message(turn(call("f")), dialect).finish) == "tool_use"
    assert message(turn("Hi", finish("max_tokens")), dialect).finish == MAX_TOKENS
    assert str(message(turn("Hi", finish("odd")), dialect).finish) == "other(odd)"


def test_a_word_that_only_one_dialect_has_is_known_there() -> None:
    assert message(turn("Hi", finish("paused")), "anthropic").finish == PAUSED
    assert str(message(turn("Hi", finish("context_full")), "chat").finish) == "context_full"


@each_with("has_calls")
def test_ids_are_of_the_occasion(dialect: str) -> None:
    script = turn(call("f"), call("g"), call("h", call_id="mine"))
    first, second = (message(script, dialect, name=name).calls for name in ("1", "2"))
    ids = [part.call_id for part in (*first, *second)]
    assert ids.count("mine") == 2
    assert len(set(ids)) == 5
    assert first[0].call_id.endswith("_1_1")


@each_dialect
def test_tokens_are_words_unless_they_are_written(dialect: str) -> None:
    script = turn(think("one two"), say("three four five"))
    counted = message(script, dialect, input_tokens=7).usage
    assert (counted.input_tokens, counted.output_tokens) == (7, 5)
    if "reasoning_tokens" in scripts.traits_of(dialect).counts:
        assert counted.reasoning_tokens == 2
    told = message(turn("Hi", usage(100, 20, reasoning=5, cached=60)), dialect).usage
    assert (told.input_tokens, told.output_tokens) == (100, 20)
    expected = {"reasoning_tokens": 5, "cached_input_tokens": 60}
    for name in scripts.traits_of(dialect).counts:
        assert getattr(told, name) == expected[name]


@each_with("has_raw_arguments")
def test_malformed_arguments_are_malformed(dialect: str) -> None:
    if not scripts.traits_of(dialect).has_calls:
        return
    events = played(turn(call("f", raw='{"a": 1,')), dialect)
    (broken,) = [event for event in events if isinstance(event, ev.ToolCallMalformed)]
    assert (broken.name, broken.raw) == ("f", '{"a": 1,')


@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_interleaved_arguments_come_in_turns(dialect: str) -> None:
    script = turn(call("f", {"x": 1}), call("g", {"y": 2}), is_interleaved=True)
    written = b"".join(bytes_of(script, dialect))
    places = [
        written.index(word) for word in (b'"name":"f"', b'"name":"g"', b'\\"x\\"', b'\\"y\\"')
    ]
    assert places == sorted(places)
    assert [part.args for part in message(script, dialect).calls] == [{"x": 1}, {"y": 2}]


# --- seals ------------------------------------------------------------------------


def test_responses_seals_the_item_and_its_summaries_are_parts() -> None:
    script = turn(think("one", title="First"), think("two"), "Hi", think("three", signed=False))
    parts = [p for p in message(script, "responses").turns[0].parts if isinstance(p, ReasoningPart)]
    assert [(part.text, part.summary_index) for part in parts] == [
        ("**First**\n\none", 0),
        ("two", 1),
        ("three", 0),
    ]
    assert [part.item for part in parts[:2]] == [parts[0].item] * 2
    assert [[seal.kind for seal in part.seals] for part in parts].count(["encrypted"]) == 1


@pytest.mark.parametrize("dialect", ["anthropic", "responses"])
def test_an_encrypted_thought_is_a_seal_without_words(dialect: str) -> None:
    (part,) = message(turn(think("secret", encrypted=True)), dialect).turns[0].parts
    assert isinstance(part, ReasoningPart)
    assert (part.text, len(part.seals)) == ("", 1)


def test_chat_sends_seals_only_where_they_are_asked_for() -> None:
    script = turn(think("plain"), think("signed", signed=True), think("x", encrypted=True))
    plain, signed, hidden = message(script, "chat").turns[0].parts
    assert isinstance(plain, ReasoningPart)
    assert isinstance(signed, ReasoningPart)
    assert isinstance(hidden, RedactedPart)
    assert (plain.signature, bool(signed.signature)) == (None, True)


def test_redacted_thinking_is_what_the_dialect_has_for_it() -> None:
    for dialect in ("chat", "anthropic"):
        (part,) = message(turn(redacted("blob")), dialect).turns[0].parts
        assert isinstance(part, RedactedPart)
        assert part.data == "blob"
    (item,) = message(turn(redacted("blob")), "responses").turns[0].parts
    assert isinstance(item, ReasoningPart)
    assert item.seals[0].value == "blob"


# --- faults -----------------------------------------------------------------------


@each_with("has_error_codes")
def test_an_error_event_is_a_failure_of_its_category(dialect: str) -> None:
    for category in ("overloaded", "rate_limit", "server", "context_overflow", "auth"):
        failure = message(turn("Hal", error(category, "no")), dialect).error
        assert failure is not None
        assert failure.category == category
        assert failure.message.endswith("no")


@each_with("has_reasons")
def test_bytes_that_end_without_a_reason_are_incomplete(dialect: str) -> None:
    heard = message(turn("half a", no_finish(), "never"), dialect)
    assert heard.error is not None
    assert (heard.text, heard.error.category) == ("half a", "incomplete")


@each_with("has_reasoning")
def test_a_thought_that_breaks_off_has_no_seal(dialect: str) -> None:
    (part,) = message(turn(think("half a"), no_finish()), dialect).turns[0].parts
    assert isinstance(part, ReasoningPart)
    assert (part.text, part.seals) == ("half a", ())


@each_dialect
def test_waits_cuts_and_stalls_are_steps_where_they_are_written(dialect: str) -> None:
    steps = list(steps_of(turn(wait(2), "Hi", wait(3), raw(b": note\n\n"), cut(), "no"), dialect))
    assert steps[0] == wait(2)
    assert steps[-3:] == [wait(3), b": note\n\n", cut()]
    assert list(steps_of(turn("Hi", stall()), dialect))[-1] == stall()


@each_dialect
def test_before_anything_is_said_a_fault_is_all_that_comes(dialect: str) -> None:
    assert len(bytes_of(turn(wait(1), error()), dialect)) == 1
    assert list(steps_of(turn(cut()), dialect)) == [cut()]
    assert list(steps_of(turn(stall()), dialect)) == [stall()]
    assert bytes_of(turn(raw(b"by hand"), no_finish()), dialect) == [b"by hand"]


@each_with("has_reasons")
def test_a_reason_can_come_before_the_break(dialect: str) -> None:
    steps = list(steps_of(turn("Hi", finish("end_turn"), cut()), dialect))
    told = scripts.decode([step for step in steps if isinstance(step, bytes)], dialect)
    assert steps[-1] == cut()
    assert isinstance(told[-1], ev.TurnFinished)


@each_dialect
def test_a_pace_waits_before_each_event(dialect: str) -> None:
    steps = list(steps_of(turn("one two", pace_s=0.5), dialect))
    assert steps[::2] == [wait(0.5)] * (len(steps) // 2)
    assert all(isinstance(step, bytes) for step in steps[1::2])


@each_dialect
def test_a_turn_without_lines_is_an_empty_answer(dialect: str) -> None:
    heard = message(turn(), dialect)
    assert heard.text == ""
    if scripts.traits_of(dialect).has_reasons:
        assert str(heard.finish) == "end_turn"


def test_an_unknown_dialect_is_named() -> None:
    with pytest.raises(UsageError, match="klingon"):
        steps_of(turn(), "klingon")
