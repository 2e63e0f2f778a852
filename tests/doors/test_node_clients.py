"""The `openai` and `@anthropic-ai/sdk` packages for Node. One process makes all checks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.clients.node import needs_packages, run_script
from tests.doors.stage import stage

MODELS = ("helper", "gpt", "claude")


def play(tmp_path: Path, script: str) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        async with stage(tmp_path) as staged:
            report: dict[str, Any] = await run_script(script, staged.url)
            await staged.until_idle()
            return report

    return asyncio.run(run())


def check_common(report: dict[str, Any]) -> None:
    for model in MODELS:
        told = report[model]
        assert told["text"]["whole"] == "Hello from the script."
        assert (told["text"]["thought"], told["text"]["said"]) == ("Let me see.", "Done.")
        assert told["text"]["tokens"] == 9
        assert told["schema"] == {"city": "Oslo", "people": 700_000}
        assert told["image"] == "Hello from the script."
        assert told["refused"]["status"] == 429
        assert told["broken"]["kind"] == told["cut"]["kind"] == "APIError"
        assert told["failed"]["status"] == 503
        assert told["left"] == "left"
    for model in MODELS[1:]:
        loop = report[model]["loop"]
        assert loop == {"days": ["today", "tomorrow"], "found": "Found: noon 0, noon 1."}


@needs_packages
def test_openai(tmp_path: Path) -> None:
    report = play(tmp_path, "openai.mjs")
    check_common(report)
    for model in MODELS:
        assert report[model]["text"]["finish"] == "stop"
        assert report[model]["broken"]["said"] == "Half an "
    assert report["models"][:2] == ["helper", "gpt"]


@needs_packages
def test_anthropic(tmp_path: Path) -> None:
    report = play(tmp_path, "anthropic.mjs")
    check_common(report)
    for model in MODELS:
        assert report[model]["text"]["is_signed"]
        assert report[model]["text"]["stop"] == "end_turn"
        assert "message_stop" not in report[model]["broken"]["seen"]
        assert report[model]["tokens"] > 0
