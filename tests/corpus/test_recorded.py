"""Every recorded stream of a dialect that we speak: exact, legal, and the same however
its bytes are cut."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.wire.framing import FRAMINGS as KNOWN_FRAMINGS
from tests.corpus import recorded
from tests.grammar import check_grammar
from tests.wire import events_of, random_cuts, single_bytes

pytestmark = pytest.mark.shared(recorded.MANIFEST)

ROWS = recorded.rows()
each_stream = pytest.mark.parametrize("row", ROWS, ids=[row["file"][8:] for row in ROWS])

# Rows of expected.jsonl that are wrong, with the reason. There are none so far.
WRONG_EXPECTATIONS: dict[str, str] = {}
# What several messages in one file should become is anybody's guess: those are not scored.
SCORED = [
    row
    for row in ROWS
    if not recorded.expected()[row["file"]]["ambiguous"] and row["file"] not in WRONG_EXPECTATIONS
]


def decode(row: dict[str, Any], reads: Any = None) -> list[ev.TurnEvent]:
    data = recorded.read(row)
    cut = data if reads is None else reads(data)
    return events_of(cut, framing=recorded.FRAMINGS[row["framing"]])


@pytest.mark.parametrize("row", SCORED, ids=[row["file"][8:] for row in SCORED])
def test_the_stream_is_exact(row: dict[str, Any]) -> None:
    expected = recorded.expected()[row["file"]]
    result = recorded.row_of(row["file"], decode(row))
    verdict = recorded.compare().compare(expected, result, strict_error=True)
    assert verdict["core"], verdict["why"]
    assert verdict["all"], verdict["why"]
    assert all(verdict["extras"].values()), verdict["extras"]


@each_stream
def test_the_events_obey_the_grammar(row: dict[str, Any]) -> None:
    check_grammar(decode(row))


@each_stream
def test_any_cut_gives_the_same_events(row: dict[str, Any]) -> None:
    whole = decode(row)
    assert decode(row, single_bytes) == whole
    assert decode(row, lambda data: random_cuts(data, seed=1)) == whole
    assert decode(row, lambda data: random_cuts(data, seed=2, pieces=400)) == whole


@each_stream
def test_the_prefix_of_a_stream_is_legal_too(row: dict[str, Any]) -> None:
    """A cut at any read ends in one terminal event, with every part closed."""
    data = recorded.read(row)
    for at in range(0, len(data), max(1, len(data) // 12)):
        events = events_of(data[:at], framing=recorded.FRAMINGS[row["framing"]])
        check_grammar(events)


def test_no_item_type_is_dropped(record_property: Any) -> None:
    """Counted from the other side: every block, call, content entry and reasoning entry
    that has something in it, by its type on the wire, against the parts it became."""
    dropped: Counter[str] = Counter()
    for row in ROWS:
        if not recorded.expected()[row["file"]]["ambiguous"]:
            dropped += _wire_items(row) - _our_items(decode(row))
    record_property(
        "summary", f"item types dropped over {len(ROWS)} recorded streams: {dropped.total()}"
    )
    assert not dropped


def _payloads(row: dict[str, Any]) -> list[Any]:
    framing = KNOWN_FRAMINGS[recorded.FRAMINGS[row["framing"]]]()
    frames = framing.feed(recorded.read(row)) + framing.close()
    if framing.unfinished is not None:
        frames.append(framing.unfinished)
    return [_json(frame.data) for frame in frames]


def _json(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return {}


def _wire_items(row: dict[str, Any]) -> Counter[str]:
    payloads = [payload for payload in _payloads(row) if isinstance(payload, dict)]
    match row["api"]:
        case "anthropic" | "bedrock-invoke-anthropic":
            return _anthropic_items(payloads)
        case "bedrock-converse":
            return _converse_items(payloads)
        case "openai-responses":
            return _responses_items(payloads)
        case "gemini":
            return _gemini_items(payloads)
        case _:
            return _chat_items(payloads)


def _anthropic_items(payloads: list[dict[str, Any]]) -> Counter[str]:
    filled = {
        payload["index"]
        for payload in payloads
        if payload.get("type") == "content_block_delta"
        and any(
            value
            for key, value in payload["delta"].items()
            if key not in ("type", "estimated_tokens")
        )
    }
    items: Counter[str] = Counter()
    for payload in payloads:
        if payload.get("type") != "content_block_start":
            continue
        block = payload["content_block"]
        kind = block["type"]
        if kind in ("text", "thinking") and payload["index"] not in filled and not block.get(kind):
            continue
        items[_family(kind)] += 1
    return items


def _converse_items(payloads: list[dict[str, Any]]) -> Counter[str]:
    """Calls and results of tools, which have a start; of prose only whether there is any."""
    items: Counter[str] = Counter()
    for payload in payloads:
        start = payload.get("start") or payload.get("contentBlockStart", {}).get("start") or {}
        items["call"] += "toolUse" in start
        items["output"] += "toolResult" in start
        delta = payload.get("delta") or payload.get("contentBlockDelta", {}).get("delta") or {}
        thought = delta.get("reasoningContent") or {}
        items["redacted"] += "redactedContent" in thought
        items["text"] = max(items["text"], int(bool(delta.get("text"))))
        items["reasoning"] = max(items["reasoning"], int(bool(thought.get("text"))))
    return items


def _family(kind: str) -> str:
    if kind.endswith("tool_use"):
        return "call"
    if kind.endswith("tool_result"):
        return "output"
    known = {"text": "text", "thinking": "reasoning", "redacted_thinking": "redacted"}
    return known.get(kind, f"opaque:{kind}")


def _chat_items(payloads: list[dict[str, Any]]) -> Counter[str]:
    """Calls by choice and id or index; of prose only whether there is any."""
    calls: set[Any] = set()
    items: Counter[str] = Counter()
    for payload in payloads:
        for choice in payload.get("choices") or ():
            delta = choice.get("delta") or {}
            for call in delta.get("tool_calls") or ():
                calls.add((choice["index"], call.get("index", call.get("id"))))
            if delta.get("function_call"):
                calls.add((choice["index"], "legacy"))
            for detail in delta.get("reasoning_details") or ():
                items["redacted"] += detail["type"] == "reasoning.encrypted"
            content = delta.get("content")
            for entry in content if isinstance(content, list) else ():
                assert entry["type"] in ("text", "thinking"), entry
    items["call"] = len(calls)
    return items


def _responses_items(payloads: list[dict[str, Any]]) -> Counter[str]:
    """Finished items of the first response, by what they become."""
    items: Counter[str] = Counter()
    for payload in payloads:
        if payload.get("type") == "response.completed":
            break
        if payload.get("type") != "response.output_item.done":
            continue
        item = payload["item"]
        kind = item["type"]
        if kind == "message":
            items["text"] += any(
                part.get("text") or part.get("refusal") for part in item["content"]
            )
        elif kind == "reasoning":
            items["reasoning"] += 1
        elif kind.endswith("_call") or kind in ("program", "mcp_approval_request"):
            items["call"] += 1
        elif kind.endswith("_output"):
            items["output"] += 1
        else:
            items[f"opaque:{kind}"] += 1
    return items


def _gemini_items(payloads: list[dict[str, Any]]) -> Counter[str]:
    """Parts of each kind; of streamed prose only whether there is any."""
    items: Counter[str] = Counter()
    for payload in payloads:
        for candidate in payload.get("candidates") or ():
            for part in (candidate.get("content") or {}).get("parts") or ():
                kind = next(key for key in part if key not in ("thought", "thoughtSignature"))
                if kind == "text" and part["text"]:
                    items["reasoning" if part.get("thought") else "text"] = 1
                elif kind in ("executableCode", "toolCall"):
                    items["call"] += 1
                elif kind == "functionCall":
                    items["call"] += "name" in part["functionCall"]
                elif kind in ("codeExecutionResult", "toolResponse"):
                    items["output"] += 1
                elif kind == "inlineData":
                    items["media"] += 1
                elif kind != "text":
                    items[f"opaque:{kind}"] += 1
    return items


def _our_items(events: list[ev.TurnEvent]) -> Counter[str]:
    seen: dict[tuple[str, int], None] = {}
    for event in events:
        match event:
            case ev.TextStarted():
                seen["text", event.item] = None
            case ev.ReasoningStarted():
                seen["reasoning", event.item] = None
            case ev.ReasoningRedacted():
                seen["redacted", event.item] = None
            case ev.ToolCallStarted():
                seen["call", event.item] = None
            case ev.ToolOutput():
                seen["output", event.item] = None
            case ev.MediaProduced():
                seen["media", event.item] = None
            case ev.OpaqueItem():
                seen[f"opaque:{event.kind}", event.item] = None
            case _:
                pass
    return Counter(kind for kind, _ in seen)
