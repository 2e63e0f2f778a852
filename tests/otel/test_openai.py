"""Beside the instrumentation of OpenAI's SDK, on the same exchange, attributes are the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from openai import AsyncOpenAI
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

from headrace.engine import Agent
from headrace.transport.retry import NEVER
from tests.otel.traced import Traces
from tests.transport.upstream import END, Peer, chunked, head, upstream

# Times differ.
_TIMES = {"gen_ai.response.time_to_first_chunk"}


def _chunk(delta: Any, finish: str | None = None, **more: Any) -> bytes:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-5-2026",
        "choices": choices,
        **more,
    }
    return b"data: %b\n\n" % json.dumps(body).encode()


USAGE = {
    "prompt_tokens": 20,
    "completion_tokens": 9,
    "total_tokens": 29,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
STREAM = (
    _chunk({"role": "assistant", "content": "Hello"}),
    _chunk({"content": " there."}),
    _chunk({}, "stop"),
    _chunk({}, None, usage=USAGE).replace(
        b'"choices": [{"index": 0, "delta": {}, "finish_reason": null}]', b'"choices": []'
    ),
    b"data: [DONE]\n\n",
)
OPTIONS: dict[str, Any] = {
    "temperature": 0.5,
    "top_p": 0.9,
    "seed": 7,
    "frequency_penalty": 0.1,
    "presence_penalty": 0.2,
}


async def _answer(peer: Peer) -> None:
    await peer.send(head())
    for piece in STREAM:
        await peer.send(chunked(piece))
    await peer.send(END)


@pytest.fixture(name="theirs")
def _theirs() -> Iterator[Traces]:
    traces = Traces(has_recorded_ids=False)
    instrumentor: Any = OpenAIInstrumentor()
    instrumentor.instrument(tracer_provider=traces.provider, meter_provider=traces.meters)
    yield traces
    instrumentor.uninstrument()


def test_shared_attributes_and_metrics_are_equal(theirs: Traces) -> None:
    ours = Traces()

    async def main() -> None:
        async with upstream(_answer) as peer:
            base = f"http://127.0.0.1:{peer.port}/v1"
            async with AsyncOpenAI(base_url=base, api_key="k", max_retries=0) as client:
                messages: Any = [{"role": "user", "content": "Hi?"}]
                stream = await client.chat.completions.create(
                    model="gpt-5",
                    messages=messages,
                    stream=True,
                    stream_options={"include_usage": True},
                    stop=["end"],
                    **OPTIONS,
                )
                assert [chunk async for chunk in stream]
            agent: Agent[Any] = Agent(
                "openai-chat:gpt-5",
                base_url=base,
                api_key="k",
                policy=NEVER,
                stop=["end"],
                middleware=[ours.telemetry],
                **OPTIONS,
            )
            result = await agent.complete_async("Hi?")
            assert result.text == "Hello there."

    asyncio.run(main())
    (their_chat,) = theirs.spans
    (our_chat,) = [span for span in ours.spans if span.name.startswith("chat")]
    assert our_chat.name == their_chat.name == "chat gpt-5"
    assert our_chat.kind == their_chat.kind
    mine, other = dict(our_chat.attributes or {}), dict(their_chat.attributes or {})
    shared = mine.keys() & other.keys() - _TIMES
    assert {name: mine[name] for name in shared} == {name: other[name] for name in shared}
    assert len(shared) >= 18, sorted(shared)
    missing = other.keys() - mine.keys()
    assert not missing, missing
    _compare_metrics(ours, theirs)


def _compare_metrics(ours: Traces, theirs: Traces) -> None:
    our_metrics, their_metrics = ours.metrics(), theirs.metrics()
    shared = our_metrics.keys() & their_metrics.keys()
    assert "gen_ai.client.token.usage" in shared
    assert "gen_ai.client.operation.duration" in shared
    for name in shared:
        mine, other = our_metrics[name], their_metrics[name]
        assert {tuple(sorted(p.attributes.items())) for p in mine} == {
            tuple(sorted(p.attributes.items())) for p in other
        }, name
        assert {tuple(p.explicit_bounds) for p in mine} == {tuple(p.explicit_bounds) for p in other}
    tokens = "gen_ai.client.token.usage"
    assert sorted(p.sum for p in our_metrics[tokens]) == sorted(
        p.sum for p in their_metrics[tokens]
    )
