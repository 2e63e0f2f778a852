"""The gateway from the outside: a real client, a real server and a real provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import call, cut, error, refuse, say, stall, think, turn, usage
from headrace.server.gateway import read_gateway_config
from headrace.server.storage.usage.usage_table import UsageTable
from tests.server.gateway.upstream import KEY, PROVIDERS, Upstream, upstream
from tests.server.serving import Served, scripted, served
from tests.server.tokens import create_token

QUESTION = {"messages": [{"role": "user", "content": "Hi."}]}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPERATOR_KEY", KEY)


@asynccontextmanager
async def gateway(
    play: Callable[[Heard], Any], folder: Path, more: str = "", **settings: Any
) -> AsyncIterator[tuple[Served, Upstream]]:
    """Serve a gateway to scripted providers, beside an agent."""
    async with upstream(play) as providers:
        path = folder / "providers.toml"
        path.write_text(providers.config() + "\n" + more)
        config = read_gateway_config(path)
        agent = scripted(turn(say("The agent.")))
        async with served(agent, folder / "data", gateway=config, **settings) as site:
            yield site, providers


async def post(site: Served, path: str, body: Any, **headers: str) -> tuple[int, bytes]:
    async with site.http.post(site.url + path, json=body, headers=headers) as response:
        return response.status, await response.read()


async def chat(site: Served, model: str, **more: Any) -> tuple[int, bytes]:
    return await post(site, "/v1/chat/completions", {"model": model, **QUESTION, **more})


def data_of(stream: bytes) -> list[Any]:
    """The JSON of all events; the last one of a chat is `[DONE]`."""
    lines = [line[6:] for line in stream.split(b"\n") if line.startswith(b"data: ")]
    return [line if line == b"[DONE]" else msgspec.json.decode(line) for line in lines]


def test_the_same_grammar_passes_through_unchanged(tmp_path: Path) -> None:
    def play(heard: Heard) -> Any:
        return turn(think("hm"), say("Yes, ", deltas=2), say("really."), usage(7, 3))

    async def main() -> None:
        async with gateway(play, tmp_path) as (site, providers):
            options = {"stream_options": {"include_usage": True}}
            sent = {"stream": True, "temperature": 0.5, "made_up": {"a": 1}, **options}
            status, stream = await chat(site, "chat", **sent)
            assert status == 200
            assert stream == b"".join(providers.sent)
            path, headers, body = providers.requests[0]
            assert path.endswith("/chat/completions")
            assert headers["authorization"] == f"Bearer {KEY}"
            assert body == {"model": "scripted", **QUESTION, **sent}
            asked = {"model": "anthropic", "max_tokens": 9, "stream": True, **QUESTION}
            status, stream = await post(site, "/v1/messages", asked)
            assert status == 200
            assert stream == b"".join(providers.sent)

    asyncio.run(main())


def test_a_client_that_did_not_ask_for_usage_gets_none_and_it_is_counted(tmp_path: Path) -> None:
    async def main() -> None:
        async with gateway(lambda _: turn(say("Yes."), usage(7, 3)), tmp_path) as (site, _):
            _, stream = await chat(site, "chat", stream=True)
            chunks = data_of(stream)
            assert chunks[-1] == b"[DONE]"
            assert all(chunk["choices"] for chunk in chunks[:-1])
            await wait_for(lambda: not site.service.unstored.count)
            table = UsageTable(site.service.database)
            (total,) = table.sum_up(["user", "model", "door", "outcome"])
            assert total.group == ("local", "openai-chat:scripted", "openai-chat", "end_turn")
            assert (total.answers, total.input_tokens, total.output_tokens) == (1, 7, 3)

    asyncio.run(main())


@pytest.mark.parametrize("is_stream", [False, True])
def test_keys_and_addresses_never_leave(tmp_path: Path, is_stream: bool) -> None:
    def play(heard: Heard) -> Any:
        return turn(refuse(401, f"the key {KEY} is wrong"))

    async def main() -> None:
        async with gateway(play, tmp_path) as (site, providers):
            for model in PROVIDERS:
                status, body = await chat(site, model, stream=is_stream)
                # The client's own token is fine.
                assert status == 502
                assert KEY.encode() not in body
                assert providers.url.rpartition(":")[2].encode() not in body
                fields = msgspec.json.decode(body)["error"]
                assert fields["type"] == "server_error"

    asyncio.run(main())


@pytest.mark.parametrize("model", ["chat", "anthropic"])
def test_a_stream_that_breaks_off_ends_with_an_error(tmp_path: Path, model: str) -> None:
    def play(heard: Heard) -> Any:
        return turn(say("Half an ans"), cut())

    async def main() -> None:
        async with gateway(play, tmp_path) as (site, _):
            _, stream = await chat(site, model, stream=True)
            *chunks, end, done = data_of(stream)
            assert done == b"[DONE]"
            assert "error" in end
            assert not any(choice["finish_reason"] for c in chunks for choice in c["choices"])
            asked = {"model": model, "max_tokens": 9, "stream": True, **QUESTION}
            _, stream = await post(site, "/v1/messages", asked)
            assert data_of(stream)[-1]["type"] == "error"
            assert b"message_stop" not in stream
            # Without a stream the answer is an error as a whole.
            status, _ = await chat(site, model)
            assert status == 502

    asyncio.run(main())


def test_a_client_that_leaves_ends_its_upstream(tmp_path: Path) -> None:
    async def main() -> None:
        async with gateway(lambda _: turn(say("Wait"), stall()), tmp_path) as (site, providers):
            for model in ("chat", "anthropic", "gemini"):
                asked = {"model": model, "stream": True, **QUESTION}
                url = f"{site.url}/v1/chat/completions"
                async with site.http.post(url, json=asked) as response:
                    await response.content.readany()
                    assert providers.open_streams == 1
                await wait_for(lambda: providers.open_streams == 0)
            await wait_for(lambda: not site.service.unstored.count)
            # One that waits for the whole answer leaves as well.
            asking = asyncio.create_task(chat(site, "chat"))
            await wait_for(lambda: providers.open_streams == 1)
            asking.cancel()
            await wait_for(lambda: providers.open_streams == 0)
            await wait_for(lambda: not site.service.unstored.count)
            sums = UsageTable(site.service.database).sum_up(["outcome"])
            assert [(one.group, one.answers) for one in sums] == [(("left",), 4)]

    asyncio.run(main())


async def wait_for(holds: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it does not come true")


def test_a_provider_that_is_down_is_replaced_by_one_of_another_grammar(tmp_path: Path) -> None:
    down = '[models.safe]\nmodel = "openai-chat:scripted"\nfallback = ["anthropic:scripted"]'

    def play(heard: Heard) -> Any:
        return turn(refuse(503, "down")) if heard.dialect == "chat" else turn(say("Instead."))

    async def main() -> None:
        async with gateway(play, tmp_path, down) as (site, providers):
            _, stream = await chat(site, "safe", stream=True)
            chunks = data_of(stream)[:-1]
            text = "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks)
            assert text == "Instead."
            paths = [path.split("/")[1] for path, *_ in providers.requests]
            assert paths == ["to-chat", "to-anthropic"]

    asyncio.run(main())


def test_errors_of_a_provider_in_the_stream_come_through(tmp_path: Path) -> None:
    async def main() -> None:
        play = turn(say("So "), error("overloaded", "Overloaded."))
        async with gateway(lambda _: play, tmp_path) as (site, _):
            for model in ("chat", "anthropic"):
                _, stream = await chat(site, model, stream=True)
                errors = [c for c in data_of(stream)[:-1] if "error" in c]
                assert len(errors) == 1

    asyncio.run(main())


def test_limits_and_lists_hold_for_each_user(tmp_path: Path) -> None:
    more = """
