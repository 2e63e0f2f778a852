"""The page about the gateway: its file is read, its command and its request work as they stand."""

from __future__ import annotations

import asyncio
import re
import shlex
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from headrace.rehearsal.script import say, turn, usage
from headrace.server.gateway import read_gateway_config
from headrace.server.storage.usage.usage_table import UsageTable
from tests.server.gateway.upstream import upstream
from tests.server.serving import scripted, served
from tests.server.tokens import create_token

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "howto" / "gateway.md").read_text("utf-8")
ADDRESS = "http://127.0.0.1:8700"


def find_block(language: str, word: str) -> str:
    """The block of the page in this language that has a word."""
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return next(block for block in blocks if word in block)


def test_the_file_and_the_request_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-a")
    monkeypatch.setenv("OPENAI_KEY_OF_THE_TEAM", "sk-o")
    command = find_block("console", "curl").removeprefix("$ ").replace("\\\n", " ")
    _, url, *options = shlex.split(command)
    headers = [value for flag, value in pairwise(options) if flag == "-H"]
    body = options[options.index("-d") + 1]

    async def main() -> None:
        async with upstream(lambda _: turn(say("Hello."), usage(7, 3))) as providers:
            path = tmp_path / "providers.toml"
            address = f'[providers.anthropic]\nbase_url = "{providers.url}/to-anthropic"\n'
            path.write_text(find_block("toml", "[models") + address)
            config = read_gateway_config(path)
            agent = scripted(turn(say("The agent.")))
            async with served(agent, tmp_path / "data", gateway=config, needs_token=True) as site:
                token = create_token(site.service, "anna", "", 1)
                sent = dict(header.replace("hr_…", token).split(": ", 1) for header in headers)
                _, listed = await site.get("/v1/models", headers=sent)
                assert [model["id"] for model in listed["data"]] == ["default", "fast"]
                address = url.replace(ADDRESS, site.url)
                async with site.http.post(address, data=body, headers=sent) as response:
                    assert response.status == 200
                    answer = msgspec.json.decode(await response.read())
                assert answer["choices"][0]["message"]["content"] == "Hello."
                _, asked, received = providers.requests[0]
                assert asked["x-api-key"] == "sk-a"
                assert (received["model"], received["max_tokens"]) == ("claude-haiku-4-5", 4000)
                (total,) = UsageTable(site.service.database).sum_up(["user", "model"])
                assert total.group == ("anna", "anthropic:claude-haiku-4-5")
                assert "anna  anthropic:claude-haiku-4-5" in find_block("console", "usage --by")

    asyncio.run(main())
