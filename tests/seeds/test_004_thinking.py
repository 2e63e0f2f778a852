"""Seed 004, sections 3.2 and 4: the thinking lifecycle, case by case, through real chat bytes.

Where our decisions correct the document, the test says so:
- every `text_start` has text and is answered by a `text_end` (the document's sequences leave
  `text_end` out, and start text that never comes before a tool);
- `thinking_complete` comes once, at the end, over all phases;
- a status keeps its verb, and a marker is shown verbatim.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.content import JSONContent
from headrace.events import Stamp
from headrace.outcome import ErrorInfo
from headrace.projections.thinking import ThinkingProjection, encode_frame
from headrace.wire.decoder import Decoder
from tests.wire import chunk, sse

CLOCK_STEP_MS = 700
TIMEOUT = ErrorInfo("timeout", "nothing came for 30 s")


def thinking(text: str) -> dict[str, Any]:
    return chunk({"reasoning_content": text})


def content(text: str) -> dict[str, Any]:
    return chunk({"content": text})


def call(name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return chunk({"tool_calls": [{"index": 0, "id": "call_1", "function": function}]})


def end(reason: str) -> dict[str, Any]:
    return chunk({}, finish=reason)


def turn(*chunks: dict[str, Any], done: bool = True, first_part: int = 0) -> list[list[ev.Event]]:
    """The events of a GLM turn, chunk by chunk."""
    decoder = Decoder("chat", first_part=first_part)
    reads: list[list[ev.Event]] = [list(decoder.feed(sse(one, done=False))) for one in chunks]
    if done:
        reads.append(list(decoder.feed(b"data: [DONE]\n\n")))
    return [*reads, list(decoder.close())]


def shown(reads: Iterable[list[ev.Event]], **options: Any) -> list[dict[str, Any]]:
    times = iter(range(0, 10**9, CLOCK_STEP_MS))
    stamp = Stamp(lambda: next(times))
    projection = ThinkingProjection(**options)
    made = [f for read in reads for r in stamp.feed(read) for f in projection.feed(r)]
    payloads = [encode_frame(frame) for frame in [*made, *projection.close()]]
    return [
        {"type": "[DONE]"} if payload == b"[DONE]" else msgspec.json.decode(payload)
        for payload in payloads
    ]


def sequence(frames: list[dict[str, Any]]) -> list[str]:
    """The types in order, repetitions of deltas and statuses as one."""
    found: list[str] = []
    for frame in frames:
        kind = frame["type"]
        if not (found and found[-1] == kind and kind in ("thinking_delta", "text_delta", "status")):
            found.append(kind)
    return found


def of(frames: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [frame for frame in frames if frame["type"] == kind]


SIMPLE = turn(
    thinking("Let me analyze"),
    thinking(" the requirements carefully."),
    thinking(" Then"),
    content("The answer"),
    content(" is 4."),
    end("stop"),
)
SEARCH = turn(
    thinking("I need to look up the tides. "),
    call("browser.search", '{"query": "tides"}'),
    end("tool_calls"),
)
CONTINUED = turn(
    thinking("Let me summarize the findings. "), content("High at noon."), end("stop"), first_part=9
)


def with_tool(result: ev.ToolResult, first: list[list[ev.Event]] = SEARCH) -> list[list[ev.Event]]:
    run: list[list[ev.Event]] = [[ev.RunStarted("r"), ev.StepStarted(0)], *first]
    run += [[ev.ToolStarted("call_1")], [result], [ev.StepFinished(0), ev.StepStarted(1)]]
    return [*run, *CONTINUED, [ev.StepFinished(1), ev.RunFinished(reason=CONTINUED_REASON)]]


CONTINUED_REASON = next(
    event.reason for read in CONTINUED for event in read if isinstance(event, ev.TurnFinished)
)
FOUND = ev.ToolResult(
    call_id="call_1", content=(JSONContent({"results": ["noon"]}),), kind="web_search"
)


def test_case_1_simple_chat_message() -> None:
    frames = shown(SIMPLE)
    assert sequence(frames) == [
        "thinking_start", "thinking_delta", "status", "thinking_end", "text_start", "text_delta",
        "text_end", "thinking_complete", "done", "[DONE]",
    ]  # fmt: skip
    assert "".join(f["content"] for f in of(frames, "thinking_delta")) == (
        "Let me analyze the requirements carefully. Then"
    )
    assert of(frames, "status")[0]["description"] == "Analyze the requirements carefully"
    complete = of(frames, "thinking_complete")[0]
    assert complete["thinking"] == "Let me analyze the requirements carefully. Then"
    assert of(frames, "text_end")[0]["finish_reason"] == "stop"


def test_case_2_tool_calling_chat_with_a_web_search() -> None:
    frames = shown(with_tool(FOUND))
    assert sequence(frames) == [
        "thinking_start", "thinking_delta", "status", "thinking_end",
        "tool_call_start", "status", "tool_result", "web_search",
        "thinking_start", "thinking_delta", "status", "thinking_end",
        "text_start", "text_delta", "text_end", "thinking_complete", "done", "[DONE]",
    ]  # fmt: skip
    started = of(frames, "tool_call_start")[0]
    assert (started["toolName"], started["arguments"]) == ("browser.search", {"query": "tides"})
    assert of(frames, "tool_result")[0]["success"] is True
    assert of(frames, "web_search")[0]["data"] == {"results": ["noon"]}


def test_case_2_both_phases_are_whole_and_their_durations_add_up() -> None:
    frames = shown(with_tool(FOUND))
    starts, ends = of(frames, "thinking_start"), of(frames, "thinking_end")
    assert len(starts) == len(ends) == 2
    for start, stop in zip(starts, ends, strict=True):
        assert stop["duration_ms"] == stop["timestamp"] - start["timestamp"]
        assert stop["duration"] == stop["duration_ms"] // 1000
    (complete,) = of(frames, "thinking_complete")
    assert complete["duration_ms"] == sum(stop["duration_ms"] for stop in ends)


def test_case_3_artifact_generation() -> None:
    first = turn(
        thinking("Analyzing the layout of the page. "),
        call("generate_artifact", '{"title": "Clock"}'),
        end("tool_calls"),
    )
    made = ev.ToolResult(
        call_id="call_1",
        content=(JSONContent({"code": "<svg/>", "title": "Clock"}),),
        kind="artifact",
    )
    frames = shown(with_tool(made, first))
    assert sequence(frames) == [
        "thinking_start", "thinking_delta", "status", "thinking_end",
        "tool_call_start", "status", "tool_result", "artifact_complete",
        "thinking_start", "thinking_delta", "status", "thinking_end",
        "text_start", "text_delta", "text_end", "thinking_complete", "done", "[DONE]",
    ]  # fmt: skip
    assert of(frames, "artifact_complete")[0]["artifactCode"] == "<svg/>"
    assert of(frames, "status")[0]["description"] == "Analyzing the layout of the page"


def test_case_4_glm_marker() -> None:
    frames = shown(turn(thinking("[STATUS: analyzing code structure] x"), end("stop")))
    (status,) = of(frames, "status")
    assert status["description"] == "analyzing code structure"
    assert status["source"] == "glm_marker"


def test_case_5_natural_language() -> None:
    frames = shown(
        turn(thinking("let me analyze the requirements carefully"), content("x"), end("stop"))
    )
    (status,) = of(frames, "status")
    assert status["description"] == "Analyze the requirements carefully"
    assert status["source"] == "natural_language"


@pytest.mark.parametrize("text", ["hi", "short", "Let me see. ", "Hmm.\n"])
def test_case_6_no_valid_status(text: str) -> None:
    assert of(shown(turn(thinking(text), content("x"), end("stop"))), "status") == []


@pytest.mark.parametrize("is_told", [True, False])
def test_case_7_stream_timeout(is_told: bool) -> None:
    reads = turn(thinking("Let me count the"), done=False)
    if is_told:
        decoder = Decoder("chat")
        reads = [list(decoder.feed(sse(thinking("Let me count the"), done=False)))]
        reads.append(list(decoder.fail(TIMEOUT)))
    frames = shown(reads)
    assert sequence(frames) == [
        "thinking_start", "thinking_delta", "thinking_end", "thinking_complete", "error", "[DONE]",
    ]  # fmt: skip
    assert of(frames, "thinking_complete")[0]["thinking"] == "Let me count the"
    assert of(frames, "error")[0]["category"] == ("timeout" if is_told else "incomplete")


def test_case_8_empty_reasoning() -> None:
    frames = shown(turn(thinking(""), content("Hello"), end("stop")))
    assert sequence(frames) == ["text_start", "text_delta", "text_end", "done", "[DONE]"]


def test_rule_a_marker_goes_before_natural_language() -> None:
    frames = shown(
        turn(
            thinking("Let me check the logs in detail. [STATUS: reading the logs] \n"), end("stop")
        )
    )
    assert [f["source"] for f in of(frames, "status")] == ["glm_marker"]


def test_rule_natural_language_works_without_markers() -> None:
    frames = shown(turn(thinking("I'll check the third row. "), end("stop")))
    assert [f["source"] for f in of(frames, "status")] == ["natural_language"]


def test_rule_a_status_is_not_repeated() -> None:
    same = thinking("Let me check the third row. ")
    assert len(of(shown(turn(same, same, same, end("stop"))), "status")) == 1


def test_rule_lengths_are_bounded() -> None:
    """10 to 60 characters, and cut at a word where the document cut inside one."""
    long = "let me examine every single configuration file of the whole deployment one by one. "
    (status,) = of(shown(turn(thinking(long), end("stop"))), "status")
    assert len(status["description"]) <= 60
    assert long.startswith(status["description"].replace("Examine", "let me examine"))
    assert long[len("let me ") + len(status["description"])] == " "


def test_rule_the_verb_is_kept() -> None:
    """The document's second pattern gave "The code structure"."""
    (status,) = of(shown(turn(thinking("Analyzing the code structure. "), end("stop"))), "status")
    assert status["description"] == "Analyzing the code structure"


def test_rule_words_have_boundaries() -> None:
    """The document's third pattern found "now" in "know"."""
    assert (
        of(shown(turn(thinking("I know nothing about tidal harbours. "), end("stop"))), "status")
        == []
    )


def test_rule_thinking_ends_before_the_first_content() -> None:
    kinds = [frame["type"] for frame in shown(SIMPLE)]
    assert kinds.index("thinking_end") < kinds.index("text_start") < kinds.index("text_delta")


def test_rule_the_document_cuts_at_500_characters_when_asked() -> None:
    frames = shown(turn(thinking("x" * 900), end("stop")), max_thinking_chars=500)
    assert len(of(frames, "thinking_complete")[0]["thinking"]) == 500
    assert (
        len(of(shown(turn(thinking("x" * 900), end("stop"))), "thinking_complete")[0]["thinking"])
        == 900
    )
