"""Every recorded stream, shown in the AI SDK's stream and in AG-UI, and read as their clients do:
texts, reasoning, calls, the end, usage and errors are the same, or in the table of what is lost."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from headrace.events import Record
from headrace.messages import CallPart, Message, ReasoningPart, TextPart, fold
from tests.corpus import recorded
from tests.phases.ui_order import check_ag_ui, payloads, read_ui_message
from tests.property.test_thinking import records_of
from tests.property.test_ui_protocols import first_output, has_gap, texts_of

pytestmark = pytest.mark.shared(recorded.MANIFEST)

COUNTS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "reasoningTokens": "reasoning_tokens",
    "cachedInputTokens": "cached_input_tokens",
    "cacheWriteInputTokens": "cache_creation_input_tokens",
}
# The name under which an output is shown whose call is not in the stream.
UNKNOWN_TOOL = "provider_tool"
LOSSES = {
    "unknown call": "an output whose call is not in the stream is shown with a call",
    "gap": "text that came with a gap is not repaired; the stored message is complete",
    "candidates": "only the first of several candidates is shown",
    "category": "errors have a text and no category",
    "cost": "usage has no cost",
    "estimated": "usage does not say that it is estimated",
}


class Shown(msgspec.Struct):
    """What a client has read."""

    text: str
    reasoning: str
    calls: list[tuple[str, Any]]
    finish: str | None
    usage: dict[str, Any]
    error: str | None
    category: str | None = None


def read_ai_sdk(records: list[Record]) -> Shown:
    message = read_ui_message(payloads(records, "ai-sdk"))
    texts = {
        kind: "".join(part["text"] for part in message.parts if part["type"] == kind)
        for kind in ("text", "reasoning")
    }
    tools = [part for part in message.parts if part["type"] == "tool"]
    return Shown(
        **texts,
        calls=[(part["name"], part.get("input", part.get("raw", ""))) for part in tools],
        finish=message.metadata.get("finishReason"),
        usage=message.metadata.get("usage", {}),
        error=message.error,
    )


def read_ag_ui(records: list[Record]) -> Shown:
    events = payloads(records, "ag-ui")
    check_ag_ui(events)

    def join(kind: str, **wanted: str) -> str:
        found = [e for e in events if e["type"] == kind and wanted.items() <= e.items()]
        return "".join(e["delta"] for e in found)

    starts = [e for e in events if e["type"] == "TOOL_CALL_START"]
    last: dict[str, Any] = events[-1]
    usages: list[dict[str, Any]] = last.get("usage", [])
    is_error = last["type"] == "RUN_ERROR"
    return Shown(
        text=join("TEXT_MESSAGE_CONTENT"),
        reasoning=join("REASONING_MESSAGE_CONTENT"),
        calls=[
            (e["toolCallName"], join("TOOL_CALL_ARGS", toolCallId=e["toolCallId"])) for e in starts
        ],
        finish=None if is_error else last["metadata"]["finishReason"],
        usage=usages[0] if usages else {},
        error=last["message"] if is_error else None,
        category=last["code"] if is_error else None,
    )


READERS = {"ai-sdk": read_ai_sdk, "ag-ui": read_ag_ui}


def find_calls(records: list[Record], message: Message) -> list[CallPart]:
    """The calls of the output that is shown, whoever runs them."""
    first = first_output(records)
    parts = [part for turn in message.turns for part in turn.parts]
    return [part for part in parts if isinstance(part, CallPart) and part.output == first]


def compare_calls(protocol: str, calls: list[CallPart], shown: Shown) -> None:
    assert [name for name, _ in shown.calls] == [call.name for call in calls]
    for call, (_, said) in zip(calls, shown.calls, strict=True):
        if protocol == "ag-ui":
            assert said == call.raw
        elif call.error is None:
            assert said == call.args
        else:
            assert said == call.raw


def compare(protocol: str, records: list[Record], lost: Counter[str]) -> None:
    """Assert that a client reads what the records say, and count what the protocol cannot carry."""
    message, shown = fold(records), READERS[protocol](records)
    if has_gap(records):
        lost["gap"] += 1
    else:
        assert shown.text == texts_of(records, TextPart)
        assert shown.reasoning == texts_of(records, ReasoningPart)
    lost["candidates"] += len(message.turns[0].outputs) > 1
    added = [call for call in shown.calls if call[0] == UNKNOWN_TOOL]
    lost["unknown call"] += len(added)
    shown.calls = [call for call in shown.calls if call not in added]
    compare_calls(protocol, find_calls(records, message), shown)
    if message.error is None:
        assert shown.error is None
        assert shown.finish == str(message.finish)
    else:
        assert shown.error == message.error.message
        assert shown.finish is None
        assert shown.category in (None, message.error.category)
        lost["category"] += shown.category is None
    known = {name: getattr(message.usage, ours) for name, ours in COUNTS.items()}
    known = {name: count for name, count in known.items() if count is not None}
    assert {name: shown.usage[name] for name in known} == known
    lost["cost"] += message.usage.cost is not None and "cost" not in shown.usage
    is_estimated = message.usage.is_estimated and bool(known)
    lost["estimated"] += is_estimated and "isEstimated" not in shown.usage


@pytest.mark.parametrize("protocol", READERS)
def test_every_recorded_stream_keeps_its_meaning(protocol: str, record_property: Any) -> None:
    lost: Counter[str] = Counter()
    rows = recorded.rows()
    for row in rows:
        records = records_of(recorded.read(row), recorded.FRAMINGS[row["framing"]])
        try:
            compare(protocol, records, lost)
        except AssertionError as error:
            raise AssertionError(f"{row['file']}: {error}") from error
    lines = [f"{count:4} {LOSSES[name]}" for name, count in lost.most_common() if count]
    record_property("summary", "\n".join([f"{len(rows)} recorded streams as {protocol}", *lines]))
