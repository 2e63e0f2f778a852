"""Costs that other libraries get wrong, by the numbers of their public issues."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Agent, Run, stream
from headrace import events as ev
from headrace.testing import ScriptedTransport, run_virtual, say, turn
from headrace.transport.retry import NEVER
from headrace.usage import Usage
from tests.engine.test_next_request import Played
from tests.wire import chunk, sse

SONNET = "anthropic:claude-sonnet-4-5"
DIALECTS = {SONNET: "anthropic", "openai:gpt-5": "responses", "openai-chat:gpt-5": "chat"}


def messages_stream(
    start: dict[str, Any], end: dict[str, Any] | None, *texts: str, model: str = "claude-sonnet-4-5"
) -> bytes:
    """A Messages stream; without an end it is cut after its texts."""
    message = {"id": "m", "model": model, "usage": start}
    block = {"type": "text", "text": ""}
    events: list[Any] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
    ]
    for text in texts:
        delta = {"type": "text_delta", "text": text}
        events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    if end is not None:
        events.append({"type": "content_block_stop", "index": 0})
        reason = {"stop_reason": "end_turn"}
        events.append({"type": "message_delta", "delta": reason, "usage": end})
        events.append({"type": "message_stop"})
    return sse(*events, done=False, names=True)


def ask(model: str, data: bytes) -> Usage:
    with stream(model, "Hi", api_key="k", transport=Played(data), policy=NEVER) as answer:
        list(answer)
    assert answer.usage == answer.result.usage == answer.message.usage
    return answer.usage


def test_litellm_11789_cached_input_of_a_stream_has_the_price_of_a_cache_read() -> None:
    start = {"input_tokens": 4, "cache_read_input_tokens": 2455, "output_tokens": 1}
    data = messages_stream(start, {"output_tokens": 23}, "Hello", model="claude-3-5-haiku-20241022")
    usage = ask("anthropic:claude-3-5-haiku-latest", data)
    assert usage.input_tokens == 2459
    # The figure is 0.000292; it was told 0.002059.
    assert usage.cost == pytest.approx(0.000292, abs=1e-6)


def test_litellm_36168_usage_beside_a_choice_is_read() -> None:
    counts = {
        "prompt_tokens": 16111,
        "completion_tokens": 2,
        "total_tokens": 16113,
        "prompt_tokens_details": {"cached_tokens": 15872},
    }
    last = {
        "id": "r",
        "model": "gpt-5",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {}}],
        "usage": counts,
    }
    data = sse(chunk({"content": "ok"}, model="gpt-5"), chunk({}, finish="stop"), last)
    usage = ask("openai-chat:gpt-5", data)
    assert usage.cached_input_tokens == 15872
    assert usage.cost == pytest.approx((239 * 1.25 + 15872 * 0.125 + 2 * 10) / 1e6)


def test_litellm_42663_all_cache_writes_of_a_server_tool_are_paid() -> None:
    breakdown = {"ephemeral_5m_input_tokens": 31490, "ephemeral_1h_input_tokens": 0}
    start = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 31490,
        "cache_creation": breakdown,
        "output_tokens": 1,
    }
    end = {
        "input_tokens": 123201,
        "cache_creation_input_tokens": 184457,
        "cache_read_input_tokens": 426653,
        "output_tokens": 100,
        "server_tool_use": {"web_search_requests": 5},
    }
    data = messages_stream(start, end, "Found.", model="claude-haiku-4-5")
    usage = ask("anthropic:claude-haiku-4-5", data)
    assert usage.input_tokens == 734311
    tokens = 123201 * 1 + 184457 * 1.25 + 426653 * 0.1 + 100 * 5
    assert usage.cost == pytest.approx(tokens / 1e6 + 5 * 0.01)


def abort(model: str, *lines: Any) -> Run:
    """A run that is cancelled after a few words."""
    transport = ScriptedTransport([turn(*lines, pace_s=1)], dialect=DIALECTS[model])
    agent = Agent(model, api_key="k", transport=transport, policy=NEVER)

    async def main() -> Run:
        async with agent.run("Write a long essay about the tides.") as run:
            async for event in run:
                texts = len(run.message.turns[-1].text) if run.message.turns else 0
                if isinstance(event, ev.TextDelta) and texts > 100:
                    run.cancel()
        return run

    return run_virtual(main())


@pytest.mark.parametrize("model", DIALECTS)
def test_openai_agents_js_995_an_aborted_run_has_used_something(model: str) -> None:
    usage = abort(model, say("The tides are " * 50)).result.usage
    assert usage.is_estimated
    assert (usage.input_tokens or 0) > 5
    assert (usage.output_tokens or 0) > 0
    assert (usage.cost or 0) > 0


def test_openai_agents_js_995_so_has_a_stream_that_is_left() -> None:
    transport = ScriptedTransport([turn(say("The tides are " * 50))], dialect="responses")
    with stream("openai:gpt-5", "An essay", api_key="k", transport=transport) as answer:
        for event in answer:
            if isinstance(event, ev.TextDelta):
                break
    assert answer.usage.is_estimated
    assert answer.result.usage == answer.usage
    assert (answer.usage.cost or 0) > 0


def test_bifrost_3709_the_output_of_an_aborted_stream_is_paid() -> None:
    """`message_start` counts one output token; what was generated since is estimated."""
    texts = ["The tides rise and fall. "] * 806
    data = messages_stream({"input_tokens": 35, "output_tokens": 1}, None, *texts)
    usage = ask(SONNET, data)
    assert usage.is_estimated
    assert usage.input_tokens == 35
    assert usage.output_tokens == pytest.approx(806 * 6, rel=0.1)
    assert usage.cost == pytest.approx((35 * 3 + (usage.output_tokens or 0) * 15) / 1e6)
