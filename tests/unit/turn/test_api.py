"""One line to a model: events, messages, both ways to wait, and errors that help."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import msgspec
import pytest

import headrace
from headrace import Message, ToolSpec, UsageError
from headrace import events as ev
from headrace.content import ImageContent, TextContent
from headrace.recording import ReplayTransport
from headrace.transport import HTTPCall
from tests.wire import chunk, sse

ANSWER = sse(
    chunk({"reasoning_content": "hm"}),
    chunk({"content": "yes"}),
    chunk({}, finish="stop"),
    {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
)


class Recorder:
    """A transport that plays one stream and keeps what it was asked."""

    def __init__(self, *reads: bytes) -> None:
        self._inner = ReplayTransport(list(reads) or [ANSWER], speed=None)
        self.calls: list[HTTPCall] = []
        self.is_closed = False

    async def open(self, call: HTTPCall) -> Any:
        self.calls.append(call)
        return await self._inner.open(call)

    async def aclose(self) -> None:
        self.is_closed = True

    @property
    def body(self) -> dict[str, Any]:
        return msgspec.json.decode(self.calls[-1].body)


def test_events_without_waiting() -> None:
    transport = Recorder()
    with headrace.stream("vllm:m", "Why?", transport=transport) as turn:
        events = list(turn)
    assert isinstance(events[0], ev.TurnStarted)
    assert events[0].provider == "vllm"
    assert isinstance(events[-1], ev.TurnFinished)
    assert (turn.message.reasoning, turn.message.text) == ("hm", "yes")
    assert turn.usage.output_tokens == 4
    assert str(turn.finish) == "end_turn"
    assert [record.seq for record in turn.records_so_far] == list(range(1, len(events) + 1))
    assert not transport.is_closed, "a transport that was passed in stays the caller's"


def test_events_with_waiting() -> None:
    async def ask() -> list[ev.TurnEvent]:
        async with headrace.stream("vllm:m", "Why?", transport=Recorder()) as turn:
            return [event async for event in turn]

    assert isinstance(asyncio.run(ask())[-1], ev.TurnFinished)


def test_the_sync_form_works_inside_a_running_loop() -> None:
    async def notebook() -> headrace.Result:
        return headrace.complete("vllm:m", "Why?", transport=Recorder())

    assert asyncio.run(notebook()).text == "yes"


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("is_agent", [False, True])
def test_every_complete_gives_the_same_kind_of_result(*, is_agent: bool, is_async: bool) -> None:
    transport = Recorder()
    if is_agent:
        agent = headrace.Agent("vllm:m", transport=transport)
        answer = agent.complete_async("Why?") if is_async else agent.complete("Why?")
    elif is_async:
        answer = headrace.complete_async("vllm:m", "Why?", transport=transport)
    else:
        answer = headrace.complete("vllm:m", "Why?", transport=transport)
    result = answer if isinstance(answer, headrace.Result) else asyncio.run(answer)
    assert isinstance(result, headrace.Result)
    assert (result.text, result.error, str(result.finish)) == ("yes", None, "end_turn")
    assert (result.message.reasoning, result.usage.output_tokens) == ("hm", 4)


def test_records_can_be_read_in_place_of_events() -> None:
    with headrace.stream("vllm:m", "Why?", transport=Recorder()) as turn:
        events = [next(iter(turn)), *(record.event for record in turn.records())]
    assert events == [record.event for record in turn.records_so_far]

    async def read() -> None:
        async with headrace.stream("vllm:m", "Why?", transport=Recorder()) as turn:
            records = [record async for record in turn.records()]
        assert records == turn.records_so_far
        assert turn.error is None

    asyncio.run(read())


def look_up(city: str) -> str:
    """Tell the weather."""
    return f"rain in {city}"


@pytest.mark.parametrize("given", [look_up, headrace.tool(look_up), headrace.tool(look_up).spec])
def test_functions_tools_and_specs_are_tools(given: Any) -> None:
    transport = Recorder()
    headrace.complete("vllm:m", "Why?", tools=[given], transport=transport)
    headrace.Agent("vllm:m", tools=[given], transport=transport).complete("Why?")
    for call in transport.calls:
        (function,) = [entry["function"] for entry in msgspec.json.decode(call.body)["tools"]]
        assert (function["name"], function["description"]) == ("look_up", "Tell the weather.")


def test_a_decorated_function_can_still_be_called() -> None:
    assert headrace.tool(look_up)("Oslo") == "rain in Oslo"
    assert headrace.tool(timeout_s=3)(look_up)(city="Oslo") == "rain in Oslo"


@pytest.mark.parametrize("given", [7, "look_up", None])
def test_what_is_not_a_tool_is_refused(given: Any) -> None:
    for ask in (headrace.stream, headrace.Agent):
        arguments = ("vllm:m", "Why?") if ask is headrace.stream else ("vllm:m",)
        with pytest.raises(UsageError, match="expected a function, a Tool or a ToolSpec as a tool"):
            ask(*arguments, tools=[given], transport=Recorder())


def test_a_turn_that_breaks_off_says_so_in_the_message() -> None:
    cut = sse(chunk({"content": "ha"}), done=False)
    result = headrace.complete("vllm:m", "Why?", transport=Recorder(cut))
    assert (result.text, result.finish) == ("ha", None)
    assert result.error is not None
    assert result.error.category == "incomplete"
    assert result.message.error == result.error


def test_what_is_asked_reaches_the_provider() -> None:
    transport = Recorder()
    headrace.complete(
        "vllm:m",
        "Why?",
        instructions="Be brief.",
        tools=[ToolSpec(name="f")],
        effort="high",
        max_tokens=5,
        temperature=0.5,
        transport=transport,
    )
    body = transport.body
    assert body["model"] == "m"
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert body["messages"][1]["content"] == "Why?"
    assert body["tools"][0]["function"]["name"] == "f"
    assert (body["max_tokens"], body["temperature"]) == (5, 0.5)
    assert body["chat_template_kwargs"] == {"enable_thinking": True}


@pytest.mark.parametrize(
    "question",
    [
        "Why?",
        TextContent("Why?"),
        ["Why?"],
        [TextContent("Why?")],
        Message(role="user", content=(TextContent("Why?"),)),
        [Message(role="user", content=(TextContent("Why?"),))],
    ],
)
def test_a_question_may_be_a_text_content_or_messages(question: Any) -> None:
    transport = Recorder()
    headrace.complete("vllm:m", question, transport=transport)
    assert transport.body["messages"] == [{"role": "user", "content": "Why?"}]


def test_images_go_along() -> None:
    transport = Recorder()
    question: list[Any] = ["What is this?", ImageContent(media_type="image/png", data="aGk=")]
    headrace.complete("vllm:m", question, transport=transport)
    assert transport.body["messages"][0]["content"][1]["type"] == "image_url"


@pytest.mark.parametrize("question", [[], [7], None])
def test_what_cannot_be_asked_is_refused(question: Any) -> None:
    with pytest.raises(UsageError, match="expected a text, content, or messages"):
        headrace.stream("vllm:m", question, transport=Recorder())


def test_an_unknown_option_is_an_error_that_lists_what_there_is() -> None:
    with pytest.raises(UsageError, match="no option 'temprature': did you mean 'temperature'"):
        headrace.stream("vllm:m", "Why?", temprature=1, transport=Recorder())  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="a wrong value"):
        headrace.stream("vllm:m", "Why?", max_tokens="many", transport=Recorder())  # type: ignore[arg-type]


def test_a_stream_must_be_entered_first() -> None:
    turn = headrace.stream("vllm:m", "Why?", transport=Recorder())
    with pytest.raises(UsageError, match="enter the stream"):
        next(iter(turn))


def test_leaving_early_keeps_what_came() -> None:
    reads = [sse(chunk({"content": word}), done=False) for word in ("a", "b", "c")]
    with headrace.stream("vllm:m", "Why?", transport=Recorder(*reads)) as turn:
        for event in turn:
            if isinstance(event, ev.TextDelta):
                break
    assert turn.message.text.startswith("a")
    assert turn.finish is None


def test_a_second_loop_goes_on_where_the_first_was_left() -> None:
    with headrace.stream("vllm:m", "Why?", transport=Recorder()) as turn:
        first = next(iter(turn))
        rest = list(turn)
    assert isinstance(first, ev.TurnStarted)
    assert isinstance(rest[-1], ev.TurnFinished)
    assert turn.message.text == "yes"

    async def ask() -> str:
        async with headrace.stream("vllm:m", "Why?", transport=Recorder()) as turn:
            async for _ in turn:
                break
            async for _ in turn:
                pass
        return turn.message.text

    assert asyncio.run(ask()) == "yes"


@pytest.mark.parametrize("before", [b"", sse(chunk({"content": "a"}), done=False)])
def test_a_key_that_the_provider_quotes_is_never_told(before: bytes) -> None:
    key = "0123456789abcdef0123456789abcdef"
    said = before + sse({"error": {"message": f"bad key {key}", "code": key}})
    try:
        message = headrace.complete("mistral:m", "Why?", api_key=key, transport=Recorder(said))
    except headrace.RequestFailed as error:
        told = repr((error, error.code))
    else:
        told = repr(message)
    assert "bad key" in told
    assert key not in told


def test_recording_to_a_folder_that_is_not_there_is_refused_before_asking() -> None:
    transport = Recorder()
    with pytest.raises(UsageError, match="no such folder"):
        headrace.complete("vllm:m", "Why?", record="gone/x.sse", transport=transport)
    assert transport.calls == []


def test_a_loop_that_timed_out_can_be_taken_up_again() -> None:
    async def ask() -> str:
        reads = [sse(chunk({"content": "a"}), done=False), ANSWER]
        slow = ReplayTransport(reads, [0, 150], speed=1.0)
        async with headrace.stream("vllm:m", "Why?", transport=slow) as turn:
            try:
                async with asyncio.timeout(0.05):
                    async for _ in turn:
                        pass
            except TimeoutError:
                pass
            async for _ in turn:
                pass
        return turn.message.text

    assert asyncio.run(ask()) == "ayes"


@pytest.mark.parametrize(
    ("model", "package", "extra"),
    [("vllm:m", "aiohttp", "http"), ("xai-grpc:grok-4", "grpc", "xai")],
)
def test_a_transport_that_is_not_installed_names_its_extra(
    model: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.delitem(sys.modules, f"headrace.transport.{TRANSPORTS[extra]}", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Missing(package), *sys.meta_path])
    with pytest.raises(UsageError, match=rf"{package}.* is missing: install headrace\[{extra}\]"):
        headrace.stream(model, "hi", api_key="k")


TRANSPORTS = {"http": "http", "xai": "grpc.transport"}


class Missing:
    """Finds nothing where a package would be."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] == self._package:
            raise ModuleNotFoundError(f"no {name}", name=name)


