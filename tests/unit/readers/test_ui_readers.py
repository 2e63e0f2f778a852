"""Requests of the AI SDK's and AG-UI's clients: what is read, and what is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.content import FileContent, ImageContent, TextContent
from headrace.encoders import ToolSpec
from headrace.readers import InvalidRequest, ag_ui, ai_sdk
from headrace.readers.client_answer import Approval, ClientAnswer, read_approval

ASSISTANT = {"id": "msg_1", "role": "assistant", "parts": [{"type": "text", "text": "Hello."}]}


def user(*parts: Any, id: str = "u1") -> dict[str, Any]:
    return {"id": id, "role": "user", "parts": list(parts)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def chat(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"id": "c1", "messages": list(messages), "trigger": "submit-message", **more}


def run_input(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"threadId": "t1", "runId": "r1", "messages": list(messages), **more}


# --- AI SDK ----------------------------------------------------------------------------


def test_the_last_message_is_the_question_and_the_answer_before_it_its_place() -> None:
    body = chat(user(text("One")), ASSISTANT, user(text("Two"), id="u2"), model="m", effort="low")
    asked = ai_sdk.read_request({**body, "sessionId": "s"})
    assert (asked.chat_id, asked.trigger, asked.question_id) == ("c1", "submit-message", "u2")
    assert (asked.answer_id, asked.answers) == ("msg_1", ())
    assert asked.request.messages[0].content == (TextContent("Two"),)
    assert (asked.request.model, asked.request.options.effort) == ("m", "low")
    assert asked.unknown == {"sessionId": "s"}


def test_files_are_images_and_documents() -> None:
    parts = [
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"},
        {"type": "file", "mediaType": "image", "url": "data:image/gif;base64,BBBB"},
        {"type": "file", "mediaType": "text/plain", "url": "data:text/plain,a%20b"},
        {"type": "file", "mediaType": "application/pdf", "url": "https://x/y.pdf", "filename": "y"},
        {"type": "data-note", "data": 1},
    ]
    content = ai_sdk.read_request(chat(user(*parts))).request.messages[0].content
    assert content == (
        ImageContent(media_type="image/png", data="AAAA"),
        ImageContent(media_type="image/gif", data="BBBB"),
        FileContent(media_type="text/plain", data="YSBi"),
        FileContent(media_type="application/pdf", name="y", url="https://x/y.pdf"),
    )


def tool(state: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool-pay", "toolCallId": "k", "state": state, "input": {}, **more}


@pytest.mark.parametrize(
    ("part", "answer"),
    [
        (
            tool("approval-responded", approval={"id": "q", "approved": True}),
            ClientAnswer(request_id="q", value={"id": "q", "approved": True}),
        ),
        (tool("output-available", output=[1]), ClientAnswer(call_id="k", value=[1])),
        (tool("output-available", output=1, preliminary=True), None),
        (tool("output-error", errorText="no"), ClientAnswer(call_id="k", error="no")),
        (tool("input-available"), None),
        (tool("output-denied"), None),
    ],
)
def test_tool_parts_of_the_last_answer_are_answers(part: Any, answer: Any) -> None:
    body = chat(user(text("Pay")), {"id": "msg_1", "role": "assistant", "parts": [part]})
    asked = ai_sdk.read_request(body)
    assert asked.answers == (() if answer is None else (answer,))
    assert (asked.answer_id, asked.question_id) == ("msg_1", None)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (chat(), "messages"),
        ({**chat(user(text("x"))), "id": None}, "id"),
        ({**chat(user(text("x"))), "messages": "x"}, "messages"),
        (chat(user(text("x")), trigger="resume"), "trigger"),
        (chat({"id": "s", "role": "system", "parts": []}), "messages[0].role"),
        (chat(user(text(" "))), "messages[0].parts"),
        (chat(user(text("x")), effort="huge"), "effort"),
        (
            chat(user({"type": "file", "mediaType": "image/png", "url": "blob:x"})),
            "messages[0].parts[0].url",
        ),
        (
            chat(user({"type": "file", "mediaType": "a/b", "url": "", "providerReference": {}})),
            "messages[0].parts[0].providerReference",
        ),
    ],
)
def test_what_an_ai_sdk_request_cannot_say_is_refused_by_name(body: Any, param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ai_sdk.read_request(body)
    assert caught.value.param == param


# --- AG-UI -----------------------------------------------------------------------------


def test_an_ag_ui_run_brings_a_message_tools_and_context() -> None:
    asked = ag_ui.read_request(
        run_input(
            {"id": "u1", "role": "user", "content": "One"},
            {"id": "msg_1-0", "role": "assistant", "content": "Hello."},
            {"id": "n1", "role": "assistant", "content": "Found.", "subagentRunId": "s"},
            {"id": "u2", "role": "user", "content": "Two"},
            tools=[{"name": "pick", "description": "Pick.", "parameters": {"type": "object"}}],
            context=[{"description": "page", "value": "cart"}],
            forwardedProps={"model": "m", "effort": "high"},
            state={},
        )
    )
    assert (asked.thread_id, asked.run_id, asked.answer_id) == ("t1", "r1", "msg_1-0")
    request = asked.request
    assert request.messages[0].content == (TextContent("Two"),)
    spec = ToolSpec(name="pick", description="Pick.", parameters={"type": "object"})
    assert request.tools == (spec,)
    assert request.instructions == "Context of the application:\n\npage:\ncart"
    assert (request.model, request.options.effort) == ("m", "high")


def test_ag_ui_messages_have_images_and_documents() -> None:
    parts = [
        {"type": "text", "text": "See"},
        {"type": "image", "source": {"type": "data", "value": "AA", "mimeType": "image/png"}},
        {"type": "image", "source": {"type": "url", "value": "https://x/y.png"}},
        {"type": "document", "source": {"type": "data", "value": "BB", "mimeType": "text/csv"}},
    ]
    asked = ag_ui.read_request(run_input({"id": "u", "role": "user", "content": parts}))
    assert asked.request.messages[0].content == (
        TextContent("See"),
        ImageContent(media_type="image/png", data="AA"),
        ImageContent(media_type="image/*", url="https://x/y.png"),
        FileContent(media_type="text/csv", data="BB"),
    )


def test_results_and_resume_entries_are_answers() -> None:
    answer: dict[str, Any] = {"id": "msg_1-0", "role": "assistant", "toolCalls": []}
    results = [
        {"id": "a", "role": "tool", "toolCallId": "k1", "content": '{"a": 1}'},
        {"id": "b", "role": "tool", "toolCallId": "k2", "content": "[x"},
        {"id": "c", "role": "tool", "toolCallId": "k3", "content": "", "error": "gone"},
    ]
    resume = [
        {"interruptId": "q1", "status": "resolved", "payload": {"approved": True}},
        {"interruptId": "q2", "status": "cancelled"},
    ]
    asked = ag_ui.read_request(run_input(answer, *results, resume=resume))
    assert asked.answers == (
        ClientAnswer(request_id="q1", value={"approved": True}),
        ClientAnswer(request_id="q2", error="cancelled"),
        ClientAnswer(call_id="k1", value={"a": 1}),
        ClientAnswer(call_id="k2", value="[x"),
        ClientAnswer(call_id="k3", value="", error="gone"),
    )
    assert asked.request.messages == ()


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (run_input(), "messages"),
        (run_input({"id": "a", "role": "assistant", "content": "x"}), "messages"),
        (run_input({"id": "u", "role": "user", "content": " "}), "messages[0].content"),
        (run_input({"id": "u", "role": "user", "content": "x"}, threadId=""), "threadId"),
        (run_input({"id": "u", "role": "user", "content": "x"}, tools=[{}]), "tools[0].name"),
        (run_input(resume=[{"interruptId": "q", "status": "maybe"}]), "resume[0].status"),
        (
            run_input(
                {
                    "id": "u",
                    "role": "user",
                    "content": [{"type": "image", "source": {"type": "file", "value": "f"}}],
                }
            ),
            "messages[0].content[0].source.type",
        ),
    ],
)
def test_what_an_ag_ui_request_cannot_say_is_refused_by_name(body: Any, param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ag_ui.read_request(body)
    assert caught.value.param == param


# --- approvals -------------------------------------------------------------------------


def test_an_approval_must_be_explicit() -> None:
    assert read_approval(True) == Approval(True)
    assert read_approval({"approved": False, "reason": "dear"}) == Approval(False, "dear")
    edited = read_approval({"approved": True, "editedArgs": {"amount": 1}})
    assert edited == Approval(True, None, {"amount": 1})
    for value in (None, "yes", {}, {"approved": "true"}, 1):
        with pytest.raises(InvalidRequest):
            read_approval(value)


def test_a_message_before_a_result_is_not_new() -> None:
    question = {"id": "u", "role": "user", "content": "Pick."}
    result = {"id": "a", "role": "tool", "toolCallId": "k", "content": "teal"}
    assert ag_ui.read_request(run_input(question, result)).request.messages == ()
    asked = ag_ui.read_request(run_input(result, question))
    assert asked.request.messages[0].content == (TextContent("Pick."),)
    assert len(asked.answers) == 1
