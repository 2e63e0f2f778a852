"""Counts that only prices depend on: searches, sound, images, and prompts of provider-run tools."""

from __future__ import annotations

from typing import Any

from headrace.usage import Usage
from tests.wire import chunk, events_of, sse, usage_of


def test_searches_of_the_responses_api_are_counted_and_opened_pages_are_not() -> None:
    def search(kind: str | None) -> dict[str, Any]:
        action = {} if kind is None else {"action": {"type": kind}}
        return {"type": "web_search_call", "id": "ws", "status": "completed", **action}

    files = {"type": "file_search_call", "id": "fs", "status": "completed", "queries": []}
    items = [search("search"), search("open_page"), search(None), files]
    counts = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
    response = {"id": "r", "model": "gpt-5", "status": "completed", "usage": counts}
    data = sse(
        {"type": "response.created", "response": {"id": "r", "model": "gpt-5"}},
        {"type": "response.completed", "response": {**response, "output": items}},
        done=False,
        names=True,
    )
    usage = usage_of(events_of(data, "responses"))
    assert usage.units == {"web_searches": 2, "storage_searches": 1}
    assert usage.input_tokens == 10


def test_searches_of_claude_are_counted() -> None:
    start = {"id": "m", "model": "claude-x", "usage": {"input_tokens": 5, "output_tokens": 1}}
    end = {"output_tokens": 9, "server_tool_use": {"web_search_requests": 3}}
    data = sse(
        {"type": "message_start", "message": start},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": end},
        {"type": "message_stop"},
        done=False,
        names=True,
    )
    assert usage_of(events_of(data, "anthropic")).units == {"web_searches": 3}


def test_sound_in_chat_is_counted() -> None:
    counts = {
        "prompt_tokens": 10,
        "completion_tokens": 8,
        "prompt_tokens_details": {"audio_tokens": 6},
        "completion_tokens_details": {"audio_tokens": 5},
    }
    data = sse(chunk({"content": "Hm"}), chunk({}, finish="stop", usage=counts))
    units = {"input_audio_tokens": 6, "output_audio_tokens": 5}
    assert usage_of(events_of(data, "chat")).units == units


def test_modalities_of_gemini_are_counted_once_over_all_chunks() -> None:
    def part(text: str, **metadata: Any) -> dict[str, Any]:
        candidate = {"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}
        return {"candidates": [candidate], "usageMetadata": metadata, "modelVersion": "gemini-x"}

    heard = [{"modality": "AUDIO", "tokenCount": 7}, {"modality": "TEXT", "tokenCount": 3}]
    drawn = [{"modality": "IMAGE", "tokenCount": 20}]
    cached = [{"modality": "AUDIO", "tokenCount": 2}]
    data = sse(
        part("a", promptTokenCount=10, promptTokensDetails=heard),
        part(
            "b",
            promptTokenCount=10,
            promptTokensDetails=heard,
            candidatesTokenCount=21,
            candidatesTokensDetails=drawn,
            cachedContentTokenCount=2,
            cacheTokensDetails=cached,
            toolUsePromptTokenCount=4,
        ),
        done=False,
    )
    usage = usage_of(events_of(data, "gemini"))
    assert usage.input_tokens == 10
    assert usage.units == {
        "input_audio_tokens": 7,
        "cache_audio_read_tokens": 2,
        "output_image_tokens": 20,
        "input_tool_tokens": 4,
    }


def test_details_that_are_not_utf8_are_left_out() -> None:
    """Found by the fuzzer: the bytes of the details are decoded apart from their frame."""
    usage = b'{"promptTokenCount":10,"promptTokensDetails":[{"modality":"\xc0"}]}'
    candidate = b'{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}'
    data = b'data: {"candidates":[' + candidate + b'],"usageMetadata":' + usage + b"}\n\n"
    found = usage_of(events_of(data, "gemini"))
    assert found.input_tokens == 10
    assert found.units is None


def test_units_are_added_over_turns_and_replaced_by_later_reports() -> None:
    first, second = Usage(units={"web_searches": 2}), Usage(units={"web_searches": 3, "x": 1})
    assert (first + second).units == {"web_searches": 5, "x": 1}
    assert first.merge(second).units == {"web_searches": 3, "x": 1}
    assert second.merge(Usage()).units == second.units
    assert (first + Usage()).units == (Usage() + first).units == first.units
    assert not Usage(is_estimated=True).is_known
    assert (Usage(is_estimated=True) + Usage()).is_estimated
