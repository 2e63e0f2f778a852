"""The ux vocabulary over turns and runs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.content import ImageContent, JSONContent, TextContent
from headrace.errors import UsageError
from headrace.messages import Message, fold
from headrace.outcome import END_TURN, TOOL_USE, abort_reason
from headrace.projections.ux import (
    UXProjection,
    decode_frame,
    encode_frame,
    fold_frames,
    to_event,
)
from headrace.projections.ux import frame as fr
from headrace.projections.ux.frame import StepDiscardedFrame
from headrace.projections.ux.tool_kind import kind_of
from headrace.usage import Usage
from tests.phases.records import Turn, records
from tests.phases.ux_order import check_ux

PLACE: dict[str, Any] = {"output": 0, "item": 0}


def frames(
    events: list[ev.Event], event_id: str | None = "e", pause_ms: int = 100, **options: Any
) -> list[dict[str, Any]]:
    """The payloads; what must always be true is checked on the way."""
    projection = UXProjection(event_id, **options)
    made = [f for record in records(events, pause_ms=pause_ms) for f in projection.feed(record)]
    made += projection.close()
    check_ux(made)
    return [msgspec.json.decode(encode_frame(frame)) for frame in made]


def types(payloads: list[dict[str, Any]]) -> list[str]:
    return [payload["type"] for payload in payloads]


def of(payloads: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [payload for payload in payloads if payload["type"] == kind]


def segments(events: list[ev.Event]) -> list[dict[str, Any]]:
    return frames(events)[-1]["event"]["segments"]


def run(*steps: list[ev.Event], end: ev.Event | None = None) -> list[ev.Event]:
    events: list[ev.Event] = [ev.RunStarted("r", effort="high")]
    for number, step in enumerate(steps):
        events += [ev.StepStarted(number), *step, ev.StepFinished(number)]
    return [*events, end or ev.RunFinished(END_TURN)]


def calling(name: str = "tides", **options: Any) -> list[ev.Event]:
    turn = Turn().output(0).reasoning("Let me see.").call(name, {"q": 1}, **options)
    return turn.end_output(0, TOOL_USE).end(TOOL_USE, "tool_calls")


ANSWERING = Turn(first_part=9).output(0).reasoning("b").text("High at noon.").end_output().end()


def result(*content: Any, kind: str | None = None, is_error: bool = False) -> ev.Event:
    return ev.ToolResult(call_id="c1", content=content, kind=kind, is_error=is_error)


# --- segments ------------------------------------------------------------------------


def test_a_run_with_a_tool_is_one_message() -> None:
    payloads = frames(run([*calling(), ev.ToolStarted("c1"), result(TextContent("9"))], ANSWERING))
    assert types(payloads) == [
        "message_started", "reasoning_part_started", "reasoning_part_delta",
        "reasoning_part_completed", "reasoning_segment_meta", "tool_call_started",
        "tool_call_update", "status", "tool_call_update", "tool_result", "reasoning_part_started",
        "reasoning_part_delta", "reasoning_part_completed", "reasoning_segment_meta",
        "segment_added", "text_delta", "message_final",
    ]  # fmt: skip
    event = payloads[-1]["event"]
    assert [one["type"] for one in event["segments"]] == [
        "reasoning", "tool_call", "reasoning", "text"
    ]  # fmt: skip
    assert [one.get("sequence_number") for one in event["segments"]] == [0, 1, 2, None]
    parts = [part for one in event["segments"] for part in one.get("parts", [])]
    assert [part["sequence_number"] for part in parts] == [0, 1]
    assert event["run_id"] == "r"
    assert event["finish"] == {"word": "end_turn"}


def test_parts_of_one_item_are_one_segment_and_other_items_are_others() -> None:
    turn = Turn().output(0)
    for part, item_id in enumerate(["rs_1", "rs_1", "rs_2"]):
        started = ev.ReasoningStarted(
            part=part, **PLACE, item_id=item_id, kind="summary", summary_index=part + 4
        )
        turn.events += [started, ev.ReasoningDelta(part, f"t{part}"), ev.ReasoningFinished(part)]
    first, second = segments(turn.end_output().end())
    assert [part["summary_index"] for part in first["parts"]] == [0, 1]
    assert [part["type"] for part in first["parts"]] == ["summary_text"] * 2
    assert first["combined_text"] == "t0\n\nt1"
    assert (first["provider_item_id"], second["provider_item_id"]) == ("rs_1", "rs_2")
    assert [part["summary_index"] for part in second["parts"]] == [0]
    assert [part["sequence_number"] for part in second["parts"]] == [2]


def test_blocks_without_ids_are_one_segment_until_something_comes_between() -> None:
    turn = Turn().output(0).reasoning("a").reasoning("b").text("c").reasoning("d")
    kinds = [(one["type"], len(one.get("parts", []))) for one in segments(turn.end())]
    assert kinds == [("reasoning", 2), ("text", 0), ("reasoning", 1)]


def test_the_reasoning_of_a_turn_does_not_continue_that_of_the_turn_before() -> None:
    first = Turn().output(0).reasoning("a").end_output().end()
    second = Turn(first_part=1).output(0).reasoning("b").end_output().end()
    made = frames(run(first, second))
    assert [one["combined_text"] for one in made[-1]["event"]["segments"]] == ["a", "b"]
    started = of(made, "reasoning_part_started")
    assert [one["segment_id"] for one in started] == ["e-0", "e-1"]


def test_a_source_of_reasoning_belongs_to_its_segment() -> None:
    turn = Turn().output(0).reasoning("a")
    turn.events.append(ev.CitationAdded(part=0, source="url", ref="https://x"))
    payloads = frames(turn.text("b").end_output().end())
    (told,) = of(payloads, "citation_added")
    assert told["segment_id"] == "e-0"
    reasoning, text = payloads[-1]["event"]["segments"]
    assert [one["ref"] for one in reasoning["citations"]] == ["https://x"]
    assert "citations" not in text


def test_a_source_of_a_text_that_stayed_empty_shows_nothing() -> None:
    """Such a text is no segment, and reasoning around its source is not interrupted."""
    turn = Turn().output(0).text()
    turn.events += [
        ev.ReasoningRedacted(part=1, **PLACE, data="x"),
        ev.CitationAdded(part=0, title="t"),
        ev.ReasoningRedacted(part=2, **PLACE, data="x"),
    ]
    payloads = frames(turn.end_output().end())
    assert not of(payloads, "segment_added")
    assert not of(payloads, "citation_added")
    (segment,) = payloads[-1]["event"]["segments"]
    assert len(segment["parts"]) == 2


def test_a_source_that_comes_before_its_text_is_shown() -> None:
    turn = Turn().output(0)
    turn.events += [
        ev.TextStarted(part=0, **PLACE),
        ev.CitationAdded(part=0, title="t"),
        ev.TextDelta(0, "a"),
        ev.TextFinished(0),
    ]
    payloads = frames(turn.end_output().end())
    assert types(payloads)[1:4] == ["segment_added", "citation_added", "text_delta"]
    (segment,) = payloads[-1]["event"]["segments"]
    assert [one["title"] for one in segment["citations"]] == ["t"]


def test_hidden_reasoning_is_a_part_without_text() -> None:
    turn = Turn().output(0)
    turn.events.append(ev.ReasoningRedacted(part=0, **PLACE, data="secret"))
    payloads = frames(turn.end_output().end())
    assert types(payloads)[1:3] == ["reasoning_part_started", "reasoning_part_completed"]
    (segment,) = payloads[-1]["event"]["segments"]
    (part,) = segment["parts"]
    assert (part["type"], part["text"], part["is_complete"]) == ("redacted", "", True)
    assert "secret" not in str(payloads)


def test_what_a_segment_cost_is_told_where_it_is_the_only_one() -> None:
    usage = Usage(reasoning_tokens=7)
    (alone, _) = segments(Turn().output(0).reasoning("a").text("b").end(usage=usage))
    assert alone["reasoning_tokens"] == 7
    several = segments(Turn().output(0).reasoning("a").text("b").reasoning("c").end(usage=usage))
    assert not [one for one in several if "reasoning_tokens" in one]


def test_the_effort_and_the_duration_are_told() -> None:
    meta = of(frames(run(ANSWERING)), "reasoning_segment_meta")[0]
    assert (meta["effort_level"], meta["duration_ms"]) == ("high", 200)


def test_markers_are_a_status_and_no_text() -> None:
    turn = Turn().output(0).reasoning("So. [STA", "TUS: reading page 2", "] Now", " [STATUS: x")
    payloads = frames(turn.text("b").end_output().end())
    (segment, _) = payloads[-1]["event"]["segments"]
    assert segment["combined_text"] == "So. Now [STATUS: x"
    (status,) = of(payloads, "status")
    assert (status["text"], status["source"]) == ("reading page 2", "marker")


def test_a_text_without_a_word_is_no_segment() -> None:
    assert segments(Turn().output(0).text().end()) == []
    turn = Turn().output(0).text().text("a").text()
    assert [one["text"] for one in segments(turn.end())] == ["a"]


def test_text_tells_what_is_special_about_it() -> None:
    turn = Turn().output(0)
    start = ev.TextStarted(
        part=0, output=0, item=0, item_id="msg_1", channel="final", is_refusal=True
    )
    turn.events += [start, ev.TextDelta(0, "no"), ev.TextFinished(0)]
    assert segments(turn.end()) == [
        {
            "type": "text",
            "id": "e-0",
            "text": "no",
            "provider_item_id": "msg_1",
            "channel": "final",
            "is_refusal": True,
        }
    ]


def test_outputs_are_told_apart() -> None:
    turn = Turn(outputs="successive").output(0).output(1).text("b").back_to(0).text("a")
    payloads = frames(turn.end())
    assert [p.get("output_index", 0) for p in of(payloads, "text_delta")] == [1, 0]
    found = [(one["text"], one.get("output_index", 0)) for one in payloads[-1]["event"]["segments"]]
    assert found == [("b", 1), ("a", 0)]


def test_texts_of_two_outputs_that_interleave_do_not_mix() -> None:
    turn = Turn(outputs="successive").output(0).output(1)
    turn.events += [
        ev.TextStarted(part=0, output=0, item=0),
        ev.TextDelta(0, "a"),
        ev.TextStarted(part=1, output=1, item=1),
        ev.TextDelta(1, "x"),
        ev.TextDelta(0, "b"),
        ev.TextDelta(1, "y"),
        ev.TextFinished(0),
        ev.TextFinished(1),
    ]
    assert [one["text"] for one in segments(turn.end())] == ["ab", "xy"]


def test_pictures_and_strangers_are_segments() -> None:
    turn = Turn().output(0)
    turn.events += [
        ev.MediaProduced(part=0, **PLACE, media_type="image/png", data="QQ=="),
        ev.OpaqueItem(part=1, **PLACE, kind="odd", data='{"secret":1}'),
    ]
    picture, stranger = segments(turn.end())
    assert (picture["type"], picture["url"]) == ("media", "data:image/png;base64,QQ==")
    assert (stranger["type"], stranger["kind"]) == ("opaque", "odd")
    assert "secret" not in str(stranger)


def test_sources_are_told_without_the_providers_object() -> None:
    turn = Turn().output(0).text("a")
    turn.events += [
        ev.CitationAdded(part=0, source="url", ref="https://x", start=0, end=1, raw={"own": 1}),
        ev.CitationAdded(title="of all"),
    ]
    event = frames(turn.end())[-1]["event"]
    (text,) = event["segments"]
    assert text["citations"] == [{"source": "url", "ref": "https://x", "start": 0, "end": 1}]
    assert event["citations"] == [{"title": "of all"}]


# --- tools ---------------------------------------------------------------------------


def test_a_tool_is_told_from_its_arguments_to_its_result() -> None:
    turn = Turn().output(0)
    turn.events += [
        ev.ToolCallStarted(part=0, **PLACE, call_id="c1", name="tides"),
        ev.ToolCallArgsDelta(0, '{"q":'),
        ev.ToolCallArgsDelta(0, " 1}"),
        ev.ToolCallFinished(part=0, call_id="c1", name="tides", args={"q": 1}, raw='{"q": 1}'),
    ]
    ran: list[ev.Event] = [
        ev.ToolStarted("c1", {"q": 1}),
        ev.ToolProgress(call_id="c1", status="halfway", progress=0.5, log="row 3"),
        ev.ToolProgress(call_id="c1", progress=0.9),
        result(JSONContent({"high": 9}), kind="table"),
    ]
    payloads = frames(run([*turn.end(), *ran]))
    updates = [
        {name: value for name, value in update.items() if name not in ("type", "event_id")}
        for update in of(payloads, "tool_call_update")
    ]
    assert updates == [
        {"call_id": "c1", "status": "writing", "args_delta": '{"q":'},
        {"call_id": "c1", "status": "writing", "args_delta": " 1}"},
        {"call_id": "c1", "status": "ready", "args": {"q": 1}, "args_preview": "q: 1"},
        {"call_id": "c1", "status": "running"},
        {"call_id": "c1", "status": "halfway", "progress": 0.5, "logs_delta": "row 3"},
        {"call_id": "c1", "status": "halfway", "progress": 0.9},
    ]
    assert payloads[-1]["event"]["segments"] == [
        {
            "type": "tool_call",
            "id": "e-0",
            "call_id": "c1",
            "name": "tides",
            "args": {"q": 1},
            "result": {"high": 9},
            "status": "completed",
            "sequence_number": 0,
            "created_at": 500,
            "kind": "table",
            "duration_ms": 300,
        }
    ]


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ((), None),
        ((TextContent("a"),), "a"),
        ((TextContent("a"), JSONContent([1])), ["a", [1]]),
        (
            (ImageContent(media_type="image/png", url="https://x/y.png"),),
            {"type": "image", "media_type": "image/png", "url": "https://x/y.png"},
        ),
    ],
)
def test_a_result_is_a_json_value(content: Any, wanted: Any) -> None:
    payloads = frames(run([*calling(), result(*content)]))
    assert of(payloads, "tool_result")[0]["result"] == wanted


def test_a_tool_that_failed_says_why() -> None:
    payloads = frames(run([*calling(), result(TextContent("no tide"), is_error=True)]))
    (told,) = of(payloads, "tool_result")
    assert (told["result"], told["error"]) == (None, "no tide")
    assert payloads[-1]["event"]["segments"][1]["status"] == "failed"
    empty = frames(run([*calling(), result(is_error=True)]))
    assert of(empty, "tool_result")[0]["error"] == "failed"


def test_a_call_that_cannot_be_read_has_failed() -> None:
    turn = Turn().output(0)
    turn.events += [
        ev.ToolCallStarted(part=0, **PLACE, call_id="c1", name="f"),
        ev.ToolCallMalformed(part=0, call_id="c1", name="f", raw="{", error="it is cut"),
    ]
    (segment,) = segments(turn.end())
    assert (segment["args"], segment["status"], segment["error"]) == ("{", "failed", "it is cut")


def test_a_call_that_nobody_answered_is_incomplete() -> None:
    (_, segment) = segments(calling())
    assert (segment["status"], segment["result"]) == ("incomplete", None)


@pytest.mark.parametrize(
    ("name", "data", "prefix"),
    [
        ("web_search", None, "web_search_call"),
        ("GOOGLE_SEARCH_WEB", None, "web_search_call"),
        ("x_keyword_search", None, "web_search_call"),
        ("code_interpreter", {"type": "code_interpreter_call"}, "code_interpreter_call"),
        ("bash_code_execution", {"type": "server_tool_use"}, "code_interpreter_call"),
        ("FILE_SEARCH", None, "file_search_call"),
        ("web_search_exa", {"type": "mcp_call"}, "mcp_call"),
        ("echo", {"type": "mcp_tool_use"}, "mcp_call"),
        ("image_generation", None, "image_generation_call"),
        ("advisor", {"type": "server_tool_use"}, "tool_call"),
        ("index_search", None, "tool_call"),
    ],
)
def test_tools_of_a_provider_have_frames_of_their_kind(name: str, data: Any, prefix: str) -> None:
    start = ev.ToolCallStarted(
        part=0, **PLACE, call_id="c", name=name, executor="provider", provider_data=data
    )
    events: list[ev.Event] = [
        *Turn().output(0).events,
        start,
        ev.ToolCallFinished(part=0, call_id="c", name=name, args={}, raw="{}"),
        ev.ToolActivity(part=0, call_id="c", status="searching", detail={"index": 0}),
        ev.ToolOutput(part=1, **PLACE, call_id="c", content=(TextContent("hits"),)),
        *Turn().end_output().end()[1:],
    ]
    payloads = frames(events)
    shown = [kind for kind in types(payloads)[1:-1] if kind != "status"]
    ended = "tool_result" if prefix == "tool_call" else f"{prefix}_result"
    assert shown == [f"{prefix}_started", f"{prefix}_update", f"{prefix}_update", ended]
    (segment,) = payloads[-1]["event"]["segments"]
    assert (segment["type"], segment["executor"]) == (prefix, "provider")
    assert kind_of(name, "client", data).segment.__struct_config__.tag == "tool_call"


def provider_call(*then: ev.Event) -> list[dict[str, Any]]:
    turn = Turn().output(0).call("web_search", {"q": 1}, executor="provider")
    turn.events += then
    return segments(turn.end_output().end())


def output(*content: Any, part: int = 5) -> ev.Event:
    return ev.ToolOutput(part=part, **PLACE, call_id="c1", content=content)


def test_a_providers_word_is_the_status_where_there_is_no_result() -> None:
    done = ev.ToolActivity(part=0, call_id="c1", status="completed")
    assert provider_call(done)[0]["status"] == "completed"
    busy = ev.ToolActivity(part=0, call_id="c1", status="searching")
    assert provider_call(busy)[0]["status"] == "incomplete"


def test_a_later_result_replaces_an_empty_one_and_not_the_other_way_round() -> None:
    hits = TextContent("hits")
    assert provider_call(output(), output(hits, part=6))[0]["result"] == "hits"
    assert provider_call(output(hits), output(part=6))[0]["result"] == "hits"


def test_a_result_without_a_call_is_shown() -> None:
    turn = Turn().output(0).tool_output("nowhere", "hits")
    (segment,) = segments(turn.end())
    assert (segment["call_id"], segment["name"], segment["result"]) == ("nowhere", "", "hits")


def test_a_later_step_answers_what_was_left_open() -> None:
    asking = Turn().output(0).call("web_search", {"q": 1}, executor="provider").end_output().end()
    answer = Turn(first_part=5).output(0).tool_output("c1", "hits").end_output().end()
    (segment,) = frames(run(asking, answer))[-1]["event"]["segments"]
    assert segment["result"] == "hits"


# --- what is taken back --------------------------------------------------------------


def test_a_discarded_step_leaves_nothing_behind() -> None:
    failed = Turn().output(0).reasoning("wrong").text("half an ans").fail()
    events: list[ev.Event] = [
        ev.RunStarted("r"),
        ev.StepStarted(0),
        *failed,
        ev.StepDiscarded(0, "it broke"),
        *ANSWERING,
        ev.StepFinished(0),
        ev.RunFinished(END_TURN),
    ]
    payloads = frames(events)
    (taken,) = of(payloads, "step_discarded")
    assert (taken["segment_ids"], taken["reason"]) == (["e-0", "e-1"], "it broke")
    event = payloads[-1]["event"]
    assert [one["id"] for one in event["segments"]] == ["e-9", "e-10"]
    assert of(payloads, "reasoning_part_started")[-1]["sequence_number"] == 0


def test_a_discarded_step_takes_its_answers_and_sources_back() -> None:
    asking = Turn().output(0).call("web_search", {"q": 1}, executor="provider").end_output().end()
    answer = Turn(first_part=5).output(0).tool_output("c1", "hits")
    answer.events.append(ev.CitationAdded(title="gone"))
    told = [
        (0, [ev.RunStarted("r"), ev.StepStarted(0), *asking, ev.StepFinished(0)]),
        (1, [ev.StepStarted(1), *answer.fail(), ev.StepDiscarded(1, "again")]),
    ]
    numbered = [(step, event) for step, events in told for event in events]
    projection = UXProjection("e")
    made = [
        frame
        for seq, (step, event) in enumerate(numbered, 1)
        for frame in projection.feed(ev.Record(seq, seq, event, (), step))
    ]
    event = check_ux([*made, *projection.close()])
    assert event.citations == ()
    (segment,) = event.segments
    assert getattr(segment, "status", None) == "incomplete"


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_each_discarded_attempt_takes_back_its_own_sources_alone(attempts: int) -> None:
    def cited(title: str, part: int) -> Turn:
        turn = Turn(first_part=part).output(0).text("a")
        turn.events.append(ev.CitationAdded(title=title))
        return turn

    events = [(0, event) for event in [ev.RunStarted("r"), *cited("kept", 0).end_output().end()]]
    for number in range(attempts):
        failed = [*cited("gone", number + 1).fail(), ev.StepDiscarded(1, "again")]
        events += [(1, event) for event in failed]
    projection = UXProjection("e")
    made = [
        frame
        for seq, (step, event) in enumerate(events, 1)
        for frame in projection.feed(ev.Record(seq, seq, event, (), step))
    ]
    event = check_ux([*made, *projection.close()])
    assert [citation.title for citation in event.citations] == ["kept"]
    assert [f.dropped_citations for f in made if isinstance(f, StepDiscardedFrame)] == [
        1
    ] * attempts


# --- the end -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "wanted"),
    [
        (ev.RunFinished(END_TURN, Usage(output_tokens=1)), "message_final"),
        (ev.RunFinished(abort_reason("max_iterations")), "message_final"),
        (ev.RunFinished(abort_reason("terminated", "a hook")), "message_final"),
        (ev.RunFinished(abort_reason("cancelled")), "message_cancelled"),
        (ev.RunFinished(abort_reason("timeout")), "message_error"),
        (ev.RunFailed(category="server", message="x"), "message_error"),
    ],
)
@pytest.mark.parametrize("is_closed", [False, True])
def test_the_end_is_told_once(end: ev.Event, wanted: str, is_closed: bool) -> None:
    events = run(ANSWERING, end=end)
    if is_closed:
        events.append(ev.RunClosed("committed", "e"))
    payloads = frames(events)
    assert payloads[-1]["type"] == wanted
    assert [one["type"] for one in payloads[-1]["event"]["segments"]] == ["reasoning", "text"]


@pytest.mark.parametrize(
    ("outcome", "message"),
    [("save_failed", "could not be saved"), ("interrupted", "was interrupted")],
)
def test_what_was_not_committed_in_peace_is_an_error(outcome: Any, message: str) -> None:
    payloads = frames([*run(ANSWERING), ev.RunClosed(outcome, "e")])
    assert payloads[-1]["type"] == "message_error"
    assert message in payloads[-1]["message"]


def test_only_the_end_of_a_run_ends_its_message() -> None:
    events = run(ANSWERING)
    turn_ended = events[: events.index(ANSWERING[-1]) + 1]
    payloads = frames(turn_ended)
    assert payloads[-1]["type"] == "message_error"
    assert payloads[-1]["message"] == "the records ended before the run did"
    assert frames(ANSWERING)[-1]["type"] == "message_final"


def test_records_that_are_none_are_an_error_all_the_same() -> None:
    assert types(frames([])) == ["message_started", "message_error"]


def test_nothing_follows_the_end() -> None:
    projection = UXProjection()
    for record in records([*run(ANSWERING), ev.RunClosed("committed", "m")]):
        projection.feed(record)
    assert not [frame for record in records(ANSWERING) for frame in projection.feed(record)]
    assert projection.close() == []


def test_what_was_cut_is_kept_and_says_so() -> None:
    failed = Turn().output(0).reasoning("a").reasoning("half a thou")
    failed.end_output(0, None)
    event = frames(failed.fail("network"))[-1]["event"]
    assert event["error"] == {"category": "network", "message": "it broke"}
    assert [part["is_complete"] for part in event["segments"][0]["parts"]] == [True, False]
    still_open = Turn().output(0).reasoning("half [STATUS: x").events[:-1]
    (segment,) = frames(still_open)[-1]["event"]["segments"]
    assert segment["combined_text"] == "half [STATUS: x"
    assert segment["parts"][0]["is_complete"] is False


def test_reasoning_before_a_good_end_without_a_reason_is_whole() -> None:
    turn = Turn().output(0).reasoning("a").end_output(0, None)
    assert segments(turn.end())[0]["parts"][0]["is_complete"] is True


# --- ids, options and what is refused ------------------------------------------------


def test_ids_come_from_the_run_and_the_part() -> None:
    assert frames(run(ANSWERING), None)[0]["event_id"] == "msg_r"
    turn = [ev.TurnStarted(dialect="chat", response_id="x1"), *ANSWERING[1:]]
    assert frames(turn, None)[0]["event_id"] == "msg_x1"
    assert frames(ANSWERING, None)[0]["event_id"] == "msg"
    assert frames(run(ANSWERING), "given")[1]["segment_id"] == "given-9"


def test_the_final_text_of_a_part_is_an_option() -> None:
    turn = Turn().output(0).reasoning("a [STATUS: reading it] b", "c").end_output().end()
    assert "final_text" not in of(frames(turn), "reasoning_part_completed")[0]
    whole = of(frames(turn, has_final_text=True), "reasoning_part_completed")[0]
    assert whole["final_text"] == "a bc"


def test_nested_runs_are_shown_inside_their_call() -> None:
    projection = UXProjection("e")
    nested = records(ANSWERING, path=("c1",))
    sent = [frame for record in nested for frame in projection.feed(record)]
    assert all(isinstance(frame, fr.NestedFrame) for frame in sent)
    inner = [decode_frame(encode_frame(frame)) for frame in sent]
    assert {frame.parent_call_id for frame in inner} == {"c1"}  # type: ignore[union-attr]
    alone = UXProjection("msg")
    expected = [frame for record in records(ANSWERING) for frame in alone.feed(record)]
    assert [frame.frame for frame in inner] == expected  # type: ignore[union-attr]


def test_a_sub_agent_of_a_sub_agent_is_nested_twice() -> None:
    projection = UXProjection("e")
    nested = records(ANSWERING, path=("c1", "c2"))
    first = projection.feed(nested[0])[0]
    assert isinstance(first, fr.NestedFrame)
    assert isinstance(first.frame, fr.NestedFrame)
    assert (first.parent_call_id, first.frame.parent_call_id) == ("c1", "c2")


def test_an_event_that_nobody_knows_changes_nothing() -> None:
    events = [*ANSWERING, ev.UnknownEvent("new", b"{}")]
    assert types(frames(events))[-1] == "message_final"  # type: ignore[arg-type]


def test_a_users_message_is_no_event() -> None:
    with pytest.raises(UsageError, match="an assistant message"):
        to_event(Message(role="user"), event_id="e")


def test_frames_are_read_back_from_their_bytes() -> None:
    told = records(run([*calling(), result(TextContent("9"))], ANSWERING))
    projection = UXProjection("e")
    made = [frame for record in told for frame in projection.feed(record)] + projection.close()
    assert [decode_frame(encode_frame(frame)) for frame in made] == made
    assert fold_frames(made) == to_event(fold(told), event_id="e")
    with pytest.raises(msgspec.ValidationError):
        decode_frame(b'{"type":"nonsense"}')


# -- frames of the provider that could not be read

GAP = ev.FrameSkipped(reason="no JSON", data="{", size=1)


def restored_turn(*, is_complete: bool) -> list[ev.Event]:
    return [
        ev.TurnStarted(dialect="responses"),
        ev.OutputStarted(0),
        ev.ReasoningStarted(part=0, **PLACE),
        ev.ReasoningDelta(0, "one [STATUS: Loo"),
        GAP,
        ev.PartRestored(0, "one two [STATUS: Looking] three"),
        ev.ReasoningFinished(0),
        ev.TextStarted(part=1, **PLACE),
        ev.TextDelta(1, "The dose is "),
        GAP,
        ev.TextDelta(1, "10 mg."),
        ev.PartRestored(1, "The dose is NOT 10 mg."),
        ev.TextFinished(1),
        ev.OutputFinished(0, END_TURN),
        ev.TurnFinished(reason=END_TURN, skipped_frames=2, is_complete=is_complete),
    ]


def test_restored_text_replaces_what_was_sent() -> None:
    made = frames(restored_turn(is_complete=True), has_final_text=True)
    assert [
        (f["segment_id"], f.get("summary_index"), f["text"]) for f in of(made, "part_restored")
    ] == [
        ("e-0", 0, "one two three"),
        ("e-1", None, "The dose is NOT 10 mg."),
    ]
    [completed] = of(made, "reasoning_part_completed")
    assert completed["final_text"] == "one two three"
    event = made[-1]["event"]
    assert event["segments"][-1]["text"] == "The dose is NOT 10 mg."
    assert "warning" not in event


def test_text_whose_only_delta_is_the_restored_one_is_shown() -> None:
    events: list[ev.Event] = [
        event for event in restored_turn(is_complete=True) if not isinstance(event, ev.DeltaEvent)
    ]
    assert frames(events)[-1]["event"]["segments"][-1]["text"] == "The dose is NOT 10 mg."


def test_an_answer_that_is_not_complete_has_a_warning() -> None:
    event = frames(restored_turn(is_complete=False))[-1]["event"]
    assert "could not be read" in event["warning"]


def test_the_content_of_a_skipped_frame_is_not_sent() -> None:
    secret = ev.FrameSkipped(reason="no JSON", data="s3cret", size=6)
    events = [secret if event is GAP else event for event in restored_turn(is_complete=False)]
    assert "s3cret" not in str(frames(events))
