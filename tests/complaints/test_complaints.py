"""What users of other libraries complain about, each as a small story that ends well here.

The names are those of the public issues.
"""

from __future__ import annotations

from typing import Any

import msgspec

from headrace import Message, ToolSpec
from headrace import events as ev
from headrace.content import TextContent
from headrace.encoders import (
    Request,
    encode_anthropic,
    encode_chat,
    encode_gemini,
    encode_responses,
)
from headrace.messages import CallResult, PromptEntry, ReasoningPart, TextPart, history
from headrace.providers import CATALOG
from tests.wire import chunk, events_of, kinds, message_of, only, sse

ASKED = Message(role="user", content=(TextContent("Weather?"),))
TOOL = ToolSpec(name="f")


def anthropic(*blocks: list[dict[str, Any]], reason: str | None = "tool_use") -> bytes:
    """A Messages stream of these blocks; without a reason it is cut."""
    start = {"type": "message_start", "message": {"id": "m", "model": "claude-x"}}
    events: list[Any] = [start]
    for index, block in enumerate(blocks):
        head, *deltas = block
        events.append({"type": "content_block_start", "index": index, "content_block": head})
        events += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
        if reason is not None:
            events.append({"type": "content_block_stop", "index": index})
    if reason is not None:
        events.append({"type": "message_delta", "delta": {"stop_reason": reason}})
        events.append({"type": "message_stop"})
    return sse(*events, done=False, names=True)


def thinking(words: str, signature: str | None) -> list[dict[str, Any]]:
    block = [{"type": "thinking", "thinking": ""}]
    block += [{"type": "thinking_delta", "thinking": words}] if words else []
    return block + ([{"type": "signature_delta", "signature": signature}] if signature else [])


def tool_use(call_id: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": call_id, "name": "f", "input": {}}]


def turn_of(data: bytes, dialect: str, results: bool = True) -> Message:
    message = message_of(events_of(data, dialect))
    content = (TextContent("18"),)
    answers = tuple(CallResult(call_id=c.call_id, content=content) for c in message.calls)
    turn = msgspec.structs.replace(message.turns[0], results=answers if results else ())
    return msgspec.structs.replace(message, turns=(turn,))


def run_of(*messages: Message) -> Message:
    """Several turns as the one message of a run."""
    turns = tuple(turn for message in messages for turn in message.turns)
    return msgspec.structs.replace(messages[-1], turns=turns)


def asked_again(message: Message, model: str = "claude-x") -> Request:
    return Request(model=model, messages=(ASKED, message), tools=(TOOL,))


def blocks_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [b for m in body["messages"] if m["role"] == "assistant" for b in m["content"]]


# --- A: reasoning lost or unsigned in tool loops ----------------------------------


def test_vercel_ai_11602_every_step_of_a_tool_loop_keeps_its_signed_reasoning() -> None:
    steps = [
        turn_of(anthropic(thinking(f"step {n}", f"sig{n}"), tool_use(f"t{n}")), "anthropic")
        for n in range(4)
    ]
    blocks = blocks_of(encode_anthropic(asked_again(run_of(*steps))))
    signed = [block["signature"] for block in blocks if block["type"] == "thinking"]
    assert signed == ["sig0", "sig1", "sig2", "sig3"]


def test_pydantic_ai_3748_the_end_of_reasoning_carries_its_signature() -> None:
    events = events_of(anthropic(thinking("hm", "sig"), tool_use("t")), "anthropic")
    assert only(events, ev.ReasoningFinished)[0].signature == "sig"


def test_litellm_38809_and_langchain_38977_a_signature_without_words_is_replayed() -> None:
    message = turn_of(anthropic(thinking("", "sig"), tool_use("t")), "anthropic")
    first, second = blocks_of(encode_anthropic(asked_again(message)))
    assert first == {"type": "thinking", "thinking": "", "signature": "sig"}
    assert second["type"] == "tool_use"


def test_langchain_34166_reasoning_content_goes_back_to_deepseek() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}
    data = sse(
        chunk({"reasoning_content": "hm"}),
        chunk({"tool_calls": [call]}),
        chunk({}, finish="tool_calls"),
    )
    body = encode_chat(asked_again(turn_of(data, "chat"), "m1"), CATALOG["deepseek"].request_quirks)
    assert body["messages"][1]["reasoning_content"] == "hm"


def test_pydantic_ai_3647_a_signature_goes_back_on_the_part_it_came_on() -> None:
    parts = [
        {"text": "hm", "thought": True},
        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "sig"},
    ]
    content = {"content": {"parts": parts}, "finishReason": "STOP"}
    data = sse({"candidates": [content], "modelVersion": "gemini-x"}, done=False)
    body = encode_gemini(asked_again(turn_of(data, "gemini"), "gemini-x"))
    (call,) = [p for c in body["contents"] if c["role"] == "model" for p in c["parts"]]
    assert call["thoughtSignature"] == "sig"
    assert call["functionCall"]["name"] == "f"


def responses(*items: dict[str, Any]) -> bytes:
    events: list[Any] = [{"type": "response.created", "response": {"id": "r", "model": "gpt-x"}}]
    for index, item in enumerate(items):
        for kind in ("added", "done"):
            place = {"type": f"response.output_item.{kind}", "output_index": index}
            events.append({**place, "item": item})
    events.append({"type": "response.completed", "response": {"output": []}})
    return sse(*events, done=False, names=True)


