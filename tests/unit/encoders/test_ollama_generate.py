"""Bodies of Ollama's generate endpoint, judged by the types of the published client."""

from __future__ import annotations

from typing import Any

import pytest

import headrace
from headrace.content import FileContent, ImageContent, TextContent
from headrace.encoders import OutputSchema, ToolSpec, encode_ollama_generate
from headrace.errors import UsageError
from headrace.messages import Message
from headrace.testing import ScriptedTransport
from tests.published import accepts
from tests.unit.encoders.conversation import asked, plain, request, said, text


def body(*messages: Message, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = plain(encode_ollama_generate(request(*messages, **more)))
    accepts("ollama-generate", made)
    return made


def test_a_question_is_the_prompt() -> None:
    assert body(asked("hi"), asked("there"), instructions="Be kind.") == {
        "model": "m-1",
        "prompt": "hi\nthere",
        "system": "Be kind.",
        "stream": True,
    }


def test_images_stand_beside_the_prompt() -> None:
    image = ImageContent(media_type="image/png", data="QUJD")
    made = body(Message(role="user", content=(TextContent("See:"), image)))
    assert (made["prompt"], made["images"]) == ("See:", ["QUJD"])


def test_options_are_those_of_the_chat_endpoint() -> None:
    schema = {"type": "object", "properties": {}}
    made = body(asked("hi"), effort="low", max_tokens=3, output=OutputSchema(schema=schema))
    assert made["think"] == "low"
    assert made["format"] == schema
    assert made["options"] == {"num_predict": 3}
    with pytest.raises(UsageError, match="Ollama has no option 'verbosity'"):
        body(asked("hi"), verbosity="low")


def test_what_one_prompt_cannot_hold_is_refused_with_advice() -> None:
    with pytest.raises(UsageError, match="one prompt: use ollama: for tools"):
        body(asked("hi"), tools=(ToolSpec(name="look"),))
    with pytest.raises(UsageError, match="one prompt: use ollama: for conversations"):
        body(asked("hi"), said(text(0, "a")), asked("more"))
    file = FileContent(media_type="application/pdf", data="QUJD")
    with pytest.raises(UsageError, match="images as data"):
        body(Message(role="user", content=(file,)))


@pytest.mark.parametrize(
    ("model", "dialect", "path"),
    [
        ("ollama-generate:m", "ollama", "/api/generate"),
        ("gemini-interactions:gemini-3-flash-preview", "interactions", "/v1beta/interactions"),
    ],
)
def test_a_question_goes_to_its_endpoint_and_is_answered(
    model: str, dialect: str, path: str
) -> None:
    script = ScriptedTransport(["Hello."], dialect=dialect)
    result = headrace.complete(model, "hi", transport=script, api_key="k")
    assert result.text == "Hello."
    assert "hi" in str(script.requests[0])
    endpoint = headrace.providers.resolve(model, api_key="k")
    assert path in endpoint.url
    revision = "2026-05-20" if dialect == "interactions" else None
    assert endpoint.headers.get("api-revision") == revision
