"""What is logged: requests, retries, switches, skipped frames, tools and runs, as attributes of the
records; and what never is: keys, prompts and answers."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from contextlib import suppress
from typing import Any

import msgspec
import pytest

import headrace
from headrace.engine import Agent
from headrace.errors import HeadraceError
from headrace.testing import ScriptedTransport, call, cut, error, raw, refuse, say, turn
from headrace.transport import HTTPCall
from headrace.transport.http import HTTPTransport
from headrace.transport.retry import NEVER, RetryPolicy
from tests.transport.upstream import END, KEY, Answer, answering, chunked, head, upstream, whole
from tests.wire import chunk, sse

PROMPT, REPLY, RESULT = "PROMPT-heron", "REPLY-egret", "RESULT-stork"
SOON = RetryPolicy(base_s=0.001)
# Attributes of every record, whoever logs it.
STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}


@pytest.fixture(autouse=True)
def logs_all(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "headrace")


def fields_of(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Return what each record of ours says, without what all records have."""
    ours = [record for record in caplog.records if record.name.startswith("headrace")]
    return [
        {"logger": record.name.partition(".")[2], "level": record.levelname}
        | {name: value for name, value in vars(record).items() if name not in STANDARD}
        for record in ours
    ]


def events_of(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, str]]:
    return [(one["logger"], one["level"], one["event"]) for one in fields_of(caplog)]


def find(caplog: pytest.LogCaptureFixture, event: str) -> dict[str, Any]:
    (found,) = [one for one in fields_of(caplog) if one["event"] == event]
    return found


def answer(*deltas: str) -> bytes:
    return sse(*(chunk({"content": text}) for text in deltas), chunk({}, finish="stop"))


def streamed(data: bytes, *lines: str) -> Answer:
    return answering(head("200 OK", "text/event-stream", *lines) + chunked(data) + END)


async def _ask(*answers: Answer, policy: RetryPolicy = NEVER) -> None:
    async with upstream(*answers) as server:
        url = server.url.removesuffix("/x")
        options: Any = {"api_key": KEY, "policy": policy, "base_url": url}
        async with headrace.stream("compatible:m", PROMPT, **options) as stream:
            async for _ in stream:
                pass


def ask(*answers: Answer, policy: RetryPolicy = NEVER) -> None:
    asyncio.run(_ask(*answers, policy=policy))


def test_a_request_is_logged_with_its_status_times_sizes_and_id(
    caplog: pytest.LogCaptureFixture,
) -> None:
    data = answer("Hel", "lo")
    ask(streamed(data, "X-Request-Id: req-7"))
    assert events_of(caplog) == [
        ("turn", "DEBUG", "turn_requested"),
        ("transport", "DEBUG", "request_sent"),
        ("transport", "DEBUG", "request_answered"),
        ("transport", "DEBUG", "response_closed"),
        ("turn", "DEBUG", "turn_finished"),
    ]
    sent, answered = find(caplog, "request_sent"), find(caplog, "request_answered")
    closed = find(caplog, "response_closed")
    assert sent["url"].startswith("http://127.0.0.1:")
    assert sent["url"].endswith("/v1/chat/completions")
    assert sent["sent_bytes"] > len(PROMPT)
    assert (answered["status"], answered["request_id"]) == (200, "req-7")
    assert 0 <= answered["ms"] <= closed["ms"]
    assert closed["received_bytes"] == len(data)
    assert find(caplog, "turn_requested")["model"] == "compatible:m"
    assert find(caplog, "turn_finished")["finish"] == "end_turn"


def test_the_number_of_lines_does_not_grow_with_the_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ask(streamed(answer(*["word "] * 500)))
    assert len(caplog.records) == 5


def test_a_retry_is_a_warning_with_reason_and_pause(caplog: pytest.LogCaptureFixture) -> None:
    busy = answering(whole("429 Too Many", b'{"error": {"message": "slow down"}}'))
    ask(busy, streamed(answer("Hi")), policy=SOON)
    retried = find(caplog, "request_retried")
    assert (retried["logger"], retried["level"]) == ("transport", "WARNING")
    assert (retried["category"], retried["status"], retried["attempt"]) == ("rate_limit", 429, 1)
    assert 0 < retried["pause_s"] <= SOON.base_s
    assert find(caplog, "request_failed")["status"] == 429


def test_a_switch_to_another_model_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    entries = [
        headrace.FallbackEntry(
            f"vllm:{name}", transport=ScriptedTransport([reply], dialect="chat"), api_key="k"
        )
        for name, reply in (("a", turn(refuse(529, "busy"))), ("b", turn(say("Hi"))))
    ]
    headrace.complete(headrace.Fallback(*entries), PROMPT)
    switched = find(caplog, "model_switched")
    assert (switched["logger"], switched["level"]) == ("turn", "WARNING")
    assert (switched["failed"], switched["next"]) == ("vllm:a", "vllm:b")
    assert switched["category"] == "overloaded"


def test_skipped_frames_of_a_turn_are_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    ask(streamed(b"data: {broken\n\n" * 3 + answer("Hi")))
    skipped = find(caplog, "frames_skipped")
    assert (skipped["logger"], skipped["level"], skipped["frames"]) == ("wire", "WARNING", 3)
    assert "Expecting" in skipped["reason"]


