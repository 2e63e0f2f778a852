"""What a run sends after a tool has run: the reply of the model goes back word for word, in every
dialect, and its result follows."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace import Agent
from headrace.recording import ReplayTransport
from headrace.testing import ScriptedTransport, call, run_virtual, say, think, turn
from headrace.transport import HTTPCall
from tests import xai
from tests.wire import sse

CALLED = '{"a":1,"b":2}'
CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": CALLED}}
CHAT_REPLY = {"role": "assistant", "content": "Adding.", "tool_calls": [CHAT_CALL]}
CHAT_RESULT = {"role": "tool", "tool_call_id": "c1", "content": "3"}

EXPECTED: dict[str, list[Any]] = {
    # OpenAI takes no reasoning back in Chat Completions.
    "openai-chat:gpt-5": [CHAT_REPLY, CHAT_RESULT],
    "deepseek:deepseek-chat": [
        CHAT_REPLY | {"reasoning_content": "Let me see."},
        CHAT_RESULT,
    ],
    "anthropic:claude-x": [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Let me see.", "signature": "sig_1_0"},
                {"type": "text", "text": "Adding."},
                {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1, "b": 2}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [{"type": "text", "text": "3"}],
                }
            ],
        },
    ],
    "openai:gpt-5": [
        {
            "type": "reasoning",
            "id": "rs_1_0",
            "summary": [{"type": "summary_text", "text": "Let me see."}],
            "encrypted_content": "enc_1_0",
        },
        {
            "type": "message",
            "role": "assistant",
            "id": "msg_1_1",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Adding.", "annotations": []}],
        },
        {
            "type": "function_call",
            "call_id": "c1",
            "id": "fc_1_2",
            "name": "add",
            "arguments": CALLED,
        },
        {"type": "function_call_output", "call_id": "c1", "output": "3"},
    ],
    # A summary of the reasoning is not sent back: the signature stands for it.
    "gemini:gemini-3-pro": [
        {
            "role": "model",
            "parts": [
                {"text": "Adding."},
                {
                    "functionCall": {"id": "c1", "name": "add", "args": {"a": 1, "b": 2}},
                    "thoughtSignature": "seal-7",
                },
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "c1", "name": "add", "response": {"output": "3"}}}
            ],
        },
    ],
    "ollama:qwen": [
        {
            "role": "assistant",
            "content": "Adding.",
            "thinking": "Let me see.",
            "tool_calls": [{"function": {"name": "add", "arguments": {"a": 1, "b": 2}}}],
        },
        {"role": "tool", "tool_name": "add", "content": "3"},
    ],
}


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Played:
    """A transport that plays one stream of bytes per request and keeps the requests."""

    def __init__(self, *streams: bytes) -> None:
        self._streams = list(streams)
        self.requests: list[dict[str, Any]] = []

    async def open(self, call: HTTPCall) -> Any:
        self.requests.append(msgspec.json.decode(call.body))
        return await ReplayTransport([self._streams.pop(0)], speed=None).open(call)

    async def aclose(self) -> None:
        pass


def scripted(dialect: str) -> ScriptedTransport:
    first = turn(think("Let me see."), say("Adding."), call("add", a=1, b=2, call_id="c1"))
    return ScriptedTransport([first, "Done."], dialect=dialect)


def gemini() -> Played:
    def said(*parts: dict[str, Any], **beside: Any) -> dict[str, Any]:
        candidate = {"index": 0, "content": {"role": "model", "parts": list(parts)}, **beside}
        return {"candidates": [candidate], "modelVersion": "gemini-3-pro"}

    called = {"id": "c1", "name": "add", "args": {"a": 1, "b": 2}}
    first = sse(
        said({"text": "Let me see.", "thought": True}),
        said({"text": "Add"}),
        said({"text": "ing."}),
        said({"functionCall": called, "thoughtSignature": "seal-7"}),
        said({"text": ""}, finishReason="STOP"),
        done=False,
    )
    return Played(first, sse(said({"text": "Done."}, finishReason="STOP"), done=False))


def ollama() -> Played:
    def line(*, done: bool = False, **message: Any) -> bytes:
        said = {"role": "assistant", "content": "", **message}
        reason = {"done_reason": "stop"} if done else {}
        return (
            msgspec.json.encode({"model": "qwen", "message": said, "done": done, **reason}) + b"\n"
        )

    called = {"id": "c1", "function": {"name": "add", "arguments": {"a": 1, "b": 2}}}
    first = [line(thinking="Let me "), line(thinking="see."), line(content="Adding.")]
    first += [line(tool_calls=[called]), line(done=True)]
    return Played(b"".join(first), line(content="Done.", done=True))


TRANSPORTS: dict[str, Any] = {
    "openai-chat:gpt-5": lambda: scripted("chat"),
    "deepseek:deepseek-chat": lambda: scripted("chat"),
    "anthropic:claude-x": lambda: scripted("anthropic"),
    "openai:gpt-5": lambda: scripted("responses"),
    "gemini:gemini-3-pro": gemini,
    "ollama:qwen": ollama,
}
FIELDS = {"openai:gpt-5": "input", "gemini:gemini-3-pro": "contents"}


@pytest.mark.parametrize("model", EXPECTED)
def test_reply_and_result_go_back_word_for_word(model: str) -> None:
    transport = TRANSPORTS[model]()
    agent = Agent(model, transport=transport, api_key="k", tools=[add])
    result = run_virtual(agent.complete_async("Go."))
    assert result.text == "Done."
    first, second = (
        msgspec.to_builtins(request)[FIELDS.get(model, "messages")]
        for request in transport.requests
    )
    assert second == [*first, *EXPECTED[model]]
    assert len(first) == 1


def test_reply_and_result_go_back_word_for_word_over_grpc() -> None:
    called = xai.call("c1", CALLED, name="add", type="CLIENT_SIDE")
    first = [
        xai.chunk(xai.output(reasoning_content="Let me see.", encrypted_content="enc")),
        xai.chunk(xai.output(content="Adding.")),
        xai.chunk(xai.output(tool_calls=[called], finish="REASON_TOOL_CALLS")),
    ]
    second = [xai.chunk(xai.output(content="Done.", finish="REASON_STOP"))]
    transport = Played(xai.as_grpc(first), xai.as_grpc(second))
    agent = Agent("xai-grpc:grok-4-0709", transport=transport, api_key="k", tools=[add])
    assert run_virtual(agent.complete_async("Go.")).text == "Done."
    before, after = (request["messages"] for request in transport.requests)
    reply, answer = after[len(before) :]
    assert after[: len(before)] == before
    assert reply["content"] == [{"text": "Adding."}]
    assert reply["encrypted_content"] == "enc"
    assert reply["tool_calls"][0]["function"] == {"name": "add", "arguments": CALLED}
    assert answer["tool_call_id"] == "c1"
    assert answer["content"] == [{"text": "3"}]
