"""Request bodies, read back: the encoders write, the model hears."""

from __future__ import annotations

import msgspec
import pytest

from headrace.content import TextContent
from headrace.encoders import Options, Request, ToolSpec
from headrace.events import JSONObject
from headrace.messages import CallResult, Message
from headrace.providers import CATALOG
from headrace.rehearsal.request_reader import Heard, HeardMessage, heard_from
from headrace.rehearsal.script import call, say, think, turn
from headrace.turn.model import encode_body
from tests.rehearsal.scripts import MODELS, bytes_of, decode
from tests.wire import message_of

PROVIDERS = {dialect: model.partition(":")[0] for dialect, model in MODELS.items()} | {
    "chat": "openai-chat"
}
# Dialects whose requests name the model in the address.
IN_ADDRESS = ("gemini", "bedrock")
SCHEMA: JSONObject = {"type": "object", "properties": {"a": {"type": "integer"}}}
each_dialect = pytest.mark.parametrize("dialect", MODELS)


def asked(text: str) -> Message:
    return Message(role="user", content=(TextContent(text),))


def said(dialect: str, *, has_results: bool) -> Message:
    """An answer with two calls, and maybe what came of them."""
    script = turn(think("Hm."), say("Let me see."), call("add", a=1), call("look"))
    message = message_of(decode(bytes_of(script, dialect), dialect))
    (one,) = message.turns
    ids = [part.call_id for part in one.calls]
    results = (
        CallResult(call_id=ids[0], content=(TextContent("two"),)),
        CallResult(call_id=ids[1], content=(TextContent("nothing"),), is_error=True),
    )
    return _with_results(message, results if has_results else ())


def _with_results(message: Message, results: tuple[CallResult, ...]) -> Message:
    (one,) = message.turns
    return msgspec.structs.replace(message, turns=(msgspec.structs.replace(one, results=results),))


def hear(dialect: str, *messages: Message, effort: str | None = None) -> Heard:
    request = Request(
        model="m",
        messages=messages,
        instructions="Be kind.",
        tools=(ToolSpec(name="add", description="Adds.", parameters=SCHEMA),),
        options=Options(effort=effort),  # type: ignore[arg-type]
    )
    return heard_from(encode_body(CATALOG[PROVIDERS[dialect]], request), dialect)


@each_dialect
def test_the_first_question_is_heard(dialect: str) -> None:
    heard = hear(dialect, asked("Why?"))
    model = "" if dialect in IN_ADDRESS else "m"
    assert (heard.user, heard.system, heard.model) == ("Why?", "Be kind.", model)
    assert heard.messages == (HeardMessage("user", "Why?"),)
    (tool,) = heard.tools
    assert (tool.name, tool.description, tool.schema) == ("add", "Adds.", SCHEMA)
    assert (heard.results, heard.replies, heard.since_user) == ((), 0, ())


@each_dialect
def test_results_are_heard_with_the_names_of_their_tools(dialect: str) -> None:
    heard = hear(dialect, asked("Why?"), said(dialect, has_results=True))
    told = [(result.name, result.text.removeprefix("Error: ")) for result in heard.results]
    assert told == [("add", "two"), ("look", "nothing")]
    if dialect == "anthropic":
        assert [result.is_error for result in heard.results] == [False, True]
    assert (heard.user, heard.replies) == ("Why?", 1)
    assert [message.role for message in heard.since_user] == ["assistant", "tool", "tool"]
    assert heard.since_user[0].calls == ("add", "look")
    assert heard.since_user[0].text == "Let me see."


@each_dialect
def test_results_before_the_last_question_are_not_those_of_the_last_calls(dialect: str) -> None:
    heard = hear(dialect, asked("Why?"), said(dialect, has_results=True), asked("And now?"))
    assert (heard.user, heard.results, heard.since_user) == ("And now?", (), ())
    assert heard.words > 0


@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_the_effort_is_heard(dialect: str) -> None:
    assert hear(dialect, asked("Why?"), effort="low").effort == "low"
    assert hear(dialect, asked("Why?")).effort is None


@each_dialect
def test_a_body_of_nonsense_is_heard_as_nothing(dialect: str) -> None:
    odd: list[JSONObject] = [
        {},
        {"messages": 5, "input": 5, "tools": "x"},
        {"messages": [1, {"role": 5, "content": [None, 3]}], "input": [{"type": 5}, 7]},
    ]
    for body in odd:
        assert heard_from(body, dialect).user == ""


def test_a_plain_text_is_a_question_too() -> None:
    assert heard_from({"input": "Why?"}, "responses").user == "Why?"
