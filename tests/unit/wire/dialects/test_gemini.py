"""Gemini streams: parts with and without signatures, calls whole and in pieces, sources."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace import WireLimits
from headrace import events as ev
from headrace.content import JSONContent, TextContent
from headrace.messages import CallPart, MediaPart, OpaquePart, OutputPart, ReasoningPart, TextPart
from headrace.usage import Usage
from headrace.wire.dialects.gemini.arguments import PartialArguments
from tests.grammar import check_grammar
from tests.wire import events_of, message_of, only, sse


def chunk(*parts: Any, finish: Any = None, **top: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    candidate |= top.pop("candidate", {})
    return {"candidates": [candidate], "modelVersion": "gemini", "responseId": "r", **top}


def decode(*chunks: Any, **options: Any) -> list[ev.TurnEvent]:
    events = events_of(sse(*chunks, done=False), "gemini", **options)
    check_grammar(events)
    return events


def parts(*said: Any) -> list[Any]:
    events = decode(*(chunk(part) for part in said), chunk(finish="STOP"))
    return list(message_of(events).turns[0].parts)


def test_text_and_thoughts() -> None:
    thought, answer = parts(
        {"text": "**Plan**", "thought": True},
        {"text": " go", "thought": True},
        {"text": "a"},
        {"text": ""},
        {"text": "b"},
    )
    assert isinstance(thought, ReasoningPart)
    assert isinstance(answer, TextPart)
    assert (thought.text, thought.kind, answer.text) == ("**Plan** go", "summary", "ab")


def test_a_part_with_a_signature_merges_with_neither_neighbour() -> None:
    before, sealed, after = parts(
        {"text": "a"}, {"text": "b", "thoughtSignature": "sig"}, {"text": "c"}
    )
    assert [part.text for part in (before, sealed, after)] == ["a", "b", "c"]
    assert [seal.value for seal in sealed.seals] == ["sig"]


def test_an_empty_text_with_a_signature_is_a_part() -> None:
    text, sealed = parts({"text": "a"}, {"text": "", "thoughtSignature": "sig"})
    assert (text.text, sealed.text, sealed.seals[0].value) == ("a", "", "sig")
    (bare,) = parts({"thoughtSignature": "sig"})
    assert bare.seals[0].value == "sig"


def test_a_signed_thought() -> None:
    (thought,) = parts({"text": "hm", "thought": True, "thoughtSignature": "sig"})
    assert (thought.text, thought.signature) == ("hm", "sig")


def test_calls_with_and_without_ids_and_with_their_signature() -> None:
    first, second = parts(
        {"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": "sig"},
        {"functionCall": {"id": "given", "name": "g"}},
    )
    assert (first.call_id, first.args, first.seals[0].value) == ("call_0", {"x": 1}, "sig")
    assert (second.call_id, second.args) == ("given", {})


def test_a_stop_with_calls_wants_tools() -> None:
    events = decode(chunk({"functionCall": {"name": "f"}}, finish="STOP"))
    finished = only(events, ev.TurnFinished)[0]
    assert (finished.reason.word, finished.raw_reason) == ("tool_use", "STOP")


def test_arguments_in_pieces() -> None:
    def piece(path: str, more: bool = True, **value: Any) -> dict[str, Any]:
        return {
            "functionCall": {
                "partialArgs": [{"jsonPath": path, **value}],
                "willContinue": more,
            }
        }

    first, second = parts(
        {"functionCall": {"name": "f", "willContinue": True}, "thoughtSignature": "sig"},
        piece("$.city", stringValue="Bos"),
        piece("$.city", stringValue="ton"),
        piece("$.days[0].n", numberValue=3),
        piece("$.flag", boolValue=True),
        {"functionCall": {}},
        {"functionCall": {"name": "g", "args": {}}},
    )
    assert first.args == {"city": "Boston", "days": [{"n": 3}], "flag": True}
    assert first.seals[0].value == "sig"
    assert second.name == "g"


def test_a_call_whose_pieces_stopped_coming_is_malformed() -> None:
    events = decode(chunk({"functionCall": {"name": "f", "willContinue": True}}))
    assert only(events, ev.ToolCallMalformed)
    assert only(events, ev.TurnFailed)[0].category == "incomplete"


@pytest.mark.parametrize(
    ("path", "built"),
    [
        ("$.a", {"a": 1}),
        ("$['a b'].c", {"a b": {"c": 1}}),
        ('$["x"]', {"x": 1}),
        ("$.a[7]", {"a": [1]}),
        ("$", {}),
        ("", {}),
        ("$.a[999999999999]", {"a": 1}),
    ],
)
def test_paths_into_the_arguments(path: str, built: Any) -> None:
    arguments = PartialArguments()
    arguments.feed([{"jsonPath": path, "numberValue": 1}, 7, {"jsonPath": "$.z"}])
    assert arguments.value == built


def test_code_that_google_runs() -> None:
    call, good, again, bad = parts(
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"executableCode": {"id": "given", "code": "2"}, "thoughtSignature": "sig"},
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "x"}},
    )
    assert isinstance(call, CallPart)
    assert isinstance(good, OutputPart)
    assert (call.name, call.executor, call.args["code"]) == ("code_execution", "provider", "1")
    assert (good.call_id, good.content, good.is_error) == (call.call_id, (TextContent("1"),), False)
    assert (again.call_id, again.seals[0].value) == ("given", "sig")
    assert (bad.call_id, bad.is_error) == ("given", True)


def test_other_tools_that_google_runs() -> None:
    call, answer = parts(
        {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {"q": 1}}},
        {"toolResponse": {"id": "t", "response": {"n": 1}}, "thoughtSignature": "sig"},
    )
    assert (call.name, call.executor, call.args) == ("GOOGLE_SEARCH_WEB", "provider", {"q": 1})
    assert (answer.content, answer.seals[0].value) == ((JSONContent({"n": 1}),), "sig")


def test_media_inline_and_by_address() -> None:
    inline, linked = parts(
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://x"}},
    )
    assert isinstance(inline, MediaPart)
    assert (inline.data, linked.url) == ("aGk=", "gs://x")


def test_unknown_parts_are_kept() -> None:
    (odd,) = parts({"hologram": {"beam": 1}})
    assert isinstance(odd, OpaquePart)
    assert (odd.kind, odd.data) == ("hologram", '{"hologram":{"beam":1}}')


def test_grounding_cites_pages_and_the_words_that_rest_on_them() -> None:
    grounding = {
        "groundingChunks": [{"web": {"uri": "u", "title": "t"}}],
        "groundingSupports": [{"segment": {"text": "q"}, "groundingChunkIndices": [0, 9]}],
    }
    last = chunk({"text": "q"}, finish="STOP", candidate={"groundingMetadata": grounding})
    events = decode(last, last)
    page, words = only(events, ev.CitationAdded)
    assert (page.part, page.ref, page.title) == (None, "u", "t")
    assert (words.part, words.quote) == (0, "q")
    assert only(events, ev.TurnFinished)[0].provider_data["groundingMetadata"] == grounding


def test_citations_of_recited_text() -> None:
    cited = {"citationSources": [{"uri": "u", "startIndex": 1, "license": "x"}]}
    events = decode(chunk({"text": "a"}, finish="STOP", candidate={"citationMetadata": cited}))
    (citation,) = only(events, ev.CitationAdded)
    assert (citation.part, citation.ref, citation.raw["license"]) == (0, "u", "x")


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("STOP", "end_turn"),
        (1, "end_turn"),
        ("MAX_TOKENS", "max_tokens"),
        (2, "max_tokens"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "other(MALFORMED_FUNCTION_CALL)"),
        (99, "other(99)"),
    ],
)
def test_finish_reasons_as_words_and_numbers(word: Any, reason: str) -> None:
    assert str(only(decode(chunk({"text": "a"}, finish=word)), ev.TurnFinished)[0].reason) == reason


def test_the_last_reason_counts_since_some_servers_say_stop_with_every_chunk() -> None:
    events = decode(chunk({"text": "a"}, finish="STOP"), chunk(finish="RECITATION"))
    assert only(events, ev.TurnFinished)[0].reason.word == "content_filter"


def test_an_unspecified_reason_is_none() -> None:
    events = decode(chunk({"text": "a"}, finish="FINISH_REASON_UNSPECIFIED"))
    assert only(events, ev.TurnFailed)[0].category == "incomplete"


def test_a_refused_prompt_is_a_filter_finish() -> None:
    events = decode({"promptFeedback": {"blockReason": "SAFETY"}})
    finished = only(events, ev.TurnFinished)[0]
    assert (finished.reason.word, finished.raw_reason) == ("content_filter", "SAFETY")


def test_running_usage_counts_thoughts_into_the_output() -> None:
    first = {"promptTokenCount": 5, "thoughtsTokenCount": 7, "cachedContentTokenCount": 2}
    last = {"candidatesTokenCount": 3, "totalTokenCount": 15, "serviceTier": "standard"}
    events = decode(
        chunk({"text": "a"}, usageMetadata=first), chunk(finish="STOP", usageMetadata=last)
    )
    finished = only(events, ev.TurnFinished)[0]
    assert finished.usage == Usage(
        input_tokens=5,
        output_tokens=10,
        total_tokens=15,
        reasoning_tokens=7,
        cached_input_tokens=2,
    )
    assert finished.service_tier == "standard"


def test_the_json_array_form_and_its_errors() -> None:
    array = msgspec.json.encode([chunk({"text": "a"}), chunk(finish="STOP")])
    assert message_of(events_of(array, framing="json-array")).text == "a"
    failed = b'[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]'
    events = events_of(failed, "gemini", framing="json-array")
    assert only(events, ev.TurnFailed)[0].category == "rate_limit"


def test_several_candidates_are_several_outputs() -> None:
    both = {
        "candidates": [
            {"index": i, "content": {"parts": [{"text": str(i)}]}, "finishReason": "STOP"}
            for i in (0, 1)
        ]
    }
    assert [e.output for e in only(decode(both), ev.OutputFinished)] == [0, 1]


# --- what a reviewer found --------------------------------------------------------


def test_a_named_call_ends_one_whose_pieces_stopped_coming() -> None:
    begun = {
        "name": "f",
        "willContinue": True,
        "partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}],
    }
    first, second = parts(
        {"functionCall": begun}, {"functionCall": {"name": "g", "args": {"b": 1}}}
    )
    assert first.error is not None
    assert (second.name, second.args) == ("g", {"b": 1})


def test_unknown_parts_stay_in_their_place_whatever_stands_beside_them() -> None:
    said = [{"text": "a"}, {"newThing": 1}, {"text": "b"}, {"other": 2, "thoughtSignature": "s"}]
    events = decode(chunk(*said), chunk({"odd": 3, "thought": True}, finish="STOP"))
    found = message_of(events).turns[0].parts
    assert [getattr(part, "kind", None) or getattr(part, "text", "") for part in found] == [
        "a",
        "newThing",
        "b",
        "other",
        "odd",
    ]


def test_an_empty_text_beside_a_call_hides_nothing() -> None:
    (call,) = parts({"text": "", "functionCall": {"name": "f"}})
    assert call.name == "f"


def test_arguments_as_a_text() -> None:
    (call,) = parts({"functionCall": {"name": "f", "args": '{"x":1}'}})
    assert call.args == {"x": 1}


def test_a_signature_on_the_result_of_code() -> None:
    _, result = parts(
        {"executableCode": {"code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK"}, "thoughtSignature": "sig"},
    )
    assert result.seals[0].value == "sig"


def test_a_sketch_made_while_thinking_is_no_part_of_the_answer() -> None:
    (sketch,) = parts({"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thought": True})
    assert isinstance(sketch, OpaquePart)


def test_pieces_of_arguments_are_bounded_as_they_come() -> None:
    piece = {"partialArgs": [{"jsonPath": "$.a", "stringValue": "x" * 10}], "willContinue": True}
    many = [chunk({"functionCall": {"name": "f", "willContinue": True}})]
    many += [chunk({"functionCall": piece})] * 20
    events = decode(*many, wire_limits=WireLimits(max_part_chars=100))
    assert "max_part_chars=100" in only(events, ev.TurnFailed)[0].message
