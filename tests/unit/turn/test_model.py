"""Models: what is told of them before they are asked."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from headrace.content import ImageContent, TextContent
from headrace.encoders import Request, ToolSpec, parse_options
from headrace.errors import UsageError
from headrace.messages import CallResult, Message
from headrace.providers import CATALOG
from headrace.rehearsal.script import call, say, turn
from headrace.testing import ScriptedTransport
from headrace.turn.model import encode_call, is_rehearsal, model_for, name_of
from tests.rehearsal.scripts import bytes_of
from tests.wire import events_of, message_of


@pytest.mark.parametrize("provider", CATALOG)
def test_only_a_provider_that_is_played_is_a_rehearsal(provider: str) -> None:
    assert is_rehearsal(f"{provider}:m") == (CATALOG[provider].transport == "rehearsal")


@pytest.mark.parametrize("name", ["", "replay", "rehearsal-like:m", "a stream", "nowhere:m"])
def test_what_names_no_provider_is_no_rehearsal(name: str) -> None:
    assert not is_rehearsal(name)
    assert name_of(name) == name


@pytest.mark.parametrize("name", ["rehearsal:demo", "vllm:m"])
def test_a_model_and_its_name_are_told_alike(name: str) -> None:
    model = model_for(name, base_url="http://h", transport=ScriptedTransport([turn(say("Hi"))]))
    assert name_of(model) == name_of(name) == name
    assert is_rehearsal(model) == is_rehearsal(name)


# --- headers that depend on the conversation


def headers_of(*messages: Message, model: str = "copilot:gpt-5") -> dict[str, str]:
    endpoint = model_for(model, api_key="k").endpoint
    return encode_call(endpoint, Request(model="gpt-5", messages=messages)).headers


def test_copilot_is_told_who_caused_a_request() -> None:
    asked = Message.user("hi")
    script = turn(call("look"))
    answer = message_of(events_of(b"".join(bytes_of(script, "chat"))))
    (one,) = answer.turns
    result = CallResult(call_id=one.calls[0].call_id, content=(TextContent("seen"),))
    done = replace(answer, turns=(replace(one, results=(result,)),))
    assert headers_of(asked)["x-initiator"] == "user"
    assert headers_of(asked, done)["x-initiator"] == "agent"
    assert headers_of(asked, done, asked)["x-initiator"] == "user"
    assert "x-initiator" not in headers_of(asked, model="openai-chat:gpt-5")


def test_copilot_is_told_that_there_are_images() -> None:
    image = ImageContent(media_type="image/png", data="QUJD")
    seen = Message(role="user", content=(TextContent("see"), image))
    assert headers_of(seen)["copilot-vision-request"] == "true"
    assert "copilot-vision-request" not in headers_of(Message.user("hi"))


@pytest.mark.parametrize("option", ["seed", "parallel_calls", "top_k", "prompt_cache_key"])
def test_writer_refuses_what_it_does_not_have(option: str) -> None:
    value: Any = {"seed": 1, "parallel_calls": True, "top_k": 3}.get(option, "x")
    tool = ToolSpec(name="look")
    endpoint = model_for("writer:palmyra-x5", api_key="k").endpoint
    request = Request(
        model="palmyra-x5",
        messages=(Message.user("hi"),),
        tools=(tool,),
        options=parse_options({option: value}),
    )
    with pytest.raises(UsageError, match=f"no option '{option}'"):
        encode_call(endpoint, request)
