"""What a message tells of itself, whoever said it."""

from __future__ import annotations

import msgspec

from headrace.content import ImageContent, TextContent
from headrace.messages import CallPart, Message, ReasoningPart, TextPart, Turn


def test_the_text_of_a_message_is_what_was_said_by_whomever() -> None:
    image = ImageContent(media_type="image/png", url="https://example.org/weir.png")
    asked = Message(role="user", content=(TextContent("Look:"), image, TextContent("a weir?")))
    assert asked.text == "Look:\na weir?"
    part = TextPart(part=0, output=0, item=0, started_ms=0, text="Yes.")
    assert Message(role="assistant", turns=(Turn(parts=(part,)),) * 2).text == "Yes.Yes."
    assert Message(role="user").text == ""


def test_the_reasoning_of_a_message_is_that_of_all_turns() -> None:
    part = ReasoningPart(part=0, output=0, item=0, started_ms=0, text="Hm.")
    assert Message(role="assistant", turns=(Turn(parts=(part,)),) * 2).reasoning == "Hm.Hm."


def test_only_a_whole_call_of_the_client_can_be_run() -> None:
    call = CallPart(
        part=0, output=0, item=0, started_ms=0, ended_ms=1, call_id="c", name="f", raw="{}", args={}
    )
    assert call.is_runnable
    for change in ({"executor": "provider"}, {"ended_ms": None}, {"error": "no JSON"}):
        assert not msgspec.structs.replace(call, **change).is_runnable
