"""Responses streams: items that are added, grow and are done, in every disorder."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import WireLimits
from headrace import events as ev
from headrace.content import JSONContent, TextContent
from headrace.messages import CallPart, MediaPart, OpaquePart, OutputPart, ReasoningPart, TextPart
from headrace.usage import Usage
from tests.grammar import check_grammar
from tests.wire import events_of, kinds, message_of, only, sse

CREATED = {"type": "response.created", "response": {"id": "resp_1", "model": "gpt-5"}}


def completed(**fields: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"id": "resp_1", "output": [], **fields}}


def added(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    item = {"type": kind, **fields}
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    item = {"type": kind, **fields}
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def event(kind: str, index: int | None = 0, **fields: Any) -> dict[str, Any]:
    place = {} if index is None else {"output_index": index}
    return {"type": f"response.{kind}", **place, **fields}


def decode(*events: Any, end: Any = None) -> list[ev.TurnEvent]:
    """A response with these events inside, checked for grammar."""
    data = sse(CREATED, *events, end or completed(), done=False, names=True)
    decoded = events_of(data, "responses")
    check_grammar(decoded)
    return decoded


def parts(*events: Any, end: Any = None) -> list[Any]:
    return list(message_of(decode(*events, end=end)).turns[0].parts)


# --- messages ---------------------------------------------------------------------


def test_a_message_streams_as_text_and_its_done_events_repeat_nothing() -> None:
    content = {"type": "output_text", "text": "hello", "annotations": []}
    events = decode(
        added(0, "message", id="msg_1", phase="commentary"),
        event("content_part.added", content_index=0, part={"type": "output_text", "text": ""}),
        event("output_text.delta", content_index=0, delta="hel"),
        event("output_text.delta", content_index=0, delta="lo"),
        event("output_text.done", content_index=0, text="hello"),
        event("content_part.done", content_index=0, part=content),
        done(0, "message", id="msg_1", content=[content]),
        end=completed(usage={"input_tokens": 3, "output_tokens": 2}, service_tier="default"),
    )
    (part,) = message_of(events).turns[0].parts
    assert isinstance(part, TextPart)
    assert (part.text, part.item_id, part.channel) == ("hello", "msg_1", "commentary")
    finished = only(events, ev.TurnFinished)[0]
    assert (str(finished.reason), finished.raw_reason) == ("end_turn", "completed")
    assert finished.usage == Usage(input_tokens=3, output_tokens=2)
    assert finished.service_tier == "default"
    assert only(events, ev.TurnStarted)[0].response_id == "resp_1"


@pytest.mark.parametrize(
    "late",
    [
        event("output_text.done", text="hello"),
        event("content_part.done", part={"type": "output_text", "text": "hello"}),
        done(0, "message", content=[{"type": "output_text", "text": "hello"}]),
    ],
)
def test_text_that_comes_only_at_the_end_is_not_lost(late: Any) -> None:
    (part,) = parts(added(0, "message", id="m"), late)
    assert part.text == "hello"


def test_a_done_item_that_counts_its_content_differently_repeats_nothing() -> None:
    (part,) = parts(
        added(0, "message", id="m"),
        event("output_text.delta", content_index=1, delta="hello"),
        done(0, "message", content=[{"type": "output_text", "text": "hello"}]),
    )
    assert part.text == "hello"


def test_a_response_that_is_only_its_final_snapshot() -> None:
    item = {"type": "message", "content": [{"type": "output_text", "text": "all"}]}
    assert parts(end=completed(output=[item]))[0].text == "all"


def test_an_item_that_was_done_without_being_added() -> None:
    (part,) = parts(done(0, "message", content=[{"type": "output_text", "text": "x"}]))
    assert part.text == "x"


def test_deltas_for_an_item_that_was_never_added() -> None:
    text, thought = parts(
        event("output_text.delta", 0, delta="a"), event("reasoning_text.delta", 1, delta="hm")
    )
    assert (text.text, thought.text) == ("a", "hm")


def test_refusals_are_text_of_their_own_and_a_filter_finish() -> None:
    events = decode(
        added(0, "message", id="m"),
        event("refusal.delta", delta="No"),
        event("refusal.done", refusal="No"),
    )
    (part,) = message_of(events).turns[0].parts
    assert isinstance(part, TextPart)
    assert (part.text, part.is_refusal) == ("No", True)
    assert only(events, ev.TurnFinished)[0].reason.word == "content_filter"


def test_annotations_cite_the_text_once() -> None:
    note = {"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 2}
    content = {"type": "output_text", "text": "ab", "annotations": [note]}
    for told in (
        [event("output_text.annotation.added", annotation=note)],
        [event("output_text_annotation.added", annotation=note)],
        [event("content_part.done", part=content)],
    ):
        events = decode(
            added(0, "message", id="m"),
            event("output_text.delta", delta="ab"),
            *told,
            done(0, "message", content=[content]),
        )
        (citation,) = only(events, ev.CitationAdded)
        assert (citation.part, citation.source, citation.ref) == (0, "url", "u")
        assert (citation.title, citation.start, citation.end) == ("t", 0, 2)


# --- reasoning --------------------------------------------------------------------


def test_summary_parts_are_parts_of_one_item_with_its_seal() -> None:
    summary = [{"type": "summary_text", "text": text} for text in ("first", "second")]
    first, second = parts(
        added(0, "reasoning", id="rs_1", summary=[]),
        event("reasoning_summary_part.added", summary_index=0, part={}),
        event("reasoning_summary_text.delta", summary_index=0, delta="first"),
        event("reasoning_summary_text.done", summary_index=0, text="first"),
        event("reasoning_summary_part.done", summary_index=0, part=summary[0]),
        event("reasoning_summary_text.delta", summary_index=1, delta="second"),
        done(0, "reasoning", id="rs_1", summary=summary, encrypted_content="seal"),
    )
    assert (first.text, first.kind, first.summary_index) == ("first", "summary", 0)
    assert (second.text, second.summary_index) == ("second", 1)
    assert first.item == second.item
    assert (first.item_id, [seal.value for seal in second.seals]) == ("rs_1", ["seal"])


@pytest.mark.parametrize(
    "kind", ["reasoning_text.delta", "reasoning.delta", "reasoning_content.delta"]
)
def test_raw_reasoning_in_its_three_spellings(kind: str) -> None:
    (thought,) = parts(added(0, "reasoning", id="rs"), event(kind, delta="hm"))
    assert isinstance(thought, ReasoningPart)
    assert (thought.text, thought.kind) == ("hm", "raw")


def test_reasoning_without_words_is_a_part_with_its_seal() -> None:
    (thought,) = parts(
        added(0, "reasoning", id="rs", summary=[]),
        done(0, "reasoning", id="rs", summary=[], encrypted_content="seal"),
    )
    assert (thought.text, thought.item_id, thought.seals[0].kind) == ("", "rs", "encrypted")


def test_a_seal_that_comes_after_the_next_item_began() -> None:
    thought, text = parts(
        added(0, "reasoning", id="rs"),
        event("reasoning_summary_text.delta", delta="hm"),
        added(1, "message", id="m"),
        event("output_text.delta", 1, delta="a"),
        done(0, "reasoning", id="rs", summary=[], encrypted_content="late"),
        event("output_text.delta", 1, delta="b"),
    )
    assert (thought.seals[0].value, text.text) == ("late", "ab")


# --- calls ------------------------------------------------------------------------


def test_a_function_call_streams_its_arguments() -> None:
    (call,) = parts(
        added(0, "function_call", id="fc_1", call_id="call_1", name="f", arguments=""),
        event("function_call_arguments.delta", delta='{"x":'),
        event("function_call_arguments.delta", delta="1}"),
        event("function_call_arguments.done", arguments='{"x":1}'),
        done(0, "function_call", id="fc_1", call_id="call_1", name="f", arguments='{"x":1}'),
    )
    assert isinstance(call, CallPart)
    assert (call.call_id, call.name, call.args, call.item_id) == ("call_1", "f", {"x": 1}, "fc_1")


@pytest.mark.parametrize("place", ["arguments.done", "item.done"])
def test_arguments_that_come_only_at_the_end(place: str) -> None:
    head = {"id": "fc", "call_id": "c", "name": "f"}
    tail = [event("function_call_arguments.done", arguments='{"x":1}')]
    if place == "item.done":
        tail = [done(0, "function_call", **head, arguments='{"x":1}')]
    (call,) = parts(added(0, "function_call", **head, arguments=""), *tail)
    assert call.args == {"x": 1}


def test_ids_that_change_between_events_do_no_harm() -> None:
    (call,) = parts(
        added(0, "function_call", id="one", call_id="c", name="f"),
        event("function_call_arguments.delta", item_id="two", delta="{}"),
        done(0, "function_call", id="three", call_id="c", name="f", arguments="{}"),
    )
    assert (call.call_id, call.args) == ("c", {})


def test_events_without_an_output_index_belong_to_the_last_item() -> None:
    (call,) = parts(
        added(0, "function_call", id="fc", call_id="c", name="f"),
        event("function_call_arguments.delta", None, delta="{}"),
    )
    assert call.args == {}


def test_custom_calls_are_text_and_those_that_xai_runs_are_the_providers() -> None:
    ours, theirs = parts(
        added(0, "custom_tool_call", id="a", call_id="c1", name="sql", input=""),
        event("custom_tool_call_input.delta", delta="SELECT {"),
        done(0, "custom_tool_call", id="a", call_id="c1", name="sql", input="SELECT {"),
        done(1, "custom_tool_call", id="b", call_id="c2", name="x_keyword_search", input="q"),
    )[:2]
    assert (ours.input, ours.args, ours.executor) == ("text", "SELECT {", "client")
    assert theirs.executor == "provider"


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("apply_patch_call", "operation", {"type": "create_file", "path": "a"}),
        ("local_shell_call", "action", {"type": "exec", "command": ["ls"]}),
        ("shell_call", "action", {"commands": ["ls"]}),
        ("computer_call", "action", {"type": "click"}),
    ],
)
def test_calls_of_other_kinds_are_ours_with_their_object_as_arguments(
    kind: str, field: str, value: Any
) -> None:
    (call,) = parts(
        added(0, kind, id="i", status="in_progress"),
        done(0, kind, id="i", call_id="c", **{field: value}),
    )
    assert (call.call_id, call.args, call.executor) == ("c", value, "client")
    assert call.provider_data["type"] == kind


def test_overlapping_items_lose_nothing() -> None:
    found = parts(
        added(0, "function_call", id="a", call_id="ca", name="f"),
        added(1, "function_call", id="b", call_id="cb", name="g"),
        event("function_call_arguments.delta", 1, delta='{"y":'),
        event("function_call_arguments.delta", 0, delta='{"x":1}'),
        event("function_call_arguments.delta", 1, delta="2}"),
    )
    assert [(call.call_id, call.args) for call in found] == [("ca", {"x": 1}), ("cb", {"y": 2})]


# --- tools that the provider runs -------------------------------------------------


def test_a_web_search_tells_its_status_its_query_and_its_place() -> None:
    action = {"type": "search", "query": "q"}
    events = decode(
        added(0, "web_search_call", id="ws", status="in_progress"),
        event("web_search_call.in_progress", item_id="ws"),
        event("web_search_call.searching", item_id="ws"),
        event("web_search_call.completed", item_id="ws"),
        done(0, "web_search_call", id="ws", status="completed", action=action),
        added(1, "message", id="m"),
        event("output_text.delta", 1, delta="found"),
    )
    call, output, text = message_of(events).turns[0].parts
    assert isinstance(call, CallPart)
    assert isinstance(output, OutputPart)
    assert [a.status for a in call.activities] == ["in_progress", "searching", "completed"]
    assert (call.call_id, call.name, call.args) == ("ws", "web_search", action)
    assert output.provider_data == {
        "item": {"type": "web_search_call", "id": "ws", "status": "completed", "action": action}
    }
    assert isinstance(text, TextPart)


def test_a_code_interpreter_streams_its_code() -> None:
    call, output = parts(
        added(0, "code_interpreter_call", id="ci", code=""),
        event("code_interpreter_call_code.delta", delta="print("),
        event("code_interpreter_call_code.delta", delta="1)"),
        event("code_interpreter_call.interpreting"),
        done(0, "code_interpreter_call", id="ci", code="print(1)", outputs=[{"logs": "1"}]),
    )
    assert (call.input, call.args) == ("text", "print(1)")
    assert output.content == (JSONContent([{"logs": "1"}]),)


def test_an_mcp_call_has_its_output_or_its_error() -> None:
    head = {"id": "mcp", "name": "search", "server_label": "srv", "arguments": '{"q":1}'}
    good = parts(
        added(0, "mcp_call", **head | {"arguments": ""}),
        event("mcp_call_arguments.delta", delta='{"q":1}'),
        done(0, "mcp_call", **head, output="found"),
    )
    assert (good[0].args, good[1].content) == ({"q": 1}, (TextContent("found"),))
    bad = parts(done(0, "mcp_call", **head, error={"message": "gone"}))
    assert (bad[1].content, bad[1].is_error) == ((TextContent("gone"),), True)


def test_a_generated_image_is_a_medium_with_previews_on_the_way() -> None:
    events = decode(
        added(0, "image_generation_call", id="ig"),
        event(
            "image_generation_call.partial_image", partial_image_b64="cA==", partial_image_index=0
        ),
        done(0, "image_generation_call", id="ig", result="aGk=", output_format="webp"),
    )
    _call, image, output = message_of(events).turns[0].parts
    assert isinstance(image, MediaPart)
    assert (image.media_type, image.data) == ("image/webp", "aGk=")
    assert only(events, ev.ToolActivity)[0].detail == {"index": 0, "data": "cA=="}
    assert isinstance(output, OutputPart)
    assert "aGk=" not in str(output.provider_data)


def test_file_searches_programs_and_containers_are_the_providers() -> None:
    search, _, program, _, shell, _, result = parts(
        done(0, "file_search_call", id="fs", queries=["a"], results=None),
        done(1, "program", id="p", call_id="cp", code="x()"),
        done(
            2, "shell_call", id="s", call_id="cs", action={}, environment={"type": "container_auto"}
        ),
        done(3, "shell_call_output", id="so", call_id="cs", output=[{"stdout": "1"}]),
    )
    assert (search.args, program.args, shell.executor) == ({"queries": ["a"]}, "x()", "provider")
    assert (result.call_id, result.content) == ("cs", (JSONContent([{"stdout": "1"}]),))


def test_unknown_items_are_kept_byte_for_byte() -> None:
    frame = (
        b'data: {"type":"response.output_item.done","output_index":0,'
        b'"item":{"type":"hologram", "n": 1.0,"id":"h"}}\n\n'
    )
    (odd,) = parts(added(0, "hologram", id="h"), frame)
    assert isinstance(odd, OpaquePart)
    assert (odd.kind, odd.data) == ("hologram", '{"type":"hologram", "n": 1.0,"id":"h"}')


# --- ends -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("max_output_tokens", "max_tokens"),
        ("content_filter", "content_filter"),
        ("brand_new", "other(brand_new)"),
        (None, "other(incomplete)"),
    ],
)
def test_incomplete_responses(why: str | None, reason: str) -> None:
    details = {"reason": why} if why else None
    end = {"type": "response.incomplete", "response": {"incomplete_details": details}}
    assert str(only(decode(end=end), ev.TurnFinished)[0].reason) == reason


@pytest.mark.parametrize(
    "end",
    [
        {"type": "error", "error": {"code": "insufficient_quota", "message": "no"}},
        {"type": "error", "code": "insufficient_quota", "message": "no", "param": None},
        {
            "type": "response.failed",
            "response": {"error": {"code": "insufficient_quota", "message": "no"}},
        },
    ],
)
def test_failures_in_nested_and_flat_forms(end: Any) -> None:
    failed = only(decode(end=end), ev.TurnFailed)[0]
    assert (failed.category, failed.message, failed.retryable) == ("rate_limit", "no", False)


def test_a_cut_response_is_never_a_success() -> None:
    data = sse(CREATED, added(0, "message"), event("output_text.delta", delta="a"), done=False)
    events = events_of(data, "responses")
    assert only(events, ev.TurnFailed)[0].category == "incomplete"
    assert message_of(events).text == "a"


def test_keepalives_and_unknown_events_do_no_harm() -> None:
    events = decode({"type": "keepalive"}, event("rate_limits.updated", None), b"data: [1]\n\n")
    assert kinds(events)[-1] == "TurnFinished"
    assert only(events, ev.TurnFinished)[0].skipped_frames == 1


# --- what a reviewer found --------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "code": "server_error", "message": "boom", "sequence_number": 5},
        {"type": "error", "error": {"code": "server_error", "message": "boom"}},
        {"error": {"code": "server_error", "message": "boom"}},
    ],
)
def test_an_error_in_the_middle_of_an_item_is_not_swallowed(error: Any) -> None:
    data = sse(CREATED, added(0, "message"), event("output_text.delta", delta="Hi"), error)
    events = events_of(data, "responses")
    failed = only(events, ev.TurnFailed)[0]
    assert (failed.category, failed.message) == ("server", "boom")
    assert message_of(events).text == "Hi"


def test_a_flat_error_alone_is_recognised() -> None:
    data = sse({"type": "error", "code": "server_error", "message": "boom"}, done=False)
    assert only(events_of(data), ev.TurnFailed)[0].message == "boom"


def test_a_place_that_is_taken_again_has_a_new_item() -> None:
    _, call = parts(
        added(0, "reasoning", id="rs"),
        done(0, "reasoning", id="rs", summary=[]),
        added(0, "function_call", id="fc", call_id="c", name="f", arguments=""),
        done(0, "function_call", id="fc", call_id="c", name="f", arguments='{"a":1}'),
    )
    assert call.args == {"a": 1}


def test_a_name_that_comes_with_the_finished_call_alone() -> None:
    (call,) = parts(
        added(0, "function_call", id="fc", call_id="", name=""),
        event("function_call_arguments.delta", delta="{}"),
        done(0, "function_call", id="fc", call_id="call_1", name="get", arguments="{}"),
    )
    assert (call.name, call.call_id) == ("get", "call_1")


def test_items_that_never_got_their_done_are_not_lost() -> None:
    shell, tools = parts(
        added(0, "shell_call", id="sh", call_id="c", action={}),
        added(1, "mcp_list_tools", id="l", tools=[]),
        end={"type": "response.incomplete", "response": {"incomplete_details": None}},
    )
    assert isinstance(shell, CallPart)
    assert (tools.kind, tools.data) == (
        "mcp_list_tools",
        '{"type":"mcp_list_tools","id":"l","tools":[]}',
    )


def test_the_snapshot_finishes_what_the_stream_left_open_and_adds_what_it_left_out() -> None:
    call_item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f"}
    message = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "a"}]}
    text, call = parts(
        added(0, "message", id="m"),
        end=completed(output=[message, {**call_item, "arguments": '{"x":1}'}]),
    )
    assert (text.text, call.args) == ("a", {"x": 1})


def test_words_at_the_place_of_an_item_of_another_kind_are_not_lost() -> None:
    thought, text = parts(
        added(0, "reasoning", id="rs"),
        event("reasoning_text.delta", delta="hm"),
        event("output_text.delta", delta="a"),
        event("output_text.delta", delta="b"),
    )
    assert (thought.text, text.text) == ("hm", "ab")


def test_annotations_that_come_only_with_the_finished_item() -> None:
    note = {"type": "url_citation", "url": "u"}
    events = decode(
        added(0, "message", id="m"),
        event("output_text.delta", delta="a"),
        done(0, "message", content=[{"type": "output_text", "text": "a", "annotations": [note]}]),
    )
    assert only(events, ev.CitationAdded)[0].ref == "u"


def test_the_number_of_items_is_limited() -> None:
    many = [added(n, "message") for n in range(20)]
    events = events_of(sse(CREATED, *many), "responses", wire_limits=WireLimits(max_parts=10))
    assert "max_parts=10" in only(events, ev.TurnFailed)[0].message


MESSAGE = {"type": "message", "id": "m1", "content": [{"type": "output_text", "text": "hello"}]}
THOUGHT = {"type": "reasoning", "id": "rs1", "summary": []}
CALL = {"type": "function_call", "id": "fc1", "call_id": "c", "name": "f", "arguments": "{}"}


def whole(index: int | None, item: dict[str, Any]) -> list[dict[str, Any]]:
    place = {} if index is None else {"output_index": index}
    return [
        {"type": f"response.output_item.{kind}", **place, "item": item}
        for kind in ("added", "done")
    ]


def test_the_snapshot_repeats_nothing_where_items_shared_a_place() -> None:
    items = [*whole(0, THOUGHT), *whole(0, MESSAGE), *whole(0, CALL)]
    found = parts(*items, end=completed(output=[THOUGHT, MESSAGE, CALL]))
    assert [type(part) for part in found] == [ReasoningPart, TextPart, CallPart]


def test_the_snapshot_repeats_nothing_that_an_orphan_told() -> None:
    delta = event("output_text.delta", 1, item_id="m1", delta="hello")
    (text,) = parts(delta, end=completed(output=[MESSAGE]))
    assert text.text == "hello"


def test_items_that_are_only_done_at_one_place_are_all_told() -> None:
    _, text = parts(whole(0, THOUGHT)[1], whole(0, MESSAGE)[1])
    assert text.text == "hello"


def test_an_odd_id_in_the_snapshot_raises_nothing() -> None:
    odd = {**MESSAGE, "id": ["x"]}
    assert parts(*whole(0, MESSAGE), end=completed(output=[MESSAGE, odd]))[0].text == "hello"


def test_a_call_whose_object_never_came_is_malformed_and_one_that_came_early_is_kept() -> None:
    silent, told = parts(
        added(0, "local_shell_call", id="a", call_id="c1"),
        added(1, "local_shell_call", id="b", call_id="c2", action={"command": ["ls"]}),
    )
    assert silent.error is not None
    assert told.raw.startswith('{"command":["ls"]}')


def test_the_type_may_stand_in_the_event_name_alone() -> None:
    frame = b'event: response.output_text.delta\ndata: {"output_index":0,"delta":"hi"}\n\n'
    assert parts(added(0, "message", id="m"), frame)[0].text == "hi"
