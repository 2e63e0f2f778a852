"""The protocols of OpenAI and Anthropic over any turn and any run, cut anywhere and ended any
way."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace import events as ev
from headrace.events import Record
from headrace.outcome import END_TURN, FinishReason, FinishWord, abort_reason, other_reason
from headrace.projections import anthropic_messages as messages
from headrace.projections import openai_chat as chat
from headrace.projections.anthropic_messages import frame as fr
from headrace.projections.openai_chat.frame import FINISH_WORDS, to_finish_word
from headrace.wire.decode import decode
from tests.authored import Stream
from tests.dialect_streams import ANY_STREAM
from tests.doors.round_trip import project, to_bytes
from tests.phases.records import Turn, records
from tests.phases.ux_runs import runs

PROTOCOLS = ("openai-chat", "anthropic-messages")
ENDINGS: dict[str, list[ev.Event]] = {
    "end of records": [],
    "error": [ev.TurnFailed(category="network", message="gone")],
    "cancel": [ev.RunFinished(abort_reason("cancelled"))],
    "failed run": [ev.RunFailed(category="interrupted", message="stopped")],
    "not saved": [ev.RunFinished(END_TURN), ev.RunClosed("save_failed")],
}
# The order of frames in a stream of Messages. `error` may come anywhere, and ends it.
MESSAGES_GRAMMAR: dict[str, dict[str, str]] = {
    "before": {"message_start": "open"},
    "open": {
        "ping": "open",
        "content_block_start": "block",
        "message_delta": "ending",
    },
    "block": {"content_block_delta": "block", "ping": "block", "content_block_stop": "open"},
    "ending": {"message_stop": "over"},
    "over": {},
}
DELTAS: dict[str, set[type]] = {
    "text": {fr.TextBody, fr.CitationBody},
    "thinking": {fr.ThinkingBody, fr.SignatureBody},
    "tool_use": {fr.InputBody},
    "server_tool_use": {fr.InputBody},
}


def check_messages(frames: list[Any]) -> None:
    """Check the order of frames, the numbers of blocks, and the kinds of their deltas."""
    state, count, kind = "before", 0, ""
    for place, frame in enumerate(frames):
        name = messages.frame_type(frame)
        if name == "error":
            assert place == len(frames) - 1
            return
        assert name in MESSAGES_GRAMMAR[state], (state, frame)
        state = MESSAGES_GRAMMAR[state][name]
        if isinstance(frame, fr.BlockStart):
            assert frame.index == count
            kind = frame.content_block["type"]
        elif isinstance(frame, fr.BlockDelta):
            assert frame.index == count
            assert type(frame.delta) in DELTAS[kind]
        elif isinstance(frame, fr.BlockStop):
            assert frame.index == count
            count += 1
    assert state == "over"


def check_chat(frames: list[Any]) -> None:
    """Check that each choice begins with its role and ends once, and that calls begin in order."""
    assert frames[-1] is chat.END_OF_FRAMES
    assert frames.count(chat.END_OF_FRAMES) == 1
    begun: set[int] = set()
    ended: set[int] = set()
    calls: dict[int, int] = {}
    for place, frame in enumerate(frames[:-1]):
        if isinstance(frame, chat.ErrorFrame):
            assert place == len(frames) - 2
            assert not ended
            continue
        for choice in frame.choices:
            assert (choice.delta.role == "assistant") == (choice.index not in begun)
            begun.add(choice.index)
            assert choice.index not in ended
            if choice.finish_reason is not None:
                ended.add(choice.index)
            for call in choice.delta.tool_calls:
                if call.id is not None:
                    assert call.index == calls.get(choice.index, 0)
                    calls[choice.index] = call.index + 1
                assert call.index < calls[choice.index]
    sent = [msgspec.json.decode(chat.encode_frame(frame)) for frame in chunks(frames)]
    assert len({(body["id"], body["model"], body["created"]) for body in sent}) <= 1
    for body, frame in zip(sent, chunks(frames), strict=True):
        told = msgspec.json.decode(msgspec.json.encode(frame.choices))
        assert body["choices"] == told


def chunks(frames: list[Any]) -> list[chat.Chunk | chat.Piece]:
    return [frame for frame in frames if isinstance(frame, chat.Chunk | chat.Piece)]


def check(protocol: str, frames: list[Any]) -> None:
    (check_chat if protocol == "openai-chat" else check_messages)(frames)


def has_failed(protocol: str, frames: list[Any]) -> bool:
    last = frames[-2:] if protocol == "openai-chat" else frames[-1:]
    return any(isinstance(f, chat.ErrorFrame | messages.ErrorFrame) for f in last)


def records_of(stream: Stream) -> list[Record]:
    return list(decode([stream.data], framing=stream.framing))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(ANY_STREAM, st.data())
def test_any_prefix_that_ends_any_way_is_legal(
    protocol: str, stream: Stream, data: st.DataObject
) -> None:
    whole = records_of(stream)
    prefix = whole[: data.draw(st.integers(0, len(whole) - 1))]
    more = ENDINGS[data.draw(st.sampled_from(list(ENDINGS)))]
    cut = prefix + [Record(len(prefix) + n, 0, event) for n, event in enumerate(more, 1)]
    frames = project(protocol, cut)
    check(protocol, frames)
    assert has_failed(protocol, frames)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("client_tools", [False, True])
@given(runs())
def test_any_run_is_legal(protocol: str, client_tools: bool, records: list[Record]) -> None:
    check(protocol, project(protocol, records, client_tools=client_tools))


@given(runs())
def test_tools_that_ran_here_are_not_shown(records: list[Record]) -> None:
    for frame in chunks(project("openai-chat", records)):
        assert not any(choice.delta.tool_calls for choice in frame.choices)
    for frame in project("anthropic-messages", records):
        if isinstance(frame, fr.BlockStart):
            assert frame.content_block["type"] != "tool_use"


@given(runs())
def test_the_frames_have_the_whole_text(records: list[Record]) -> None:
    assume(not any(isinstance(record.event, ev.StepDiscarded) for record in records))
    texts = [r.event.text for r in records if isinstance(r.event, ev.TextDelta) and not r.path]
    shown = [
        choice.delta.content or choice.delta.refusal or ""
        for frame in chunks(project("openai-chat", records))
        for choice in frame.choices
    ]
    assert "".join(shown).replace("\n\n", "") == "".join(texts).replace("\n\n", "")


@given(ANY_STREAM)
def test_the_whole_answer_has_what_the_stream_has(stream: Stream) -> None:
    records = records_of(stream)
    body = messages.build_message(records)
    shown = [
        frame.delta.text
        for frame in project("anthropic-messages", records)
        if isinstance(frame, fr.BlockDelta) and isinstance(frame.delta, fr.TextBody)
    ]
    if isinstance(body, dict):
        texts = [block["text"] for block in body["content"] if block["type"] == "text"]
        assert "".join(texts) == "".join(shown)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_bytes_grow_like_the_text(protocol: str) -> None:
    sizes: list[int] = []
    for count in (200, 400, 800):
        turn = Turn().output(0).reasoning(*["why "] * count).text(*["word "] * count)
        data = to_bytes(protocol, project(protocol, records(turn.events)))
        sizes.append(len(data))
    assert sizes[2] - sizes[1] == pytest.approx(2 * (sizes[1] - sizes[0]), rel=0.02)


def test_a_discarded_step_is_not_in_the_whole_answer_and_ends_a_stream() -> None:
    failed = Turn().output(0).text("wrong").events
    again = Turn(first_part=5).output(0).text("right").events
    made = records(
        [
            ev.RunStarted("r1"),
            ev.StepStarted(0),
            *failed,
            ev.OutputFinished(0),
            ev.TurnFailed(category="network", message="gone"),
            ev.StepDiscarded(0, "gone"),
            *again,
            ev.OutputFinished(0, END_TURN),
            ev.TurnFinished(reason=END_TURN),
            ev.StepFinished(0),
            ev.RunFinished(END_TURN),
        ]
    )
    completion = chat.build_completion(made)
    assert isinstance(completion, dict)
    assert completion["choices"][0]["message"]["content"] == "right"
    for protocol in PROTOCOLS:
        frames = project(protocol, made)
        check(protocol, frames)
        assert has_failed(protocol, frames)
        assert b"right" not in to_bytes(protocol, frames)
    message = messages.build_message(made)
    assert isinstance(message, dict)
    assert [block["text"] for block in message["content"]] == ["right"]


def test_reasoning_is_sent_in_one_field() -> None:
    made = records(Turn().output(0).reasoning("why").text("x").events)
    for field in ("reasoning_content", "reasoning", "none"):
        frames = chunks(project("openai-chat", made, reasoning_field=field))
        deltas = [choice.delta for frame in frames for choice in frame.choices]
        assert [d.reasoning_content for d in deltas if d.reasoning_content] == (
            ["why"] if field == "reasoning_content" else []
        )
        assert [d.reasoning for d in deltas if d.reasoning] == (
            ["why"] if field == "reasoning" else []
        )


def test_every_finish_reason_has_a_word() -> None:
    words = set(get_args(FinishWord)) - {"other"}
    assert set(FINISH_WORDS) == words
    assert set(fr.STOP_WORDS) == words
    for word in words - {"end_turn", "stop_sequence"}:
        assert to_finish_word(FinishReason(word)) != "stop"
        assert fr.to_stop_word(FinishReason(word)) != "end_turn"
    assert to_finish_word(other_reason("recitation")) == "recitation"
    assert fr.to_stop_word(other_reason("")) is None
