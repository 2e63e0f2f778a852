"""What any body must have, whoever it goes to: calls with answers, reasoning with a sequel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def assert_every_call_is_answered(dialect: str, body: dict[str, Any]) -> None:
    """The answers come right after the calls, one for each and in their order."""
    pending: list[Any] = []
    for kind, name in _calls_and_answers(dialect, body):
        if kind == "call":
            pending.append(name)
        elif kind == "answer":
            assert pending, f"an answer to no call: {name}"
            assert pending.pop(0) == name
        else:
            assert not pending, f"never answered: {pending}"
    assert not pending, f"never answered: {pending}"


def _calls_and_answers(dialect: str, body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Calls and answers in order; something the user says is an `end`."""
    match dialect:
        case "chat" | "ollama" | "cohere" | "xai":
            read = _of_xai if dialect == "xai" else _of_message
            for message in body["messages"]:
                yield from read(message)
        case "responses":
            for item in body["input"]:
                yield from _of_item(item)
        case "interactions":
            for step in body["input"]:
                yield from _of_step(step)
        case "anthropic" | "bedrock":
            read_block = _of_block if dialect == "anthropic" else _of_converse
            for message in body["messages"]:
                for block in message["content"]:
                    yield from read_block(block, message["role"])
        case _:
            for content in body["contents"]:
                for part in content["parts"]:
                    yield from _of_part(part, content["role"])


def _of_message(message: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for call in message.get("tool_calls", ()):
        yield "call", call["id"] if "id" in call else call["function"]["name"]
    if message["role"] == "tool":
        yield "answer", message.get("tool_call_id", message.get("tool_name"))
    elif message["role"] == "user":
        yield "end", None


def _of_step(step: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    match step["type"]:
        case "function_call":
            yield "call", step["id"]
        case "function_result":
            yield "answer", step["call_id"]
        case "user_input":
            yield "end", None


def _of_converse(block: dict[str, Any], role: str) -> Iterator[tuple[str, Any]]:
    if "toolUse" in block and "type" not in block["toolUse"]:
        yield "call", block["toolUse"]["toolUseId"]
    elif "toolResult" in block and role == "user":
        yield "answer", block["toolResult"]["toolUseId"]
    elif role == "user" and "cachePoint" not in block:
        yield "end", None


def _of_xai(message: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Calls that are ours. What xAI ran stands in a tool's message of its own, which has the
    call once more."""
    calls = message.get("tool_calls", ())
    if message["role"] == "ROLE_TOOL" and not calls:
        yield "answer", message["tool_call_id"]
    elif message["role"] == "ROLE_TOOL":
        assert message["tool_call_id"] == calls[0]["id"]
    elif message["role"] == "ROLE_USER":
        yield "end", None
    else:
        for call in calls:
            if call["type"] == "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL":
                yield "call", call["id"]


CLIENT_KINDS = (
    "function_call",
    "custom_tool_call",
    "apply_patch_call",
    "local_shell_call",
    "shell_call",
    "computer_call",
    "tool_search_call",
)
ANSWER_KINDS = ("tool_search_output", *(f"{kind}_output" for kind in CLIENT_KINDS[:-1]))
RUN_BY_XAI = ("x_keyword_search", "view_x_video")


def _of_item(item: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    kind = item["type"]
    if kind in ANSWER_KINDS:
        yield "answer", item["id" if kind == "local_shell_call_output" else "call_id"]
    elif kind in CLIENT_KINDS and item.get("name") not in RUN_BY_XAI:
        yield "call", item["call_id"]
    elif item.get("role") == "user":
        yield "end", None


def _of_block(block: dict[str, Any], role: str) -> Iterator[tuple[str, Any]]:
    if block["type"] == "tool_use":
        yield "call", block["id"]
    elif block["type"] == "tool_result":
        yield "answer", block["tool_use_id"]
    elif role == "user":
        yield "end", None


def _of_part(part: dict[str, Any], role: str) -> Iterator[tuple[str, Any]]:
    for kind, field in (("call", "functionCall"), ("answer", "functionResponse")):
        if field in part:
            yield kind, (part[field]["name"], part[field].get("id"))
    if role == "user" and "text" in part:
        yield "end", None


def assert_no_reasoning_alone(dialect: str, body: dict[str, Any]) -> None:
    """Sealed reasoning has its seal, and an item of the model's after it."""
    match dialect:
        case "anthropic":
            for message in body["messages"]:
                kinds = [block["type"] for block in message["content"]]
                assert kinds[-1] not in ("thinking", "redacted_thinking")
                assert all(b.get("signature", "-") for b in message["content"])
        case "responses":
            for item, following in zip(body["input"], body["input"][1:], strict=False):
                if item["type"] == "reasoning":
                    assert item["encrypted_content"]
                    assert following.get("role") != "user"
                    assert not following["type"].endswith("_output")
        case "gemini":
            parts = [part for content in body["contents"] for part in content["parts"]]
            assert all(part.get("thoughtSignature") for part in parts if part.get("thought"))
        case "interactions":
            assert all(step["signature"] for step in body["input"] if step["type"] == "thought")
        case _:
            pass