[limits]
requests_per_minute = 1000
[users.anna]
models = ["chat"]
limits = { requests_per_minute = 2 }
"""

    async def main() -> None:
        play = turn(say("Yes."))
        async with gateway(lambda _: play, tmp_path, more, needs_token=True) as (site, _):
            # All within one minute.
            site.service.clock = lambda: 1_800_000_000_000
            anna, ben = (create_token(site.service, name) for name in ("anna", "ben"))
            asked = {"model": "chat", **QUESTION}

            async def ask(token: str, model: str = "chat") -> int:
                headers = {"authorization": f"Bearer {token}"}
                body = {**asked, "model": model}
                return (await post(site, "/v1/chat/completions", body, **headers))[0]

            assert await ask(anna, "gemini") == 404
            assert await ask(ben, "gemini") == 200
            assert [await ask(anna) for _ in range(2)] == [200, 200]
            headers = {"authorization": f"Bearer {anna}"}
            url = f"{site.url}/v1/chat/completions"
            async with site.http.post(url, json=asked, headers=headers) as response:
                assert response.status == 429
                assert 1 <= int(response.headers["retry-after"]) <= 60
                assert "2 requests per minute" in (await response.json())["error"]["message"]
            assert await ask(ben) == 200
            for token, names in ((anna, {"default", "chat"}), (ben, {"default", *PROVIDERS})):
                headers = {"authorization": f"Bearer {token}"}
                _, found = await site.get("/v1/models", headers=headers)
                assert {model["id"] for model in found["data"]} == names

    asyncio.run(main())


def test_a_server_that_stops_ends_streams_with_an_error(tmp_path: Path) -> None:
    async def main() -> None:
        play = turn(say("Wait"), stall())
        async with gateway(lambda _: play, tmp_path) as (site, _):
            streams = [
                asyncio.create_task(chat(site, model, stream=True))
                for model in ("chat", "anthropic", "default")
            ]
            await wait_for(lambda: site.service.unstored.count >= 2)
            await site.service.unstored.drain(0.05)
            for stream in streams[:2]:
                chunks = data_of((await stream)[1])
                assert "error" in chunks[-2]
                assert not any(c["choices"][0]["finish_reason"] for c in chunks[:-2])
            await streams[2]

    asyncio.run(main())


def test_tools_of_the_client_and_reasoning_come_back_in_any_grammar(tmp_path: Path) -> None:
    """What the client sends back of an answer reaches the provider: call, result and seals."""

    def play(heard: Heard) -> Any:
        results = [m.result.text for m in heard.messages if m.result is not None]
        if results:
            return turn(say(f"It said {results[-1]}."))
        return turn(think("I look."), call("look", at="it"))

    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}

    async def main() -> None:
        async with gateway(play, tmp_path) as (site, _):
            for model in PROVIDERS:
                _, body = await chat(site, model, tools=[tool])
                said = msgspec.json.decode(body)["choices"][0]
                assert said["finish_reason"] == "tool_calls", model
                (asked,) = said["message"]["tool_calls"]
                assert msgspec.json.decode(asked["function"]["arguments"]) == {"at": "it"}
                history = [
                    *QUESTION["messages"],
                    said["message"],
                    {"role": "tool", "tool_call_id": asked["id"], "content": "blue"},
                ]
                sent = {"model": model, "messages": history, "tools": [tool]}
                _, body = await post(site, "/v1/chat/completions", sent)
                answer = msgspec.json.decode(body)["choices"][0]
                assert answer["message"]["content"] == "It said blue.", model
                assert answer["finish_reason"] == "stop"

    asyncio.run(main())
