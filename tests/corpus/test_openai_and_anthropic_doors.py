"""Every recorded stream, shown in the protocols of OpenAI and Anthropic and read again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.projections import anthropic_messages, openai_chat
from tests.corpus import recorded
from tests.doors.round_trip import project, read_again, to_bytes, to_records
from tests.wire import events_of

pytestmark = pytest.mark.shared(recorded.MANIFEST)

# What a finish reason is read as, where the protocol has no word of its own for it.
CHAT_FINISH = {
    "stop_sequence": "end_turn",
    "context_full": "max_tokens",
    "time_limit": "max_tokens",
    "paused": "max_tokens",
}
MESSAGES_FINISH = {"time_limit": "max_tokens"}
# What an error is read as. The categories that are not here keep theirs.
CHAT_ERRORS: dict[str, str] = dict.fromkeys(
    "network incomplete protocol storage invalid_output interrupted unknown".split(), "server"
)
MESSAGES_ERRORS = CHAT_ERRORS | {"content_filter": "invalid_request"}


def _compare(
    before: dict[str, Any],
    after: dict[str, Any],
    finishes: dict[str, str],
    errors: dict[str, str],
    losses: Counter[str],
) -> None:
    """Assert that two rows mean the same, and count what the protocol cannot carry."""
    assert after["text"] == before["text"]
    assert _join(after["reasoning"]) == _join(before["reasoning"])
    assert after["refusal"] == before["refusal"] or before["refusal"]
    ours = [call for call in before["tool_calls"] if call["executor"] == "client"]
    assert [c for c in after["tool_calls"] if c["executor"] == "client"] == ours
    finish = finishes.get(before["finish"], before["finish"])
    losses[f"finish {before['finish']} is read as {finish}"] += finish != before["finish"]
    assert after["finish"] == finish
    if before["error"] is None:
        assert after["error"] is None
    else:
        category = before["error"]["category"]
        told = errors.get(category, category)
        losses[f"error {category} is read as {told}"] += told != category
        assert after["error"] is not None
        assert after["error"]["message"] == before["error"]["message"]
        assert after["error"]["category"] == told, before["error"]
    _compare_usage(before, after, losses)


def _as_object(call: dict[str, Any], after: dict[str, Any], losses: Counter[str]) -> dict[str, Any]:
    """Return a call as Messages shows it: arguments are always an object."""
    shown = next((c["args"] for c in after["tool_calls"] if c["id"] == call["id"]), None)
    if call["args"] == "" and shown == {}:
        return call | {"args": {}}
    if isinstance(call["args"], str) and shown == {"input": call["args"]}:
        losses["plain text that a tool is called with is read as an object"] += 1
        return call | {"args": shown}
    return call


def _join(reasoning: str) -> str:
    return reasoning.replace("\n\n", "")


def _compare_usage(before: dict[str, Any], after: dict[str, Any], losses: Counter[str]) -> None:
    known: dict[str, Any] = before["usage"] or {}
    shown: dict[str, Any] = after["usage"] or {}
    for name, count in known.items():
        losses[f"unknown {name} are read as 0"] += count is None and shown.get(name) == 0
        assert (shown.get(name) or 0) == (count or 0), (name, known, shown)


def _report(protocol: str, losses: Counter[str], streams: int) -> str:
    told = "; ".join(f"{what} ({count})" for what, count in sorted(losses.items()) if count)
    return f"{protocol}, {streams} recorded streams: {told or 'nothing is lost'}"


def _events(row: dict[str, Any]) -> list[ev.TurnEvent]:
    return events_of(recorded.read(row), framing=recorded.FRAMINGS[row["framing"]])


def _check_all(
    protocol: str,
    check: Callable[[dict[str, Any], dict[str, Any], Counter[str]], None],
    record_property: Any,
    **options: Any,
) -> None:
    losses: Counter[str] = Counter()
    rows = recorded.rows()
    for row in rows:
        events = _events(row)
        data = to_bytes(protocol, project(protocol, to_records(events), **options))
        before = recorded.row_of(row["file"], events)
        after = recorded.row_of(row["file"], read_again(protocol, data))
        try:
            check(before, after, losses)
        except AssertionError as error:
            raise AssertionError(f"{row['file']}: {error}") from error
        hidden = sum(call["executor"] == "provider" for call in before["tool_calls"])
        kept = sum(call["executor"] == "provider" for call in after["tool_calls"])
        losses["tools that the provider ran are left out"] += hidden - kept
    record_property("summary", _report(protocol, losses, len(rows)))


def test_chat_completions_keep_the_meaning(record_property: Any) -> None:
    def check(before: dict[str, Any], after: dict[str, Any], losses: Counter[str]) -> None:
        _compare(before, after, CHAT_FINISH, CHAT_ERRORS, losses)
        assert after["refusal"] == before["refusal"]
        assert after["outputs"] == before["outputs"]

    _check_all("openai-chat", check, record_property, include_usage=True)


def test_messages_keep_the_meaning(record_property: Any) -> None:
    def check(before: dict[str, Any], after: dict[str, Any], losses: Counter[str]) -> None:
        losses["a refusal is read as text"] += bool(before["refusal"])
        ours = [call for call in before["tool_calls"] if call["executor"] == "client"]
        cut = [call for call in ours if call["args"] == ""]
        losses["a call cut off before its arguments is read as one without any"] += len(cut)
        # The end tells: such a call is not to be run.
        assert not cut or before["finish"] == "max_tokens" or before["error"] is not None
        calls = [_as_object(call, after, losses) for call in before["tool_calls"]]
        losses["further candidates are left out"] += len(before["outputs"][1:])
        joined = dict(before, text=before["text"] + (before["refusal"] or ""), refusal=None)
        joined["tool_calls"] = calls
        if before["error"] is not None:
            # An error event has no usage.
            losses["the usage of a failed answer is left out"] += before["usage"] is not None
            joined["usage"] = None
        elif before["usage"] is not None:
            # A provider has counted more cached input than input.
            known = before["usage"]
            most = max(known["input_tokens"] or 0, known["cached_input_tokens"] or 0)
            joined["usage"] = known | {"input_tokens": most}
        _compare(joined, after, MESSAGES_FINISH, MESSAGES_ERRORS, losses)

    _check_all("anthropic-messages", check, record_property)


def test_nothing_of_an_anthropic_stream_is_lost() -> None:
    """Signatures, encrypted reasoning, tools that Anthropic ran with their results, and sources."""
    for row in recorded.rows("anthropic"):
        events = _events(row)
        again = read_again(
            "anthropic-messages",
            to_bytes("anthropic-messages", project("anthropic-messages", to_records(events))),
        )
        before, after = recorded.row_of("", events), recorded.row_of("", again)
        for name in ("signatures", "redacted", "reasoning_parts"):
            assert after[name] == before[name], (row["file"], name)
        for kind in (ev.ToolCallStarted, ev.ToolOutput, ev.OpaqueItem, ev.CitationAdded):
            assert _facts(again, kind) == _facts(events, kind), (row["file"], kind)


def _facts(events: list[ev.TurnEvent], kind: type) -> list[Any]:
    """The events of a kind, without their numbers."""
    facts: list[Any] = []
    for event in events:
        if isinstance(event, kind):
            fields = msgspec.to_builtins(event)
            facts.append({k: v for k, v in fields.items() if k not in ("part", "item", "data")})
    return facts


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic-messages"])
def test_a_whole_answer_says_what_the_stream_says(protocol: str) -> None:
    for row in recorded.rows():
        records = to_records(_events(row))
        streamed = read_again(protocol, to_bytes(protocol, project(protocol, records)))
        before = recorded.row_of("", streamed)
        if protocol == "openai-chat":
            whole: Any = openai_chat.build_completion(records)
        else:
            whole = anthropic_messages.build_message(records)
        if isinstance(whole, openai_chat.ErrorBody | anthropic_messages.ErrorBody):
            assert before["error"] is not None, row["file"]
            continue
        assert before["error"] is None, row["file"]
        texts, calls = _read_whole(protocol, whole)
        assert texts == before["text"] + (before["refusal"] or ""), row["file"]
        assert calls == [
            call["id"] for call in before["tool_calls"] if call["executor"] == "client"
        ]


def _read_whole(protocol: str, body: dict[str, Any]) -> tuple[str, list[str]]:
    if protocol == "openai-chat":
        message = body["choices"][0]["message"]
        text = (message["content"] or "") + (message["refusal"] or "")
        return text, [call["id"] for call in message.get("tool_calls", ())]
    blocks = body["content"]
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    return text, [block["id"] for block in blocks if block["type"] == "tool_use"]