REASONING = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "seal"}
FUNCTION = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"}


def test_openai_agents_js_929_reasoning_goes_back_with_the_item_that_followed_it() -> None:
    message = turn_of(responses(REASONING, FUNCTION), "responses")
    items = encode_responses(asked_again(message, "gpt-x"))["input"]
    order = [item["type"] for item in items]
    assert order == ["message", "reasoning", "function_call", "function_call_output"]
    assert items[1]["encrypted_content"] == "seal"


def test_openai_agents_python_1004_a_reasoning_item_does_not_break_another_grammar() -> None:
    message = turn_of(responses(REASONING, FUNCTION), "responses")
    assistant = encode_chat(asked_again(message, "gpt-x"))["messages"][1]
    assert "seal" not in str(assistant)
    assert assistant["tool_calls"][0]["id"] == "c"


# --- B: an abort leaves a poisoned conversation -----------------------------------


def test_pydantic_ai_7597_and_5532_a_cut_in_mid_thought_does_not_brick_the_conversation() -> None:
    cut = turn_of(anthropic(thinking("I was thin", None), reason=None), "anthropic")
    assert cut.error is not None
    assert cut.reasoning == "I was thin", "shown and stored"
    assert history([ASKED, cut]) == [PromptEntry("user", ASKED.content)], "but not replayed"
    assert len(encode_anthropic(asked_again(cut))["messages"]) == 1


def test_openai_agents_js_973_trailing_reasoning_without_an_output_is_left_out() -> None:
    data = responses(REASONING).replace(b"response.completed", b"response.queued")
    cut = turn_of(data, "responses")
    assert [i["type"] for i in encode_responses(asked_again(cut, "gpt-x"))["input"]] == ["message"]


# --- D: errors swallowed ----------------------------------------------------------


def test_litellm_40578_an_error_in_the_stream_is_a_failure() -> None:
    events = events_of(sse({"error": {"message": "no capacity", "code": 503}}), "chat")
    assert only(events, ev.TurnFailed)[0].category == "overloaded"


def test_litellm_42085_a_cut_stream_is_not_a_stop() -> None:
    events = events_of(sse(chunk({"content": "half"}), done=False), "chat")
    assert kinds(events)[-1] == "TurnFailed"
    assert message_of(events).finish is None


def test_litellm_39748_a_failure_in_the_middle_ends_the_stream_once() -> None:
    data = sse(chunk({"content": "half"}), {"error": {"message": "x"}}, chunk({"content": "y"}))
    events = events_of(data, "chat")
    assert kinds(events).count("TurnFailed") == 1
    assert kinds(events)[-1] == "TurnFailed"


def test_litellm_32475_a_failed_response_is_not_an_empty_message() -> None:
    failed = {"type": "response.failed", "response": {"error": {"message": "x"}}}
    message = message_of(events_of(sse(failed, done=False, names=True), "responses"))
    assert message.error is not None
    assert history([message]) == []


# --- E, F: doubled, reordered, cut and spliced ------------------------------------


def test_librechat_10873_reasoning_sent_in_two_fields_counts_once() -> None:
    detail = [{"type": "reasoning.text", "text": "hm", "index": 0}]
    data = sse(chunk({"reasoning": "hm", "reasoning_details": detail}), chunk({}, finish="stop"))
    assert message_of(events_of(data, "chat")).reasoning == "hm"


def test_litellm_13834_think_text_think_stays_in_that_order() -> None:
    data = sse(
        chunk({"reasoning_content": "a"}),
        chunk({"content": "b"}),
        chunk({"reasoning_content": "c"}),
        chunk({}, finish="stop"),
    )
    parts = message_of(events_of(data, "chat")).turns[0].parts
    assert [type(part) for part in parts] == [ReasoningPart, TextPart, ReasoningPart]


def test_pydantic_ai_7865_a_tag_split_over_two_deltas_is_a_tag() -> None:
    words = ("<thi", "nk>hm</th", "ink>yes")
    data = sse(*(chunk({"content": word}) for word in words), chunk({}, finish="stop"))
    message = message_of(events_of(data, "chat"))
    assert (message.reasoning, message.text) == ("hm", "yes")


def test_dynamo_4723_parallel_calls_all_under_index_0_are_not_spliced() -> None:
    calls = [
        {"index": 0, "id": f"c{n}", "function": {"name": "f", "arguments": f'{{"n":{n}}}'}}
        for n in range(3)
    ]
    data = sse(*(chunk({"tool_calls": [c]}) for c in calls), chunk({}, finish="tool_calls"))
    found = message_of(events_of(data, "chat")).calls
    assert [(call.call_id, call.args) for call in found] == [(f"c{n}", {"n": n}) for n in range(3)]


def test_open_webui_21983_truncated_arguments_do_not_break_the_stream() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"city": "Par'}}
    data = sse(chunk({"tool_calls": [call]}), chunk({}, finish="length"))
    events = events_of(data, "chat")
    assert only(events, ev.ToolCallMalformed)[0].raw == '{"city": "Par'
    assert kinds(events)[-1] == "TurnFinished"


def test_langchain_litellm_115_usage_is_told_or_unknown_and_never_a_silent_zero() -> None:
    silent = events_of(sse(chunk({"content": "a"}, finish="stop")), "chat")
    assert only(silent, ev.TurnFinished)[0].usage.input_tokens is None
