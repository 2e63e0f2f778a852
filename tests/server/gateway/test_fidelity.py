"""What the operator sets and what clients send reaches the provider; what the provider says about
itself does not reach the client."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import refuse, say, turn
from headrace.server.storage.usage.usage_table import UsageTable
from tests.server.gateway.test_gateway import QUESTION, chat, gateway, key, post
from tests.server.gateway.upstream import KEY, PROVIDERS

__all__ = ["key"]

OPTIONS = """
[models.short]
model = "openai-chat:scripted"
options = { max_tokens = 77, temperature = 0.3 }
[models.brief]
model = "anthropic:scripted"
options = { temperature = 0.3, top_k = 5 }
"""


HISTORY = [
    {"role": "user", "content": "Hi."},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "How are you?"},
]


def say_yes(heard: Heard) -> Any:
    return turn(say("Yes."))


def refuse_key(heard: Heard) -> Any:
    return turn(refuse(401, f"the key {KEY} is wrong"))


@pytest.mark.parametrize("is_stream", [False, True])
def test_options_of_the_operator_are_defaults_in_the_same_grammar_too(
    tmp_path: Path, is_stream: bool
) -> None:
    async def main() -> None:
        async with gateway(say_yes, tmp_path, OPTIONS) as (site, providers):
            await chat(site, "short", stream=is_stream)
            sent = providers.requests[-1][2]
            assert (sent["max_completion_tokens"], sent["temperature"]) == (77, 0.3)
            assert sent["messages"] == QUESTION["messages"]
            # What the client sets counts, also under the other name of a field.
            await chat(site, "short", stream=is_stream, max_tokens=5, temperature=1)
            sent = providers.requests[-1][2]
            assert (sent["max_tokens"], sent["temperature"]) == (5, 1)
            assert "max_completion_tokens" not in sent
            asked = {"model": "brief", "max_tokens": 9, "stream": is_stream, "top_k": 2, **QUESTION}
            await post(site, "/v1/messages", asked)
            sent = providers.requests[-1][2]
            assert (sent["temperature"], sent["top_k"], sent["max_tokens"]) == (0.3, 2, 9)

    asyncio.run(main())


@pytest.mark.parametrize("model", ["gemini", "anthropic", "responses"])
def test_a_count_of_tokens_does_not_tell_keys_and_addresses(tmp_path: Path, model: str) -> None:
    async def main() -> None:
        async with gateway(refuse_key, tmp_path) as (site, providers):
            status, body = await post(
                site, "/v1/messages/count_tokens", {"model": model, **QUESTION}
            )
            assert len(providers.requests) == 1
            assert status == 502
            assert KEY.encode() not in body
            assert providers.url.rpartition(":")[2].encode() not in body
            assert msgspec.json.decode(body)["error"]["type"] == "api_error"

    asyncio.run(main())


def test_compaction_does_not_tell_keys_and_addresses(tmp_path: Path) -> None:
    async def main() -> None:
        async with gateway(refuse_key, tmp_path) as (site, providers):
            for model in PROVIDERS:
                asked = {"model": model, "input": HISTORY}
                status, body = await post(site, "/v1/responses/compact", asked)
                assert status == 502
                assert KEY.encode() not in body
                assert providers.url.rpartition(":")[2].encode() not in body

    asyncio.run(main())


def test_a_compaction_is_in_the_table_of_usage(tmp_path: Path) -> None:
    async def main() -> None:
        async with gateway(say_yes, tmp_path) as (site, _):
            asked = {"model": "chat", "input": HISTORY}
            status, body = await post(site, "/v1/responses/compact", asked)
            assert status == 200
            (total,) = UsageTable(site.service.database).sum_up(["name", "door"])
            assert total.group == ("chat", "openai-responses")
            told = msgspec.json.decode(body)["usage"]
            assert (total.input_tokens, total.output_tokens) == (
                told["input_tokens"],
                told["output_tokens"],
            )

    asyncio.run(main())


@pytest.mark.parametrize("store", [False, True])
def test_tools_of_the_provider_reach_it_whether_or_not_the_answer_is_stored(
    tmp_path: Path, store: bool
) -> None:
    tools = [{"type": "web_search", "filters": {"allowed_domains": ["example.org"]}}]

    async def main() -> None:
        async with gateway(say_yes, tmp_path) as (site, providers):
            asked = {"model": "anthropic", "input": "Hi.", "tools": tools, "store": store}
            status, _ = await post(site, "/v1/responses", asked)
            assert status == 200
            (sent,) = providers.requests[-1][2]["tools"]
            assert sent["name"] == "web_search"
            assert sent["allowed_domains"] == ["example.org"]

    asyncio.run(main())


def test_the_password_of_an_mcp_server_is_not_stored(tmp_path: Path) -> None:
    server = {"type": "mcp", "server_label": "docs", "server_url": "https://example.org/mcp"}
    tools = [{**server, "authorization": "a-password", "require_approval": "never"}]

    async def main() -> None:
        async with gateway(say_yes, tmp_path) as (site, providers):
            asked = {"model": "responses", "input": "Hi.", "tools": tools}
            status, body = await post(site, "/v1/responses", asked)
            assert status == 400
            assert b"store=false" in body
            status, _ = await post(site, "/v1/responses", {**asked, "store": False})
            assert status == 200
            assert providers.requests[-1][2]["tools"][0]["authorization"] == "a-password"

    asyncio.run(main())


SAME_ONLY = [
    ("/v1/messages", "anthropic", {"tools": [{"type": "bash_20250124", "name": "bash"}]}),
    ("/v1/messages", "anthropic", {"tools": [{"type": "memory_20250818", "name": "memory"}]}),
    ("/v1/chat/completions", "chat", {"n": 2}),
    ("/v1/chat/completions", "chat", {"tools": [{"type": "custom", "custom": {"name": "edit"}}]}),
    (
        "/v1/responses",
        "responses",
        {"store": False, "tools": [{"type": "custom", "name": "apply_patch"}]},
    ),
    ("/v1/responses", "responses", {"store": False, "tools": [{"type": "local_shell"}]}),
]


@pytest.mark.parametrize(("path", "model", "fields"), SAME_ONLY)
def test_what_only_one_grammar_knows_is_passed_on_to_it_and_refused_elsewhere(
    tmp_path: Path, path: str, model: str, fields: dict[str, Any]
) -> None:
    more = f"""
