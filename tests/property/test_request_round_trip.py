"""A request that is read and written again in the same grammar means the same."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.encoders.anthropic.request import encode_anthropic
from headrace.encoders.chat.quirks import ChatRequestQuirks
from headrace.encoders.chat.request import encode_chat
from headrace.readers import anthropic_messages, openai_chat
from tests.published import accepts

# What OpenAI and its relatives take, all at once.
QUIRKS = ChatRequestQuirks(effort="reasoning_effort", lacks=(), replays="reasoning_content")
WORDS = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8)
NAMES = st.text("abcdefgh", min_size=1, max_size=8)
IDS = st.uuids().map(lambda made: made.hex)
ARGUMENTS = st.dictionaries(NAMES, st.integers() | WORDS, max_size=3)
SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(NAMES, st.just({"type": "string"}))}
)
FORMATS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "type": st.just("json_schema"),
        "json_schema": st.fixed_dictionaries(
            {"name": NAMES, "schema": SCHEMAS, "strict": st.booleans()}
        ),
    }
)
PIXEL = "iVBORw0KGgo="


def optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


# --- Chat Completions --------------------------------------------------------------


@st.composite
def chat_exchange(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A question, perhaps calls with their results, and an answer."""
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    text = {"type": "text", "text": draw(WORDS)}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": draw(st.sampled_from([draw(WORDS), [text, image]]))}
    ]
    ids = draw(st.lists(IDS, max_size=2, unique=True))
    if ids:
        reply: dict[str, Any] = {
            "role": "assistant",
            "content": draw(st.none() | WORDS),
            "tool_calls": [
                {
                    "id": call_id,
                    "type": "function",
                    "function": {"name": draw(NAMES), "arguments": json.dumps(draw(ARGUMENTS))},
                }
                for call_id in ids
            ],
        }
        messages += [reply | draw(optional(reasoning_content=WORDS))]
        messages += [{"role": "tool", "tool_call_id": one, "content": draw(WORDS)} for one in ids]
    answer: dict[str, Any] = {"role": "assistant", "content": draw(WORDS)}
    return [*messages, answer | draw(optional(reasoning_content=WORDS))]


@st.composite
def chat_bodies(draw: st.DrawFn) -> dict[str, Any]:
    system = draw(st.lists(WORDS, max_size=2))
    exchanges = draw(st.lists(chat_exchange(), max_size=2))
    messages = [{"role": "system", "content": text} for text in system]
    messages += [message for exchange in exchanges for message in exchange]
    messages.append({"role": "user", "content": draw(WORDS)})
    body = draw(
        optional(
            max_tokens=st.integers(1, 9),
            temperature=st.floats(0, 2),
            top_p=st.floats(0, 1),
            seed=st.integers(0, 9),
            stop=st.lists(WORDS, min_size=1, max_size=2),
            frequency_penalty=st.floats(0.1, 2),
            presence_penalty=st.floats(-2, -0.1),
            logit_bias=st.dictionaries(st.sampled_from(["1", "2"]), st.integers(-9, 9), min_size=1),
            verbosity=st.sampled_from(["low", "high"]),
            user=WORDS,
            service_tier=st.sampled_from(["flex", "priority"]),
            prompt_cache_key=WORDS,
            reasoning_effort=st.sampled_from(["none", "low", "xhigh"]),
            response_format=FORMATS,
        )
    )
    names = draw(st.lists(NAMES, max_size=2, unique=True))
    if names:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": name, "description": "", "parameters": draw(SCHEMAS)},
            }
            for name in names
        ]
        named = {"type": "function", "function": {"name": names[0]}}
        choices = st.sampled_from(["auto", "none", "required", named])
        body |= draw(optional(tool_choice=choices, parallel_tool_calls=st.booleans()))
    return {"model": "m", "messages": messages, **body}


