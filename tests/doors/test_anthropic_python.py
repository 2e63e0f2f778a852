"""The `anthropic` package for Python against `/v1/messages`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic

from headrace.messages.seal_envelope import is_envelope
from tests.doors.stage import Stage, stage
from tests.server.tokens import create_token

Check = Callable[[Stage, AsyncAnthropic], Awaitable[None]]
TOOL: Any = {
    "name": "tides",
    "input_schema": {"type": "object", "properties": {"day": {"type": "string"}}},
}
ALL_MODELS = ("gpt", "claude", "gemini", "o-model", "reasoner", "command")


def run(tmp_path: Path, check: Check, **settings: Any) -> None:
    async def play() -> None:
        async with stage(tmp_path, **settings) as staged:
            client = AsyncAnthropic(base_url=staged.url, api_key="none", max_retries=0)
            async with client:
                await check(staged, client)
                await staged.until_idle()

    asyncio.run(play())


def user(content: Any) -> Any:
    return {"role": "user", "content": content}


async def create(client: AsyncAnthropic, text: str, model: str = "helper", **fields: Any) -> Any:
    ask: Any = client.messages.create
    return await ask(model=model, max_tokens=2000, messages=[user(text)], **fields)


async def stream(
    client: AsyncAnthropic, messages: Any, model: str, **fields: Any
) -> tuple[Any, list[Any]]:
    """The final message, and all events."""
    events: list[Any] = []
    open_stream: Any = client.messages.stream
    async with open_stream(model=model, max_tokens=2000, messages=messages, **fields) as answer:
        async for event in answer:
            events.append(event)  # noqa: PERF401
        return await answer.get_final_message(), events


async def read_events(events: list[Any], answer: Any) -> None:
    """Collect the events, also those before an error."""
    async for event in answer:
        events.append(event)  # noqa: PERF401


def blocks_of(message: Any) -> list[str]:
    return [block.type for block in message.content]


def test_text_and_usage(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncAnthropic) -> None:
        for model in ("helper", *ALL_MODELS):
            whole = await create(client, "text", model)
            assert [block.text for block in whole.content] == ["Hello from the script."]
            assert (whole.stop_reason, whole.model) == ("end_turn", model)
            assert whole.usage.output_tokens == 7
            final, events = await stream(client, [user("text")], model)
            assert blocks_of(final) == ["text"]
            assert final.content[0].text == "Hello from the script."
            assert final.usage.output_tokens == 7
            assert [event.type for event in events][-1] == "message_stop"
            total = final.usage.input_tokens + (final.usage.cache_read_input_tokens or 0)
            assert total == 11, model

    run(tmp_path, check)


def test_thinking_with_signatures(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncAnthropic) -> None:
        for model in ("helper", "claude", "gpt", "reasoner"):
            for message in (
                await create(client, "think", model),
                (await stream(client, [user("think")], model))[0],
            ):
                assert blocks_of(message) == ["thinking", "text"]
                assert message.content[0].thinking == "Let me see."
                # A signature of another provider names where it is from.
                assert is_envelope(message.content[0].signature) == (model != "claude")
        hidden = await create(client, "hidden", "claude")
        assert blocks_of(hidden) == ["redacted_thinking", "text"]
        assert hidden.content[0].data == "secret"

    run(tmp_path, check)


@pytest.mark.parametrize("word", ["tool", "parallel"])
def test_the_clients_own_tools(tmp_path: Path, word: str) -> None:
    async def check(staged: Stage, client: AsyncAnthropic) -> None:
        for model in ALL_MODELS:
            whole = await create(client, word, model, tools=[TOOL])
            message, _ = await stream(client, [user(word)], model, tools=[TOOL])
            assert whole.stop_reason == message.stop_reason == "tool_use"
            calls = [block for block in message.content if block.type == "tool_use"]
            days = [call.input["day"] for call in calls]
            assert days == (["today", "tomorrow"] if word == "parallel" else ["today"])
            assert days == [b.input["day"] for b in whole.content if b.type == "tool_use"]
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": f"noon {number}"}
                for number, call in enumerate(calls)
            ]
            content = [block.model_dump(exclude_none=True) for block in message.content]
            history = [user(word), {"role": "assistant", "content": content}, user(results)]
            last, _ = await stream(client, history, model, tools=[TOOL])
            assert last.content[0].text.startswith("Found: noon 0"), model

    run(tmp_path, check)


def test_signatures_of_every_provider_come_back_to_it(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncAnthropic) -> None:
        seals = {"claude": "sig_", "gemini": "thoughtSignature", "o-model": "encrypted_content"}
        for model, mark in seals.items():
            message, _ = await stream(client, [user("tool")], model, tools=[TOOL])
            call = next(block for block in message.content if block.type == "tool_use")
            content = [block.model_dump(exclude_none=True) for block in message.content]
            result = {"type": "tool_result", "tool_use_id": call.id, "content": "noon"}
            history = [user("tool"), {"role": "assistant", "content": content}, user([result])]
            await stream(client, history, model, tools=[TOOL])
            sent = staged.providers.calls[-1].body.decode()
            assert mark in sent, (model, sent)
            assert "headrace1." not in sent

    run(tmp_path, check)


def test_the_agents_own_tools_run_here(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncAnthropic) -> None:
        message, _ = await stream(client, [user("parallel")], "helper")
        texts = [block.text for block in message.content]
        assert texts == ["Two at once.", "Found: noon today, noon tomorrow."]
        assert sorted(staged.ran) == ["today", "tomorrow"]
        with pytest.raises(anthropic.BadRequestError, match="own tools"):
            await create(client, "text", tools=[TOOL])
        asked = await create(client, "ask")
        assert "nobody can be asked here" in asked.content[-1].text
        assert "launched" not in staged.ran

    run(tmp_path, check)


def test_structured_output_and_images(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncAnthropic) -> None:
        schema = {"type": "object", "properties": {"city": {"type": "string"}}}
        config = {"format": {"type": "json_schema", "schema": schema}}
        source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
        image = {"type": "image", "source": source}
        for model in ("helper", "claude", "gpt"):
            answer = await create(client, "schema", model, output_config=config)
            assert answer.content[0].text == '{"city":"Oslo","people":700000}'
            assert "city" in staged.providers.calls[-1].body.decode()
            await stream(client, [user([image, {"type": "text", "text": "text"}])], model)
            assert "iVBORw0KGgo=" in staged.providers.calls[-1].body.decode()

    run(tmp_path, check)


@pytest.mark.parametrize("is_stream", [False, True])
def test_errors_before_the_stream_have_a_status(tmp_path: Path, is_stream: bool) -> None:
    async def check(staged: Stage, client: AsyncAnthropic) -> None:
        for model in ("helper", "claude", "gpt"):
            with pytest.raises(anthropic.RateLimitError) as limited:
                await create(client, "refuse", model, stream=is_stream)
            assert limited.value.body["error"]["type"] == "rate_limit_error"  # type: ignore[index]
            with pytest.raises(anthropic.BadRequestError) as long:
                await create(client, "overflow", model, stream=is_stream)
            assert long.value.body["type"] == "error"  # type: ignore[index]
        with pytest.raises(anthropic.NotFoundError):
            await create(client, "text", "nobody", stream=is_stream)
        bash = {"type": "bash_20250124", "name": "bash"}
        with pytest.raises(anthropic.BadRequestError, match=r"tools\[0\]"):
            await create(client, "text", "gpt", tools=[bash], stream=is_stream)
        await create(client, "text", "claude", tools=[bash])

    run(tmp_path, check)


@pytest.mark.parametrize("word", ["error", "cut"])
def test_errors_in_the_stream_are_raised(tmp_path: Path, word: str) -> None:
    async def check(staged: Stage, client: AsyncAnthropic) -> None:
        for model in ("helper", "claude", "gpt"):
            answer = await create(client, word, model, stream=True)
            events: list[Any] = []
            with pytest.raises(anthropic.APIError):
                await read_events(events, answer)
            assert not {event.type for event in events} & {"message_delta", "message_stop"}
            with pytest.raises(anthropic.InternalServerError):
                await create(client, word, model)

    run(tmp_path, check)


def test_stop_reasons(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncAnthropic) -> None:
        for model in ("helper", "claude", "gpt", "gemini"):
            assert (await create(client, "length", model)).stop_reason == "max_tokens"
            assert (await create(client, "filter", model)).stop_reason == "refusal"

    run(tmp_path, check)


def test_a_client_that_leaves_ends_the_run(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncAnthropic) -> None:
        for model in ("helper", "claude"):
            answer = await create(client, "slow", model, stream=True)
            async for event in answer:
                if event.type == "content_block_delta":
                    break
            await answer.close()
            await staged.until_idle()
            for is_stream in (False, True):
                asked = asyncio.ensure_future(create(client, "silent", model, stream=is_stream))
                while not staged.providers.open_streams:
                    await asyncio.sleep(0.005)
                asked.cancel()
                await staged.until_idle()
        rows = await staged.usage_rows()
        assert [row["outcome"] for row in rows] == ["left"] * 6
        assert {row["door"] for row in rows} == {"anthropic-messages"}
        # What was sent is counted, although the provider has reported nothing.
        begun = rows[::3]
        assert all(row["input_tokens"] and row["output_tokens"] for row in begun)
        assert not await staged.service.database.fetch("SELECT * FROM conversations")

    run(tmp_path, check)


def test_tokens_are_counted(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncAnthropic) -> None:
        counts: list[int] = []
        for model in ("helper", "gpt", "claude"):
            count: Any = client.messages.count_tokens
            few = await count(model=model, messages=[user("text")])
            many = await count(model=model, messages=[user("text " * 100)])
            assert 0 < few.input_tokens < many.input_tokens
            counts.append(few.input_tokens)
        # The instructions and tools of the agent count.
        assert counts[0] > counts[1]

    run(tmp_path, check)


def test_an_access_token_is_taken_as_api_key_and_as_bearer(tmp_path: Path) -> None:
    async def check(staged: Stage, client: AsyncAnthropic) -> None:
        with pytest.raises(anthropic.AuthenticationError):
            await create(client, "text")
        value = create_token(staged.service, "anna", "laptop", 0)
        by_key = client.with_options(api_key=value)
        assert (await create(by_key, "text")).content
        async with AsyncAnthropic(base_url=staged.url, auth_token=value) as by_bearer:
            assert (await create(by_bearer, "text")).content

    run(tmp_path, check, needs_token=True)
