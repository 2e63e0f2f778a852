"""Responses bodies: items with the reasoning that must go before them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace.content import FileContent, ImageContent, JSONContent, TextContent
from headrace.encoders import OutputSchema, ToolSpec, encode_responses
from headrace.errors import UsageError
from headrace.messages import Message
from tests.unit.encoders.conversation import (
    asked,
    call,
    media,
    opaque,
    output,
    plain,
    request,
    result,
    said,
    text,
    thought,
)

SCHEMA = {"type": "object", "properties": {}}
LOOK = ToolSpec(name="look", description="Looks.", parameters=SCHEMA)
PNG = ImageContent(media_type="image/png", data="AAAA")
PNG_URL = "data:image/png;base64,AAAA"


def body(*given: Message, **more: Any) -> dict[str, Any]:
    return plain(encode_responses(request(*given, **{"model": "gpt-5", **more})))


def items(*parts: Any, results: Any = (), **more: Any) -> list[dict[str, Any]]:
    """The items of a reply and of its results."""
    reply = said(*parts, results=results, **{"dialect": "responses", "model": "gpt-5", **more})
    return body(asked("hi"), reply)["input"][1:]


def test_every_option_has_its_place() -> None:
    made = body(
        max_tokens=5,
        temperature=0.5,
        top_p=0.9,
        effort="high",
        tool_choice="look",
        parallel_calls=False,
        output=OutputSchema(schema=SCHEMA),
        tools=(LOOK,),
        instructions="Be brief.",
    )
    assert made == {
        "model": "gpt-5",
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "hi"}],
            }
        ],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be brief.",
        "tools": [
            {
                "type": "function",
                "name": "look",
                "description": "Looks.",
                "parameters": SCHEMA,
                "strict": False,
            }
        ],
        "tool_choice": {"type": "function", "name": "look"},
        "parallel_tool_calls": False,
        "max_output_tokens": 5,
        "temperature": 0.5,
        "top_p": 0.9,
        "reasoning": {"effort": "high", "summary": "auto"},
        "text": {
            "format": {"type": "json_schema", "name": "answer", "strict": True, "schema": SCHEMA}
        },
    }


@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high", "xhigh", "max"])
def test_the_effort_is_its_own_word(effort: str) -> None:
    assert body(effort=effort)["reasoning"]["effort"] == effort
    assert ("summary" in body(effort=effort)["reasoning"]) == (effort != "none")


@pytest.mark.parametrize("model", ["gpt-4.1-mini", "openai/gpt-4o", "chatgpt-4o-latest"])
def test_models_that_do_not_reason_are_not_asked_for_it(model: str) -> None:
    assert "include" not in body(model=model)


@pytest.mark.parametrize("option", [{"stop": ("x",)}, {"seed": 1}])
def test_an_option_that_there_is_not_is_an_error(option: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"'{next(iter(option))}'"):
        body(**option)


def test_images_and_files_are_content() -> None:
    given = (
        PNG,
        FileContent(media_type="application/pdf", name="a.pdf", data="BBBB"),
        FileContent(media_type="application/pdf", url="https://a/b.pdf"),
        JSONContent({"a": 1}),
    )
    (message,) = body(asked(*given, role="developer"))["input"]
    assert message["role"] == "developer"
    assert message["content"] == [
        {"type": "input_image", "image_url": PNG_URL, "detail": "auto"},
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": "data:application/pdf;base64,BBBB",
        },
        {"type": "input_file", "file_url": "https://a/b.pdf"},
        {"type": "input_text", "text": '{"a":1}'},
    ]


# --- replies ----------------------------------------------------------------------


def test_reasoning_goes_back_sealed_before_the_item_that_followed_it() -> None:
    made = items(
        thought(0, "a", item=0, kind="summary", item_id="rs_1"),
        thought(1, "b", item=0, kind="summary", item_id="rs_1", encrypted="E1"),
        thought(2, "", item_id="rs_2", encrypted="E2"),
        call(3, item_id="fc_1", raw='{"a": 1.0}'),
        text(4, "So.", item_id="msg_1", channel="commentary"),
    )
    assert made[:4] == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [
                {"type": "summary_text", "text": "a"},
                {"type": "summary_text", "text": "b"},
            ],
            "encrypted_content": "E1",
        },
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "E2"},
        {
            "type": "function_call",
            "call_id": "c1",
            "id": "fc_1",
            "name": "look",
            "arguments": '{"a": 1.0}',
        },
        {
            "type": "message",
            "role": "assistant",
            "phase": "commentary",
            "id": "msg_1",
            "status": "completed",
            "content": [{"type": "output_text", "text": "So.", "annotations": []}],
        },
    ]


def test_raw_reasoning_goes_back_beside_the_seal() -> None:
    made = items(thought(0, "hm", item_id="rs_1", encrypted="E"), text(1, "Yes."))
    assert made[0]["content"] == [{"type": "reasoning_text", "text": "hm"}]


def test_reasoning_that_nothing_follows_stays_here() -> None:
    made = items(text(0, "Yes.", item_id="msg_1"), thought(1, "", item_id="rs", encrypted="E"))
    assert [item["type"] for item in made] == ["message"]


def test_reasoning_whose_item_stays_here_stays_with_it() -> None:
    made = items(
        thought(0, "", item_id="rs_1", encrypted="E1"),
        text(1, ""),
        thought(2, "", item_id="rs_2", encrypted="E2"),
        text(3, "Yes.", item_id="msg_1"),
    )
    assert [item["id"] for item in made] == ["rs_2", "msg_1"]


def test_without_its_seal_reasoning_stays_and_the_items_lose_their_ids() -> None:
    """An id tells the provider which reasoning must go before it."""
    made = items(
        thought(0, "hm", item_id="rs_1"),
        text(1, "I look.", item_id="msg_1", channel="commentary"),
        call(2, "w1", executor="provider", item=2),
        output(3, "w1", item=2, provider_data={"item": {"type": "web_search_call"}}),
        call(4, item_id="fc_1"),
    )
    assert made[:2] == [
        {"type": "message", "role": "assistant", "phase": "commentary", "content": "I look."},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"a": 1}'},
    ]


@pytest.mark.parametrize("elsewhere", [{"dialect": "chat"}, {"provider": "q"}, {"model": "grok-4"}])
def test_seals_and_tools_of_another_stay_here_and_the_rest_goes(elsewhere: dict[str, Any]) -> None:
    made = items(
        thought(0, "hm", item_id="rs_1", encrypted="E"),
        text(1, "I look.", item_id="x"),
        opaque(2, "odd", "{}"),
        call(3, raw="ls", input="text", provider_data={"type": "custom_tool_call"}),
        **elsewhere,
    )
    assert made[:2] == [
        {"type": "message", "role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"input":"ls"}'},
    ]
    assert made[2]["type"] == "function_call_output"


def test_a_refusal_is_one() -> None:
    made = items(text(0, "No.", item_id="msg_1", is_refusal=True))
    assert made[0]["content"] == [{"type": "refusal", "refusal": "No."}]


def test_opaque_items_go_back_byte_for_byte() -> None:
    odd = '{"type" : "compaction","encrypted_content":"\\u00e9"}'
    reply = said(opaque(0, "compaction", odd), dialect="responses", model="gpt-5")
    made = msgspec.json.encode(encode_responses(request(asked("a"), reply, model="gpt-5")))
    assert odd.encode() in made


def test_tools_that_the_provider_ran_go_back_as_their_items() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}}
    drawn = {"type": "image_generation_call", "id": "ig_1", "status": "completed"}
    custom = {"type": "custom_tool_call", "call_id": "x", "name": "x_search", "input": "{}"}
    made = items(
        call(0, "ws_1", executor="provider", item=0),
        output(1, "ws_1", item=0, provider_data={"item": search}),
        call(2, "ig_1", executor="provider", item=2),
        media(3, "image/png", "AAAA", item=2),
        output(4, "ig_1", item=2, provider_data={"item": drawn}),
        call(5, "x", executor="provider", item=5),
        output(6, "x", item=5, provider_data={"item": custom | {"status": "completed"}}),
    )
    assert made == [search, drawn | {"result": "AAAA"}, custom]


@pytest.mark.parametrize("call_id", [None, "t1"])
def test_what_the_provider_answers_in_another_item_goes_back_only_with_it(call_id: Any) -> None:
    search = {"type": "tool_search_call", "call_id": call_id, "execution": "server"}
    found = {"type": "tool_search_output", "call_id": call_id, "tools": []}
    asked_for = (
        call(0, "t1", executor="provider", item=0),
        output(1, "t1", item=0, provider_data={"item": search}),
    )
    answered = output(2, "t1", provider_data={"item": found})
    assert items(*asked_for, answered, text(3, "So.", item_id="m"))[:2] == [search, found]
    assert [item["type"] for item in items(*asked_for, text(3, "So."))] == ["message"]


# --- results ----------------------------------------------------------------------


def test_results_are_text_or_content() -> None:
    results = (
        result("c1", TextContent("seen"), JSONContent([1])),
        result("c2", TextContent("see"), PNG),
    )
    *_, words, shown = items(call(0), call(1, "c2"), results=results)
    assert words == {"type": "function_call_output", "call_id": "c1", "output": "seen\n[1]"}
    assert [entry["type"] for entry in shown["output"]] == ["input_text", "input_image"]


def kind(kind: str, field: Any = None, **more: Any) -> Any:
    facts = {"type": kind, **more}
    return call(0, raw='{"x": 1}' if field is None else field, item_id="i1", provider_data=facts)


@pytest.mark.parametrize(
    ("part", "sent", "answer"),
    [
        (
            call(0, raw="ls", input="text", provider_data={"type": "custom_tool_call"}),
            {"type": "custom_tool_call", "name": "look", "input": "ls"},
            {"type": "custom_tool_call_output", "output": "ok"},
        ),
        (
            kind("apply_patch_call"),
            {"type": "apply_patch_call", "operation": {"x": 1}, "status": "completed"},
            {"type": "apply_patch_call_output", "status": "completed", "output": "ok"},
        ),
        (
            kind("shell_call", environment={"type": "local"}),
            {"type": "shell_call", "action": {"x": 1}, "environment": {"type": "local"}},
            {
                "type": "shell_call_output",
                "output": [
                    {"stdout": "ok", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
                ],
            },
        ),
        (
            kind("local_shell_call"),
            {"type": "local_shell_call", "action": {"x": 1}, "id": "i1"},
            {"type": "local_shell_call_output", "id": "c1", "output": "ok"},
        ),
        (
            kind("tool_search_call", execution="client"),
            {"type": "tool_search_call", "arguments": {"x": 1}, "execution": "client"},
            {"type": "tool_search_output", "tools": [], "status": "completed"},
        ),
        (
            kind("computer_call", "", actions=[{"type": "screenshot"}]),
            {"type": "computer_call", "actions": [{"type": "screenshot"}]},
            {"type": "computer_call_output"},
        ),
    ],
)
def test_calls_of_other_kinds_are_answered_in_kind(
    part: Any, sent: dict[str, Any], answer: dict[str, Any]
) -> None:
    first, second = items(part, results=(result("c1", TextContent("ok")),))
    assert sent.items() <= first.items()
    assert answer.items() <= second.items()


def test_failures_are_told_in_kind() -> None:
    failed = (result("c1", TextContent("no"), is_error=True),)
    assert items(kind("apply_patch_call"), results=failed)[1]["status"] == "failed"
    assert items(kind("local_shell_call"), results=failed)[1]["status"] == "incomplete"
    shell = items(kind("shell_call"), results=failed)[1]["output"][0]
    assert (shell["stderr"], shell["outcome"]["exit_code"]) == ("no", 1)


def test_structured_results_of_shells_and_searches_go_as_they_are() -> None:
    ran = [{"stdout": "a", "stderr": "", "outcome": {"type": "timeout"}}]
    given = (result("c1", JSONContent(ran)),)
    assert items(kind("shell_call"), results=given)[1]["output"] == ran
    found = (result("c1", JSONContent([{"type": "function", "name": "f"}])),)
    assert items(kind("tool_search_call"), results=found)[1]["tools"][0]["name"] == "f"


def test_a_screen_is_shown_even_when_nothing_ran() -> None:
    shown = items(kind("computer_call"), results=(result("c1", PNG),))[1]["output"]
    assert shown == {"type": "computer_screenshot", "image_url": PNG_URL}
    assert items(kind("computer_call"))[1]["output"]["image_url"].startswith("data:image/png")


def test_a_malformed_call_is_a_function_call_whatever_it_was() -> None:
    facts = {"type": "apply_patch_call", "created_by": "x"}
    first, second = items(call(0, raw="{", error="cut", provider_data=facts))
    assert first["type"] == "function_call"
    assert "created_by" not in first
    assert msgspec.json.decode(first["arguments"]) == {"malformed_arguments": "{"}
    assert second["type"] == "function_call_output"


def test_an_answer_names_the_program_that_called() -> None:
    caller = {"type": "program", "caller_id": "call_p"}
    first, second = items(call(0, provider_data={"caller": caller, "namespace": "n"}))
    assert (first["caller"], first["namespace"], second["caller"]) == (caller, "n", caller)