def join_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Instructions at the beginning are one message."""
    texts = [message["content"] for message in messages if message["role"] == "system"]
    rest = [message for message in messages if message["role"] != "system"]
    return [*([{"role": "system", "content": "\n\n".join(texts)}] if texts else []), *rest]


@settings(max_examples=25)
@given(chat_bodies())
def test_chat_completions(body: dict[str, Any]) -> None:
    written = encode_chat(openai_chat.read_request(body).request, QUIRKS)
    accepts("chat", json.loads(json.dumps(written)))
    del written["stream"], written["stream_options"]
    assert written == body | {"messages": join_system(body["messages"])}


# --- Messages ----------------------------------------------------------------------


@st.composite
def message_exchange(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A question, perhaps thinking and calls with their results, and an answer."""
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    question: list[dict[str, Any]] = [{"type": "text", "text": draw(WORDS)}]
    question += draw(st.sampled_from([[], [{"type": "image", "source": source}]]))
    thinking = {"type": "thinking", "thinking": draw(WORDS), "signature": draw(WORDS)}
    hidden = {"type": "redacted_thinking", "data": draw(WORDS)}
    before = draw(st.sampled_from([[], [thinking], [hidden], [thinking, hidden]]))
    messages = [{"role": "user", "content": question}]
    ids = draw(st.lists(IDS, max_size=2, unique=True))
    if ids:
        calls = [
            {"type": "tool_use", "id": one, "name": draw(NAMES), "input": draw(ARGUMENTS)}
            for one in ids
        ]
        results = [
            {
                "type": "tool_result",
                "tool_use_id": one,
                "content": [{"type": "text", "text": draw(WORDS)}],
            }
            | draw(optional(is_error=st.just(True)))
            for one in ids
        ]
        messages += [
            {"role": "assistant", "content": [*before, *calls]},
            {"role": "user", "content": results},
        ]
    return [*messages, {"role": "assistant", "content": [{"type": "text", "text": draw(WORDS)}]}]


@st.composite
def message_bodies(draw: st.DrawFn) -> dict[str, Any]:
    exchanges = draw(st.lists(message_exchange(), max_size=2))
    last: dict[str, Any] = {"type": "text", "text": draw(WORDS)}
    last |= draw(optional(cache_control=st.just({"type": "ephemeral", "ttl": "1h"})))
    messages = [message for exchange in exchanges for message in exchange]
    messages.append({"role": "user", "content": [last]})
    body: dict[str, Any] = {
        "model": "claude-sonnet-4-6",
        "max_tokens": draw(st.integers(1, 99)),
        "messages": messages,
        **draw(
            optional(
                system=WORDS,
                stop_sequences=st.lists(WORDS, min_size=1, max_size=2),
                metadata=st.fixed_dictionaries({"user_id": WORDS}),
                service_tier=st.just("standard_only"),
            )
        ),
    }
    names = draw(st.lists(NAMES, max_size=2, unique=True))
    if names:
        body["tools"] = [
            {"name": name, "description": "", "input_schema": draw(SCHEMAS)} for name in names
        ]
    config: dict[str, Any] = {}
    if draw(st.booleans()):
        body["thinking"] = {"type": "adaptive", "display": "summarized"}
        config["effort"] = draw(st.sampled_from(["low", "medium", "high", "max"]))
    else:
        body |= draw(optional(temperature=st.floats(0, 1), top_k=st.integers(1, 9)))
        if names:
            choice = draw(st.sampled_from(["auto", "any", "tool"]))
            body["tool_choice"] = {"type": choice, "disable_parallel_tool_use": draw(st.booleans())}
            body["tool_choice"] |= {"name": names[0]} if choice == "tool" else {}
    if draw(st.booleans()):
        config["format"] = {"type": "json_schema", "schema": draw(SCHEMAS)}
    return body | ({"output_config": config} if config else {})


@settings(max_examples=25)
@given(message_bodies())
def test_messages(body: dict[str, Any]) -> None:
    written = encode_anthropic(anthropic_messages.read_request(body).request)
    # The arguments of calls are kept as they were written.
    written = msgspec.json.decode(msgspec.json.encode(written))
    accepts("anthropic", written)
    del written["stream"]
    assert written == body
