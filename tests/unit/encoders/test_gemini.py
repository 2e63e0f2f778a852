"""Gemini bodies: signatures on the part they came on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace.content import FileContent, ImageContent, JSONContent, TextContent
from headrace.encoders import OutputSchema, ToolSpec, encode_gemini
from headrace.encoders.gemini import NO_SIGNATURE
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
OLD, NEW = "gemini-2.5-flash", "gemini-3-pro"


def body(*given: Message, **more: Any) -> dict[str, Any]:
    return plain(encode_gemini(request(*given, **{"model": OLD, **more})))


def replied(*parts: Any, to: str = OLD, **more: Any) -> list[dict[str, Any]]:
    reply = said(*parts, **{"dialect": "gemini", "model": "gemini-x", **more})
    return body(asked("hi"), reply, model=to)["contents"][1]["parts"]


def test_every_option_has_its_place() -> None:
    made = body(
        max_tokens=5,
        temperature=0.5,
        top_p=0.9,
        stop=("x",),
        seed=7,
        effort="low",
        tool_choice="look",
        output=OutputSchema(schema=SCHEMA),
        tools=(LOOK,),
        instructions="Be brief.",
    )
    assert made == {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "look", "description": "Looks.", "parametersJsonSchema": SCHEMA}
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}},
        "generationConfig": {
            "maxOutputTokens": 5,
            "temperature": 0.5,
            "topP": 0.9,
            "seed": 7,
            "stopSequences": ["x"],
            "thinkingConfig": {"thinkingBudget": 1_024, "includeThoughts": True},
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
        },
    }


@pytest.mark.parametrize(
    ("choice", "mode"), [("auto", "AUTO"), ("none", "NONE"), ("required", "ANY")]
)
def test_the_choice_of_a_tool(choice: str, mode: str) -> None:
    made = body(tool_choice=choice, tools=(LOOK,))
    assert made["toolConfig"] == {"functionCallingConfig": {"mode": mode}}


@pytest.mark.parametrize(
    ("effort", "budget", "level"),
    [
        ("none", 0, "MINIMAL"),
        ("minimal", 512, "MINIMAL"),
        ("low", 1_024, "LOW"),
        ("medium", 8_192, "MEDIUM"),
        ("high", 16_384, "HIGH"),
        ("max", 24_576, "HIGH"),
    ],
)
def test_the_effort_is_a_budget_and_since_3_a_level(effort: str, budget: int, level: str) -> None:
    shown = {"includeThoughts": effort != "none"}
    for model, expected in (
        (OLD, {"thinkingBudget": budget}),
        (NEW, {"thinkingLevel": level}),
        ("gemini-flash-latest", {"thinkingLevel": level}),
    ):
        config = body(effort=effort, model=model)["generationConfig"]["thinkingConfig"]
        assert config == expected | shown


def test_an_option_that_there_is_not_is_an_error() -> None:
    with pytest.raises(UsageError, match="'parallel_calls'"):
        body(parallel_calls=True)


def test_images_and_files_are_data_or_addresses() -> None:
    given = (
        ImageContent(media_type="image/png", data="AAAA"),
        FileContent(media_type="application/pdf", url="gs://a/b.pdf"),
    )
    (content,) = body(asked("see", *given, ""))["contents"]
    assert content["parts"] == [
        {"text": "see"},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://a/b.pdf"}},
    ]


def test_what_is_said_above_the_conversation_is_one_field() -> None:
    made = body(asked("Be kind.", role="system"), asked("hi"), instructions="Be brief.")
    assert made["systemInstruction"]["parts"] == [{"text": "Be brief."}, {"text": "Be kind."}]
    assert len(made["contents"]) == 1


def test_signatures_go_back_on_their_parts() -> None:
    parts = replied(
        thought(0, "hm", signature="S0", kind="summary"),
        thought(1, "unsigned", kind="summary"),
        text(2, "I look."),
        text(3, "", signature="S3"),
        call(4, "call_4", signature="S4"),
        call(5, "id5"),
    )
    assert parts == [
        {"text": "hm", "thought": True, "thoughtSignature": "S0"},
        {"text": "I look."},
        {"text": "", "thoughtSignature": "S3"},
        {"functionCall": {"name": "look", "args": {"a": 1}}, "thoughtSignature": "S4"},
        {"functionCall": {"id": "id5", "name": "look", "args": {"a": 1}}},
    ]


@pytest.mark.parametrize("elsewhere", [{"dialect": "chat"}, {"provider": "q"}, {"model": "gemma"}])
def test_seals_and_tools_of_another_stay_here_and_the_rest_goes(elsewhere: dict[str, Any]) -> None:
    parts = (
        thought(0, "hm", signature="S"),
        text(1, "I look.", signature="S"),
        text(2, "", signature="S"),
        media(3, "image/png", "AAAA"),
        opaque(4, "odd", "{}"),
        call(5, "p1", executor="provider", name="code_execution"),
        call(6, "toolu_1", signature="S"),
    )
    expected = [{"text": "I look."}, {"functionCall": {"name": "look", "args": {"a": 1}}}]
    assert replied(*parts, **elsewhere) == expected


def test_since_3_a_first_call_without_signature_is_excused() -> None:
    parts = replied(call(0, signature="S"), call(1, "c2"), to=NEW, dialect="anthropic")
    assert [part.get("thoughtSignature") for part in parts] == [NO_SIGNATURE, None]
    own = replied(call(0, signature="S"), call(1, "c2"), to=NEW)
    assert [part.get("thoughtSignature") for part in own] == ["S", None]
    assert "thoughtSignature" not in replied(call(0), dialect="anthropic")[0]


def test_arguments_and_opaque_parts_go_back_byte_for_byte() -> None:
    raw, odd = '{"b" : 1.0, "a":1e400}', '{"newThing" : {"x":1.0}}'
    reply = said(opaque(0, "newThing", odd), call(1, raw=raw, args={}), dialect="gemini", model=OLD)
    encoded = msgspec.json.encode(encode_gemini(request(asked("a"), reply, model=OLD)))
    assert odd.encode() in encoded
    assert raw.encode() in encoded


def test_tools_that_the_provider_ran_and_media_go_back() -> None:
    code = {"language": "PYTHON", "code": "1+1"}
    ran = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}
    found = {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}}
    parts = replied(
        call(0, "call_0", executor="provider", name="code_execution", args=code),
        output(1, "call_0", TextContent("2"), provider_data=ran),
        call(2, "t1", executor="provider", name="GOOGLE_SEARCH_WEB", signature="S"),
        output(3, "t1", JSONContent({}), provider_data=found),
        media(4, "image/png", "AAAA"),
    )
    assert parts == [
        {"executableCode": code},
        ran,
        {
            "toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"a": 1}},
            "thoughtSignature": "S",
        },
        found,
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
    ]


RESULTS = (
    result("id1", JSONContent({"deg": 3})),
    result("id2", TextContent("no"), is_error=True),
    result("id3", TextContent("see"), ImageContent(media_type="image/png", data="AAAA")),
)


def answers(to: str, **more: Any) -> list[dict[str, Any]]:
    calls = [call(n, f"id{n}") for n in (1, 2, 3)]
    reply = said(*calls, results=RESULTS, **{"dialect": "gemini", "model": "gemini-x", **more})
    return body(asked("hi"), reply, asked("so?"), model=to)["contents"][2]["parts"]


def test_results_are_objects_under_the_id_of_their_call() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    words = "see\n[an image (image/png), shown separately]"
    assert answers(OLD) == [
        {"functionResponse": {"id": "id1", "name": "look", "response": {"deg": 3}}},
        {"functionResponse": {"id": "id2", "name": "look", "response": {"error": "no"}}},
        {"functionResponse": {"id": "id3", "name": "look", "response": {"output": words}}},
        image,
        {"text": "so?"},
    ]
    assert answers(NEW)[2]["functionResponse"]["parts"] == [image]
    assert answers(NEW)[3] == {"text": "so?"}


def test_ids_from_elsewhere_stay_here_in_call_and_answer() -> None:
    assert all("id" not in p["functionResponse"] for p in answers(OLD, dialect="chat")[:3])
