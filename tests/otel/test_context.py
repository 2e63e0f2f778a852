"""The trace context of requests and tools, and what is recorded of requests."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from typing import Any

import pytest
from opentelemetry import trace

from headrace.engine import Agent, Middleware, RunView
from headrace.events import Record
from headrace.otel import OpenTelemetry
from headrace.rehearsal.script import call, say, think, turn, usage
from headrace.rehearsal.transport import ScriptedTransport
from headrace.telemetry import names
from headrace.telemetry.content import MAX_CHARS
from headrace.tools import tool
from headrace.trace_headers import TRACE_HEADERS
from headrace.transport.retry import NEVER
from headrace.transport.transport import HTTPCall
from tests.otel.traced import Traces, own_id, parent_id, trace_id

SECRET = "sk-proj-" + "a1B2c3D4" * 6


class Calls(ScriptedTransport):
    """A scripted model that keeps the headers of the requests."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.headers: list[dict[str, str]] = []

    async def open(self, call: HTTPCall) -> Any:
        self.headers.append(call.headers)
        return await super().open(call)


def agent_on(turns: Any, *tools: Any, **options: Any) -> tuple[Agent[Any], Calls]:
    transport = Calls(turns, dialect="chat")
    agent = Agent(
        "openai-chat:gpt-5", transport=transport, api_key="k", tools=tools, policy=NEVER, **options
    )
    return agent, transport


def named(traces: Traces, name: str) -> list[Any]:
    return [span for span in traces.spans if span.name == name]


def test_requests_and_tools_carry_the_trace_that_they_belong_to() -> None:
    traces = Traces()
    seen: list[tuple[int, str]] = []

    @tool
    async def look() -> str:
        """Look."""
        current = trace.get_current_span().get_span_context()
        seen.append((current.span_id, TRACE_HEADERS.get()["traceparent"]))
        return "seen"

    @tool
    def look_in_thread() -> str:
        """Look, in a thread."""
        current = trace.get_current_span().get_span_context()
        seen.append((current.span_id, TRACE_HEADERS.get()["traceparent"]))
        return "seen"

    agent, transport = agent_on(
        [turn(call("look")), turn(call("look_in_thread")), turn(say("Done."))],
        look,
        look_in_thread,
        middleware=[traces.telemetry],
    )
    agent.complete("Go.")
    chats = sorted(named(traces, "chat gpt-5"), key=lambda span: span.start_time)
    sent = [headers["traceparent"] for headers in transport.headers]
    assert sorted(sent) == sorted(f"00-{trace_id(s)}-{own_id(s)}-03" for s in chats)
    tools = [*named(traces, "execute_tool look"), *named(traces, "execute_tool look_in_thread")]
    assert seen == [
        (int(own_id(span), 16), f"00-{trace_id(span)}-{own_id(span)}-03") for span in tools
    ]
    assert not TRACE_HEADERS.get()


def test_requests_of_sub_agents_carry_the_span_of_their_own_request() -> None:
    traces = Traces()
    inner, transport = agent_on([turn(say("Found."))])
    agent, _ = agent_on(
        [turn(call("helper", task="x")), turn(say("Done."))],
        inner.as_tool("helper", "Help."),
        middleware=[traces.telemetry],
    )
    agent.complete("Go.")
    (nested,) = named(traces, "invoke_agent helper")
    (chat,) = [span for span in traces.spans if parent_id(span) == own_id(nested)]
    assert [headers["traceparent"].split("-")[2] for headers in transport.headers] == [own_id(chat)]


def test_without_tracing_nothing_is_sent() -> None:
    agent, transport = agent_on([turn(say("Hi."))])
    agent.complete("Go.")
    assert "traceparent" not in transport.headers[0]


def test_without_an_sdk_nothing_is_recorded_and_runs_are_the_same() -> None:
    agent, transport = agent_on([turn(say("Hi."))], middleware=[OpenTelemetry()])
    with agent.run("Go.") as run:
        events = list(run)
    assert run.result.text == "Hi."
    assert "traceparent" not in transport.headers[0]
    assert not getattr(events[0], "trace", None)


def test_a_run_is_a_child_of_the_span_in_which_it_is_started() -> None:
    traces = Traces()
    agent, _ = agent_on([turn(say("Hi."))], middleware=[traces.telemetry])
    with traces.provider.get_tracer("app").start_as_current_span("request") as outer:
        agent.complete("Go.")
    (root,) = named(traces, "invoke_agent")
    assert int(parent_id(root) or "", 16) == outer.get_span_context().span_id


def test_what_is_known_of_a_request_and_its_answer() -> None:
    traces = Traces(agent_name="helper")
    agent, _ = agent_on(
        [turn(think("Hm."), say("Hi."), usage(input=7, output=5))],
        middleware=[traces.telemetry],
        temperature=0.5,
        max_tokens=100,
        stop=["end"],
        effort="high",
    )
    result = agent.complete("Go.")
    (chat,) = named(traces, "chat gpt-5")
    told = dict(chat.attributes)
    assert chat.kind is trace.SpanKind.CLIENT
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.provider.name"] == "openai"
    assert told["gen_ai.request.temperature"] == 0.5
    assert told["gen_ai.request.max_tokens"] == 100
    assert told["gen_ai.request.stop_sequences"] == ("end",)
    assert told["gen_ai.request.reasoning.level"] == "high"
    assert told["gen_ai.usage.input_tokens"] == 7
    assert told["gen_ai.usage.output_tokens"] == 5
    assert told["gen_ai.response.finish_reasons"] == ("stop",)
    assert told["server.address"] == "api.openai.com"
    assert told["headrace.usage.cost"] == result.usage.cost
    for name in ("time_to_first_reasoning", "time_to_first_text"):
        assert told[f"headrace.response.{name}"] >= told["gen_ai.response.time_to_first_chunk"]
    (root,) = named(traces, "invoke_agent helper")
    assert root.attributes["gen_ai.usage.input_tokens"] == 7
    assert root.attributes["gen_ai.agent.name"] == "helper"


