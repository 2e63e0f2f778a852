"""The rehearsal model: it reads, thinks, calls, answers, obeys wishes, and says what it is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace import Message, RequestFailed
from headrace.content import TextContent
from headrace.encoders import ToolSpec
from headrace.messages import CallResult
from headrace.rehearsal import model
from headrace.rehearsal.model import answer, rehearsal_transport
from headrace.rehearsal.reading import WISHES, read, value_of
from headrace.rehearsal.request_reader import Heard, HeardMessage, HeardResult, HeardTool
from headrace.rehearsal.script import (
    Call,
    Cut,
    Error,
    Refuse,
    Say,
    ScriptedTurn,
    Stall,
    Think,
    Wait,
)
from headrace.testing import run_virtual
from headrace.transport import NEVER
from tests.rehearsal.scripts import MODELS, REHEARSED, text_of

TOOLS = (
    HeardTool("calculator", schema={"properties": {"expression": {}}, "required": ["expression"]}),
    HeardTool("clock", schema={"properties": {"timezone": {"type": "string"}}}),
    HeardTool("notepad", schema={"properties": {"title": {}, "content": {}}}),
    HeardTool("launch_rocket"),
)


def asked(text: str, *results: HeardResult, tools: Any = (), **facts: Any) -> ScriptedTurn:
    messages = [HeardMessage("user", text)]
    if results:
        messages.append(HeardMessage("assistant", "", tuple(result.name for result in results)))
    messages += [HeardMessage("tool", result=result) for result in results]
    return answer(Heard(messages=tuple(messages), tools=tuple(tools), **facts))


def calls_of(turn: ScriptedTurn) -> list[tuple[str, str]]:
    return [(line.name, line.raw) for line in turn.lines if isinstance(line, Call)]


def thoughts_of(turn: ScriptedTurn) -> list[str]:
    return [line.text for line in turn.lines if isinstance(line, Think)]


# --- reading ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sums"),
    [
        ("What is 12*34?", ["12*34"]),
        ("12 times 34, and 10 minus 4", ["12 * 34", "10 - 4"]),
        ("(3 + 4) * 2", ["(3 + 4) * 2"]),
        ("15% of 80", ["15 / 100 * 80"]),
        ("1,200 + 1", ["1200 + 1"]),
        ("on 2026-11-02 we met", []),
        ("1 / 0", []),
        ("no numbers", []),
    ],
)
def test_sums_are_found(text: str, sums: list[str]) -> None:
    assert list(read(text).sums) == sums


@pytest.mark.parametrize(
    ("sum", "value"),
    [("12*34", "408"), ("1/4", "0.25"), ("6/3", "2"), ("2**9", None), ("f(1)", None), ("", None)],
)
def test_only_sums_of_numbers_have_a_value(sum: str, value: str | None) -> None:
    assert value_of(sum) == value


@pytest.mark.parametrize("wish", WISHES)
def test_a_wish_is_heard_first_after_a_mark_and_after_please(wish: str) -> None:
    for text in (wish, f"{wish}: why?", f"Why is that? {wish}.", f"please {wish}"):
        assert read(text).wishes == {wish}


@pytest.mark.parametrize("text", ["How long is the Nile?", "I cut bread", "does it fail often"])
def test_a_word_in_a_sentence_is_no_wish(text: str) -> None:
    assert read(text).wishes == frozenset()


def test_times_and_notes_are_found() -> None:
    assert read("What time is it?").asks_time
    assert not read("The first time I saw it").asks_time
    assert read("Please write me a letter to the mayor. Now.").note == "letter to the mayor"
    assert read("Why?").note is None


# --- tools ------------------------------------------------------------------------


def test_a_sum_goes_to_the_calculator_and_its_result_into_the_answer() -> None:
    first = asked("What is 12*34?", tools=TOOLS)
    assert calls_of(first) == [("calculator", '{"expression":"12*34"}')]
    second = asked("What is 12*34?", HeardResult("c1", "calculator", "408"), tools=TOOLS)
    assert calls_of(second) == []
    said = text_of(second.lines)
    assert "**408**" in said
    assert "```python" in said
    assert "| `calculator` | 408 |" in said


def test_tools_come_one_after_the_other_unless_all_at_once_is_wished() -> None:
    text = "What is 2 + 2, what time is it, and write me a list of rivers."
    assert [name for name, _ in calls_of(asked(text, tools=TOOLS))] == ["calculator"]
    after = asked(text, HeardResult("c", "calculator", "4"), tools=TOOLS)
    assert [name for name, _ in calls_of(after)] == ["clock"]
    together = calls_of(asked(f"parallel: {text}", tools=TOOLS))
    assert [name for name, _ in together] == ["calculator", "clock", "notepad"]
    assert '"title":"List of rivers"' in together[2][1]


def test_thinking_again_is_thinking_between_tools() -> None:
    text = "think again: hello there friend"
    first = asked(text, tools=TOOLS)
    second = asked(text, HeardResult("c", "calculator", "42"), tools=TOOLS)
    assert [name for name, _ in calls_of(first) + calls_of(second)] == ["calculator", "clock"]
    assert any("think again" in thought for thought in thoughts_of(second))


def test_a_tool_that_failed_is_told() -> None:
    said = text_of(asked("2 + 2", HeardResult("c", "calculator", "boom", True), tools=TOOLS).lines)
    assert "did not work" in said


def test_without_tools_it_counts_by_itself_and_says_so() -> None:
    said = text_of(asked("What is 12*34?").lines)
    assert "**12*34 = 408**" in said
    assert "No calculator" in said


def test_what_a_tool_demands_is_filled_in() -> None:
    schema = {
        "properties": {
            "text": {},
            "kind": {"enum": ["markdown", "code"]},
            "size": {"type": "integer"},
        },
        "required": ["text", "kind", "size"],
    }
    (called,) = calls_of(asked("Write a note of thanks", tools=[HeardTool("notepad", "", schema)]))
    assert '"kind":"markdown"' in called[1]
    assert '"size":1' in called[1]
    assert "Note of thanks" in called[1]


# --- what it says -----------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["Hello", "Who are you?", "help", "Why is the sky blue?", "2 + 2", "long: rivers", ""]
)
def test_it_says_what_it_is(text: str) -> None:
    assert "rehearsal" in text_of(asked(text).lines).lower()


def test_it_thinks_in_parts_with_titles_as_the_effort_asks() -> None:
    text = "Why is the sky blue?"
    assert all(thought.startswith("**") for thought in thoughts_of(asked(text)))
    assert len(thoughts_of(asked(text, effort="high"))) > len(thoughts_of(asked(text)))
    assert thoughts_of(asked(text, effort="none")) == []


def test_answers_depend_on_the_message_and_on_what_was_said_before() -> None:
    sky, sea = (text_of(asked(f"Why is the {word} blue?").lines) for word in ("sky", "sea"))
    assert sky != sea
    assert "> Why is the sky blue?" in sky
    before = (HeardMessage("user", "I like tea."), HeardMessage("assistant", "Good."))
    heard = Heard(messages=(*before, HeardMessage("user", "Why is that?")))
    assert "“I like tea.”" in text_of(answer(heard).lines)


def test_help_tells_every_wish() -> None:
    said = text_of(asked("help").lines)
    assert all(f"| `{wish}` |" in said for wish in WISHES)
    assert all(f"    {wish} " in (model.__doc__ or "") for wish in WISHES)


# --- wishes -----------------------------------------------------------------------


@pytest.mark.parametrize(("wish", "kind"), [("fail", Error), ("cut", Cut), ("stall", Stall)])
def test_faults_come_in_the_middle_of_the_answer(wish: str, kind: type) -> None:
    lines = asked(f"{wish}: tell me about rivers").lines
    assert isinstance(lines[-1], kind)
    assert isinstance(lines[-2], Say)


def test_refusing_is_refused_and_slow_waits_and_long_is_long() -> None:
    assert isinstance(asked("refuse").lines[0], Refuse)
    assert sum(isinstance(line, Wait) for line in asked("slow: hi").lines) >= 2
    assert len(text_of(asked("long: rivers of ice").lines).split()) > 3_000


def parts_of(message: Message) -> list[str]:
    return [type(part).__name__ for turn in message.turns for part in turn.parts]


@pytest.mark.parametrize("wish", ["hidden", "redacted"])
def test_hidden_reasoning_has_no_words(wish: str) -> None:
    shown, message = ask("rehearsal:demo", "Hello"), ask("rehearsal:demo", f"{wish}: Hello")
    assert shown.reasoning
    assert message.reasoning == ""
    assert parts_of(message)[-2:] == ["ReasoningPart", "TextPart"]


def test_redacted_reasoning_is_a_block_where_the_dialect_has_one() -> None:
    transport = rehearsal_transport(dialect="anthropic")
    message = ask("anthropic:claude-x", "redacted: Hello", transport)
    assert parts_of(message) == ["RedactedPart", "RedactedPart", "TextPart"]


@pytest.mark.parametrize(
    ("wish", "name", "args"),
    [
        ("web search", "web_search", "rivers"),
        ("run code", "code_interpreter", "print(6 * 7)"),
        ("file search", "file_search", "rivers"),
    ],
)
def test_the_provider_runs_its_tools(wish: str, name: str, args: str) -> None:
    message = ask("rehearsal:demo", f"{wish}: rivers")
    (call,) = message.calls
    assert (call.name, call.executor) == (name, "provider")
    assert args in str(call.args)
    assert parts_of(message)[-3:] == ["CallPart", "OutputPart", "TextPart"]
    assert str(message.finish) == "end_turn"


def test_an_approval_is_asked_for_and_ends_the_answer() -> None:
    message = ask("rehearsal:demo", "approval: rivers")
    (call,) = message.calls
    assert (call.name, call.args) == ("delete_file", {"path": "draft.md"})
    assert [activity.status for activity in call.activities] == ["approval_requested"]
    assert message.text == ""


def test_a_dialect_without_tools_of_the_provider_is_answered_with_that() -> None:
    transport = rehearsal_transport(dialect="chat")
    message = ask("vllm:m", "web search: rivers", transport)
    assert message.text.startswith("*The chat dialect has no tools of the provider.*")


@given(st.text(max_size=80))
def test_any_message_gets_an_answer_and_always_the_same(text: str) -> None:
    assert asked(text, tools=TOOLS) == asked(text, tools=TOOLS)
    assert asked(text, tools=TOOLS).lines


# --- end to end -------------------------------------------------------------------


def ask(name: str, question: Any, transport: Any = None) -> Message:
    tools = [
        ToolSpec(name="calculator", parameters={"type": "object", "properties": {"expression": {}}})
    ]

    async def run() -> Message:
        result = await headrace.complete_async(
            name, question, tools=tools, transport=transport, api_key="k" * 9, policy=NEVER
        )
        return result.message

    return run_virtual(run())


def test_the_catalogue_has_it_without_key_and_network() -> None:
    first = ask("rehearsal:demo", "What is 12*34?")
    (called,) = first.calls
    assert (called.name, called.args) == ("calculator", {"expression": "12*34"})
    assert first.turns[0].model == "demo"
    with pytest.raises(RequestFailed, match="429"):
        ask("rehearsal:demo", "refuse")


@pytest.mark.parametrize("dialect", REHEARSED)
def test_a_whole_conversation_in_every_dialect(dialect: str) -> None:
    transport = rehearsal_transport(dialect=dialect)
    question = Message(role="user", content=(TextContent("What is 12*34?"),))
    first = ask(MODELS[dialect], [question], transport)
    result = CallResult(call_id=first.calls[0].call_id, content=(TextContent("408"),))
    told = msgspec.structs.replace(first.turns[0], results=(result,))
    done = ask(
        MODELS[dialect], [question, msgspec.structs.replace(first, turns=(told,))], transport
    )
    assert "408" in done.text
    assert str(done.finish) == "end_turn"
    assert transport.open_streams == 0
