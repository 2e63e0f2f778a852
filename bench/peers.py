"""The peers, each fed the given reads through its own HTTP client: no socket, no waiting.

A peer is made with its clients and then run, so that only the stream is measured. Each run
counts what came out, so that a peer which quietly gave up is noticed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx

from headrace import decode_async

Run = Callable[[], int]

_URL = "https://bench.invalid/v1"
_CHAT_MODEL = "gpt-5-mini"
_CLAUDE = "claude-sonnet-4-5"
_MESSAGES = [{"role": "user", "content": "How much water reaches the wheel?"}]


class _Body(httpx.AsyncByteStream):  # type: ignore[misc,unused-ignore]
    def __init__(self, reads: list[bytes]) -> None:
        self._reads = reads

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for read in self._reads:
            yield read


def http_client(reads: list[bytes]) -> Any:
    """A client that answers every request with the reads."""

    def answer(_: httpx.Request) -> httpx.Response:
        headers = {"content-type": "text/event-stream; charset=utf-8"}
        return httpx.Response(200, headers=headers, stream=_Body(reads))

    return httpx.AsyncClient(transport=httpx.MockTransport(answer), trust_env=False)


# -- ourselves and nobody behind the same client, to tell what the client costs


def bare_httpx(reads: list[bytes]) -> Run:
    client = http_client(reads)

    async def read() -> int:
        async with client.stream("POST", _URL) as response:
            return await _count(response.aiter_bytes())

    return _run(read)


def headrace_behind_httpx(reads: list[bytes], dialect: str) -> Run:
    client = http_client(reads)

    async def read() -> int:
        async with client.stream("POST", _URL) as response:
            return await _count(decode_async(response.aiter_bytes(), dialect))

    return _run(read)


# -- chat


def openai_sdk(reads: list[bytes]) -> Run:
    client = _openai_client(reads)

    async def read() -> int:
        return await _count(
            await client.chat.completions.create(model=_CHAT_MODEL, messages=_MESSAGES, stream=True)
        )

    return _run(read)


def openai_sdk_responses(reads: list[bytes]) -> Run:
    client = _openai_client(reads)

    async def read() -> int:
        return await _count(
            await client.responses.create(model=_CHAT_MODEL, input="How much?", stream=True)
        )

    return _run(read)


def pydantic_ai_chat(reads: list[bytes]) -> Run:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(openai_client=_openai_client(reads))
    return _pydantic_ai(OpenAIChatModel(_CHAT_MODEL, provider=provider))


def pydantic_ai_run(reads: list[bytes]) -> Run:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(openai_client=_openai_client(reads))
    agent: Any = Agent(OpenAIChatModel(_CHAT_MODEL, provider=provider))

    async def read() -> int:
        async with agent.run_stream_events("How much water reaches the wheel?") as events:
            return await _count(events)

    return _run(read)


def openai_agents_run(reads: list[bytes]) -> Run:
    import agents

    agents.set_tracing_disabled(True)
    model = agents.OpenAIChatCompletionsModel(_CHAT_MODEL, _openai_client(reads))
    agent = agents.Agent(name="bench", model=model)

    async def read() -> int:
        run = agents.Runner.run_streamed(agent, "How much water reaches the wheel?")
        return await _count(run.stream_events())

    return _run(read)


def litellm_chat(reads: list[bytes]) -> Run:
    return _litellm(f"openai/{_CHAT_MODEL}", _openai_client(reads))


def _openai_client(reads: list[bytes]) -> Any:
    import openai

    http = http_client(reads)
    return openai.AsyncOpenAI(api_key="none", base_url=_URL, http_client=http, max_retries=0)


# -- typed results


def survey_model() -> Any:
    """The pydantic model of `bench.typed.Survey`."""
    from pydantic import BaseModel

    class Place(BaseModel):
        name: str
        level_m: float
        is_rising: bool
        note: str

    class Survey(BaseModel):
        title: str
        places: list[Place]

    return Survey


def pydantic_ai_result(reads: list[bytes]) -> Run:
    agent = _typed_agent(reads)

    async def read() -> int:
        async with agent.run_stream(_MESSAGES[0]["content"]) as result:
            return len((await result.get_output()).places)

    return _run(read)


def pydantic_ai_partials(reads: list[bytes]) -> Run:
    agent = _typed_agent(reads)

    async def read() -> int:
        async with agent.run_stream(_MESSAGES[0]["content"]) as result:
            return await _count(result.stream_output(debounce_by=None))

    return _run(read)


def _typed_agent(reads: list[bytes]) -> Any:
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(openai_client=_openai_client(reads))
    output = NativeOutput(survey_model())
    return Agent(OpenAIChatModel(_CHAT_MODEL, provider=provider), output_type=output)


def instructor_partials(reads: list[bytes]) -> Run:
    import instructor

    mode = instructor.Mode.JSON_SCHEMA
    client: Any = instructor.from_openai(_openai_client(reads), mode=mode)
    model = survey_model()

    async def read() -> int:
        return await _count(
            client.chat.completions.create_partial(
                model=_CHAT_MODEL, messages=_MESSAGES, response_model=model
            )
        )

    return _run(read)


# -- Anthropic


def anthropic_sdk(reads: list[bytes]) -> Run:
    client = _anthropic_client(reads)

    async def read() -> int:
        return await _count(
            await client.messages.create(
                model=_CLAUDE, messages=_MESSAGES, max_tokens=1024, stream=True
            )
        )

    return _run(read)


def pydantic_ai_anthropic(reads: list[bytes]) -> Run:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    provider = AnthropicProvider(anthropic_client=_anthropic_client(reads))
    return _pydantic_ai(AnthropicModel(_CLAUDE, provider=provider))


def litellm_anthropic(reads: list[bytes]) -> Run:
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    handler = AsyncHTTPHandler()
    handler.client = http_client(reads)
    return _litellm(f"anthropic/{_CLAUDE}", handler)


def _anthropic_client(reads: list[bytes]) -> Any:
    import anthropic

    client = http_client(reads)
    return anthropic.AsyncAnthropic(
        api_key="none", base_url=_URL, http_client=client, max_retries=0
    )


# -- what several share


def _pydantic_ai(model: Any) -> Run:
    from pydantic_ai.direct import model_request_stream
    from pydantic_ai.messages import ModelRequest

    messages = [ModelRequest.user_text_prompt(_MESSAGES[0]["content"])]

    async def read() -> int:
        async with model_request_stream(model, messages) as stream:
            return await _count(stream)

    return _run(read)


def _litellm(model: str, client: Any) -> Run:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False

    async def read() -> int:
        return await _count(
            await litellm.acompletion(
                model=model, messages=_MESSAGES, stream=True, client=client, api_key="none"
            )
        )

    return _run(read)


async def _count(things: AsyncIterator[Any]) -> int:
    count = 0
    async for _ in things:
        count += 1
    return count


def _run(read: Callable[[], Awaitable[int]]) -> Run:
    async def main() -> int:
        return await read()

    return lambda: asyncio.run(main())
