"""Prompt caching: the places that are marked in a growing conversation, and other settings."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.content import CacheBreak, PromptContent, TextContent
from headrace.encoders import Request, ToolSpec, parse_options
from headrace.encoders.cache_point import MAX_POINTS
from headrace.errors import UsageError
from headrace.messages import CallPart, CallResult, Message, ReasoningPart, Seal, TextPart, Turn
from headrace.outcome import END_TURN
from headrace.turn.model import encode_body, model_for
from tests.published import accepts

CLAUDE = "anthropic:claude-sonnet-5"
TOOLS = (ToolSpec(name="look"), ToolSpec(name="dig"))
NUMBERS: dict[str, Any] = {"output": 0, "started_ms": 0, "ended_ms": 1}


def body_of(messages: list[Message], model: str = CLAUDE, **options: Any) -> dict[str, Any]:
    endpoint = model_for(model, api_key="k").endpoint
    request = Request(
        model=endpoint.model,
        provider=endpoint.provider.name,
        messages=tuple(messages),
        instructions=options.pop("instructions", "Be brief."),
        tools=options.pop("tools", TOOLS),
        options=parse_options(options),
    )
    body = msgspec.json.encode(encode_body(endpoint.provider, request))
    return msgspec.json.decode(body, type=dict[str, Any])


def points_of(body: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Where the marks are, in the order of the request: tools, instructions, messages."""
    places = [("0 tools", 0, at) for at, tool in enumerate(body.get("tools", ())) if _mark(tool)]
    system = body.get("system", ())
    if isinstance(system, list):
        places += [("1 system", 0, at) for at, block in enumerate(system) if _mark(block)]
    places += [
        ("2 messages", number, at)
        for number, message in enumerate(body["messages"])
        if isinstance(message["content"], list)
        for at, block in enumerate(message["content"])
        if _mark(block)
    ]
    return places


def _mark(block: Any) -> Any:
    return isinstance(block, dict) and block.get("cache_control")


def reply(text: str, *, calls: int = 0, thinks: bool = False) -> Message:
    parts: list[Any] = []
    if thinks:
        seals = (Seal("signature", "s"),)
        parts.append(ReasoningPart(part=0, item=0, text="Hm.", seals=seals, **NUMBERS))
    if text:
        parts.append(TextPart(part=1, item=1, text=text, **NUMBERS))
    parts += [
        CallPart(part=2 + n, item=2 + n, call_id=f"c{n}", name="look", raw="{}", args={}, **NUMBERS)
        for n in range(calls)
    ]
    results = tuple(CallResult(call_id=f"c{n}", content=(TextContent("ok"),)) for n in range(calls))
    turn = Turn(
        provider="anthropic", dialect="anthropic", model="claude-sonnet-5", parts=tuple(parts),
        results=results, finish=END_TURN,
    )  # fmt: skip
    return Message(role="assistant", turns=(turn,), finish=END_TURN)


ENTRIES: list[PromptContent] = [
    TextContent("Why?"),
    TextContent(" "),
    CacheBreak(),
    CacheBreak("1h"),
]
QUESTIONS = st.lists(st.sampled_from(ENTRIES), max_size=4).map(
    lambda content: Message(role="user", content=(TextContent("So:"), *content))
)
REPLIES = st.builds(
    reply, st.sampled_from(["", "Because."]), calls=st.integers(0, 3), thinks=st.booleans()
).filter(lambda message: any(isinstance(p, TextPart | CallPart) for p in message.turns[0].parts))


