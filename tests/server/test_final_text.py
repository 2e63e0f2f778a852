"""The server repeats the text of reasoning parts if its setting says so."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headrace.rehearsal.script import say, think, turn
from tests.server.serving import frames, scripted, served

THOUGHT = turn(think("Let me see."), say("Yes."))


@pytest.mark.parametrize("has_final_text", [True, False])
def test_final_text_is_sent_live_and_resumed_if_it_is_set(
    has_final_text: bool, tmp_path: Path
) -> None:
    async def main() -> None:
        async with served(scripted(THOUGHT), tmp_path, has_final_text=has_final_text) as server:
            event_id, _, whole = await server.ask("Go.", protocol="ux")
            await server.idle()
            async with server.resume(event_id, protocol="ux") as response:
                again = await response.read()
        expected = ["Let me see."] if has_final_text else [None]
        assert _final_texts(whole) == _final_texts(again) == expected

    asyncio.run(main())


def _final_texts(stream: bytes) -> list[Any]:
    told = [msgspec.json.decode(data) for _, data in frames(stream)]
    completed = [one for one in told if one["type"] == "reasoning_part_completed"]
    return [frame.get("final_text") for frame in completed]
