"""What a message tells of itself, whoever said it."""

from __future__ import annotations

from headrace.content import ImageContent, TextContent
from headrace.messages import Message, TextPart, Turn


def test_the_text_of_a_message_is_what_was_said_by_whomever() -> None:
    image = ImageContent(media_type="image/png", url="https://example.org/weir.png")
    asked = Message(role="user", content=(TextContent("Look:"), image, TextContent("a weir?")))
    assert asked.text == "Look:\na weir?"
    part = TextPart(part=0, output=0, item=0, started_ms=0, text="Yes.")
    assert Message(role="assistant", turns=(Turn(parts=(part,)),) * 2).text == "Yes.Yes."
    assert Message(role="user").text == ""
