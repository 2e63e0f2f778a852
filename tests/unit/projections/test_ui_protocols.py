"""What single events become in the AI SDK's stream and in AG-UI."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import events as ev
from headrace.content import ImageContent, JSONContent, TextContent
from headrace.events import Record
from headrace.outcome import CONTENT_FILTER, END_TURN, MAX_TOKENS, TOOL_USE, abort_reason
from headrace.usage import Usage
from tests.phases.records import Turn
from tests.phases.ui_order import DONE, Chunk, check_ag_ui, payloads, read_ui_message
from tests.unit.projections.test_input import asking, calling, numbered

USAGE = Usage(input_tokens=3, output_tokens=4)
COMMITTED = ev.RunClosed("committed", "m")


def turn_of(*events: Any, dialect: str = "anthropic") -> list[ev.Event]:
    begun: list[ev.Event] = [ev.TurnStarted(dialect=dialect), ev.OutputStarted(0), *events]
    return [*begun, ev.OutputFinished(0, END_TURN), ev.TurnFinished(reason=END_TURN)]


def run_of(*events: Any, end: ev.Event | None = None, closed: Any = COMMITTED) -> list[Record]:
    last = end or ev.RunFinished(END_TURN, USAGE)
    begun: list[ev.Event] = [ev.RunStarted("r1", "openai:m"), ev.StepStarted(0)]
    return numbered(*begun, *events, ev.StepFinished(0), last, *([closed] if closed else []))


def both(records: list[Record]) -> tuple[list[Chunk], list[Chunk]]:
    """The chunks and the events, which must be legal."""
    chunks, events = payloads(records, "ai-sdk"), payloads(records, "ag-ui")
    read_ui_message(chunks)
    check_ag_ui(events)
    return [chunk for chunk in chunks if chunk != DONE], events


def of_type(chunks: list[Chunk], *types: str) -> list[Chunk]:
    return [
        {name: value for name, value in chunk.items() if name != "type"}
        for chunk in chunks
        if chunk["type"] in types
    ]


PLACE: dict[str, Any] = {"part": 0, "output": 0, "item": 0}
CALL: dict[str, Any] = {"part": 0, "call_id": "c1", "name": "pay"}


# --- reasoning and its seals -----------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "metadata"),
    [
        ("anthropic", {"anthropic": {"signature": "S"}}),
        ("gemini", {"google": {"thoughtSignature": "S"}}),
        ("chat", {"headrace": {"signature": "S"}}),
    ],
)
def test_a_signature_is_at_the_end_of_its_block(dialect: str, metadata: Chunk) -> None:
    """It may come with the end of the block or behind it."""
    begun = [ev.ReasoningStarted(**PLACE), ev.ReasoningDelta(0, "Hm")]
    for ended in (
        [ev.ReasoningFinished(0, "S")],
        [ev.PartSealed(0, "signature", "S"), ev.ReasoningFinished(0)],
        [ev.ReasoningFinished(0), ev.PartSealed(0, "signature", "S")],
    ):
        chunks, events = both(run_of(*turn_of(*begun, *ended, dialect=dialect)))
        (end,) = of_type(chunks, "reasoning-end")
        assert end == {"id": "p0", "providerMetadata": metadata}
        (value,) = of_type(events, "REASONING_ENCRYPTED_VALUE")
        assert value["encryptedValue"] == "S"
        assert value["entityId"] == "msg_1-reasoning-0"


def test_encrypted_reasoning_keeps_the_id_of_its_item() -> None:
    block = [
        ev.ReasoningStarted(**PLACE, item_id="rs_1", kind="summary"),
        ev.ReasoningDelta(0, "Hm"),
        ev.ReasoningFinished(0),
        ev.PartSealed(0, "encrypted", "E"),
    ]
    chunks, _ = both(run_of(*turn_of(*block, dialect="responses")))
    (end,) = of_type(chunks, "reasoning-end")
    fields = {"reasoningEncryptedContent": "E", "itemId": "rs_1"}
    assert end["providerMetadata"] == {"openai": fields}


def test_redacted_reasoning_is_a_block_without_text() -> None:
    chunks, events = both(run_of(*turn_of(ev.ReasoningRedacted(**PLACE, data="R"))))
    assert of_type(chunks, "reasoning-start", "reasoning-end") == [
        {"id": "p0"},
        {"id": "p0", "providerMetadata": {"anthropic": {"redactedData": "R"}}},
    ]
    (value,) = of_type(events, "REASONING_ENCRYPTED_VALUE")
    assert (value["subtype"], value["encryptedValue"]) == ("message", "R")


def test_the_seal_of_a_call_goes_with_its_input() -> None:
    call = [
        ev.ToolCallStarted(**CALL, output=0, item=0),
        ev.PartSealed(0, "signature", "S"),
        ev.ToolCallFinished(**CALL, args={}, raw="{}"),
    ]
    result = ev.ToolResult(call_id="c1", content=())
    chunks, events = both(run_of(*turn_of(*call, dialect="gemini"), result))
    (given,) = of_type(chunks, "tool-input-available")
    assert given["providerMetadata"] == {"google": {"thoughtSignature": "S"}}
    (value,) = of_type(events, "REASONING_ENCRYPTED_VALUE")
    assert (value["subtype"], value["entityId"]) == ("tool-call", "msg_1.0")


# --- calls -----------------------------------------------------------------------------


def test_a_malformed_call_is_an_error_and_is_answered() -> None:
    call = [
        ev.ToolCallStarted(**CALL, output=0, item=0),
        ev.ToolCallArgsDelta(0, "{"),
        ev.ToolCallMalformed(**CALL, raw="{", error="not JSON"),
    ]
    result = ev.ToolResult(call_id="c1", content=(TextContent("not JSON"),), is_error=True)
    chunks, events = both(run_of(*turn_of(*call), result))
    assert of_type(chunks, "tool-input-error") == [
        {"toolCallId": "msg_1.0", "toolName": "pay", "input": "{", "errorText": "not JSON"}
    ]
    (answered,) = of_type(events, "TOOL_CALL_RESULT")
    assert (answered["content"], answered["metadata"]) == ("not JSON", {"isError": True})


@pytest.mark.parametrize(
    ("content", "output", "sent"),
    [
        ((TextContent("a"),), "a", "a"),
        ((JSONContent({"a": 1}),), {"a": 1}, '{"a":1}'),
        ((TextContent("a"), JSONContent(1)), ["a", 1], "a\n1"),
        (
            (ImageContent(media_type="image/png", data="AA"),),
            {"type": "image", "media_type": "image/png", "url": "data:image/png;base64,AA"},
            [
                {
                    "type": "image",
                    "source": {"type": "data", "value": "AA", "mimeType": "image/png"},
                }
            ],
        ),
    ],
)
def test_results_are_values_and_contents(content: Any, output: Any, sent: Any) -> None:
    result = ev.ToolResult(call_id="c1", content=content)
    chunks, events = both(run_of(*calling(), result))
    (shown,) = of_type(chunks, "tool-output-available")
    assert shown["output"] == output
    (answered,) = of_type(events, "TOOL_CALL_RESULT")
    assert (answered["content"], answered["role"]) == (sent, "tool")


def test_progress_comes_before_the_result_and_not_after_it() -> None:
    progress = ev.ToolProgress(call_id="c1", status="half", progress=0.5)
    result = ev.ToolResult(call_id="c1", content=(TextContent("ok"),))
    chunks, events = both(run_of(*calling(), progress, result, progress))
    shown = [chunk.get("preliminary") for chunk in of_type(chunks, "tool-output-available")]
    assert shown == [True, None]
    (activity,) = of_type(events, "ACTIVITY_SNAPSHOT")
    assert activity["content"] == {"toolCallId": "msg_1.2", "status": "half", "progress": 0.5}


def test_tools_of_the_provider_are_marked_and_always_answered() -> None:
    place: dict[str, Any] = {"output": 0, "executor": "provider"}
    calls = [
        event
        for part, call_id in enumerate(("w1", "w2", "w3"))
        for event in (
            ev.ToolCallStarted(part=part, item=part, call_id=call_id, name="search", **place),
            ev.ToolCallFinished(part=part, call_id=call_id, name="search", args={}, raw="{}"),
        )
    ]
    reports = [
        ev.ToolActivity(part=0, call_id="w1", status="completed"),
        ev.ToolActivity(part=1, call_id="w2", status="failed"),
        ev.ToolOutput(part=3, item=3, output=0, call_id="w3", content=(TextContent("found"),)),
        ev.ToolOutput(part=4, item=4, output=0, call_id="w4", content=(TextContent("more"),)),
    ]
    chunks, events = both(run_of(*turn_of(*calls, *reports)))
    outputs = of_type(chunks, "tool-output-available", "tool-output-error")
    assert all(chunk["providerExecuted"] for chunk in outputs)
    assert sorted(chunk["toolCallId"] for chunk in outputs) == [
        "msg_1.0", "msg_1.1", "msg_1.2", "msg_1.4",
    ]  # fmt: skip
    results = {one["toolCallId"]: one["content"] for one in of_type(events, "TOOL_CALL_RESULT")}
    assert results == {"msg_1.0": "", "msg_1.1": "failed", "msg_1.2": "found", "msg_1.4": "more"}
    names = [one["toolCallName"] for one in of_type(events, "TOOL_CALL_START")]
    assert names == ["search", "search", "search", "provider_tool"]


# --- approvals -------------------------------------------------------------------------


def asked(*answered: Any, **request: Any) -> list[Record]:
    return run_of(
        *calling(),
        asking(**request),
        ev.RunSuspended("input", ("q1",)),
        ev.RunResumed(1),
        *answered,
    )


def test_a_denied_call_is_denied_and_an_expired_one_too() -> None:
    result = ev.ToolResult(call_id="c1", content=(TextContent("denied"),), is_error=True)
    for decision, reason in (("denied", "too much"), ("expired", None)):
        answer = ev.InputAnswered(request_id="q1", decision=decision, reason=reason)  # type: ignore[arg-type]
        chunks, _ = both(asked(answer, result, message="May I?"))
        assert of_type(chunks, "tool-approval-request")[0]["reason"] == "May I?"
        (response,) = of_type(chunks, "tool-approval-response")
        told = reason or "expired"
        assert response == {"approvalId": "q1", "approved": False, "reason": told}
        assert of_type(chunks, "tool-output-denied") == [{"toolCallId": "msg_1.2"}]


def test_an_approved_call_that_fails_is_not_denied() -> None:
    answer = ev.InputAnswered(request_id="q1", decision="accepted", value={"amount": 4})
    started = ev.ToolStarted("c1", {"amount": 4})
    result = ev.ToolResult(call_id="c1", content=(TextContent("broke"),), is_error=True)
    chunks, _ = both(asked(answer, started, result))
    inputs = [chunk["input"] for chunk in of_type(chunks, "tool-input-available")]
    assert inputs == [{"amount": 5}, {"amount": 4}]
    assert of_type(chunks, "tool-output-error")[0]["errorText"] == "broke"
    assert of_type(chunks, "tool-output-denied") == []


def test_an_interrupt_names_the_call_and_when_it_expires() -> None:
    result = ev.ToolResult(call_id="c1", content=())
    _, events = both(asked(DENIED, result, message="May I?", expires_at_ms=9_000))
    waiting, _ = of_type(events, "RUN_FINISHED")
    (interrupt,) = waiting["outcome"]["interrupts"]
    assert interrupt.pop("responseSchema")["required"] == ["approved"]
    assert interrupt == {
        "id": "q1",
        "reason": "tool_call",
        "message": "May I?",
        "toolCallId": "msg_1.2",
        "expiresAt": "1970-01-01T00:00:09Z",
    }


DENIED = ev.InputAnswered(request_id="q1", decision="denied")


def test_other_requests_are_data_and_pending_calls() -> None:
    request = ev.InputRequested(request_id="q1", kind="result", call_id="c1", name="pay")
    records = run_of(*calling(), request, ev.RunSuspended("input", ("q1",)), ev.RunResumed(1))
    chunks, events = both(records)
    (data,) = of_type(chunks, "data-input-request")
    expected = {"toolCallId": "msg_1.2", "toolName": "pay", "kind": "result"}
    assert data == {"id": "q1", "data": expected}
    assert of_type(events, "RUN_FINISHED")[0]["outcome"] == {
        "type": "success",
        "pendingToolCallIds": ["msg_1.2"],
    }


def test_requests_that_were_covered_are_shown_again() -> None:
    """Two requests of one sub-agent: the call shows one at a time."""
    path = ("c1",)
    nested: list[Any] = [(path, ev.RunStarted("r2")), (path, ev.StepStarted(0))]
    nested += [(path, event) for event in calling()]
    answer = ev.InputAnswered(request_id="q2", decision="accepted")
    records = numbered(
        ev.RunStarted("r1"), ev.StepStarted(0), *calling(), *nested,
        (path, asking("q1")), (path, asking("q2")), ev.RunSuspended("input", ("q1", "q2")),
        ev.RunResumed(1), (path, answer), ev.RunSuspended("input", ("q1",)),
    )  # fmt: skip
    chunks = payloads(records, "ai-sdk", is_over=False)
    reader = read_ui_message(chunks)
    shown = [
        c["approvalId"] for c in of_type([c for c in chunks if c != DONE], "tool-approval-request")
    ]
    assert shown == ["q1", "q2", "q1"]
    assert reader.tool("msg_1.2")["approval"]["id"] == "q1"
    check_ag_ui(payloads(records, "ag-ui", is_over=False))
    # The client does not know a request that is covered, so it is not told its answer.
    covered = ev.InputAnswered(request_id="q1", decision="accepted")
    told = payloads([*records[:-2], Record(99, 9_900, covered, path)], "ai-sdk", is_over=False)
    assert not of_type([c for c in told if c != DONE], "tool-approval-response")


# --- steps that are tried again, and ends ----------------------------------------------


def test_a_discarded_step_is_reset() -> None:
    failed = [
        *Turn().output(0).text("Wrong.").call("pay", {}).events,
        ev.OutputFinished(0),
        ev.TurnFailed(category="network", message="gone"),
        ev.StepDiscarded(0, "retry"),
    ]
    again = Turn(first_part=5).output(0).text("Right.").end_output().end()
    records = run_of(*failed, *again)
    chunks, events = both(records)
    assert len(of_type(chunks, "reset-step")) == 1
    reader = read_ui_message(payloads(records, "ai-sdk"))
    assert [part.get("text") for part in reader.parts] == [None, "Right."]
    (told,) = (one for one in of_type(events, "CUSTOM") if one["name"] == "step-discarded")
    assert told["value"]["messageIds"] == ["msg_1-0"]
    assert told["value"]["toolCallIds"] == ["msg_1.1"]
    # A client would run a call that has no result.
    assert of_type(events, "TOOL_CALL_RESULT")[0]["toolCallId"] == "msg_1.1"
    texts = of_type(events, "TEXT_MESSAGE_START")
    assert [text["messageId"] for text in texts] == ["msg_1-0", "msg_1-1"]


@pytest.mark.parametrize(
    ("end", "closed", "finish", "outcome"),
    [
        (ev.RunFinished(END_TURN), COMMITTED, "stop", "success"),
        (ev.RunFinished(MAX_TOKENS), COMMITTED, "length", "success"),
        (ev.RunFinished(CONTENT_FILTER), COMMITTED, "content-filter", "success"),
        (ev.RunFinished(TOOL_USE), COMMITTED, "tool-calls", "success"),
        (ev.RunFinished(abort_reason("max_iterations")), COMMITTED, "other", "success"),
        (ev.RunFinished(abort_reason("cancelled")), COMMITTED, None, "cancelled"),
        (ev.RunFinished(abort_reason("timeout")), COMMITTED, "error", None),
        (ev.RunFailed(category="server", message="no"), COMMITTED, "error", None),
        (ev.RunFinished(END_TURN), ev.RunClosed("save_failed"), "error", None),
        (ev.RunFinished(END_TURN), ev.RunClosed("interrupted"), "error", None),
    ],
)
def test_every_end_has_its_word(end: Any, closed: Any, finish: Any, outcome: Any) -> None:
    turn = Turn().output(0).text("Hi").end_output().end()
    chunks, events = both(run_of(*turn, end=end, closed=closed))
    last = events[-1]
    if finish is None:
        assert chunks[-1]["type"] == "abort"
    else:
        assert chunks[-1]["finishReason"] == finish
    assert bool(of_type(chunks, "error")) == (finish == "error")
    assert last.get("outcome", {}).get("type") == outcome
    assert (last["type"] == "RUN_ERROR") == (outcome is None)


def test_records_that_break_off_are_an_error() -> None:
    """Also if a turn has ended before: its end is not that of the run."""
    result = ev.ToolResult(call_id="c1", content=())
    step = [*calling(), result, ev.StepFinished(0), ev.StepStarted(1)]
    for begun in (turn_of()[:2], step):
        chunks, events = both(numbered(ev.RunStarted("r1"), ev.StepStarted(0), *begun))
        assert "records ended" in of_type(chunks, "error")[0]["errorText"]
        assert events[-1]["code"] == "incomplete"


def test_an_output_for_a_call_of_a_discarded_step_is_a_call_of_its_own() -> None:
    place: dict[str, Any] = {"output": 0, "call_id": "w1"}
    started = ev.ToolCallStarted(part=0, item=0, name="search", executor="provider", **place)
    finished = ev.ToolCallFinished(part=0, call_id="w1", name="search", args={}, raw="{}")
    output = ev.ToolOutput(part=1, item=1, content=(TextContent("found"),), **place)
    failed = [
        *turn_of(started, finished)[:-1],
        ev.TurnFailed(category="network", message="gone"),
        ev.StepDiscarded(0, "retry"),
    ]
    chunks, _ = both(run_of(*failed, *turn_of(output)))
    assert of_type(chunks, "tool-output-available")[0]["toolCallId"] == "msg_1.1"


def test_usage_is_told_at_every_end() -> None:
    turn = Turn().output(0).text("Hi").end_output().end()
    cancelled = ev.RunFinished(abort_reason("cancelled"), USAGE)
    for end in (None, cancelled, ev.RunFailed(category="server", message="no", usage=USAGE)):
        chunks, events = both(run_of(*turn, end=end))
        told = [c["messageMetadata"].get("usage") for c in chunks if "messageMetadata" in c]
        assert {"inputTokens": 3, "outputTokens": 4} in told
        assert events[-1]["usage"] == [{"inputTokens": 3, "outputTokens": 4}]


# --- other parts -----------------------------------------------------------------------


def test_sources_files_and_foreign_items() -> None:
    parts = [
        ev.CitationAdded(source="url", ref="https://x/y", title="Y"),
        ev.CitationAdded(source="url", ref="https://x/y", title="Y"),
        ev.CitationAdded(source="file", ref="f1", title="Notes"),
        ev.MediaProduced(**PLACE, media_type="image/png", data="AA"),
        ev.OpaqueItem(part=1, output=0, item=1, kind="compaction", data="{}"),
    ]
    chunks, events = both(run_of(*turn_of(*parts)))
    assert of_type(chunks, "source-url") == [{"sourceId": "s1", "url": "https://x/y", "title": "Y"}]
    assert of_type(chunks, "source-document")[0]["title"] == "Notes"
    assert of_type(chunks, "file") == [
        {"url": "data:image/png;base64,AA", "mediaType": "image/png"}
    ]
    assert of_type(chunks, "custom") == [{"kind": "anthropic.compaction"}]
    assert [one["name"] for one in of_type(events, "CUSTOM")][-1] == "file"


def test_a_typed_answer_and_an_added_message() -> None:
    turn = Turn().output(0).text("3").end_output().end()
    added = ev.UserMessageAdded(content=(TextContent("Hurry"),), entry_id="e1")
    records = numbered(
        ev.RunStarted("r1"), ev.StepStarted(0), *turn, ev.StepFinished(0), added,
        ev.OutputProduced(3), ev.RunFinished(END_TURN), COMMITTED,
    )  # fmt: skip
    chunks, events = both(records)
    assert of_type(chunks, "data-output") == [{"data": 3}]
    assert of_type(chunks, "data-user-message") == [{"id": "e1", "data": {"text": "Hurry"}}]
    assert events[-1]["result"] == 3
    assert {"messageId": "msg_1-user-1", "role": "user"} in of_type(events, "TEXT_MESSAGE_START")


def test_the_ids_of_a_run_are_those_that_the_client_has_given() -> None:
    turn = Turn().output(0).text("Hi").end_output().end()
    events = payloads(run_of(*turn), "ag-ui", thread_id="t", run_id="r")
    for event in (events[0], events[-1]):
        assert (event["threadId"], event["runId"]) == ("t", "r")
