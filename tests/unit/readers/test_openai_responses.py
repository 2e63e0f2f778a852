"""Requests of the Responses API: what is read, what is refused, and what is kept."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace.content import FileContent, ImageContent, TextContent
from headrace.encoders.responses.request import encode_responses
from headrace.messages import ReasoningPart, RedactedPart, Seal
from headrace.messages.seal_envelope import SealEnvelope, encode_envelope
from headrace.readers import InvalidRequest
from headrace.readers.openai_responses import read_request

CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}'}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "4"}


def read(*items: Any, **fields: Any) -> Any:
    return read_request({"model": "m", "input": list(items), **fields})


def user(content: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": content}


def test_a_text_is_the_message_of_a_user() -> None:
    asked = read_request({"model": "m", "input": "Hi"})
    assert asked.request.messages[0].content == (TextContent("Hi"),)
    assert asked.is_stored
    assert not asked.is_stream


def test_messages_need_no_type() -> None:
    roles = [m.role for m in read({"role": "developer", "content": "x"}).request.messages]
    assert roles == ["developer"]


def test_images_and_files_are_read() -> None:
    blocks = [
        {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": "data:application/pdf;base64,aGk=",
        },
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
    ]
    content = read(user(blocks)).request.messages[0].content
    assert content == (
        ImageContent(media_type="image/png", data="aGk="),
        FileContent(media_type="application/pdf", name="a.pdf", data="aGk="),
        FileContent(media_type="application/pdf", url="https://example.org/a.pdf"),
    )


def test_a_result_joins_its_call() -> None:
    asked = read(user("q"), CALL, RESULT, {"role": "assistant", "content": "It is 4."}, user("ok"))
    question, answer, again = asked.request.messages
    assert (question.role, answer.role, again.role) == ("user", "assistant", "user")
    assert [len(turn.parts) for turn in answer.turns] == [1, 1]
    assert answer.turns[0].results[0].content == (TextContent("4"),)
    assert answer.calls[0].args == {"a": 1}


def test_a_result_without_its_call_belongs_to_the_response_before() -> None:
    assert read(RESULT, previous_response_id="resp_1").results[0].call_id == "c1"
    with pytest.raises(InvalidRequest, match="No tool call found"):
        read(RESULT)


def test_encrypted_reasoning_is_a_seal() -> None:
    item = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "So."}],
        "encrypted_content": "gAAA",
    }
    (part,) = read(item, CALL, RESULT).request.messages[0].turns[0].parts[:1]
    assert isinstance(part, ReasoningPart)
    assert (part.text, part.kind, part.seals) == ("So.", "summary", (Seal("encrypted", "gAAA"),))


def test_seals_of_other_providers_come_back_where_they_were() -> None:
    names: dict[str, Any] = {
        "dialect": "anthropic",
        "provider": "anthropic",
        "model": "claude-opus-4-6",
    }
    sealed = encode_envelope(SealEnvelope(**names, seals=(Seal("signature", "sig"),)))
    hidden = encode_envelope(SealEnvelope(**names, data="data"))
    of_call = encode_envelope(SealEnvelope(**names, seals=(Seal("signature", "s2"),), call_id="c1"))
    raw = [{"type": "reasoning_text", "text": "Hm."}]
    asked = read(
        {"type": "reasoning", "summary": [], "content": raw, "encrypted_content": sealed},
        {"type": "reasoning", "summary": [], "encrypted_content": hidden},
        CALL,
        {"type": "reasoning", "summary": [], "encrypted_content": of_call},
        RESULT,
    )
    (turn,) = asked.request.messages[0].turns
    assert (turn.dialect, turn.provider, turn.model) == tuple(names.values())
    thought, redacted, call = turn.parts
    assert isinstance(thought, ReasoningPart)
    assert (thought.text, thought.signature) == ("Hm.", "sig")
    assert isinstance(redacted, RedactedPart)
    assert call.seals == (Seal("signature", "s2"),)


def test_calls_that_an_agent_of_a_server_has_run_are_calls_with_results() -> None:
    item = {"type": "mcp_call", "id": "mcp_abc_2", "name": "add", "server_label": "headrace"}
    (turn,) = read(item | {"arguments": "{}", "output": "4"}).request.messages[0].turns
    assert turn.calls[0].executor == "client"
    assert turn.results[0].content == (TextContent("4"),)


def test_approvals_are_read() -> None:
    item = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": False}
    (approval,) = read(item, previous_response_id="resp_1").approvals
    assert (approval.item_id, approval.is_approved) == ("mcpr_1", False)


def test_an_answer_to_the_provider_is_sent_on_with_its_request() -> None:
    request: Any = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "erase"}
    request |= {"server_label": "disk", "arguments": '{"a":1}'}
    answer: Any = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1"}
    answer |= {"approve": True}
    asked = read(user("Erase it."), request, answer, model="gpt-5").request
    body = encode_responses(asked)
    assert body["input"][1:] == [request, answer]


def test_options_are_translated() -> None:
    asked = read(
        user("q"),
        instructions="Be brief.",
        max_output_tokens=10,
        temperature=0.5,
        reasoning={"effort": "high", "summary": "auto"},
        text={"format": {"type": "json_schema", "name": "n", "schema": {}, "strict": True}},
        parallel_tool_calls=False,
        tools=[{"type": "function", "name": "f", "parameters": {"type": "object"}}],
        tool_choice={"type": "function", "name": "f"},
        include=["reasoning.encrypted_content"],
        store=False,
        stream=True,
    )
    options = asked.request.options
    assert (options.max_tokens, options.temperature, options.effort) == (10, 0.5, "high")
    assert options.output is not None
    assert (options.output.name, options.output.is_strict) == ("n", True)
    assert (options.parallel_calls, options.tool_choice) == (False, "f")
    assert asked.request.instructions == "Be brief."
    assert asked.request.tools[0].name == "f"
    assert (asked.includes_seals, asked.is_stored, asked.is_stream) == (True, False, True)


def test_allowed_tools_leave_only_those() -> None:
    tools = [{"type": "function", "name": name} for name in ("a", "b")]
    choice = {"type": "allowed_tools", "mode": "required", "tools": [tools[1]]}
    asked = read(user("q"), tools=tools, tool_choice=choice)
    assert [tool.name for tool in asked.request.tools] == ["b"]
    assert asked.request.options.tool_choice == "required"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("conversation", "conv_1"),
        ("prompt", {"id": "p"}),
        ("tool_choice", {"type": "mcp"}),
        ("text", {"format": {"type": "grammar"}}),
        ("reasoning", {"effort": "huge"}),
        ("store", "yes"),
    ],
)
def test_what_is_not_offered_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InvalidRequest):
        read(user("q"), **{field: value})


def test_tools_that_other_grammars_do_not_have_are_for_the_same_grammar_only() -> None:
    tools = [{"type": "computer_use_preview"}, {"type": "web_search"}]
    asked = read(user("q"), tools=tools, tool_choice={"type": "computer_use_preview"})
    assert asked.same_grammar_only is not None
    assert asked.same_grammar_only.param == "tools[0]"
    assert asked.provider_tools == (tools[1],)
    assert read(user("q"), tools=tools[1:]).same_grammar_only is None


@pytest.mark.parametrize(
    "item",
    [
        {"type": "item_reference", "id": "msg_1"},
        {"type": "message", "role": "user", "content": [{"type": "input_image", "file_id": "f"}]},
        {"type": "message", "role": "critic", "content": "x"},
        {"type": "function_call", "call_id": "c1"},
    ],
)
def test_a_malformed_item_is_refused_with_its_place(item: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read(user("q"), item)
    assert refused.value.param == "input[1]"


def test_fields_that_nobody_knows_are_kept() -> None:
    assert read(user("q"), new_field=1).unknown == {"new_field": 1}


def test_provider_items_go_back_as_they_came() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"a": 1}}
    odd = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}
    items = [user([{"type": "input_text", "text": "q"}]), search, odd, CALL, RESULT]
    body = encode_responses(read(*items).request)
    assert msgspec.json.decode(msgspec.json.encode(body["input"])) == items
