"""xAI's bodies: a message for each output that a reply had, tools as JSON in a text."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from headrace.content import FileContent, ImageContent, JSONContent, TextContent
from headrace.encoders import Effort, OutputSchema, ToolSpec, encode_xai
from headrace.messages import Activity, Message, Seal
from tests.published import accepts
from tests.unit.encoders.conversation import (
    asked,
    call,
    output,
    plain,
    redacted,
    request,
    result,
    said,
    text,
    thought,
)

SCHEMA = {"type": "object", "properties": {}}
LOOK = ToolSpec(name="look", description="Looks.", parameters=SCHEMA)
PNG = ImageContent(media_type="image/png", data="AAAA")
SEARCH: Any = {"executor": "provider", "provider_data": {"type": "x_search"}}


def body(*given: Message, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = plain(encode_xai(request(*given, **{"model": "grok-4", **more})))
    accepts("xai", made)
    return made


def messages(*parts: Any, results: Any = (), **more: Any) -> list[dict[str, Any]]:
    """The messages of a reply and of its results."""
    told = {"dialect": "xai", "model": "grok-4", **more}
    found: list[dict[str, Any]] = body(asked("hi"), said(*parts, results=results, **told))[
        "messages"
    ]
    return found[1:]


def at(part: Any, number: int) -> Any:
    """A part of another output."""
    return msgspec.structs.replace(part, output=number)


def test_every_option_has_its_place() -> None:
    made = body(
        max_tokens=5,
        temperature=0.5,
        top_p=0.9,
        stop=("x",),
        seed=7,
        effort="high",
        tool_choice="look",
        parallel_calls=False,
        output=OutputSchema(schema=SCHEMA),
        tools=(LOOK,),
        instructions="Be brief.",
    )
    assert made == {
        "model": "grok-4",
        "messages": [
            {"role": "ROLE_SYSTEM", "content": [{"text": "Be brief."}]},
            {"role": "ROLE_USER", "content": [{"text": "hi"}]},
        ],
        "use_encrypted_content": True,
        "tools": [
            {
                "function": {
                    "name": "look",
                    "description": "Looks.",
                    "parameters": '{"type":"object","properties":{}}',
                }
            }
        ],
        "tool_choice": {"function_name": "look"},
        "parallel_tool_calls": False,
        "max_tokens": 5,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["x"],
        "seed": 7,
        "reasoning_effort": "EFFORT_HIGH",
        "response_format": {
            "format_type": "FORMAT_TYPE_JSON_SCHEMA",
            "schema": '{"type":"object","properties":{}}',
        },
    }


def test_nothing_is_sent_that_was_not_asked() -> None:
    assert set(body()) == {"model", "messages", "use_encrypted_content"}


@pytest.mark.parametrize("effort", get_args(Effort))
def test_every_effort_has_a_word(effort: Effort) -> None:
    nearest = {"minimal": "LOW", "max": "XHIGH"}
    word = body(effort=effort)["reasoning_effort"]
    assert word == f"EFFORT_{nearest.get(effort, effort.upper())}"


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_choices_are_modes(choice: str) -> None:
    made = body(tools=(LOOK,), tool_choice=choice)
    assert made["tool_choice"] == {"mode": f"TOOL_MODE_{choice.upper()}"}


def test_a_strict_tool_says_so() -> None:
    strict = msgspec.structs.replace(LOOK, is_strict=True)
    assert body(tools=(strict,))["tools"][0]["function"]["strict"] is True


def test_content_of_all_kinds() -> None:
    pdf = FileContent(media_type="application/pdf", name="a.pdf", data="AAAA")
    linked = FileContent(media_type="application/pdf", url="https://a/b.pdf")
    notes = FileContent(media_type="text/plain", name="a.txt", data="aGVsbG8=")
    made = body(asked("see", JSONContent({"a": 1}), PNG, pdf, linked, notes))
    assert made["messages"][0]["content"] == [
        {"text": "see"},
        {"text": '{"a":1}'},
        {"image_url": {"image_url": "data:image/png;base64,AAAA"}},
        {"file": {"data": "AAAA", "filename": "a.pdf", "mime_type": "application/pdf"}},
        {"file": {"url": "https://a/b.pdf", "mime_type": "application/pdf"}},
        {"text": "a.txt:\nhello"},
    ]


def test_a_developer_speaks_as_the_system_and_blanks_are_nothing() -> None:
    made = body(asked("rule", role="developer"), asked(" "), asked("hi"))
    assert [m["role"] for m in made["messages"]] == ["ROLE_SYSTEM", "ROLE_USER"]


def test_a_reply_goes_back_with_its_reasoning_and_its_seal() -> None:
    assert messages(thought(0, "Hm.", encrypted="s"), text(1, "Yes.")) == [
        {
            "role": "ROLE_ASSISTANT",
            "content": [{"text": "Yes."}],
            "reasoning_content": "Hm.",
            "encrypted_content": "s",
        }
    ]


@pytest.mark.parametrize(
    "parts", [(redacted(0, "s"), text(1, "Yes.")), (text(0, "Yes."), redacted(1, "s"))]
)
def test_redacted_reasoning_is_a_seal(parts: Any) -> None:
    (message,) = messages(*parts)
    assert message["encrypted_content"] == "s"


def test_a_seal_that_came_in_two_pieces_goes_back_whole() -> None:
    halves = (Seal("encrypted", "AB"), Seal("encrypted", "CD"))
    (message,) = messages(msgspec.structs.replace(thought(0, "Hm."), seals=halves))
    assert message["encrypted_content"] == "ABCD"
    late = msgspec.structs.replace(text(1, "Yes."), seals=halves[1:])
    (message,) = messages(redacted(0, "AB"), late)
    assert message["encrypted_content"] == "ABCD"


@pytest.mark.parametrize("who", [{"dialect": "chat"}, {"provider": "q"}, {"model": "other-1"}])
def test_another_models_reasoning_and_tools_are_left_out(who: Any) -> None:
    parts = [
        thought(0, "Hm.", encrypted="s"),
        call(1, "t", **SEARCH),
        output(2, "t", TextContent("found")),
        text(3, "Yes."),
        call(4, "c"),
    ]
    made = messages(*parts, results=(result("c", TextContent("ok")),), **who)
    assert [m["role"] for m in made] == ["ROLE_ASSISTANT", "ROLE_TOOL"]
    assert made[0] == {
        "role": "ROLE_ASSISTANT",
        "content": [{"text": "Yes."}],
        "tool_calls": [
            {
                "id": "c",
                "type": "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL",
                "function": {"name": "look", "arguments": '{"a": 1}'},
            }
        ],
    }


def test_arguments_go_back_as_they_were_written() -> None:
    raws = ['{"a":  1.0}', "", '{"a"']
    errors = [None, None, "cut"]
    parts = [
        call(n, f"c{n}", raw=raw, error=error)
        for n, (raw, error) in enumerate(zip(raws, errors, strict=True))
    ]
    made = messages(*parts)
    written = [entry["function"]["arguments"] for entry in made[0]["tool_calls"]]
    assert written == ['{"a":  1.0}', "{}", '{"malformed_arguments":"{\\"a\\""}']
    assert [m["tool_call_id"] for m in made[1:]] == ["c0", "c1", "c2"]


def test_what_the_provider_ran_goes_back_output_by_output() -> None:
    done = (Activity(1, "completed"),)
    made = messages(
        call(0, "t", name="x_keyword_search", activities=done, **SEARCH),
        at(
            output(1, "t", TextContent("found"), provider_data={"encrypted_content": "e"}),
            1,
        ),
        at(text(2, "So."), 2),
    )
    function = {"name": "x_keyword_search", "arguments": '{"a": 1}'}
    theirs = {"id": "t", "type": "TOOL_CALL_TYPE_X_SEARCH_TOOL", "function": function}
    assert made == [
        {"role": "ROLE_ASSISTANT", "content": [{"text": ""}], "tool_calls": [theirs]},
        {
            "role": "ROLE_TOOL",
            "tool_call_id": "t",
            "content": [{"text": "found"}],
            "tool_calls": [theirs | {"status": "TOOL_CALL_STATUS_COMPLETED"}],
            "encrypted_content": "e",
        },
        {"role": "ROLE_ASSISTANT", "content": [{"text": "So."}]},
    ]


def test_no_two_calls_of_a_conversation_have_one_id() -> None:
    theirs: Any = {"dialect": "xai", "model": "grok-4"}
    searched = said(
        call(0, "call_0", **SEARCH), output(1, "call_0", TextContent("found")), **theirs
    )
    ours = said(call(0, "call_0"), results=(result("call_0", TextContent("ok")),), **theirs)
    made = body(asked("hi"), searched, asked("and"), searched, asked("so"), ours)["messages"]
    made = [message for message in made if "tool_calls" in message or "tool_call_id" in message]
    asked_for = [message["tool_calls"][0]["id"] for message in made[0::2]]
    answered = [message["tool_call_id"] for message in made[1::2]]
    assert asked_for == answered
    assert len(set(answered)) == 3
    assert answered[0] == "call_0"
    assert [made[at]["tool_calls"][0]["id"] for at in (1, 3)] == answered[:2]


def test_a_tool_that_only_its_number_names_keeps_it() -> None:
    theirs = call(0, "t", executor="provider", provider_data={"type": "42"})
    assert messages(theirs)[0]["tool_calls"][0]["type"] == 42


def test_results_follow_and_their_images_are_the_users() -> None:
    made = messages(call(0, "c"), results=(result("c", TextContent("ok"), PNG),))
    assert made[1]["role"] == "ROLE_TOOL"
    assert made[1]["tool_call_id"] == "c"
    assert made[1]["content"][0]["text"].startswith("ok")
    assert made[2]["content"] == [{"image_url": {"image_url": "data:image/png;base64,AAAA"}}]
    assert messages(call(0, "c"), results=(result("c"),))[1]["content"] == [{"text": "(no output)"}]