def run_agent(*turns: Any, **options: Any) -> None:
    @headrace.tool
    def look(place: str) -> str:
        """Look somewhere."""
        return f"{RESULT} in {place}"

    @headrace.tool
    def fail(place: str) -> str:
        """Fail."""
        raise RuntimeError(f"{RESULT} is not in {place}")

    transport = ScriptedTransport(turns, dialect="chat")
    agent = Agent("vllm:m", tools=[look, fail], transport=transport, policy=SOON, **options)
    with agent.run(PROMPT, run_id="run-1") as run:
        for _ in run:
            pass


def test_runs_and_tools_are_logged_from_start_to_end(caplog: pytest.LogCaptureFixture) -> None:
    calls = turn(call("look", place=PROMPT), call("fail", place=PROMPT))
    run_agent(calls, turn(say(REPLY)))
    engine = [one[1:] for one in events_of(caplog) if one[0] == "engine"]
    assert engine[0] == ("INFO", "run_started")
    assert engine[-1] == ("INFO", "run_finished")
    assert sorted(engine[1:-1]) == [
        ("DEBUG", "tool_finished"),
        ("DEBUG", "tool_started"),
        ("DEBUG", "tool_started"),
        ("WARNING", "tool_failed"),
    ]
    assert find(caplog, "tool_failed")["tool"] == "fail"
    assert find(caplog, "run_finished")["finish"] == "end_turn"
    assert {one.get("run_id") for one in fields_of(caplog) if one["logger"] == "engine"} == {
        "run-1"
    }


def test_a_failed_run_and_a_step_that_is_tried_again_are_warnings(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run_agent(turn(error("overloaded")), *[turn(refuse(401, f"no {PROMPT}"))] * 3)
    failed = find(caplog, "run_failed")
    assert (failed["level"], failed["category"]) == ("WARNING", "auth")
    caplog.clear()
    limits = headrace.RunLimits(retries_late=True)
    run_agent(turn(say(REPLY), cut()), turn(say(REPLY)), limits=limits)
    discarded = find(caplog, "step_discarded")
    assert (discarded["level"], discarded["step"]) == ("WARNING", 0)
    assert discarded["pause_s"] > 0


ECHO = f"{PROMPT} {REPLY} {KEY}"
QUOTED = json.dumps({"error": {"message": ECHO, "type": ECHO, "code": ECHO}}).encode()
BEGUN = sse(chunk({"content": REPLY}), done=False)
ENDS: dict[str, bytes] = {
    "an answer": head() + chunked(answer(REPLY)) + END,
    "an id": head("200 OK", "a/b", f"X-Request-Id: {KEY}") + chunked(answer("a")) + END,
    "an error": whole("400 Bad", QUOTED, f"X-Request-Id: {KEY}"),
    "a retryable error": whole("529 Busy", QUOTED),
    "a late error": head() + chunked(BEGUN + b"data: " + QUOTED + b"\n\n") + END,
    "a wrong frame": head() + chunked(b"data: {" + ECHO.encode() + b"\n\n" + answer("a")) + END,
    "a cut": head() + chunked(BEGUN),
    "nothing": b"",
}  # fmt: skip


def shown(caplog: pytest.LogCaptureFixture) -> str:
    return caplog.text + str([vars(record) for record in caplog.records])


@pytest.mark.parametrize("name", ENDS)
def test_keys_prompts_and_answers_are_never_logged(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with suppress(HeadraceError):
        ask(answering(ENDS[name]), policy=SOON)
    assert len(caplog.records) >= 3
    for secret in (KEY, "CANARY", PROMPT, REPLY):
        assert secret not in shown(caplog), secret


def test_the_query_and_the_login_of_an_address_are_never_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        async with upstream(streamed(answer("Hi"))) as server, HTTPTransport() as transport:
            url = server.url.replace("://", "://user:CANARY@") + "?key=CANARY"
            stream = await transport.open(HTTPCall(url=url, headers={}, body=b"{}"))
            await stream.aclose()

    asyncio.run(work())
    assert find(caplog, "response_closed")["url"].endswith("/v1/x")
    assert "CANARY" not in shown(caplog)


def test_arguments_and_results_of_tools_are_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    run_agent(
        turn(
            call("look", place=PROMPT), call("fail", place=PROMPT), raw(b"data: {REPLY-egret\n\n")
        ),
        turn(refuse(400, f"no {PROMPT}")),
    )
    assert "tool_failed" in shown(caplog)
    for secret in (PROMPT, REPLY, RESULT):
        assert secret not in shown(caplog), secret


def test_every_record_names_its_event_and_can_be_written_as_json(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for data in ENDS.values():
        with suppress(HeadraceError):
            ask(answering(data))
    run_agent(turn(call("fail", place="x")), turn(say("Hi")))
    for fields in fields_of(caplog):
        assert fields["event"]
        msgspec.json.encode(fields)


def test_nothing_is_printed_unless_the_application_asks() -> None:
    code = (
        "import headrace\n"
        "from headrace.testing import ScriptedTransport, raw, say, turn\n"
        "script = ScriptedTransport([turn(raw(b'data: {\\n\\n'), say('Hi'))], dialect='chat')\n"
        "with headrace.Agent('vllm:m', transport=script).run('?') as run:\n"
        "    list(run)\n"
        "assert run.message.skipped_frames == 1\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
