"""The cost of every recorded stream is what `genai-prices` computes from its raw payload."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import genai_prices
import msgspec
import pytest

from headrace import events as ev
from headrace.prices.cost import find_cost
from headrace.providers import Provider
from headrace.usage import Usage
from headrace.wire.framing import FRAMINGS
from tests.corpus import recorded
from tests.wire import events_of, usage_of

pytestmark = pytest.mark.shared(recorded.MANIFEST)

# The names of the recordings and those of the price lists, where they differ.
PRICE_LISTS: dict[str, str] = {
    "bedrock": "aws",
    "copilot": "github-copilot",
    "moonshot": "moonshotai",
    "vertex": "google",
    "vertex-anthropic": "google",
    "xai": "x-ai",
}
FLAVORS = {"openai-chat": ("chat", "default"), "openai-responses": ("responses",)}
# A zero at the end does not replace an earlier count (decision 0006).
KEPT_COUNTS = {"streams/anthropic/anthropic-sdk-python__lib-streaming-refusal_response.sse"}
AT = datetime(2026, 11, 1, 12, tzinfo=UTC)
PAYLOAD = dict[str, Any]


def payloads_of(row: PAYLOAD) -> list[PAYLOAD]:
    framing = FRAMINGS[recorded.FRAMINGS[row["framing"]]]()
    frames = framing.feed(recorded.read(row)) + framing.close()
    if framing.unfinished is not None:
        frames.append(framing.unfinished)
    payloads = [_decode(frame.data) for frame in frames]
    return [payload for payload in payloads if isinstance(payload, dict)]


def _decode(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return None


# --- the final payload of a stream, found without a decoder ---------------------------------


def final_chat(payloads: list[PAYLOAD]) -> PAYLOAD | None:
    told = [payload for payload in payloads if payload.get("usage")]
    return told[-1] if told else None


def final_responses(payloads: list[PAYLOAD]) -> PAYLOAD | None:
    told = [p["response"] for p in payloads if (p.get("response") or {}).get("usage")]
    return told[-1] if told else None


def final_anthropic(payloads: list[PAYLOAD]) -> PAYLOAD | None:
    usage: PAYLOAD = {}
    model = None
    for payload in payloads:
        message = payload.get("message") or {}
        model = model or message.get("model")
        for report in (message.get("usage"), payload.get("usage")):
            usage |= {name: value for name, value in (report or {}).items() if value is not None}
    return {"model": model, "usage": usage} if usage else None


def final_gemini(payloads: list[PAYLOAD]) -> PAYLOAD | None:
    usage: PAYLOAD = {}
    for payload in payloads:
        usage |= payload.get("usageMetadata") or {}
    models = [p["modelVersion"] for p in payloads if "modelVersion" in p]
    return {"modelVersion": models[0] if models else None, "usageMetadata": usage}


FINALS: dict[str, Callable[[list[PAYLOAD]], PAYLOAD | None]] = {
    "openai-chat": final_chat,
    "openai-responses": final_responses,
    "anthropic": final_anthropic,
    "gemini": final_gemini,
}


def extract(row: PAYLOAD) -> Any:
    """What genai-prices extracts from the final payload; None where it cannot."""
    find_final = FINALS.get(row["api"])
    final = find_final(payloads_of(row)) if find_final else None
    if final is None:
        return None
    name = PRICE_LISTS.get(row["provider"], str(row["provider"]))
    flavors = FLAVORS.get(row["api"], ("default",))
    if row["api"] == "anthropic" and name != "anthropic":
        flavors = ("anthropic",)
    for flavor in flavors:
        try:
            found = genai_prices.extract_usage(final, provider_id=name, api_flavor=flavor)
        except (LookupError, ValueError, AttributeError):
            continue
        if found.model is None:
            continue
        count_searches(found.usage, final)
        try:
            return float(found.calc_price(genai_request_timestamp=AT).total_price)
        except ValueError:
            continue
    return None


def count_searches(usage: Any, final: PAYLOAD) -> None:
    """Add the searches of the Responses API, which its usage leaves out."""
    for item in final.get("output") or ():
        action = (item.get("action") or {}).get("type", "search")
        if item["type"] == "web_search_call" and action == "search":
            usage.web_searches = usage.reported_value("web_searches") + 1
        if item["type"] == "file_search_call":
            usage.storage_searches = usage.reported_value("storage_searches") + 1


def ours(row: PAYLOAD) -> tuple[Usage, float | None]:
    events = events_of(recorded.read(row), framing=recorded.FRAMINGS[row["framing"]])
    start = next(event for event in events if isinstance(event, ev.TurnStarted))
    usage = usage_of(events)
    name = PRICE_LISTS.get(row["provider"], str(row["provider"]))
    cost = find_cost(usage, Provider(name=name, title=name), [start.model or ""], at=AT)
    return usage, cost


def test_the_cost_of_every_recorded_stream_is_that_of_its_raw_payload(record_property: Any) -> None:
    wrong: list[str] = []
    priced = 0
    for row in recorded.rows():
        is_scored = not recorded.expected()[row["file"]]["ambiguous"]
        expected = extract(row) if is_scored and row["file"] not in KEPT_COUNTS else None
        if expected is None:
            continue
        priced += 1
        usage, cost = ours(row)
        if cost != pytest.approx(expected, rel=1e-9):
            wrong.append(f"{row['file']}: {cost} and not {expected}: {usage}")
    record_property("summary", f"costs of {priced} recorded streams are exact")
    assert not wrong, "\n".join(wrong)
    assert priced > 250
