"""The `openai` package for Python against `/v1/chat/completions`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel

from tests.doors.stage import Stage, stage
from tests.server.tokens import create_token

Check = Callable[[Stage, AsyncOpenAI], Awaitable[None]]
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "tides",
        "parameters": {"type": "object", "properties": {"day": {"type": "string"}}},
    },
}
PIXEL = "data:image/png;base64,iVBORw0KGgo="


def run(tmp_path: Path, check: Check, **settings: Any) -> None:
    async def play() -> None:
        async with stage(tmp_path, **settings) as staged:
            client = AsyncOpenAI(base_url=f"{staged.url}/v1", api_key="none", max_retries=0)
            async with client:
                await check(staged, client)
                await staged.until_idle()

    asyncio.run(play())


def user(text: str) -> Any:
    return {"role": "user", "content": text}


async def complete(client: AsyncOpenAI, text: str, model: str = "helper", **fields: Any) -> Any:
    create: Any = client.chat.completions.create
    return await create(model=model, messages=[user(text)], **fields)


async def collect(stream: Any) -> list[Any]:
    return [chunk async for chunk in stream]


async def extend(chunks: list[Any], stream: Any) -> None:
    """Collect the chunks, also those before an error."""
    async for chunk in stream:
        chunks.append(chunk)  # noqa: PERF401


def text_of(chunks: list[Any]) -> str:
    deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    return "".join(delta.content or "" for delta in deltas)


def test_text_and_usage(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncOpenAI) -> None:
        for model in ["helper", "gpt", "claude", "gemini", "o-model", "command"]:
            whole = await complete(client, "text", model)
            assert whole.choices[0].message.content == "Hello from the script."
            assert whole.choices[0].finish_reason == "stop"
            assert whole.usage.completion_tokens == 7
            assert whole.model == model
            assert whole.id.startswith("chatcmpl-")
            chunks = await collect(
                await complete(
                    client, "text", model, stream=True, stream_options={"include_usage": True}
                )
            )
            assert text_of(chunks) == "Hello from the script."
            assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
            assert chunks[-1].usage.completion_tokens == 7
            without = await collect(await complete(client, "text", model, stream=True))
            assert all(chunk.usage is None for chunk in without)

    run(tmp_path, check)


def test_reasoning_has_one_field(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncOpenAI) -> None:
        whole = await complete(client, "think")
        assert whole.choices[0].message.reasoning_content == "Let me see."
        assert whole.usage.completion_tokens_details.reasoning_tokens == 4
        chunks = await collect(await complete(client, "think", stream=True))
        deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
        thought = [getattr(delta, "reasoning_content", None) or "" for delta in deltas]
        assert "".join(thought) == "Let me see."
        assert not any(hasattr(delta, "reasoning") for delta in deltas)
        other = await complete(client, "think", extra_query={"reasoning_field": "reasoning"})
        assert other.choices[0].message.reasoning == "Let me see."
        assert not hasattr(other.choices[0].message, "reasoning_content")
        with pytest.raises(openai.BadRequestError) as refused:
            await complete(client, "think", extra_query={"reasoning_field": "both"})
        assert refused.value.param == "reasoning_field"

    run(tmp_path, check)


@pytest.mark.parametrize("word", ["tool", "parallel"])
def test_the_clients_own_tools(tmp_path: Path, word: str) -> None:
    async def check(staged: Stage, client: AsyncOpenAI) -> None:
        for model in ["gpt", "claude", "gemini", "o-model", "reasoner", "command"]:
            query = {"thinking_blocks": "true"}
            async with client.chat.completions.stream(
                model=model, messages=[user(word)], tools=[TOOL], extra_query=query
            ) as stream:
                async for _ in stream:
                    pass
                message = (await stream.get_final_completion()).choices[0].message
            whole = await complete(client, word, model, tools=[TOOL], extra_query=query)
            assert whole.choices[0].finish_reason == "tool_calls"
            arguments = [one.function.arguments for one in message.tool_calls or ()]
            assert arguments == [
                one.function.arguments for one in whole.choices[0].message.tool_calls
            ]
            assert len(arguments) == (2 if word == "parallel" else 1)
            messages: list[Any] = [user(word), message.model_dump(exclude_none=True)]
            messages += [
                {"role": "tool", "tool_call_id": one.id, "content": f"noon {number}"}
                for number, one in enumerate(message.tool_calls or ())
            ]
            last = await client.chat.completions.create(
                model=model, messages=messages, tools=[TOOL]
            )
            found = "Found: noon 0, noon 1." if word == "parallel" else "Found: noon 0."
            assert last.choices[0].message.content == found

    run(tmp_path, check)


def test_signatures_of_every_provider_come_back_to_it(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncOpenAI) -> None:
        seals = {"claude": "sig_", "gemini": "thoughtSignature", "o-model": "encrypted_content"}
        for model, mark in seals.items():
            for is_stream in (False, True):
                messages: list[Any] = [user("tool")]
                reply = await ask_for_call(client, model, messages, is_stream)
                call = reply["tool_calls"][0]
                result = {"role": "tool", "tool_call_id": call["id"], "content": "noon"}
                messages += [reply, result]
                await client.chat.completions.create(model=model, messages=messages, tools=[TOOL])
                sent = staged.providers.calls[-1].body.decode()
                assert mark in sent, (model, sent)
                assert "headrace1." not in sent

    run(tmp_path, check)


async def ask_for_call(
    client: AsyncOpenAI, model: str, messages: list[Any], is_stream: bool
) -> dict[str, Any]:
    """The message with the call, as the client would send it back."""
    query = {"thinking_blocks": "true"}
    if is_stream:
        async with client.chat.completions.stream(
            model=model, messages=messages, tools=[TOOL], extra_query=query
        ) as stream:
            completion: Any = await stream.get_final_completion()
    else:
        completion = await client.chat.completions.create(
            model=model, messages=messages, tools=[TOOL], extra_query=query
        )
    reply: dict[str, Any] = completion.choices[0].message.model_dump(exclude_none=True)
    return reply


def test_the_agents_own_tools_run_here(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncOpenAI) -> None:
        chunks = await collect(await complete(client, "parallel", stream=True))
        assert text_of(chunks) == "Two at once.\n\nFound: noon today, noon tomorrow."
        assert not any(choice.delta.tool_calls for chunk in chunks for choice in chunk.choices)
        whole = await complete(client, "tool")
        assert whole.choices[0].message.tool_calls is None
        assert whole.choices[0].finish_reason == "stop"
        assert sorted(staged.ran) == ["today", "today", "tomorrow"]
        with pytest.raises(openai.BadRequestError) as refused:
            await complete(client, "text", tools=[TOOL])
        assert refused.value.param == "tools"

    run(tmp_path, check)


def test_an_approval_is_denied_with_the_reason(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncOpenAI) -> None:
        whole = await complete(client, "ask")
        assert "nobody can be asked here" in whole.choices[0].message.content
        assert not staged.ran

    run(tmp_path, check)


class City(BaseModel):
    city: str
    people: int


def test_structured_output(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncOpenAI) -> None:
        for model in ["helper", "gpt", "claude"]:
            parsed = await client.chat.completions.parse(
                model=model, messages=[user("schema")], response_format=City
            )
            assert parsed.choices[0].message.parsed == City(city="Oslo", people=700_000)
            assert "people" in str(staged.providers.requests[-1])

    run(tmp_path, check)


def test_images_reach_the_model(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncOpenAI) -> None:
        content: Any = [
            {"type": "text", "text": "text"},
            {"type": "image_url", "image_url": {"url": PIXEL}},
        ]
        for model in ("helper", "claude"):
            messages: Any = [{"role": "user", "content": content}]
            await client.chat.completions.create(model=model, messages=messages)
        assert PIXEL in str(staged.providers.by_dialect["chat"].requests)
        assert "iVBORw0KGgo=" in str(staged.providers.by_dialect["anthropic"].requests)

    run(tmp_path, check)


@pytest.mark.parametrize("is_stream", [False, True])
def test_errors_before_the_stream_have_a_status(tmp_path: Path, is_stream: bool) -> None:
    async def check(staged: Stage, client: AsyncOpenAI) -> None:
        for model in ["helper", "gpt", "claude"]:
            with pytest.raises(openai.RateLimitError) as limited:
                await complete(client, "refuse", model, stream=is_stream)
            assert limited.value.type == "rate_limit_error"
            with pytest.raises(openai.BadRequestError) as long:
                await complete(client, "overflow", model, stream=is_stream)
            assert long.value.code == "context_length_exceeded"

    run(tmp_path, check)


def test_wrong_requests_are_refused(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncOpenAI) -> None:
        with pytest.raises(openai.NotFoundError) as unknown:
            await complete(client, "text", "nobody")
        assert unknown.value.param == "model"
        with pytest.raises(openai.BadRequestError) as many:
            await complete(client, "text", n=2)
        assert many.value.param == "n"
        assert not staged.providers.calls

    run(tmp_path, check)


@pytest.mark.parametrize("word", ["error", "cut"])
def test_errors_in_the_stream_are_raised(tmp_path: Path, word: str) -> None:
    async def check(staged: Stage, client: AsyncOpenAI) -> None:
        for model in ["helper", "gpt", "claude"]:
            stream = await complete(client, word, model, stream=True)
            chunks: list[Any] = []
            with pytest.raises(openai.APIError):
                await extend(chunks, stream)
            assert text_of(chunks) == "Half an "
            assert not any(choice.finish_reason for chunk in chunks for choice in chunk.choices)
            with pytest.raises(openai.InternalServerError):
                await complete(client, word, model)

    run(tmp_path, check)


@pytest.mark.parametrize(("word", "reason"), [("length", "length"), ("filter", "content_filter")])
def test_finish_reasons(tmp_path: Path, word: str, reason: str) -> None:
    async def check(staged: Stage, client: AsyncOpenAI) -> None:
        for model in ("helper", "gpt", "claude", "gemini"):
            assert (await complete(client, word, model)).choices[0].finish_reason == reason

    run(tmp_path, check)


def test_a_client_that_leaves_ends_the_run(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncOpenAI) -> None:
        for model in ["helper", "gpt", "claude"]:
            stream = await complete(client, "slow", model, stream=True)
            async for chunk in stream:
                if chunk.choices and chunk.choices[0].delta.content:
                    break
            assert staged.providers.open_streams == 1
            await stream.close()
            await staged.until_idle()
            for word in ("slow", "silent"):
                for is_stream in (False, True):
                    if word == "slow" and is_stream:
                        continue
                    asked = asyncio.ensure_future(complete(client, word, model, stream=is_stream))
                    while not staged.providers.open_streams:
                        await asyncio.sleep(0.005)
                    asked.cancel()
                    await staged.until_idle()

    run(tmp_path, check)


def test_a_model_that_is_silent_for_long_does_not_delay_the_stream(tmp_path: Path) -> None:
    """Proxies close connections without traffic: comments are sent while the model thinks."""

    async def check(staged: Stage, client: AsyncOpenAI) -> None:
        create = client.chat.completions.with_streaming_response.create
        for model in ("helper", "gpt", "claude"):
            messages = [user("silent")]
            async with create(model=model, messages=messages, stream=True) as raw:
                assert raw.status_code == 200
                async for line in raw.iter_lines():
                    assert line.startswith(":")
                    break
            await staged.until_idle()
            late = await complete(client, "late", model, stream=True)
            with pytest.raises(openai.APIError):
                await collect(late)
            # A whole answer has a status, however long it takes.
            with pytest.raises(openai.InternalServerError):
                await complete(client, "late", model)

    run(tmp_path, check, heartbeat_s=0.05)


def test_an_access_token_is_required(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncOpenAI) -> None:
        with pytest.raises(openai.AuthenticationError):
            await complete(client, "text")
        value = create_token(staged.service, "anna", "laptop", 0)
        known = client.with_options(api_key=value)
        assert (await complete(known, "text")).choices[0].message.content
        listed = [model.id async for model in known.models.list()]
        assert listed[:2] == ["helper", "gpt"]

    run(tmp_path, check, needs_token=True)
