"""The thinking vocabulary over turns and runs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.content import FileContent, ImageContent, JSONContent, TextContent
from headrace.errors import UsageError
from headrace.outcome import END_TURN, MAX_TOKENS, TOOL_USE, abort_reason
from headrace.projections.thinking import ThinkingProjection, encode_frame
from headrace.usage import Usage
from tests.phases.records import Turn, records


def frames(events: list[ev.Event], pause_ms: int = 100, **options: Any) -> list[dict[str, Any]]:
    """The payloads; `[DONE]` is a frame of that type."""
    projection = ThinkingProjection(**options)
    made = [f for record in records(events, pause_ms=pause_ms) for f in projection.feed(record)]
    payloads = [encode_frame(frame) for frame in [*made, *projection.close()]]
    return [
        {"type": "[DONE]"} if payload == b"[DONE]" else msgspec.json.decode(payload)
        for payload in payloads
    ]


def types(payloads: list[dict[str, Any]]) -> list[str]:
    return [payload.get("type", "chunk") for payload in payloads]


def run(*steps: list[ev.Event], end: ev.Event | None = None) -> list[ev.Event]:
    events: list[ev.Event] = [ev.RunStarted("r")]
    for number, step in enumerate(steps):
        events += [ev.StepStarted(number), *step, ev.StepFinished(number)]
    return [*events, end or ev.RunFinished(END_TURN)]


CALLING = Turn().output(0).reasoning("Let me check the tides at noon. ").call("tides", {"q": 1})
STEP_0 = CALLING.end_output(0, TOOL_USE).end(TOOL_USE, "tool_calls")
STEP_1 = Turn(first_part=9).output(0).reasoning("b").text("High at noon.").end_output().end()


def result(content: Any, kind: str | None = None, *, is_error: bool = False) -> ev.Event:
    return ev.ToolResult(call_id="c1", content=(content,), kind=kind, is_error=is_error)


def test_fields_are_the_documents() -> None:
    payloads = frames(Turn().output(0).reasoning("a").text("b").end_output().end())
    assert [sorted(payload) for payload in payloads] == [
        ["timestamp", "type"],
        ["content", "timestamp", "type"],
        ["duration", "duration_ms", "timestamp", "type"],
        ["timestamp", "type"],
        ["content", "type"],
        ["finish_reason", "timestamp", "type"],
        ["duration", "duration_ms", "thinking", "timestamp", "type"],
        ["finish_reason", "timestamp", "type"],
        ["type"],
    ]


def test_a_run_with_a_tool_has_two_phases_and_one_complete() -> None:
    events = run([*STEP_0, ev.ToolStarted("c1"), result(TextContent("noon"))], STEP_1)
    payloads = frames(events, pause_ms=1500)
    assert types(payloads) == [
        "thinking_start", "thinking_delta", "status", "thinking_end", "tool_call_start", "status",
        "tool_result", "thinking_start", "thinking_delta", "thinking_end", "text_start",
        "text_delta", "text_end", "thinking_complete", "done", "[DONE]",
    ]  # fmt: skip
    ends = [p["duration_ms"] for p in payloads if p["type"] == "thinking_end"]
    complete = next(p for p in payloads if p["type"] == "thinking_complete")
    assert complete["duration_ms"] == sum(ends)
    assert complete["duration"] == sum(ends) // 1000
    assert complete["thinking"] == "Let me check the tides at noon. \n\nb"


def test_the_summaries_of_an_item_are_paragraphs_of_the_whole_thinking() -> None:
    def summary(part: int, *texts: str) -> list[ev.Event]:
        start = ev.ReasoningStarted(part=part, output=0, item=0, kind="summary", summary_index=part)
        deltas = [ev.ReasoningDelta(part, text) for text in texts]
        return [start, *deltas, ev.ReasoningFinished(part)]

    turn = Turn().output(0)
    turn.events += [
        *summary(0, "**Adding** ", "up."),
        *summary(1),
        *summary(2, "[STATUS: x]"),
        *summary(3, "**Checking** it."),
    ]
    whole = "**Adding** up.\n\n**Checking** it."
    for cut, wanted in ((None, whole), (18, whole[:18]), (15, "**Adding** up."), (5, "**Add")):
        payloads = frames(turn.end_output().end(), max_thinking_chars=cut)
        assert types(payloads).count("thinking_start") == 1
        complete = next(p for p in payloads if p["type"] == "thinking_complete")
        assert complete["thinking"] == wanted


@pytest.mark.parametrize(
    ("content", "kind", "extra"),
    [
        (JSONContent({"hits": [1]}), "web_search", {"type": "web_search", "data": {"hits": [1]}}),
        (TextContent("found"), "web_search", {"type": "web_search", "data": {"results": "found"}}),
        (
            JSONContent({"code": "<b>", "title": "T", "type": "html"}),
            "artifact",
            {"type": "artifact_complete", "artifactCode": "<b>", "artifactTitle": "T"},
        ),
        (TextContent("x = 1"), "artifact", {"type": "artifact_complete", "artifactCode": "x = 1"}),
        (
            ImageContent(media_type="image/png", data="QUJD"),
            "image",
            {"type": "image_complete", "imageUrl": "data:image/png;base64,QUJD"},
        ),
    ],
)
def test_a_kind_of_result_has_its_own_frame(content: Any, kind: str, extra: dict[str, Any]) -> None:
    payloads = frames(run([*STEP_0, result(content, kind)], STEP_1))
    place = types(payloads).index("tool_result")
    assert payloads[place]["success"] is True
    assert payloads[place]["toolName"] == "tides"
    assert payloads[place + 1] | extra == payloads[place + 1]


def test_a_failed_tool_is_no_success_and_makes_nothing() -> None:
    payloads = frames(run([*STEP_0, result(TextContent("no tide"), "web_search", is_error=True)]))
    failed = next(p for p in payloads if p["type"] == "tool_result")
    assert (failed["success"], failed["error"]) == (False, "no tide")
    assert "web_search" not in types(payloads)


def test_an_error_of_several_texts_has_a_line_for_each() -> None:
    failed = ev.ToolResult(
        call_id="c1", content=(TextContent("no tide"), TextContent("ask later")), is_error=True
    )
    payloads = frames(run([*STEP_0, failed]))
    (told,) = [p for p in payloads if p["type"] == "tool_result"]
    assert told["error"] == "no tide\nask later"


def test_an_output_of_an_unknown_call_is_a_result_with_its_id_and_without_a_name() -> None:
    payloads = frames(Turn().output(0).tool_output("c9", "hits").text("b").end_output().end())
    (told,) = [p for p in payloads if p["type"] == "tool_result"]
    assert (told["call_id"], told["toolName"], told["result"]) == ("c9", "", "hits")
    assert "tool_call_start" not in types(payloads)


def test_a_providers_tool_ends_with_its_activity_or_its_output() -> None:
    turn = Turn().output(0).reasoning("a").call("web_search", {"q": 1}, executor="provider")
    turn.events.append(ev.ToolActivity(part=1, call_id="c1", status="completed"))
    payloads = frames(turn.text("b").end_output().end())
    assert types(payloads)[3:8] == [
        "status",
        "tool_call_start",
        "tool_result",
        "text_start",
        "text_delta",
    ]
    turn = Turn().output(0).call("web_search", {"q": 1}, executor="provider")
    turn.events.append(ev.ToolActivity(part=0, call_id="c1", status="completed"))
    payloads = frames(turn.tool_output("c1", "hits").text("b").end_output().end())
    assert types(payloads).count("tool_result") == 1
    assert types(payloads).count("web_search") == 1


def test_text_ends_with_the_word_that_fits() -> None:
    def words(events: list[ev.Event]) -> list[str]:
        return [p["finish_reason"] for p in frames(events) if p["type"] == "text_end"]

    begun = Turn().output(0).text("a")
    assert words(begun.end(END_TURN, "eos")) == ["eos"]
    assert words(begun.end(END_TURN, None)) == ["stop"]
    assert words(begun.fail()) == ["error"]
    assert words(begun.events) == ["error"]
    assert words(Turn().output(0).text("a").call("f", {}).end()) == ["tool_calls"]
    assert words(Turn().output(0).text("a").reasoning("b").end()) == ["stop"]
    cancelled = ev.RunFinished(abort_reason("cancelled"))
    assert words(run(begun.fail(), end=cancelled)) == ["cancelled"]
    assert words(run(begun.fail(), end=ev.RunFailed(category="server", message="x"))) == ["error"]
    assert words(run(begun.fail(), STEP_1)) == ["error", "end_turn"]
    assert words([ev.RunStarted("r"), *begun.fail(), ev.StepDiscarded(0, "x")]) == ["error"]


@pytest.mark.parametrize(
    ("end", "wanted"),
    [
        (ev.RunFinished(END_TURN, Usage(output_tokens=1)), "done"),
        (ev.RunFinished(abort_reason("max_iterations")), "done"),
        (ev.RunFinished(abort_reason("cancelled")), "cancelled"),
        (ev.RunFinished(abort_reason("timeout")), "error"),
        (ev.RunFailed(category="server", message="x"), "error"),
    ],
)
@pytest.mark.parametrize("is_closed", [False, True])
def test_the_end_is_told_once(end: ev.Event, wanted: str, is_closed: bool) -> None:
    events = run(STEP_1, end=end)
    if is_closed:
        events.append(ev.RunClosed("committed", "m"))
    assert types(frames(events))[-2:] == [wanted, "[DONE]"]
    assert types(frames(events)).count("[DONE]") == 1


def test_a_message_that_was_not_saved_is_an_error() -> None:
    payloads = frames([*run(STEP_1), ev.RunClosed("save_failed")])
    assert (payloads[-2]["type"], payloads[-2]["category"]) == ("error", "storage")


def test_nothing_follows_the_end() -> None:
    projection = ThinkingProjection()
    for record in records([*run(STEP_1), ev.RunClosed("committed", "m")]):
        projection.feed(record)
    late = records(Turn().output(0).reasoning("a").text("b").end_output().end())
    assert not [frame for record in late for frame in projection.feed(record)]
    assert projection.close() == []


def test_hidden_thinking_is_thinking_too() -> None:
    place: dict[str, Any] = {"part": 0, "output": 0, "item": 0}
    events = Turn().output(0).events
    redacted = [*events, ev.ReasoningRedacted(**place, data="x"), *Turn().end()[1:]]
    assert types(frames(redacted)) == [
        "thinking_start", "thinking_end", "thinking_complete", "done", "[DONE]"
    ]  # fmt: skip


def test_markers_are_shown_as_status_and_not_as_thinking() -> None:
    turn = Turn().output(0).reasoning("So. [STA", "TUS: reading page 2", "] Now", " what")
    payloads = frames(turn.text("b").end_output().end())
    complete = next(p for p in payloads if p["type"] == "thinking_complete")
    assert complete["thinking"] == "So. Now what"
    status = next(p for p in payloads if p["type"] == "status")
    assert (status["description"], status["source"]) == ("reading page 2", "glm_marker")


def test_the_cut_and_the_shape_of_chunks_are_options() -> None:
    events = Turn().output(0).reasoning("a" * 400, "b" * 400).text("c").end_output().end()
    payloads = frames(events, max_thinking_chars=500, text_shape="openai")
    complete = next(p for p in payloads if p.get("type") == "thinking_complete")
    assert complete["thinking"] == "a" * 400 + "b" * 100
    assert sum(len(p["content"]) for p in payloads if p.get("type") == "thinking_delta") == 800
    chunk = next(p for p in payloads if "choices" in p)
    assert chunk["choices"][0]["delta"] == {"content": "c"}


def test_a_call_that_cannot_be_read_says_so() -> None:
    turn = Turn().output(0)
    turn.events += [
        ev.ToolCallStarted(part=0, output=0, item=0, call_id="c", name="f"),
        ev.ToolCallMalformed(part=0, call_id="c", name="f", raw="{", error="it is cut"),
    ]
    call = next(p for p in frames(turn.end()) if p["type"] == "tool_call_start")
    assert (call["arguments"], call["error"]) == ({}, "it is cut")


def test_only_the_first_candidate_is_shown() -> None:
    turn = Turn().output(0).output(1).text("second")
    turn.back_to(0).text("first")
    payloads = frames(turn.end_output(0).end_output(1).end())
    assert [p["content"] for p in payloads if p["type"] == "text_delta"] == ["first"]


def test_a_picture_is_shown() -> None:
    turn = Turn().output(0)
    turn.events.append(
        ev.MediaProduced(part=0, output=0, item=0, media_type="image/png", url="https://x/y.png")
    )
    picture = next(p for p in frames(turn.end()) if p["type"] == "image_complete")
    assert picture["imageUrl"] == "https://x/y.png"


def test_reasoning_of_two_outputs_at_once_is_all_told() -> None:
    place: dict[str, Any] = {"item": 0}
    events: list[ev.Event] = [
        ev.TurnStarted(dialect="xai", outputs="successive"),
        ev.OutputStarted(0),
        ev.OutputStarted(1),
        ev.ReasoningStarted(part=0, output=0, **place),
        ev.ReasoningDelta(0, "a [STA"),
        ev.ReasoningStarted(part=1, output=1, **place),
        ev.ReasoningDelta(1, "b"),
        ev.ReasoningDelta(0, "c"),
        ev.ReasoningFinished(0),
        ev.TextStarted(part=2, output=1, **place),
        ev.TextDelta(2, "t"),
        ev.ReasoningFinished(1),
        ev.TurnFinished(reason=END_TURN),
    ]
    payloads = frames(events)
    complete = next(p for p in payloads if p["type"] == "thinking_complete")
    assert complete["thinking"] == "a b[STAc"
    assert types(payloads)[-6:] == [
        "text_start", "text_delta", "text_end", "thinking_complete", "done", "[DONE]"
    ]  # fmt: skip


def test_a_marker_held_back_is_said_before_the_text() -> None:
    turn = Turn().output(0).reasoning("a [STATUS: x")
    turn.events.pop()
    payloads = frames(
        [*turn.events, *Turn(first_part=1).text("t").events[1:], ev.TurnFinished(reason=END_TURN)]
    )
    assert types(payloads)[:4] == [
        "thinking_start",
        "thinking_delta",
        "thinking_delta",
        "thinking_end",
    ]


def test_a_run_that_recovery_closed_is_an_error() -> None:
    payloads = frames([*run(STEP_1), ev.RunClosed("interrupted", "m")])
    assert (payloads[-2]["type"], payloads[-2]["category"]) == ("error", "interrupted")


def test_an_event_that_nobody_knows_changes_no_end() -> None:
    events = [*Turn().output(0).text("a").end_output().end(), ev.UnknownEvent("new", b"{}")]
    assert types(frames(events))[-2:] == ["done", "[DONE]"]  # type: ignore[arg-type]


def test_the_candidate_that_is_shown_tells_how_it_ended() -> None:
    turn = Turn().output(0).text("a").output(1).text("b")
    turn.events += [
        ev.OutputFinished(0, MAX_TOKENS, "length"),
        ev.OutputFinished(1, END_TURN, "stop"),
    ]
    payloads = frames(turn.end(END_TURN, "stop"))
    assert next(p for p in payloads if p["type"] == "text_end")["finish_reason"] == "length"
    assert payloads[-2]["finish_reason"] == "max_tokens"


def test_markers_of_candidates_and_of_outputs_do_not_mix() -> None:
    events: list[ev.Event] = [
        ev.TurnStarted(dialect="xai", outputs="successive"),
        ev.OutputStarted(0),
        ev.OutputStarted(1),
        ev.ReasoningStarted(part=0, output=0, item=0),
        ev.ReasoningStarted(part=1, output=1, item=1),
        ev.ReasoningDelta(0, "A [STA"),
        ev.ReasoningDelta(1, "TUS: x] B"),
        ev.ReasoningFinished(1),
        ev.ReasoningDelta(0, "TUS: reading it] A"),
        ev.ReasoningFinished(0),
        ev.TurnFinished(reason=END_TURN),
    ]
    payloads = frames(events)
    complete = next(p for p in payloads if p["type"] == "thinking_complete")
    assert complete["thinking"] == "A TUS: x] BA"
    assert [p["description"] for p in payloads if p["type"] == "status"] == ["reading it"]


def test_a_tool_is_answered_once() -> None:
    turn = Turn().output(0).call("web_search", {"q": 1}, executor="provider")
    turn.events.append(ev.ToolActivity(part=0, call_id="c1", status="completed"))
    turn.reasoning("a").tool_output("c1", "late")
    assert types(frames(turn.end())).count("tool_result") == 1


def stepped(*steps: list[ev.Event]) -> list[dict[str, Any]]:
    """The frames of a run whose records know their steps; a step that ends with
    `StepDiscarded` is followed by itself, once more."""
    projection = ThinkingProjection()
    made: list[Any] = []
    step = 0
    for events in steps:
        for record in records([ev.StepStarted(step), *events], step=step):
            made += projection.feed(record)
        step += not isinstance(events[-1], ev.StepDiscarded)
    made += projection.feed(ev.Record(1, 1, ev.RunFinished(END_TURN)))
    payloads = [encode_frame(frame) for frame in made]
    return [msgspec.json.decode(payload) for payload in payloads if payload != b"[DONE]"]


def calling(
    name: str, answer: str | None = None, *, executor: ev.Executor = "client", part: int = 0
) -> list[ev.Event]:
    turn = Turn(first_part=part).output(0).call(name, {"at": name}, executor=executor)
    if answer is None or executor == "client":
        told = turn.end_output(0, TOOL_USE).end(TOOL_USE)
        return told if answer is None else [*told, result(TextContent(answer))]
    return turn.tool_output("c1", answer).end_output().end()


def told_tools(payloads: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [
        (p["toolName"], p["arguments"]["at"] if p["type"] == "tool_call_start" else p["result"])
        for p in payloads
        if p["type"] in ("tool_call_start", "tool_result")
    ]


@pytest.mark.parametrize("executor", ["client", "provider"])
def test_an_id_that_two_steps_use_is_two_calls(executor: ev.Executor) -> None:
    first = calling("f", "one", executor=executor)
    second = calling("g", "two", executor=executor, part=5)
    told = told_tools(stepped(first, second))
    assert told == [("f", "f"), ("f", "one"), ("g", "g"), ("g", "two")]


def test_an_end_that_waits_belongs_to_the_call_that_it_was_said_of() -> None:
    first = Turn().output(0).call("f", {"at": "f"}, executor="provider")
    first.events.append(ev.ToolActivity(part=0, call_id="c1", status="failed"))
    payloads = stepped([*first.events, *calling("g", "two", part=5)])
    assert [(p["toolName"], p["success"]) for p in payloads if p["type"] == "tool_result"] == [
        ("f", False),
        ("g", True),
    ]


@pytest.mark.parametrize("has_thought", [False, True])
def test_a_stream_ends_when_a_step_is_discarded_of_which_something_was_sent(
    has_thought: bool,
) -> None:
    begun = Turn().output(0)
    shown = begun.reasoning("hm") if has_thought else begun.text("A wrong answer.")
    lost = [*shown.end_output().end(), ev.StepDiscarded(0, "again")]
    kept = Turn(first_part=5).output(0).text("The answer.").end_output().end()
    payloads = stepped(lost, kept)
    assert not any(p.get("text_delta") == "The answer." for p in payloads)
    (end,) = [p for p in payloads if p["type"] == "error"]
    assert (end["category"], end["retryable"]) == ("interrupted", True)
    assert not any(p["type"] == "done" for p in payloads)


def test_a_step_that_is_discarded_before_anything_was_sent_is_not_noticed() -> None:
    lost: list[ev.Event] = [
        ev.TurnStarted(dialect="chat"),
        ev.TurnFailed(category="overloaded", message="busy"),
        ev.StepDiscarded(0, "again"),
    ]
    kept = Turn(first_part=5).output(0).text("The answer.").end_output().end()
    payloads = stepped(lost, kept)
    assert [p["type"] for p in payloads] == ["text_start", "text_delta", "text_end"]
    assert not any(p["type"] == "error" for p in payloads)


def test_arguments_that_a_broken_step_left_open_are_nobody_elses() -> None:
    start = ev.ToolCallStarted(part=0, output=0, item=0, call_id="c1", name="f")
    broken = Turn().output(0)
    broken.events.append(start)
    told = told_tools(
        stepped([*broken.fail(), ev.StepDiscarded(0, "again")], calling("g", "two", part=5))
    )
    assert told == [("g", "g"), ("g", "two")]


@pytest.mark.parametrize(
    ("name", "data", "wanted"),
    [
        ("web_search", None, ["web_search"]),
        ("google_search", None, ["web_search"]),
        ("GOOGLE_SEARCH_WEB", None, ["web_search"]),
        ("x_keyword_search", None, ["web_search"]),
        ("browser.search", None, ["web_search"]),
        ("find", {"type": "web_search_call"}, ["web_search"]),
        ("web_search_exa", {"type": "mcp_call"}, []),
        ("index_search", None, []),
        ("image_generation", None, ["image_complete"]),
        ("code_interpreter", None, []),
    ],
)
def test_the_kind_of_a_providers_tool(name: str, data: Any, wanted: list[str]) -> None:
    place: dict[str, Any] = {"output": 0, "item": 0, "call_id": "c"}
    picture = ImageContent(media_type="image/png", url="https://x/y.png")
    events: list[ev.Event] = [
        *Turn().output(0).events,
        ev.ToolCallStarted(part=0, **place, name=name, executor="provider", provider_data=data),
        ev.ToolOutput(part=1, **place, content=(picture,)),
        *Turn().end_output().end()[1:],
    ]
    shown = types(frames(events))
    assert shown[shown.index("tool_result") + 1 : -2] == wanted


def test_a_file_that_was_given_whole_is_a_data_address() -> None:
    given = FileContent(media_type="text/plain", name="a.txt", data="QUJD")
    payloads = frames(run([*STEP_0, result(given)], STEP_1))
    told = next(p for p in payloads if p["type"] == "tool_result")["result"]
    assert told["url"] == "data:text/plain;base64,QUJD"


def test_options_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UsageError, match="text_delta and openai"):
        ThinkingProjection(text_shape="bogus")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a length"):
        ThinkingProjection(max_thinking_chars=-1)


def with_gap(*more: ev.Event, is_complete: bool) -> list[ev.Event]:
    place: dict[str, Any] = {"output": 0, "item": 0}
    return run(
        [
            ev.TurnStarted(dialect="responses"),
            ev.OutputStarted(0),
            ev.TextStarted(part=0, **place),
            ev.TextDelta(0, "The dose is 10 mg."),
            ev.FrameSkipped(reason="no JSON", data="s3cret", size=6),
            *more,
            ev.TextFinished(0),
            ev.OutputFinished(0, END_TURN),
            ev.TurnFinished(reason=END_TURN, skipped_frames=1, is_complete=is_complete),
        ]
    )


def test_an_answer_with_a_gap_has_a_warning_at_its_end() -> None:
    lost = frames(with_gap(is_complete=False))
    assert "may be missing" in lost[-2]["warning"]
    restored = frames(with_gap(ev.PartRestored(0, "The dose is NOT 10 mg."), is_complete=True))
    assert "with a gap" in restored[-2]["warning"]
    assert "s3cret" not in str(lost + restored)
    assert "warning" not in frames(with_gap(is_complete=True))[-2]