@pytest.mark.parametrize("has_content", [False, True])
def test_content_is_recorded_only_on_request_and_without_secrets(has_content: bool) -> None:
    @tool
    def look(where: str) -> str:
        """Look."""
        return f"the result with {SECRET}"

    traces = Traces(has_content=has_content, secrets=["hunter22"])
    agent, _ = agent_on(
        [turn(think("A thought."), call("look", where=f"{SECRET} hunter22")), turn(say("Bye."))],
        look,
        middleware=[traces.telemetry],
        instructions="Be brief.",
    )
    agent.complete(f"The question with {SECRET}.")
    written = str([dict(span.attributes or {}) for span in traces.spans])
    texts = ("The question with", "Be brief.", "A thought.", "the result with", "Bye.")
    assert [text in written for text in texts] == [has_content] * len(texts)
    assert SECRET not in written
    assert "hunter22" not in written
    assert ("[redacted]" in written) is has_content


def test_arguments_of_many_values_are_cut() -> None:
    @tool
    def add(numbers: list[int]) -> str:
        """Add."""
        return str(sum(numbers))

    traces = Traces(has_content=True)
    script = [turn(call("add", numbers=list(range(50_000)))), turn(say("Done."))]
    agent, _ = agent_on(script, add, middleware=[traces.telemetry])
    agent.complete("Go.")
    (span,) = named(traces, "execute_tool add")
    written = str((span.attributes or {})[names.TOOL_ARGUMENTS])
    assert len(written) == MAX_CHARS


def test_a_failed_turn_and_a_failed_tool_are_errors_without_their_messages() -> None:
    @tool
    def look() -> str:
        """Look."""
        raise ValueError("the private message")

    traces = Traces()
    agent, _ = agent_on([turn(call("look")), turn(say("Done."))], look)
    agent = agent.replace(middleware=[traces.telemetry])
    agent.complete("Go.")
    (span,) = named(traces, "execute_tool look")
    assert span.status.status_code is trace.StatusCode.ERROR
    assert span.attributes["error.type"] == "tool_error"
    assert "private" not in str([s.to_json() for s in traces.spans])


def test_an_error_of_the_sdk_does_not_end_a_run(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def get_tracer(self, *_: Any, **__: Any) -> Any:
            return self

        def start_span(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError(SECRET)

    broken: Any = Broken()
    agent, _ = agent_on([turn(say("Hi."))], middleware=[OpenTelemetry(tracer_provider=broken)])
    with caplog.at_level(logging.DEBUG, "headrace"):
        assert agent.complete("Go.").text == "Hi."
    assert "is traced no further: RuntimeError" in caplog.text
    assert SECRET not in caplog.text


def test_a_hook_that_fails_ends_the_run_with_its_name() -> None:
    class Wrong(Middleware):
        def around_turn(self, run: RunView, request: Any) -> Any:
            raise ValueError("no")

    agent, _ = agent_on([turn(say("Hi."))], middleware=[Wrong()])
    with agent.run("Go.") as run:
        list(run)
    assert run.result.error is not None
    assert "Wrong.around_turn" in run.result.error.message


class PutSink:
    """A log that stores records a little later."""

    is_shared = False

    def __init__(self) -> None:
        self.stored: list[int] = []

    def put(self, records: Any, done: Any) -> None:
        def store() -> None:
            self.stored.extend(record.seq for record in records)
            done(None)

        asyncio.get_running_loop().call_soon(store)

    async def append(self, records: Any) -> None:
        raise AssertionError("records were not put")


def test_passive_middleware_that_raises_all_the_same_ends_the_run_with_its_name() -> None:
    class Wrong(Middleware):
        is_passive = True

        def on_event(self, run: RunView, record: Record) -> None:
            if record.seq == 5:
                raise ValueError("no")

    agent, _ = agent_on([turn(say("Hello there."))], middleware=[Wrong()])

    async def main() -> Any:
        async with agent.run("Go.", sink=PutSink()) as run:
            return await run.wait()

    result = asyncio.run(main())
    assert result.error is not None
    assert "Wrong.on_event" in result.error.message


def test_passive_middleware_sees_records_after_a_prompt_sink_has_stored_them() -> None:
    """A sink that stores in batches stays fast with passive middleware."""
    sink = PutSink()
    stored = sink.stored
    seen: list[tuple[int, bool]] = []

    class Watch(Middleware):
        is_passive = True

        def on_event(self, run: RunView, record: Record) -> None:
            seen.append((record.seq, record.seq in stored))

    agent, _ = agent_on([turn(say("Hello there."))], middleware=[Watch()])

    async def main() -> None:
        async with agent.run("Go.", sink=sink) as run:
            await run.wait()

    asyncio.run(main())
    assert seen == [(number, True) for number in range(1, len(stored) + 1)]


def test_agents_need_the_api_alone() -> None:
    """The SDK and the exporter are for `headrace serve --otel`."""
    code = (
        "import sys\n"
        "for name in ('sdk', 'exporter', 'semconv', 'util.genai', 'proto'):\n"
        "    sys.modules[f'opentelemetry.{name}'] = None\n"
        "from headrace import Agent, OpenTelemetry\n"
        "agent = Agent('rehearsal:demo', middleware=[OpenTelemetry()])\n"
        "print(len(agent.complete('Hi?').text) > 0)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.stdout.strip(), ran.returncode) == ("True", 0), ran.stderr
