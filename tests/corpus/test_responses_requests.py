"""Requests after every recorded stream: what the encoder writes, the reader reads as it was."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace.content import TextContent
from headrace.encoders import Request, ToolSpec
from headrace.encoders.responses.request import encode_responses
from headrace.events import Record, ToolResult
from headrace.messages import Message, fold
from headrace.readers.openai_responses import read_request
from tests.corpus import recorded
from tests.wire import events_of

pytestmark = pytest.mark.shared(recorded.MANIFEST)

ROWS = recorded.rows("openai-responses", "openai-chat", "anthropic", "gemini")


def body_of(row: dict[str, Any]) -> dict[str, Any]:
    """The request that follows a recorded answer, with a result for each of its calls."""
    events: list[Any] = list(
        events_of(recorded.read(row), framing=recorded.FRAMINGS[row["framing"]])
    )
    calls = fold(Record(n, n, event) for n, event in enumerate(events, 1)).calls
    content = (TextContent("4"),)
    events += [
        ToolResult(call_id=call.call_id, content=content)
        for call in calls
        if call.executor == "client"
    ]
    answer = fold(Record(n, n, event) for n, event in enumerate(events, 1))
    messages = (Message.system("s"), Message.user("q"), answer, Message.user("go on"))
    tool = ToolSpec(name="f", description="d", is_strict=True)
    return as_json(encode_responses(Request(model="gpt-5", messages=messages, tools=(tool,))))


def as_json(body: dict[str, Any]) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(body))
    return decoded


def test_what_the_encoder_writes_is_read_as_it_was() -> None:
    for row in ROWS:
        body = body_of(row)
        again = as_json(encode_responses(read_request(body).request))
        assert again["input"] == body["input"], row["file"]
        assert again == body
