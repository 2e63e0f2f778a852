"""Ollama's lines: thinking, calls as objects, and how a stream says that it is done."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.messages import CallPart, MediaPart, ReasoningPart, TextPart
from headrace.usage import Usage
from tests.grammar import check_grammar
from tests.wire import events_of, message_of, only


def line(done: bool = False, **fields: Any) -> dict[str, Any]:
    top = {name: fields.pop(name) for name in list(fields) if name in TOP}
    return {"model": "qwen3", "message": {"role": "assistant", **fields}, "done": done, **top}


TOP = ("done_reason", "prompt_eval_count", "eval_count", "total_duration", "error")
STOP = line(True, done_reason="stop", prompt_eval_count=5, eval_count=7, total_duration=9)


def decode(*lines: Any) -> list[ev.TurnEvent]:
    data = b"".join(msgspec.json.encode(entry) + b"\n" for entry in lines)
    events = events_of(data, "ollama", framing="ndjson")
    check_grammar(events)
    return events


def parts(*lines: Any) -> list[Any]:
    return list(message_of(decode(*lines, STOP)).turns[0].parts)


def test_thinking_then_text_then_done() -> None:
    events = decode(line(thinking="hm", content=""), line(content="yes"), STOP)
    thought, answer = message_of(events).turns[0].parts
    assert isinstance(thought, ReasoningPart)
    assert isinstance(answer, TextPart)
    assert (thought.text, answer.text) == ("hm", "yes")
    finished = only(events, ev.TurnFinished)[0]
    assert finished.usage == Usage(input_tokens=5, output_tokens=7)
    assert finished.provider_data["total_duration"] == 9
    assert only(events, ev.TurnStarted)[0].model == "qwen3"


def test_calls_come_whole_as_objects_without_ids() -> None:
    first, second, third = parts(
        line(tool_calls=[{"function": {"name": "f", "arguments": {"x": 1}}}]),
        line(tool_calls=[{"id": "given", "function": {"name": "g", "arguments": ""}}, {}]),
    )
    assert isinstance(first, CallPart)
    assert (first.call_id, first.name, first.args) == ("call_0", "f", {"x": 1})
    assert (second.call_id, second.args) == ("given", {})
    assert "no name" in third.error


def test_tags_of_older_servers_are_reasoning_unless_thinking_has_its_field() -> None:
    thought, answer = parts(line(content="<thi"), line(content="nk>hm</think>yes"))
    assert (thought.text, answer.text) == ("hm", "yes")
    _, plain = parts(line(thinking="hm"), line(content="<think>yes"))
    assert plain.text == "<think>yes"


def test_images_are_media() -> None:
    (image,) = parts(line(images=["aGk="]))
    assert isinstance(image, MediaPart)
    assert image.data == "aGk="


@pytest.mark.parametrize(
    ("word", "reason"),
    [("stop", "end_turn"), (None, "end_turn"), ("length", "max_tokens"), ("load", "other(load)")],
)
def test_done_reasons(word: str | None, reason: str) -> None:
    last = line(True, content="", **({"done_reason": word} if word else {}))
    assert str(only(decode(line(content="a"), last), ev.TurnFinished)[0].reason) == reason


def test_errors_fail_the_turn_and_keep_what_came() -> None:
    events = decode(line(content="a"), {"error": "model runner has stopped"})
    assert only(events, ev.TurnFailed)[0].message == "model runner has stopped"
    assert message_of(events).text == "a"


def test_a_cut_stream_is_never_a_success() -> None:
    assert only(decode(line(content="a")), ev.TurnFailed)[0].category == "incomplete"


def test_a_last_line_without_its_end_is_tried() -> None:
    data = msgspec.json.encode(line(content="a")) + b"\n" + msgspec.json.encode(STOP)
    assert only(events_of(data, framing="ndjson"), ev.TurnFinished)
