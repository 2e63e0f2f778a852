"""Frames that cannot be read are reported at their place, and nothing hides what they cost."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import events as ev
from headrace.outcome import END_TURN
from headrace.wire.decoder import Decoder
from headrace.wire.limits import WireLimits
from tests.grammar import check_grammar
from tests.wire import chunk, events_of, kinds, message_of, only, random_cuts, single_bytes, sse

GARBAGE = b'data: {"choices":[{"delta":{"content":"NOT \n\n'
DOSE = sse(
    chunk({"content": "The dose is "}), GARBAGE, chunk({"content": "10 mg."}), chunk(finish="stop")
)


def block(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"content_block_{kind}", "index": 0, **fields}


def call_piece(arguments: str, **fields: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **fields}
    return chunk({"tool_calls": [{"index": 0, "function": function}]})


def response(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **fields}


@pytest.mark.parametrize("cut", [lambda data: [data], single_bytes, lambda d: random_cuts(d, 3)])
def test_a_skipped_frame_is_reported_at_its_place(cut: Any) -> None:
    events = events_of(cut(DOSE), "chat")
    check_grammar(events)
    assert kinds(events)[3:6] == ["TextDelta", "FrameSkipped", "TextDelta"]
    [skipped] = only(events, ev.FrameSkipped)
    assert skipped.data == '{"choices":[{"delta":{"content":"NOT '
    assert skipped.size == len(skipped.data)
    [end] = only(events, ev.TurnFinished)
    assert (end.reason, end.skipped_frames, end.is_complete) == (END_TURN, 1, False)


def test_the_message_tells_what_may_be_missing() -> None:
    message = message_of(events_of(DOSE, "chat"))
    assert message.text == "The dose is 10 mg."
    assert not message.is_complete
    assert message.warning == (
        "1 frame of the stream could not be read: part of the answer may be missing"
    )


def test_a_message_without_a_gap_has_no_warning() -> None:
    message = message_of(events_of(sse(chunk({"content": "a"}), chunk(finish="stop")), "chat"))
    assert message.is_complete
    assert message.warning is None


def test_a_frame_before_the_first_event_is_reported_after_the_start() -> None:
    events = events_of(sse(GARBAGE, chunk({"content": "a"}), chunk(finish="stop")), "chat")
    check_grammar(events)
    assert kinds(events)[:2] == ["TurnStarted", "FrameSkipped"]


def test_little_is_kept_of_a_large_frame() -> None:
    events = events_of(sse(b"data: {" + b"x" * 100_000 + b"\n\n", chunk(finish="stop")), "chat")
    [skipped] = only(events, ev.FrameSkipped)
    assert skipped.size == 100_001
    assert len(skipped.data) == 1_024


def test_a_strict_turn_fails_at_the_first_unreadable_frame() -> None:
    events = events_of(DOSE, "chat", strict=True)
    check_grammar(events)
    assert message_of(events).text == "The dose is "
    [end] = only(events, ev.TurnFailed)
    assert end.category == "protocol"
    assert "a frame could not be read" in end.message


def test_skipped_frames_are_limited() -> None:
    data = sse(*[GARBAGE] * 4, chunk({"content": "a"}), chunk(finish="stop"))
    events = events_of(data, "chat", wire_limits=WireLimits(max_skipped_frames=3))
    assert "max_skipped_frames=3" in only(events, ev.TurnFailed)[0].message


# -- calls


def test_a_call_that_may_have_lost_a_frame_is_malformed() -> None:
    pieces = [call_piece('{"amount": 10', name="pay"), GARBAGE, call_piece("}")]
    events = events_of(sse(*pieces, chunk(finish="tool_calls")), "chat")
    check_grammar(events)
    assert not only(events, ev.ToolCallFinished)
    [call] = only(events, ev.ToolCallMalformed)
    assert call.raw == '{"amount": 10}'
    assert "could not be read" in call.error


def test_a_call_that_was_whole_before_the_frame_stays_whole() -> None:
    pieces = [call_piece('{"amount": 10}', name="pay"), GARBAGE]
    events = events_of(sse(*pieces, chunk(finish="tool_calls")), "chat")
    assert [call.args for call in only(events, ev.ToolCallFinished)] == [{"amount": 10}]


def test_a_call_without_arguments_yet_may_have_lost_them() -> None:
    pieces = [call_piece("", name="pay"), GARBAGE]
    events = events_of(sse(*pieces, chunk(finish="tool_calls")), "chat")
    assert only(events, ev.ToolCallMalformed)


def test_a_call_that_is_held_back_may_have_lost_a_frame_too() -> None:
    second = {"index": 1, "id": "b", "function": {"name": "pay", "arguments": '{"amount": 1'}}
    more = {"index": 1, "function": {"arguments": "}"}}
    data = sse(
        call_piece('{"a": ', name="look"),
        chunk({"tool_calls": [second]}),
        GARBAGE,
        chunk({"tool_calls": [more]}),
        chunk(finish="tool_calls"),
    )
    events = events_of(data, "chat")
    assert [call.name for call in only(events, ev.ToolCallMalformed)] == ["look", "pay"]


# -- reasoning


def test_reasoning_that_may_have_lost_a_frame_loses_its_signature() -> None:
    data = sse(
        {"type": "message_start", "message": {"id": "m"}},
        block("start", content_block={"type": "thinking", "thinking": ""}),
        block("delta", delta={"type": "thinking_delta", "thinking": "Hm"}),
        b"data: {broken\n\n",
        block("delta", delta={"type": "signature_delta", "signature": "S"}),
        block("stop"),
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
        done=False,
    )
    events = events_of(data, "anthropic")
    check_grammar(events)
    [end] = only(events, ev.ReasoningFinished)
    assert end.signature is None
    intact = events_of(data.replace(b"data: {broken\n\n", b""), "anthropic")
    assert only(intact, ev.ReasoningFinished)[0].signature == "S"


# -- snapshots

ITEM = {"id": "i1", "type": "message", "role": "assistant"}
TEXT = "The dose is NOT 10 mg."


def text_piece(text: str) -> dict[str, Any]:
    return response("output_text.delta", output_index=0, item_id="i1", delta=text)


def text_response(*, confirmed: str = TEXT) -> bytes:
    whole = {**ITEM, "content": [{"type": "output_text", "text": TEXT}]}
    final = {**ITEM, "content": [{"type": "output_text", "text": confirmed}]}
    return sse(
        response("created", response={"id": "r", "model": "m"}),
        response("output_item.added", output_index=0, item=ITEM),
        text_piece("The dose is "),
        b"data: {broken\n\n",
        text_piece("10 mg."),
        response("output_text.done", output_index=0, text=TEXT),
        response("output_item.done", output_index=0, item=whole),
        response("completed", response={"status": "completed", "output": [final]}),
        done=False,
    )


def test_a_snapshot_restores_the_text() -> None:
    events = events_of(text_response(), "responses")
    check_grammar(events)
    assert only(events, ev.PartRestored) == [ev.PartRestored(0, TEXT)]
    assert kinds(events).index("PartRestored") < kinds(events).index("TextFinished")
    message = message_of(events)
    assert (message.text, message.is_complete) == (TEXT, True)
    assert message.skipped_frames == 1


def test_a_turn_is_complete_only_if_the_last_snapshot_agrees() -> None:
    message = message_of(events_of(text_response(confirmed=f"{TEXT} And more."), "responses"))
    assert not message.is_complete


def test_without_a_skipped_frame_the_deltas_win() -> None:
    data = text_response().replace(b"data: {broken\n\n", b"")
    events = events_of(data, "responses")
    assert not only(events, ev.PartRestored)
    assert message_of(events).text == "The dose is 10 mg."


@pytest.mark.parametrize("kind", ["reasoning_summary_text", "reasoning_text"])
def test_a_snapshot_restores_reasoning_and_its_seal_stays(kind: str) -> None:
    name = "summary" if "summary" in kind else "content"
    item = {"id": "i1", "type": "reasoning", "summary": []}
    whole = {**item, "encrypted_content": "E", name: [{"type": "x", "text": "one two"}]}
    data = sse(
        response("output_item.added", output_index=0, item=item),
        response(f"{kind}.delta", output_index=0, delta="one "),
        b"data: {broken\n\n",
        response(f"{kind}.done", output_index=0, text="one two"),
        response("output_item.done", output_index=0, item=whole),
        response("completed", response={"output": [whole]}),
        done=False,
    )
    events = events_of(data, "responses")
    check_grammar(events)
    message = message_of(events)
    assert (message.reasoning, message.is_complete) == ("one two", True)
    assert [seal.value for seal in only(events, ev.PartSealed)] == ["E"]


def test_a_snapshot_restores_the_arguments_of_a_call() -> None:
    item = {"id": "i1", "type": "function_call", "call_id": "c", "name": "pay"}
    arguments = '{"amount": 1000}'
    whole = {**item, "arguments": arguments}
    data = sse(
        response("output_item.added", output_index=0, item=item),
        response("function_call_arguments.delta", output_index=0, delta='{"amount": 10'),
        b"data: {broken\n\n",
        response("function_call_arguments.delta", output_index=0, delta="}"),
        response("function_call_arguments.done", output_index=0, arguments=arguments),
        response("output_item.done", output_index=0, item=whole),
        response("completed", response={"output": [whole]}),
        done=False,
    )
    events = events_of(data, "responses")
    check_grammar(events)
    [call] = only(events, ev.ToolCallFinished)
    assert (call.args, call.raw) == ({"amount": 1000}, arguments)
    assert message_of(events).calls[0].raw == arguments
    assert message_of(events).is_complete


def items_response(*frames: Any, items: list[dict[str, Any]]) -> list[ev.TurnEvent]:
    end = response("completed", response={"output": items})
    events = events_of(sse(*frames, end, done=False), "responses")
    check_grammar(events)
    return events


@pytest.mark.parametrize("summary", [[], [{"type": "summary_text", "text": "one two"}]])
def test_reasoning_that_the_finished_item_holds_keeps_its_seal(summary: list[Any]) -> None:
    item = {"id": "rs_1", "type": "reasoning", "summary": []}
    whole = {**item, "encrypted_content": "E", "summary": summary}
    events = items_response(
        response("output_item.added", output_index=0, item=item),
        b"data: {broken\n\n",
        response("output_item.done", output_index=0, item=whole),
        items=[whole],
    )
    assert kinds(events).index("ReasoningStarted") < kinds(events).index("FrameSkipped")
    assert [seal.value for seal in only(events, ev.PartSealed)] == ["E"]
    assert message_of(events).is_complete


def test_arguments_that_only_the_finished_item_holds_are_whole() -> None:
    item = {"id": "i1", "type": "function_call", "call_id": "c", "name": "pay"}
    whole = {**item, "arguments": '{"amount": 1000}'}
    events = items_response(
        response("output_item.added", output_index=0, item=item),
        b"data: {broken\n\n",
        response("output_item.done", output_index=0, item=whole),
        items=[whole],
    )
    assert [call.args for call in only(events, ev.ToolCallFinished)] == [{"amount": 1000}]
    assert message_of(events).is_complete


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_the_finished_item_restores_citations(lost: int) -> None:
    notes = [{"type": "url_citation", "url": f"https://a.example/{n}"} for n in range(3)]
    whole = {**ITEM, "content": [{"type": "output_text", "text": "Hi", "annotations": notes}]}
    told: list[Any] = [
        response(
            "output_text.annotation.added", output_index=0, annotation_index=n, annotation=note
        )
        for n, note in enumerate(notes)
    ]
    told[lost] = b"data: {broken\n\n"
    events = items_response(
        response("output_item.added", output_index=0, item=ITEM),
        text_piece("Hi"),
        *told,
        response("output_item.done", output_index=0, item=whole),
        items=[whole],
    )
    refs = [cited.ref for cited in only(events, ev.CitationAdded)]
    assert sorted(str(ref) for ref in refs) == [note["url"] for note in notes]
    assert message_of(events).is_complete


def test_arguments_that_no_snapshot_repeats_are_not_confirmed() -> None:
    item = {"id": "i1", "type": "code_interpreter_call", "status": "completed", "code": None}
    piece = response("code_interpreter_call_code.delta", output_index=0, delta="a = 1")
    events = items_response(
        response("output_item.added", output_index=0, item=item),
        piece,
        b"data: {broken\n\n",
        response("output_item.done", output_index=0, item=item),
        items=[item],
    )
    assert not message_of(events).is_complete


def test_a_snapshot_without_items_confirms_nothing() -> None:
    created = response("created", response={"id": "r"})
    events = items_response(created, b"data: {broken\n\n", items=[])
    assert not message_of(events).is_complete


def test_the_finish_reason_is_known_as_soon_as_it_was_read() -> None:
    decoder = Decoder("chat")
    seen = []
    for payload in (chunk({"content": "a"}), chunk(finish="stop")):
        decoder.feed(sse(payload, done=False))
        seen.append((decoder.finish, decoder.is_finished))
    assert seen == [(None, False), (END_TURN, False)]


def test_the_early_finish_reason_counts_the_calls() -> None:
    decoder = Decoder("chat")
    decoder.feed(sse(call_piece("{}", name="pay"), chunk(finish="stop"), done=False))
    assert decoder.finish is not None
    assert decoder.finish.word == "tool_use"


def test_a_call_whose_final_item_was_lost_is_malformed() -> None:
    action = {"type": "exec", "command": []}
    item = {"id": "i", "type": "local_shell_call", "call_id": "c", "action": action}
    added = response("output_item.added", output_index=0, item=item)
    end = response("completed", response={"output": []})
    assert only(events_of(sse(added, end, done=False), "responses"), ev.ToolCallFinished)
    events = events_of(sse(added, b"data: {broken\n\n", end, done=False), "responses")
    assert not only(events, ev.ToolCallFinished)
    assert only(events, ev.ToolCallMalformed)
