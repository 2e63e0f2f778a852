"""Chat streams as providers bend them, each oddity a small stream of our own."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import events as ev
from headrace.messages import CallPart, ReasoningPart, RedactedPart, TextPart
from headrace.usage import Usage
from headrace.wire.dialects.chat import ChatQuirks
from tests.grammar import check_grammar
from tests.wire import chunk, events_of, message_of, only, sse


def decode(*payloads: Any, done: bool = True, **options: Any) -> list[ev.TurnEvent]:
    events = events_of(sse(*payloads, done=done), "chat", **options)
    check_grammar(events)
    return events


def parts(*deltas: dict[str, Any], finish: str = "stop", **options: Any) -> list[Any]:
    """The parts of a stream with these deltas."""
    events = decode(*(chunk(delta) for delta in deltas), chunk({}, finish=finish), **options)
    return list(message_of(events).turns[0].parts)


def entry(index: int | None = None, **fields: Any) -> dict[str, Any]:
    """One entry of tool_calls; name and arguments go where they belong."""
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    place = {} if index is None else {"index": index}
    return {**place, "function": function, **fields}


def calls(*entries: dict[str, Any] | list[dict[str, Any]], **options: Any) -> list[tuple[Any, ...]]:
    deltas = [{"tool_calls": e if isinstance(e, list) else [e]} for e in entries]
    found = parts(*deltas, **options)
    return [
        (part.call_id, part.name, part.args if part.error is None else part.raw)
        for part in found
        if isinstance(part, CallPart)
    ]


# --- reasoning --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text"])
def test_every_plain_spelling_is_reasoning(name: str) -> None:
    thought, answer = parts({name: "hm", "content": None}, {name: "m"}, {"content": "yes"})
    assert isinstance(thought, ReasoningPart)
    assert isinstance(answer, TextPart)
    assert (thought.text, answer.text) == ("hmm", "yes")


def test_a_mirrored_spelling_counts_once_and_different_words_both() -> None:
    assert parts({"reasoning_content": "a", "reasoning": "a"})[0].text == "a"
    assert parts({"reasoning_content": "a", "reasoning": "b"})[0].text == "ab"


def test_details_are_not_doubled_by_the_plain_form() -> None:
    detail = {"type": "reasoning.text", "text": "hm", "index": 0, "format": "x-v1"}
    (thought,) = parts({"reasoning": "hm", "reasoning_details": [detail]})
    assert thought.text == "hm"
    assert thought.provider_data == {"format": "x-v1", "index": 0}


def test_summary_details_are_summaries() -> None:
    detail = {"type": "reasoning.summary", "summary": "**Plan**", "index": 2}
    (thought,) = parts({"reasoning": "**Plan**", "reasoning_details": [detail]})
    assert (thought.kind, thought.summary_index, thought.text) == ("summary", 2, "**Plan**")


def test_encrypted_details_are_redacted_reasoning_and_the_words_stay() -> None:
    detail = {"type": "reasoning.encrypted", "data": "xyz", "id": "rs_1", "index": 0}
    thought, sealed = parts({"reasoning": "hm"}, {"reasoning_details": [detail]})
    assert thought.text == "hm"
    assert isinstance(sealed, RedactedPart)
    assert (sealed.data, sealed.item_id) == ("xyz", "rs_1")


def test_a_signature_detail_signs_the_words_before_it_also_late() -> None:
    words = {"type": "reasoning.text", "text": "hm", "index": 0}
    seal = {"type": "reasoning.text", "signature": "sig", "index": 0}
    for between in ({}, {"content": "text"}):
        thought = parts({"reasoning_details": [words]}, between, {"reasoning_details": [seal]})[0]
        assert thought.signature == "sig"


def test_reasoning_opaque_seals_the_last_reasoning() -> None:
    thought, _answer, _call = parts(
        {"reasoning_text": "hm"},
        {"content": "ok"},
        {"tool_calls": [entry(0, id="a", name="f", arguments="{}")], "reasoning_opaque": "seal"},
    )
    assert thought.signature == "seal"


def test_a_seal_without_words_is_a_part() -> None:
    (thought, *_rest) = parts({"reasoning_opaque": "seal"}, {"content": "ok"})
    assert (thought.text, thought.signature) == ("", "seal")


def test_signed_thinking_blocks_of_a_gateway_are_kept() -> None:
    (thought, sealed) = parts(
        {"reasoning_content": "hm", "thinking_blocks": [{"type": "thinking", "thinking": "hm"}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "sig"}]},
        {"thinking_blocks": [{"type": "redacted_thinking", "data": "xyz"}]},
    )
    assert (thought.text, thought.signature, sealed.data) == ("hm", "sig", "xyz")


def test_content_arrays_hold_thinking_text_and_the_unknown() -> None:
    thought, answer, odd = parts(
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
        {"content": [{"type": "thinking", "thinking": "m"}, {"type": "text", "text": "yes"}]},
        {"content": [{"type": "hologram", "beam": 1}, 7, {}]},
    )
    assert (thought.text, answer.text) == ("hmm", "yes")
    assert (odd.kind, odd.data) == ("hologram", '{"type":"hologram","beam":1}')


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_think_tags_may_be_cut_anywhere(size: int) -> None:
    written = "\n<think>a < b\n</think>\n\nyes <think> no"
    deltas = [{"content": written[at : at + size]} for at in range(0, len(written), size)]
    thought, answer = parts(*deltas)
    assert (thought.text, answer.text) == ("\na < b\n", "\n\nyes <think> no")


@pytest.mark.parametrize("tag", ["think", "thinking", "thought", "reasoning"])
def test_every_tag_that_models_use_may_be_cut_anywhere(tag: str) -> None:
    written = f"<{tag}>hm</{tag}>yes"
    thought, answer = parts(*({"content": character} for character in written))
    assert (thought.text, answer.text) == ("hm", "yes")


def test_what_looks_like_a_tag_and_is_none_stays_text_in_its_place() -> None:
    answer, call = parts({"content": "<th"}, {"tool_calls": [entry(0, id="a", name="f")]})
    assert answer.text == "<th"
    assert isinstance(call, CallPart)
    assert parts({"content": "<thi"}, {"content": "rd>"})[0].text == "<third>"


def test_what_was_held_back_is_not_lost_by_a_failure() -> None:
    events = decode(chunk({"content": "<th"}), {"error": {"message": "no"}})
    assert only(events, ev.TextDelta)[0].text == "<th"


def test_tags_are_a_quirk() -> None:
    none = ChatQuirks(think_tags=())
    assert parts({"content": "<think>a</think>"}, quirks=none)[0].text == "<think>a</think>"
    inside = ChatQuirks(starts_inside_thinking=True)
    thought, answer = parts({"content": "a</think>b"}, quirks=inside)
    assert (thought.text, answer.text) == ("a", "b")


# --- calls ------------------------------------------------------------------------


def test_calls_by_index_with_the_first_above_zero() -> None:
    assert calls(entry(4, id="a", name="f", arguments='{"x":'), entry(4, arguments="1}")) == [
        ("a", "f", {"x": 1})
    ]


def test_interleaved_calls_are_not_spliced() -> None:
    assert calls(
        entry(0, id="a", name="f", arguments='{"x":'),
        entry(1, id="b", name="g", arguments='{"y":'),
        entry(0, arguments="1}"),
        entry(1, arguments="2}"),
    ) == [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]


def test_several_calls_all_under_index_zero() -> None:
    assert calls(
        entry(0, id="a", name="f", arguments='{"x":1}'),
        entry(0, id="b", name="f", arguments='{"x":2}'),
    ) == [("a", "f", {"x": 1}), ("b", "f", {"x": 2})]


def test_calls_without_an_index_by_id() -> None:
    assert calls(
        entry(id="a", name="f", arguments='{"x":'),
        entry(id="b", name="g", arguments="{}"),
        entry(id="a", arguments="1}"),
    ) == [("a", "f", {"x": 1}), ("b", "g", {})]


def test_calls_without_index_and_id() -> None:
    assert calls(
        [entry(name="f", arguments='{"x":1}'), entry(name="f", arguments='{"x":2}')],
        entry(name="g", arguments='{"y":'),
        entry(arguments="3}"),
    ) == [("call_0", "f", {"x": 1}), ("call_1", "f", {"x": 2}), ("call_2", "g", {"y": 3})]


def test_id_and_name_repeated_with_every_piece() -> None:
    assert calls(
        entry(0, id="a", name="f", arguments='{"x"'),
        entry(0, id="a", name="f", arguments=":1}"),
        entry(0, id="a", name="f", arguments=""),
    ) == [("a", "f", {"x": 1})]
    assert calls(entry(0, name="f", arguments='{"x"'), entry(0, name="f", arguments=":1}")) == [
        ("call_0", "f", {"x": 1})
    ]


def test_an_id_of_ours_is_never_taken_for_the_providers() -> None:
    twins = [entry(i, id="a", name="f", arguments='{"x":') for i in (0, 1)]
    rests = [entry(i, id="a", name="f", arguments=f"{i}}}") for i in (0, 1)]
    assert calls(*twins, *rests) == [("a", "f", {"x": 0}), ("a~2", "f", {"x": 1})]
    assert calls(
        entry(0, name="f", arguments='{"x":'), entry(0, id="late", name="f", arguments="1}")
    ) == [("call_0", "f", {"x": 1})]


def test_empty_and_null_ids_and_names_say_nothing() -> None:
    assert calls(
        entry(0, id="a", name="f", arguments=""),
        entry(0, id="", name="", arguments='{"x":'),
        entry(0, id=None, name=None, arguments="1}"),
        entry(0, arguments=None),
    ) == [("a", "f", {"x": 1})]


def test_a_name_that_comes_late() -> None:
    assert calls(entry(0, id="a"), entry(0, name="f", arguments="{}")) == [("a", "f", {})]


def test_the_legacy_function_call() -> None:
    (call,) = parts(
        {"function_call": {"name": "f", "arguments": ""}},
        {"function_call": {"arguments": '{"x":1}'}},
        finish="function_call",
    )
    assert (call.name, call.args) == ("f", {"x": 1})


def test_arguments_that_come_as_an_object() -> None:
    assert calls(entry(0, id="a", name="f", arguments={"x": 1})) == [("a", "f", {"x": 1})]


def test_custom_calls_are_text() -> None:
    custom = {
        "index": 0,
        "id": "a",
        "type": "custom",
        "custom": {"name": "sql", "input": "SELECT {"},
    }
    (call,) = parts({"tool_calls": [custom]})
    assert (call.input, call.args) == ("text", "SELECT {")


def test_what_a_call_must_be_sent_back_with_is_kept() -> None:
    extra = {"google": {"thought_signature": "sig"}}
    (call,) = parts(
        {"tool_calls": [entry(0, id="a", name="f", arguments="{}", extra_content=extra)]}
    )
    assert call.provider_data == {"extra_content": extra}


# --- text, choices, media, sources ------------------------------------------------


def test_refusals_are_text_of_their_own_and_a_filter_finish() -> None:
    events = decode(
        chunk({"refusal": "I can"}), chunk({"refusal": "not."}), chunk({}, finish="stop")
    )
    (part,) = message_of(events).turns[0].parts
    assert isinstance(part, TextPart)
    assert (part.text, part.is_refusal) == ("I cannot.", True)
    assert only(events, ev.TurnFinished)[0].reason.word == "content_filter"


def test_a_channel_is_kept_and_a_change_of_it_is_a_new_part() -> None:
    found = parts({"content": "a", "channel": "commentary"}, {"content": "b", "channel": "final"})
    assert [(part.channel, part.text) for part in found] == [("commentary", "a"), ("final", "b")]


def test_one_delta_yields_reasoning_then_text_then_calls() -> None:
    found = parts(
        {
            "tool_calls": [entry(0, id="a", name="f")],
            "content": "yes",
            "reasoning": "hm",
        }
    )
    assert [type(part) for part in found] == [ReasoningPart, TextPart, CallPart]


def test_several_choices_are_several_outputs() -> None:
    both = {"choices": [{"index": i, "delta": {"content": f"c{i}"}} for i in (1, 0)]}
    events = decode(both, chunk({}, finish="stop"), chunk({}, index=1, finish="length"))
    assert [event.output for event in only(events, ev.OutputStarted)] == [1, 0]
    assert [str(event.reason) for event in only(events, ev.OutputFinished)] == [
        "max_tokens",
        "end_turn",
    ]


def test_a_message_instead_of_a_delta_is_read_and_beside_one_it_is_not() -> None:
    whole = {"choices": [{"index": 0, "message": {"content": "all"}, "finish_reason": "stop"}]}
    assert message_of(decode(whole)).text == "all"
    beside = chunk({"content": "a"})
    beside["choices"][0]["message"] = {"content": "all of it"}
    assert message_of(decode(beside, chunk({}, finish="stop"))).text == "a"


def test_a_text_completion_is_text_and_a_copy_beside_a_delta_is_not() -> None:
    legacy = {"choices": [{"index": 0, "text": "old", "finish_reason": "stop"}]}
    assert message_of(decode(legacy)).text == "old"
    beside = chunk({"content": "a"}, finish="stop")
    beside["choices"][0]["text"] = "a"
    assert message_of(decode(beside)).text == "a"


def test_images_and_sound_are_media() -> None:
    image = {"image_url": {"url": "data:image/png;base64,aGk="}}
    link = {"image_url": {"url": "https://example.com/a.png"}}
    found = parts(
        {"images": [image, link]},
        {"audio": {"transcript": "hello", "data": "YQ=="}},
        {"audio": {"data": "Yg=="}},
    )
    assert (found[0].media_type, found[0].data) == ("image/png", "aGk=")
    assert found[1].url == "https://example.com/a.png"
    assert (found[2].text, found[2].channel) == ("hello", "audio")
    assert (found[3].media_type, found[3].data) == ("audio", "YWI=")


def test_annotations_cite_the_text() -> None:
    cited = {"url": "https://e.com", "title": "E", "start_index": 0, "end_index": 4, "content": "q"}
    events = decode(
        chunk({"content": "text"}),
        chunk({"annotations": [{"type": "url_citation", "url_citation": cited}, 7]}, finish="stop"),
    )
    (citation,) = only(events, ev.CitationAdded)
    assert (citation.part, citation.source, citation.ref) == (0, "url", "https://e.com")
    assert (citation.title, citation.quote, citation.start, citation.end) == ("E", "q", 0, 4)


def test_response_wide_sources_that_come_with_every_chunk_count_once() -> None:
    top: dict[str, Any] = {
        "citations": ["https://a.com", "https://b.com"],
        "search_results": [{"title": "A", "url": "https://a.com"}],
    }
    events = decode(chunk({"content": "x"}, **top), chunk({"content": "y"}, finish="stop", **top))
    cited = only(events, ev.CitationAdded)
    assert [(c.part, c.ref, c.title) for c in cited] == [
        (None, "https://a.com", "A"),
        (None, "https://b.com", None),
    ]


# --- usage and what stands beside -------------------------------------------------


@pytest.mark.parametrize(
    ("report", "usage"),
    [
        ({"prompt_tokens": "5", "completion_tokens": 2.0}, Usage(input_tokens=5, output_tokens=2)),
        ({"prompt_tokens": None, "completion_tokens": {}, "queue_time": 0.1}, Usage()),
        ({"prompt_tokens": -1, "completion_tokens": True}, Usage()),
        ({"prompt_cache_hit_tokens": 3}, Usage(cached_input_tokens=3)),
        ({"prompt_tokens_details": {"cached_tokens": 4}}, Usage(cached_input_tokens=4)),
        ({"cost": 0.25}, Usage(cost=0.25)),
        ({"cost": {"total_cost": 0.5}}, Usage(cost=0.5)),
        (
            {"cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 2}},
            Usage(cache_creation_5m_tokens=1, cache_creation_1h_tokens=2),
        ),
    ],
)
def test_usage_in_all_its_spellings(report: dict[str, Any], usage: Usage) -> None:
    events = decode(chunk({"content": "a"}, finish="stop"), {"choices": [], "usage": report})
    assert only(events, ev.TurnFinished)[0].usage == usage


def test_reasoning_left_out_of_the_completion_tokens_is_counted_in() -> None:
    report = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 115,
        "completion_tokens_details": {"reasoning_tokens": 100},
    }
    events = decode(chunk({}, finish="stop", usage=report))
    usage = only(events, ev.TurnFinished)[0].usage
    assert (usage.output_tokens, usage.reasoning_tokens) == (105, 100)


@pytest.mark.parametrize("place", ["usage", "x_groq", "choice"])
def test_usage_is_found_wherever_it_stands(place: str) -> None:
    report = {"prompt_tokens": 3, "completion_tokens": 4}
    last = chunk({}, finish="stop")
    if place == "usage":
        last["usage"] = report
    elif place == "x_groq":
        last["x_groq"] = {"id": "r", "usage": report}
    else:
        last["choices"][0]["usage"] = report
    assert only(decode(last), ev.TurnFinished)[0].usage == Usage(input_tokens=3, output_tokens=4)


def test_a_running_usage_is_not_undone_by_a_last_zero() -> None:
    running = {"prompt_tokens": 3, "completion_tokens": 4}
    zero = {"prompt_tokens": 0, "completion_tokens": 0}
    events = decode(chunk({"content": "a"}, usage=running), chunk({}, finish="stop", usage=zero))
    assert only(events, ev.TurnFinished)[0].usage == Usage(input_tokens=3, output_tokens=4)


def test_what_stands_beside_the_turn_is_kept() -> None:
    last = chunk(
        {}, finish="stop", created=7, system_fingerprint="fp", service_tier="flex", p="pad"
    )
    last["choices"][0]["native_finish_reason"] = "completed"
    events = decode(chunk({"content": "a"}), last, {"choices": [], "timings": {"ms": 1.5}})
    finished = only(events, ev.TurnFinished)[0]
    assert finished.service_tier == "flex"
    assert finished.provider_data == {
        "created": 7,
        "system_fingerprint": "fp",
        "choice.0": {"native_finish_reason": "completed"},
        "timings": {"ms": 1.5},
    }


def test_log_probabilities_are_kept_only_when_wanted() -> None:
    first = chunk({"content": "a"})
    first["choices"][0]["logprobs"] = {"content": [{"token": "a", "logprob": -0.1}]}
    stream = (first, chunk({}, finish="stop"))
    assert "logprobs" not in only(decode(*stream), ev.TurnFinished)[0].provider_data
    kept = only(decode(*stream, quirks=ChatQuirks(keeps_logprobs=True)), ev.TurnFinished)[0]
    assert kept.provider_data["logprobs"]["0"][0]["content"][0]["token"] == "a"


def test_an_empty_first_chunk_does_not_hide_the_model() -> None:
    empty = {"choices": [], "model": "", "id": "", "prompt_filter_results": [{"index": 0}]}
    events = decode(empty, chunk({"content": "a"}, finish="stop"))
    started = only(events, ev.TurnStarted)[0]
    assert (started.model, started.response_id) == ("m1", "r1")


def test_pings_comments_and_empty_frames_are_nothing() -> None:
    events = decode(
        b": OPENROUTER PROCESSING\n\n",
        {"type": "ping"},
        b"data:\n\n",
        chunk({"content": "a"}, finish="stop"),
    )
    assert only(events, ev.TurnFinished)[0].skipped_frames == 0


# --- ends and failures ------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", "end_turn"),
        ("eos", "end_turn"),
        ("length", "max_tokens"),
        ("MAX_TOKENS", "max_tokens"),
        ("tool_calls", "tool_use"),
        ("content_filter", "content_filter"),
        ("model_length", "context_full"),
        ("brand_new", "other(brand_new)"),
    ],
)
def test_finish_reasons_of_all_providers(word: str, reason: str) -> None:
    finished = only(decode(chunk({"content": "a"}, finish=word)), ev.TurnFinished)[0]
    assert (str(finished.reason), finished.raw_reason) == (reason, word)


def test_a_finish_reason_repeated_or_emptied_later_stays() -> None:
    events = decode(
        chunk({"content": "a"}, finish="length"), chunk({}, finish=""), chunk({}, finish="stop")
    )
    assert only(events, ev.TurnFinished)[0].reason.word == "max_tokens"


def test_deltas_after_the_finish_reason_are_not_lost() -> None:
    events = decode(chunk({"content": "a"}, finish="stop"), chunk({"content": "b"}))
    assert message_of(events).text == "ab"


def test_a_reason_without_a_terminator_is_a_normal_end() -> None:
    assert only(decode(chunk({"content": "a"}, finish="stop"), done=False), ev.TurnFinished)


def test_an_unfinished_last_frame_is_tried() -> None:
    data = sse(chunk({"content": "a"}), chunk({"content": "b"}, finish="stop"), done=False)
    events = events_of(data.rstrip(b"\n"), "chat")
    assert message_of(events).text == "ab"
    assert only(events, ev.TurnFinished)


@pytest.mark.parametrize(
    ("frame", "category", "message"),
    [
        (b'data: {"error":{"message":"slow down","code":429}}\n\n', "rate_limit", "slow down"),
        (b'data: {"error":"plain words"}\n\n', "unknown", "plain words"),
        (b'event: error\ndata: {"message":"no","type":"api_error"}\n\n', "server", "no"),
        (b"event: error\ndata: it broke\n\n", "unknown", "it broke"),
        (b'error: {"error":{"message":"no memory"}}\n\n', "unknown", "no memory"),
        (b'data: {"object":"error","message":"bad","code":400}\n\n', "invalid_request", "bad"),
        (
            b'data: {"choices":[],"x_groq":{"error":"over capacity"}}\n\n',
            "unknown",
            "over capacity",
        ),
    ],
)
def test_every_shape_of_error_fails_the_turn(frame: bytes, category: str, message: str) -> None:
    events = decode(chunk({"content": "a"}), frame)
    failed = only(events, ev.TurnFailed)[0]
    assert (failed.category, failed.message) == (category, message)
    assert message_of(events).text == "a"


def test_words_beside_an_error_are_not_lost() -> None:
    last = chunk({"content": "b"}, finish="error", error={"message": "no", "code": 502})
    events = decode(chunk({"content": "a"}), last)
    assert message_of(events).text == "ab"
    assert only(events, ev.TurnFailed)[0].message == "no"


def test_a_finish_reason_that_is_an_error_fails_the_turn() -> None:
    failed = only(decode(chunk({"content": "a"}, finish="error")), ev.TurnFailed)[0]
    assert failed.category == "server"


def test_an_error_before_anything_else_still_starts_the_turn() -> None:
    events = decode({"error": {"message": "no", "type": "authentication_error"}}, done=False)
    assert [type(event) for event in events] == [ev.TurnStarted, ev.TurnFailed]
    assert only(events, ev.TurnFailed)[0].category == "auth"


def test_too_many_unreadable_frames_are_a_failure_that_names_the_limit() -> None:
    events = decode(*[b"data: {oops\n\n"] * 300, chunk({"content": "a"}, finish="stop"))
    assert "max_skipped_frames=256" in only(events, ev.TurnFailed)[0].message


# --- what a reviewer found --------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"code": 50505, "message": "overloaded", "data": None}, "overloaded"),
        ({"code": "InvalidParameter", "message": "bad", "request_id": "r"}, "bad"),
        (
            {"id": "x", "choices": None, "base_resp": {"status_code": 1008, "status_msg": "broke"}},
            "broke",
        ),
        ({"detail": "Internal"}, "Internal"),
        ({"type": "error", "message": "boom", "code": "server_error"}, "boom"),
    ],
)
def test_an_error_that_nobody_calls_one_is_no_quiet_success(
    payload: dict[str, Any], message: str
) -> None:
    assert only(decode(chunk({"content": "a"}), payload), ev.TurnFailed)[0].message == message


def test_what_stands_beside_an_error_tells_its_category() -> None:
    for payload, category in (
        ({"error": "busy", "error_type": "overloaded"}, "overloaded"),
        ({"error": {"message": "slow"}, "status_code": 429}, "rate_limit"),
    ):
        assert only(decode(payload), ev.TurnFailed)[0].category == category


def test_a_last_chunk_that_repeats_the_whole_message_is_not_told_twice() -> None:
    whole = {"choices": [{"index": 0, "message": {"content": "ab"}, "finish_reason": "stop"}]}
    events = decode(chunk({"content": "a"}), chunk({"content": "b"}), whole)
    assert message_of(events).text == "ab"


def test_arguments_that_are_a_list_are_kept() -> None:
    assert calls(entry(0, id="a", name="f", arguments=[1, 2])) == [("a", "f", [1, 2])]


def test_held_text_stays_before_a_refusal() -> None:
    text, refusal = parts({"content": "<thi"}, {"refusal": "no"})
    assert (text.text, refusal.text) == ("<thi", "no")


def test_reasoning_as_entries_of_the_content() -> None:
    summary = [{"type": "summary_text", "text": "hm", "signature": "sig"}]
    thought, text = parts(
        {"content": [{"type": "reasoning", "summary": summary}]},
        {"content": ["plain ", {"type": "text", "text": {"value": "words"}}]},
    )
    assert (thought.text, thought.signature, text.text) == ("hm", "sig", "plain words")


def test_a_thought_that_is_marked_beside_the_text() -> None:
    mark = {"google": {"thought": True}}
    thought, text = parts({"content": "hm", "extra_content": mark}, {"content": "yes"})
    assert (thought.text, text.text) == ("hm", "yes")


def test_a_signature_that_comes_after_the_call_began() -> None:
    extra = {"google": {"thought_signature": "sig"}}
    (call,) = parts(
        {"tool_calls": [entry(0, id="a", name="f", arguments="{}")]},
        {"tool_calls": [entry(0, id="a", extra_content=extra)]},
    )
    assert call.seals[0].value == "sig"


def test_tools_that_the_provider_ran_are_calls_with_their_output() -> None:
    begun = {"index": 0, "type": "search", "arguments": '{"q":1}'}
    call, output = parts(
        {"executed_tools": [begun]}, {"executed_tools": [{**begun, "output": "found"}]}
    )
    assert (call.name, call.executor, call.args) == ("search", "provider", {"q": 1})
    assert output.call_id == call.call_id


def test_a_search_among_the_calls_is_the_providers() -> None:
    events = decode(
        chunk({"tool_calls": [{"index": 0, "id": "w", "type": "web_search"}]}),
        chunk({"content": "a"}, finish="stop", web_search=[{"link": "u", "title": "t"}]),
    )
    assert only(events, ev.ToolCallStarted)[0].executor == "provider"
    assert only(events, ev.TurnFinished)[0].reason.word == "end_turn"
    assert only(events, ev.CitationAdded)[0].ref == "u"


def test_one_call_as_an_object_and_images_in_other_shapes() -> None:
    call = entry(0, id="a", name="f", arguments="{}")
    (found,) = parts({"tool_calls": call})
    assert found.name == "f"
    linked, inline = parts(
        {"content": [{"type": "image_url", "image_url": "https://e.com/a.png"}]},
        {"images": [{"b64_json": "aGk="}]},
    )
    assert (linked.url, inline.data) == ("https://e.com/a.png", "aGk=")


def test_odd_finish_reasons() -> None:
    as_object = decode(chunk({"content": "a"}, finish={"type": "length"}))
    assert only(as_object, ev.TurnFinished)[0].reason.word == "max_tokens"
    in_words = decode(chunk({"content": "a"}, finish="null"), chunk({}, finish="stop"))
    assert only(in_words, ev.TurnFinished)[0].reason.word == "end_turn"
    short = decode(chunk({"content": "a"}, finish="insufficient_system_resource"))
    assert only(short, ev.TurnFailed)[0].category == "overloaded"


def test_an_error_inside_a_choice_is_told() -> None:
    last = chunk({}, finish="error")
    last["choices"][0]["error"] = {"code": 429, "message": "slow down"}
    failed = only(decode(chunk({"content": "a"}), last), ev.TurnFailed)[0]
    assert (failed.category, failed.message) == ("rate_limit", "slow down")


def test_nothing_comes_after_an_error_that_ends_a_chunk_of_several_choices() -> None:
    choices = [{"index": i, "delta": {"content": str(i)}, "finish_reason": "stop"} for i in (0, 1)]
    events = decode(
        {"choices": choices, "x_groq": {"error": "boom"}, "usage": {"prompt_tokens": 3}}
    )
    failed = only(events, ev.TurnFailed)[0]
    assert (failed.message, failed.usage.input_tokens) == ("boom", 3)
    assert len(only(events, ev.TextDelta)) == 2


def test_an_error_inside_a_choice_needs_no_finish_reason() -> None:
    odd = chunk({"content": ""})
    odd["choices"][0]["error"] = {"code": 502, "message": "bad gateway"}
    assert only(decode(odd), ev.TurnFailed)[0].message == "bad gateway"


def test_plain_chunks_are_not_told_again_by_a_closing_message() -> None:
    last = {"choices": [{"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}]}
    assert message_of(decode(chunk(None), chunk({"content": "hi"}), last)).text == "hi"