UNPARSED = sse(
    chunk({"content": "Hm.</th"}), chunk({"content": "ink>Yes"}), chunk({}, finish="stop")
)
INSIDE = headrace.ChatQuirks(starts_inside_thinking=True)


def test_quirks_are_for_a_server_whose_streams_differ() -> None:
    """A server without a reasoning parser sends the reasoning as text, and only the closing tag."""
    result = headrace.complete("vllm:m", "Why?", transport=Recorder(UNPARSED), quirks=INSIDE)
    assert (result.message.reasoning, result.text) == ("Hm.", "Yes")
    result = headrace.complete("vllm:m", "Why?", transport=Recorder(UNPARSED))
    assert result.message.reasoning == ""


def test_an_agent_takes_quirks_too() -> None:
    agent = headrace.Agent("vllm:m", transport=Recorder(UNPARSED), quirks=INSIDE)
    result = agent.complete("Why?")
    assert (result.message.reasoning, result.text) == ("Hm.", "Yes")


@pytest.mark.parametrize("model", ["ollama:m", "anthropic:claude-sonnet-4-5", "openai:gpt-5"])
def test_quirks_of_other_streams_are_refused(model: str) -> None:
    with pytest.raises(UsageError, match="quirks are for chat streams"):
        headrace.stream(model, "Why?", api_key="k", transport=Recorder(), quirks=INSIDE)


