"""Any API in, any provider out: the clients of three APIs run a tool with the models of every
grammar, streamed and whole. Reasoning, call, result and the provider's own seals arrive."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from tests.doors.event_loop import in_loop
from tests.doors.stage import MODELS, Stage, stage

SCHEMA: Any = {"type": "object", "properties": {"day": {"type": "string"}}}
THOUGHT, ARGS = "I must look.", {"day": "today"}
# What each provider must get back of its first answer: a seal, or the reasoning itself.
RETURNED = {
    "gpt": "today",
    "claude": '"signature":"sig_',
    "gemini": '"thoughtSignature":"',
    "o-model": '"encrypted_content":"',
    "reasoner": THOUGHT,
    "local": THOUGHT,
    "command": THOUGHT,
}


class Seen(msgspec.Struct):
    """What a client has seen of both turns."""

    thought: str
    args: Any
    finish: str
    answer: str


async def run_chat(url: str, model: str, is_stream: bool) -> Seen:
    tool: Any = {"type": "function", "function": {"name": "tides", "parameters": SCHEMA}}
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as opened:
        client: Any = opened

        async def ask(messages: list[Any]) -> Any:
            asked: Any = {"model": model, "messages": messages, "tools": [tool]}
            asked["extra_query"] = {"thinking_blocks": "true"}
            if not is_stream:
                return (await client.chat.completions.create(**asked)).choices[0]
            async with client.chat.completions.stream(**asked) as stream:
                return (await stream.get_final_completion()).choices[0]

        question = {"role": "user", "content": "tool"}
        first = await ask([question])
        (call,) = first.message.tool_calls
        reply = first.message.model_dump(exclude_none=True)
        result = {"role": "tool", "tool_call_id": call.id, "content": "noon"}
        last = await ask([question, reply, result])
        return Seen(
            thought=first.message.reasoning_content,
            args=msgspec.json.decode(call.function.arguments),
            finish=first.finish_reason,
            answer=last.message.content,
        )


async def run_messages(url: str, model: str, is_stream: bool) -> Seen:
    tool: Any = {"name": "tides", "input_schema": SCHEMA}
    async with AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as opened:
        client: Any = opened

        async def ask(messages: list[Any]) -> Any:
            asked: Any = {"model": model, "messages": messages, "tools": [tool], "max_tokens": 99}
            if not is_stream:
                return await client.messages.create(**asked)
            async with client.messages.stream(**asked) as stream:
                return await stream.get_final_message()

        question = {"role": "user", "content": "tool"}
        first = await ask([question])
        (call,) = [block for block in first.content if block.type == "tool_use"]
        reply = [block.model_dump(exclude_none=True) for block in first.content]
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "noon"}
        last = await ask(
            [
                question,
                {"role": "assistant", "content": reply},
                {"role": "user", "content": [result]},
            ]
        )
        thoughts = [block.thinking for block in first.content if block.type == "thinking"]
        return Seen("".join(thoughts), call.input, first.stop_reason, last.content[-1].text)


async def run_responses(url: str, model: str, is_stream: bool) -> Seen:
    tool: Any = {"type": "function", "name": "tides", "parameters": SCHEMA, "strict": False}
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as opened:
        client: Any = opened

        async def ask(items: list[Any]) -> Any:
            asked: Any = {"model": model, "input": items, "tools": [tool], "store": False}
            asked["include"] = ["reasoning.encrypted_content"]
            if not is_stream:
                return await client.responses.create(**asked)
            async with client.responses.stream(**asked) as stream:
                return await stream.get_final_response()

        question = {"role": "user", "content": "tool"}
        first = await ask([question])
        (call,) = [item for item in first.output if item.type == "function_call"]
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "noon"}
        reply = [item.model_dump(exclude_none=True, exclude={"parsed"}) for item in first.output]
        for item in reply:
            item.pop("parsed_arguments", None)
        last = await ask([question, *reply, result])
        thoughts = [
            part.text
            for item in first.output
            if item.type == "reasoning"
            for part in [*item.summary, *(item.content or ())]
        ]
        args = msgspec.json.decode(call.arguments)
        return Seen("".join(thoughts), args, first.status, last.output_text)


Door = Callable[[str, str, bool], Awaitable[Seen]]
DOORS: dict[str, tuple[Door, str]] = {
    "chat": (run_chat, "tool_calls"),
    "messages": (run_messages, "tool_use"),
    "responses": (run_responses, "completed"),
}


async def check(staged: Stage, door: str, model: str, is_stream: bool) -> None:
    run, finish = DOORS[door]
    seen = await run(staged.url, model, is_stream)
    assert seen == Seen(THOUGHT, ARGS, finish, "Found: noon.")
    sent = staged.providers.calls[-1].body.decode()
    assert RETURNED[model] in sent, sent
    assert "noon" in sent
    # Envelopes of the server are opened before a provider gets them.
    assert "headrace1." not in sent


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("door", DOORS)
@in_loop
async def test_a_tool_loop_with_reasoning_and_seals(tmp_path: Path, door: str, model: str) -> None:
    async with stage(tmp_path) as staged:
        for is_stream in (False, True):
            await check(staged, door, model, is_stream)
        await staged.until_idle()
        rows = await staged.usage_rows()
        assert [row["name"] for row in rows] == [model] * 4
