"""The Responses door in front of six grammars, with OpenAI's packages for Node and Python."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from openai import AsyncOpenAI

from tests.clients.node import needs_packages, run_script
from tests.doors.event_loop import in_loop
from tests.doors.stage import MODELS, stage

TIDES: Any = {
    "type": "function",
    "name": "tides",
    "parameters": {"type": "object", "properties": {"day": {"type": "string"}}},
    "strict": False,
}
# What the scripted provider of each model seals its reasoning or calls with.
SEALS = {
    "claude": '"signature":"',
    "gemini": '"thoughtSignature":"',
    "o-model": '"encrypted_content":"',
}


@needs_packages
def test_the_package_for_node(tmp_path: Path) -> None:
    async def main() -> dict[str, str | None]:
        async with stage(tmp_path) as staged:
            errors: dict[str, str | None] = await run_script("responses.mjs", staged.url)
            return errors

    errors = asyncio.run(main())
    assert {name: error for name, error in errors.items() if error is not None} == {}
    assert len(errors) == 8


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("store", [True, False])
@in_loop
async def test_a_tool_loop_with_any_provider(tmp_path: Path, model: str, store: bool) -> None:
    """Whether the server keeps the conversation or the client does, text, reasoning and calls come
    through, and the provider gets its own seals back."""
    async with (
        stage(tmp_path) as staged,
        AsyncOpenAI(base_url=f"{staged.url}/v1", api_key="none", max_retries=0) as client,
    ):
        create: Any = client.responses.create
        asked: dict[str, Any] = {"model": model, "tools": [TIDES], "store": store}
        if not store:
            asked["include"] = ["reasoning.encrypted_content"]
        first = await create(input="tool", **asked)
        call: Any = next(item for item in first.output if item.type == "function_call")
        assert call.arguments == '{"day":"today"}'
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "noon"}
        if store:
            more: dict[str, Any] = {"previous_response_id": first.id, "input": [result]}
        else:
            items = [item.to_dict() for item in first.output]
            more = {"input": [{"role": "user", "content": "tool"}, *items, result]}
        second = await create(**more, **asked)
        assert second.output_text == "Found: noon."
        sent = msgspec.json.encode(staged.providers.requests[-1]).decode()
        assert "noon" in sent
        assert SEALS.get(model, "") in sent
        await staged.until_idle()
        while staged.service.runs.count:
            await asyncio.sleep(0.005)
        rows = await staged.usage_rows()
        assert [(row["door"], row["name"]) for row in rows] == [("openai-responses", model)] * 2