@pytest.mark.parametrize("model", ["vllm:m", "ollama:m", "anthropic:claude-sonnet-4-5"])
@pytest.mark.parametrize(
    "input",
    ["", "  \n", [""], Message.user(""), {"role": "user", "content": ""}, [TextContent("")]],
)
def test_an_empty_prompt_is_refused_by_name(model: str, input: Any) -> None:
    with pytest.raises(UsageError, match="the input is empty"):
        headrace.stream(model, input, api_key="k", transport=Recorder())


LOGPROBS = {"content": [{"token": "yes", "logprob": -0.1}]}


def test_logprobs_are_asked_for_and_kept() -> None:
    told = chunk({"content": "yes"})
    told["choices"][0]["logprobs"] = LOGPROBS
    data = sse(told, chunk({}, finish="stop"))
    cases: tuple[tuple[int | None, dict[str, Any]], ...] = (
        (None, {"logprobs": True}),
        (2, {"logprobs": True, "top_logprobs": 2}),
    )
    for top, asked in cases:
        is_asked = True if top is None else None
        transport = Recorder(data)
        with headrace.stream(
            "openai-chat:m",
            "Why?",
            transport=transport,
            api_key="k",
            logprobs=is_asked,
            top_logprobs=top,
        ) as turn:
            (*_, end) = list(turn)
        assert {name: transport.body.get(name) for name in asked} == asked
        assert isinstance(end, ev.TurnFinished)
        assert end.provider_data["logprobs"] == {"0": [LOGPROBS]}
    transport = Recorder(data)
    with headrace.stream("openai-chat:m", "Why?", transport=transport, api_key="k") as turn:
        (*_, end) = list(turn)
    assert isinstance(end, ev.TurnFinished)
    assert "logprobs" not in end.provider_data
    assert "logprobs" not in transport.body


def test_an_agent_keeps_logprobs_too() -> None:
    told = chunk({"content": "yes"})
    told["choices"][0]["logprobs"] = LOGPROBS
    transport = Recorder(sse(told, chunk({}, finish="stop")))
    agent = headrace.Agent("openai-chat:m", transport=transport, api_key="k", logprobs=True)
    with agent.run("Why?") as run:
        ends = [event for event in run if isinstance(event, ev.TurnFinished)]
    assert ends[0].provider_data["logprobs"] == {"0": [LOGPROBS]}


@pytest.mark.parametrize("model", ["anthropic:m", "openai:m", "gemini:m", "ollama:m"])
@pytest.mark.parametrize("name", ["logprobs", "top_logprobs"])
def test_logprobs_are_refused_by_name_elsewhere(model: str, name: str) -> None:
    options: Any = {name: 1 if name == "top_logprobs" else True}
    with pytest.raises(UsageError, match=f"has no option '{name}'"):
        headrace.stream(model, "Why?", transport=Recorder(), api_key="k", **options)