@given(
    st.lists(st.tuples(QUESTIONS, REPLIES), min_size=1, max_size=6),
    QUESTIONS,
    st.sampled_from([None, True, "5m", "1h"]),
    st.booleans(),
)
def test_there_are_never_more_than_four_and_they_never_move_back(
    exchanges: list[tuple[Message, Message]], last: Message, cache: Any, has_tools: bool
) -> None:
    options: dict[str, Any] = {"cache": cache, "tools": TOOLS if has_tools else ()}
    messages: list[Message] = []
    ends: list[tuple[str, int, int]] = []
    before: list[tuple[str, int, int]] = []
    for question, answer in [*exchanges, (last, None)]:
        messages.append(question)
        body = body_of(messages, **options)
        accepts("anthropic", body)
        points = points_of(body)
        assert len(points) <= MAX_POINTS
        assert json.dumps(body).count("cache_break") == 0
        if cache:
            # The end is marked, and what the request before had marked as its end is found again.
            final = len(body["messages"]) - 1
            assert points[-1][:2] == ("2 messages", final)
            assert not before or points[-1] > before[-1]
            breaks = sum(isinstance(e, CacheBreak) for m in messages for e in m.content)
            if before and not breaks:
                assert before[-1] in points
        ends.append(points[-1] if points else ("", 0, 0))
        before = points
        if answer is not None:
            messages.append(answer)
    assert ends == sorted(ends)


def test_the_places_of_an_agent_with_tools_and_instructions() -> None:
    messages = [Message.user("Why?"), reply("Wait.", calls=1, thinks=True)]
    body = body_of(messages, cache=True)
    assert points_of(body) == [
        ("0 tools", 0, 1),
        ("1 system", 0, 0),
        ("2 messages", 0, 0),
        ("2 messages", 2, 0),
    ]
    assert body["tools"][1]["cache_control"] == {"type": "ephemeral"}
    assert body_of(messages, cache="1h")["system"][0]["cache_control"]["ttl"] == "1h"


def test_without_caching_nothing_is_marked() -> None:
    body = body_of([Message.user("Why?")])
    assert points_of(body) == []
    assert body["system"] == "Be brief."


def test_own_breaks_come_first() -> None:
    messages = [Message.user("A long text.", CacheBreak("1h"), "Why?")]
    body = body_of(messages)
    assert points_of(body) == [("2 messages", 0, 0)]
    assert body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    many = [Message.user(*[entry for n in range(6) for entry in (f"text {n}", CacheBreak())])]
    assert points_of(body_of(many)) == [("2 messages", 0, n) for n in (2, 3, 4, 5)]
    latest = [("2 messages", 0, n) for n in (3, 4, 5)]
    assert points_of(body_of(many, cache=True)) == [("1 system", 0, 0), *latest]


@pytest.mark.parametrize(
    "model",
    ["openai:gpt-5", "openai-chat:gpt-5", "gemini:gemini-3-pro", "ollama:m", "deepseek:m"],
)
def test_where_a_provider_caches_by_itself_nothing_is_marked(model: str) -> None:
    messages = [Message.user("A long text.", CacheBreak(), "Why?")]
    plain = [Message.user("A long text.", "Why?")]
    assert body_of(messages, model, cache=True) == body_of(plain, model)


def test_openrouter_wants_marks_for_some_vendors() -> None:
    messages = [Message.user("A long text.", CacheBreak(), "Why?"), reply("So."), Message.user("?")]
    claude = body_of(messages, "openrouter:anthropic/claude-sonnet-5", cache=True, tools=())
    assert points_of(claude) == [("2 messages", 1, 0), ("2 messages", 1, 1), ("2 messages", 3, 0)]
    assert points_of(body_of(messages, "openrouter:openai/gpt-5", cache=True)) == []


def test_the_time_and_the_key_of_openai() -> None:
    body = body_of([Message.user("?")], "openai:gpt-5", cache="24h", prompt_cache_key="app")
    assert body["prompt_cache_retention"] == "24h"
    assert body["prompt_cache_key"] == "app"
    accepts("responses", body)
    with pytest.raises(UsageError, match="24h"):
        body_of([Message.user("?")], cache="24h")
    with pytest.raises(UsageError, match="prompt_cache_key"):
        body_of([Message.user("?")], prompt_cache_key="app")