[models.safe]
model = "{PROVIDERS[model]}:scripted"
fallback = ["gemini:scripted"]
"""

    async def main() -> None:
        async with gateway(say_yes, tmp_path, more) as (site, providers):
            question = {"input": "Hi."} if path == "/v1/responses" else QUESTION
            asked = {"max_tokens": 9, **question, **fields}
            for name in (model, "safe"):
                status, body = await post(site, path, {"model": name, **asked})
                assert status == 200, body
                sent = providers.requests[-1][2]
                assert {field: sent[field] for field in fields} == fields
            count = len(providers.requests)
            for other in ("gemini", "default"):
                status, body = await post(site, path, {"model": other, **asked})
                assert status == 400
                error = msgspec.json.decode(body)["error"]
                assert "not " in error["message"]
                named = next(iter(name for name in fields if name != "store"))
                assert named in error.get("param", named)
            assert len(providers.requests) == count

    asyncio.run(main())


def test_a_user_who_may_use_nothing_gets_an_empty_list(tmp_path: Path) -> None:
    async def main() -> None:
        async with gateway(say_yes, tmp_path) as (site, _):
            site.service.agents.clear()
            site.service.gateway = None
            headers = {"anthropic-version": "2023-06-01"}
            status, listed = await site.get("/v1/models", headers=headers)
            assert (status, listed["data"]) == (200, [])

    asyncio.run(main())


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/v1/embeddings", "not_found"),
        ("/v1/responses/resp_x", "not_found"),
        ("/v1/models/x", "model_not_found"),
    ],
)
def test_only_a_missing_model_has_the_code_for_it(tmp_path: Path, path: str, code: str) -> None:
    async def main() -> None:
        async with (
            gateway(say_yes, tmp_path) as (site, _),
            site.http.get(site.url + path) as response,
        ):
            assert response.status == 404
            assert (await response.json())["error"]["code"] == code

    asyncio.run(main())


def create_question(door: str, number: int) -> tuple[str, dict[str, Any]]:
    """Return the address and the body of a new question."""
    name = f"c{number}"
    parts = [{"type": "text", "text": "Hi."}]
    thread = {"threadId": name, "runId": name, "tools": [], "context": []}
    bodies: dict[str, tuple[str, dict[str, Any]]] = {
        "own": ("/api/chat", {"message": "Hi."}),
        "ai-sdk": (
            "/api/ai-sdk/chat",
            {"id": name, "messages": [{"id": "u", "role": "user", "parts": parts}]},
        ),
        "ag-ui": (
            "/api/ag-ui",
            {**thread, "messages": [{"id": "u", "role": "user", "content": "Hi."}]},
        ),
        "stored": ("/v1/responses", {"model": "default", "input": "Hi."}),
        "unstored": ("/v1/responses", {"model": "default", "input": "Hi.", "store": False}),
        "chat": ("/v1/chat/completions", {"model": "default", **QUESTION}),
        "messages": ("/v1/messages", {"model": "default", "max_tokens": 9, **QUESTION}),
    }
    return bodies[door]


DOORS = ("own", "ai-sdk", "ag-ui", "stored", "unstored", "chat", "messages")


@pytest.mark.parametrize("door", DOORS)
def test_every_question_counts_once_at_every_door(tmp_path: Path, door: str) -> None:
    limits = "[limits]\nrequests_per_minute = 2"

    async def main() -> None:
        async with gateway(say_yes, tmp_path, limits) as (site, _):
            # All within one minute.
            site.service.clock = lambda: 1_800_000_000_000
            found = [await post(site, *create_question(door, number)) for number in range(3)]
            assert [status for status, _ in found] == [200, 200, 429], found[-1]
            assert b"2 requests per minute" in found[-1][1]
            await site.idle()

    asyncio.run(main())
