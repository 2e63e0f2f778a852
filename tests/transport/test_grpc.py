"""gRPC over real sockets: what comes, what fails, how long it takes, and when it is closed."""

from __future__ import annotations

import asyncio
import io
import logging
import socket
import subprocess
import traceback
from pathlib import Path
from typing import Any

import grpc
import msgspec
import pytest

import headrace
from headrace import events as ev
from headrace.cli.main import main
from headrace.content import TextContent
from headrace.errors import HeadraceError, RequestFailed, UsageError
from headrace.outcome import END_TURN
from headrace.transport import HTTPCall, StreamBroken, Timeouts
from headrace.transport.grpc.transport import GRPCTransport
from headrace.transport.retry import NEVER, RetryPolicy
from headrace.turn.open_turn import open_turn, read_turn
from headrace.wire.decoder import Decoder
from tests.grammar import check_grammar
from tests.transport.drain import PATIENT, SHORT_FIRST_EVENT, SHORT_IDLE, drained
from tests.transport.upstream import KEY
from tests.wire import events_of, only
from tests.xai import (
    PATH,
    aborting,
    as_grpc,
    call,
    chunk,
    grpc_server,
    grpc_thread,
    output,
    seed_trace,
    stalling,
    streaming,
    two_candidates,
)

BODY = b'{"model": "m", "messages": [{"role": "ROLE_USER", "content": [{"text": "hi"}]}]}'
WORDS = [chunk(output(0, content=word)) for word in ("a", "b")]
STOP = chunk(output(0, "REASON_STOP"))


def call_to(url: str) -> HTTPCall:
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    return HTTPCall(url=url, headers=headers, body=BODY)


def decoder() -> Decoder:
    return Decoder("xai", framing="grpc")


def run(work: Any) -> Any:
    return asyncio.run(asyncio.wait_for(work, 60))


def reads_of(
    *answers: Any, timeouts: Timeouts = PATIENT, **options: Any
) -> tuple[list[bytes], Any]:
    """All reads, and the failure that ended them; a `RequestFailed` is raised."""

    async def work() -> tuple[list[bytes], Any]:
        transport = GRPCTransport(timeouts=timeouts, **options)
        async with grpc_server(*answers) as server, transport:
            return await drained(await transport.open(call_to(server.url)))

    return run(work())


def failed_with(*answers: Any, **options: Any) -> RequestFailed:
    with pytest.raises(RequestFailed) as caught:
        reads_of(*answers, **options)
    return caught.value


# --- what goes out and what comes back --------------------------------------------


def test_the_request_arrives_as_the_published_type_with_its_key() -> None:
    async def work() -> Any:
        async with grpc_server(streaming([STOP])) as server, GRPCTransport() as transport:
            asked = call_to(server.url)
            asked.headers["X-Mine"] = "1"
            await drained(await transport.open(asked))
            return server.requests, server.metadata

    (request,), (metadata,) = run(work())
    assert request.model == "m"
    assert request.messages[0].content[0].text == "hi"
    assert not request.HasField("n")
    assert metadata["authorization"] == f"Bearer {KEY}"
    assert metadata["x-mine"] == "1"
    assert "content-type" not in metadata


def test_each_message_is_a_read_behind_its_prefix() -> None:
    chunks = seed_trace()
    reads, failure = reads_of(streaming(chunks))
    assert failure is None
    assert reads == [as_grpc([one]) for one in chunks]


def test_a_whole_turn_over_the_wire_is_the_turn_of_its_bytes() -> None:
    async def work() -> Any:
        async with grpc_server() as server:
            address = f"http://127.0.0.1:{server.port}"
            asked = headrace.stream("xai-grpc:grok-4", "hi", base_url=address, api_key=KEY)
            async with asked as turn:
                events = [event async for event in turn]
            return events, turn.message, server.requests

    events, message, (request,) = run(work())
    assert events == events_of(as_grpc(seed_trace()), framing="grpc", provider="xai-grpc")
    check_grammar(events)
    assert [o.output for o in only(events, ev.OutputStarted)] == [0, 1, 2, 3]
    assert message.finish == END_TURN
    assert message.text.startswith("### Last Two Tweets")
    assert request.use_encrypted_content


def test_two_candidates_over_the_wire() -> None:
    async def work() -> Any:
        async with grpc_server(streaming(two_candidates())) as server, GRPCTransport() as transport:
            turn = await open_turn(
                transport,
                call_to(server.url),
                lambda: Decoder("xai", framing="grpc", outputs="candidates"),
            )
            return [event async for events in turn for event in events]

    events = run(work())
    check_grammar(events)
    assert events[0].outputs == "candidates"
    assert [(e.output, str(e.reason)) for e in only(events, ev.OutputFinished)] == [
        (1, "end_turn"),
        (0, "max_tokens"),
    ]


def test_a_conversation_goes_back_with_its_calls_and_seals() -> None:
    mine = call("c-1", '{"a":  1}', type="CLIENT_SIDE", name="look")
    first = [
        chunk(output(0, reasoning_content="Hm.")),
        chunk(output(0, "REASON_TOOL_CALLS", tool_calls=[mine], encrypted_content="sealed")),
    ]

    async def work() -> Any:
        async with grpc_server(streaming(first), streaming([*WORDS, STOP])) as server:
            reach: Any = {"base_url": f"http://127.0.0.1:{server.port}", "api_key": KEY}
            tools = [headrace.ToolSpec(name="look")]
            asked = headrace.Message(role="user", content=(TextContent("hi"),))
            reply = await headrace.complete_async("xai-grpc:grok-4", asked, tools=tools, **reach)
            after = [asked, reply.message]
            await headrace.complete_async("xai-grpc:grok-4", after, tools=tools, **reach)
            return server.requests

    _, second = run(work())
    said, answer = second.messages[1:3]
    assert (said.reasoning_content, said.encrypted_content) == ("Hm.", "sealed")
    assert said.tool_calls[0].function.arguments == '{"a":  1}'
    assert answer.tool_call_id == "c-1"
    assert second.tools[0].function.name == "look"


def test_connections_are_kept_and_belong_to_one_loop() -> None:
    async def work(transport: GRPCTransport) -> None:
        async with grpc_server(streaming([STOP])) as server:
            for _ in range(3):
                await drained(await transport.open(call_to(server.url)))
            assert len(transport._channels) == 1

    transport = GRPCTransport()
    run(work(transport))
    with pytest.raises(UsageError, match="another event loop"):
        run(work(transport))


def test_tls_is_spoken_to_those_whom_the_roots_know(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
            *("-keyout", str(key), "-out", str(certificate), "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    pair = [(key.read_bytes(), certificate.read_bytes())]

    async def work(roots: bytes | None) -> Any:
        trust = grpc.ssl_server_credentials(pair)
        async with grpc_server(streaming([STOP]), credentials=trust) as server:
            url = f"https://localhost:{server.port}{PATH}"
            async with GRPCTransport(roots=roots, timeouts=PATIENT) as transport:
                return await drained(await transport.open(call_to(url)))

    assert run(work(certificate.read_bytes())) == ([as_grpc([STOP])], None)
    with pytest.raises(RequestFailed) as caught:
        run(work(None))
    assert caught.value.category == "network"
    assert not caught.value.retryable


# --- what fails -------------------------------------------------------------------

STATUSES = [
    ("UNAUTHENTICATED", "auth", False),
    ("PERMISSION_DENIED", "permission", False),
    ("RESOURCE_EXHAUSTED", "rate_limit", True),
    ("INVALID_ARGUMENT", "invalid_request", False),
    ("FAILED_PRECONDITION", "invalid_request", False),
    ("OUT_OF_RANGE", "invalid_request", False),
    ("ALREADY_EXISTS", "invalid_request", False),
    ("UNIMPLEMENTED", "invalid_request", False),
    ("NOT_FOUND", "not_found", False),
    ("UNAVAILABLE", "overloaded", True),
    ("ABORTED", "overloaded", True),
    ("DEADLINE_EXCEEDED", "timeout", True),
    ("INTERNAL", "server", True),
    ("UNKNOWN", "server", True),
    ("DATA_LOSS", "server", True),
    ("CANCELLED", "network", True),
]


def test_every_status_has_its_row() -> None:
    assert {name for name, _, _ in STATUSES} == {code.name for code in grpc.StatusCode} - {"OK"}


@pytest.mark.parametrize(("status", "category", "retryable"), STATUSES)
def test_a_status_instead_of_a_stream(status: str, category: str, retryable: bool) -> None:
    failed = failed_with(aborting(status, "because", x_request_id="r-7"))
    assert (failed.category, failed.code, failed.retryable) == (category, status, retryable)
    assert "because" in str(failed)
    assert PATH in str(failed)
    assert failed.request_id == "r-7"
    assert failed.retry_after_s is None


@pytest.mark.parametrize(("status", "category", "retryable"), STATUSES)
def test_a_status_in_the_stream(status: str, category: str, retryable: bool) -> None:
    reads, failure = reads_of(aborting(status, "because", WORDS))
    assert reads == [as_grpc([one]) for one in WORDS]
    assert (failure.category, failure.code, failure.retryable) == (category, status, retryable)
    assert "because" in failure.message


def test_a_prompt_that_does_not_fit_is_told_by_its_words() -> None:
    told = "This model's maximum prompt length is 131072 but the request contains 200000 tokens."
    assert failed_with(aborting("INVALID_ARGUMENT", told)).category == "context_overflow"


@pytest.mark.parametrize(
    ("trailing", "wait_s"), [({"retry_after": "7"}, 7.0), ({"retry_after_ms": "250"}, 0.25)]
)
def test_how_long_to_wait_is_told(trailing: dict[str, str], wait_s: float) -> None:
    failed = failed_with(aborting("RESOURCE_EXHAUSTED", "slow down", **trailing))
    assert failed.retry_after_s == wait_s


def test_a_refusal_is_tried_again() -> None:
    async def work() -> Any:
        answers = aborting("UNAVAILABLE"), streaming([*WORDS, STOP])
        async with grpc_server(*answers) as server, GRPCTransport() as transport:
            policy = RetryPolicy(base_s=0.001)
            turn = await open_turn(transport, call_to(server.url), decoder, policy)
            return [event async for events in turn for event in events], len(server.requests)

    events, asked = run(work())
    assert asked == 2
    assert events[-1].reason == END_TURN


def test_a_failure_in_the_stream_is_its_last_event() -> None:
    async def work() -> Any:
        answer = aborting("INTERNAL", "boom", WORDS)
        async with grpc_server(answer) as server, GRPCTransport() as transport:
            turn = await open_turn(transport, call_to(server.url), decoder, NEVER)
            return [event async for events in turn for event in events]

    events = run(work())
    check_grammar(events)
    end = events[-1]
    assert isinstance(end, ev.TurnFailed)
    assert (end.category, end.code) == ("server", "INTERNAL")


def test_a_break_after_the_end_is_told_is_an_end() -> None:
    async def work() -> Any:
        answer = aborting("UNAVAILABLE", "bye", [*WORDS, STOP])
        async with grpc_server(answer) as server, GRPCTransport() as transport:
            turn = await open_turn(transport, call_to(server.url), decoder, NEVER)
            return [event async for events in turn for event in events]

    assert isinstance(run(work())[-1], ev.TurnFinished)


def test_a_stream_without_a_message_is_none() -> None:
    failed = failed_with(streaming([]))
    assert (failed.category, failed.retryable) == ("incomplete", True)


def test_nobody_there_is_the_networks() -> None:
    async def work() -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        async with GRPCTransport(timeouts=PATIENT) as transport:
            for _ in range(2):
                with pytest.raises(RequestFailed, match="Is the server running") as caught:
                    await transport.open(call_to(f"http://127.0.0.1:{port}{PATH}"))
                assert (caught.value.category, caught.value.retryable) == ("network", True)

    run(work())


def test_a_message_past_the_limit_is_refused() -> None:
    large = chunk(output(0, content="x" * 10_000))
    _, failure = reads_of(streaming([STOP, large]), max_message_bytes=5_000)
    assert failure.category == "protocol"
    assert not failure.retryable


# --- how long it takes ------------------------------------------------------------


def test_no_first_message_in_time() -> None:
    failed = failed_with(stalling(), timeouts=SHORT_FIRST_EVENT)
    assert (failed.category, failed.retryable) == ("timeout", True)
    assert "first_event_s=0.3" in str(failed)


def test_no_connection_in_time() -> None:
    async def work() -> None:
        with socket.socket() as deaf:
            # Connected by the system, and nobody answers.
            deaf.bind(("127.0.0.1", 0))
            deaf.listen(1)
            url = f"http://127.0.0.1:{deaf.getsockname()[1]}{PATH}"
            async with GRPCTransport(timeouts=Timeouts(connect_s=0.2)) as transport:
                with pytest.raises(RequestFailed, match=r"connect_s=0\.2") as caught:
                    await transport.open(call_to(url))
                assert caught.value.category == "timeout"

    run(work())


def test_a_stream_that_falls_silent_breaks() -> None:
    reads, failure = reads_of(stalling(WORDS), timeouts=SHORT_IDLE)
    assert len(reads) == 2
    assert failure.category == "timeout"
    assert "idle_s=0.3" in failure.message


def test_a_reader_that_gave_up_waiting_may_come_back() -> None:
    async def work() -> list[bytes]:
        answer = streaming([*WORDS, STOP], 0.2)
        async with grpc_server(answer) as server, GRPCTransport() as transport:
            stream = await transport.open(call_to(server.url))
            reads = [await anext(stream)]
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await anext(stream)
            return reads + [read async for read in stream]

    assert run(work()) == [as_grpc([one]) for one in (*WORDS, STOP)]


# --- when it is closed ------------------------------------------------------------


def test_the_peer_sees_a_close_at_once(record_property: Any) -> None:
    async def work() -> float:
        async with grpc_server(stalling(WORDS)) as server, GRPCTransport() as transport:
            stream = await transport.open(call_to(server.url))
            await anext(stream)
            closed_s = asyncio.get_running_loop().time()
            await stream.aclose()
            await server.gone.wait()
            assert [read async for read in stream] == []
            return server.gone_at_s - closed_s

    took_s = run(work())
    record_property("summary", f"closing over gRPC: the peer saw it after {took_s * 1000:.1f} ms")


@pytest.mark.parametrize("what", ["stream", "transport"])
def test_a_close_ends_the_wait_of_another(what: str) -> None:
    async def work() -> None:
        async with grpc_server(stalling(WORDS)) as server:
            transport = GRPCTransport()
            stream = await transport.open(call_to(server.url))
            turn = read_turn(stream, decoder())
            first = await anext(turn)
            assert first
            await anext(turn)
            waiting = asyncio.ensure_future(anext(stream, None))
            await asyncio.sleep(0.01)
            if what == "transport":
                await transport.aclose()
                with pytest.raises(StreamBroken):
                    await waiting
            else:
                await stream.aclose()
                assert await waiting is None
            await server.gone.wait()
            await turn.aclose()
            await transport.aclose()

    run(work())


def test_a_cancelled_open_leaves_nothing_behind() -> None:
    async def work() -> None:
        async with grpc_server(stalling()) as server, GRPCTransport() as transport:
            opening = asyncio.ensure_future(transport.open(call_to(server.url)))
            while not server.requests:
                await asyncio.sleep(0.005)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            await server.gone.wait()

    run(work())


# --- what cannot be sent ----------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"url": "nowhere"}, "expected an http or https address"),
        ({"url": f"ftp://h{PATH}"}, "expected an http or https address"),
        ({"url": f"http://h:99999999{PATH}"}, "expected an http or https address"),
        ({"url": f"http://example.com{PATH}"}, "in clear"),
        ({"url": f"http://127.0.0.1.example.com{PATH}"}, "in clear"),
        ({"url": "https://api.x.ai/v1/chat"}, "no method"),
        ({"body": b"{"}, r"is not a xai_api\.GetCompletionsRequest"),
        ({"body": b'{"seed": 99999999999}'}, r"is not a xai_api\.GetCompletionsRequest"),
        ({"body": b'{"odd": 1}'}, "odd"),
        ({"headers": {"authorization": f"Bearer {KEY}\n"}}, "authorization"),
        ({"headers": {"authorization": f"Bearer {KEY}é"}}, "authorization"),
        ({"headers": {"a b": KEY}}, "a b"),
        ({"headers": {"grpc-timeout": "1"}}, "grpc-timeout"),
    ],
)
def test_a_call_that_cannot_be_sent_says_why(change: dict[str, Any], told: str) -> None:
    async def work() -> None:
        async with GRPCTransport() as transport:
            await transport.open(
                msgspec.structs.replace(call_to(f"http://[::1]:1{PATH}"), **change)
            )

    with pytest.raises(UsageError, match=told) as caught:
        run(work())
    assert "CANARY" not in _seen(caught.value)


def test_a_gateway_may_put_a_path_before_the_method() -> None:
    failed = failed_with_url("/proxy" + PATH)
    assert failed.code == "UNIMPLEMENTED"


def failed_with_url(path: str) -> RequestFailed:
    async def work() -> None:
        async with grpc_server() as server, GRPCTransport() as transport:
            await transport.open(call_to(f"http://127.0.0.1:{server.port}{path}"))

    with pytest.raises(RequestFailed) as caught:
        run(work())
    return caught.value


# --- keys -------------------------------------------------------------------------

ECHO = f"you sent Bearer {KEY}, and {KEY}"


def _seen(error: HeadraceError) -> str:
    parts = [repr(error), error.args, vars(error), *traceback.format_exception(error)]
    return f"{error.__cause__!r} {error.__context__!r}" + "".join(map(str, parts))


@pytest.mark.parametrize("chunks", [[], WORDS], ids=["refused", "broken off"])
@pytest.mark.parametrize("status", ["UNAUTHENTICATED", "INTERNAL", "UNAVAILABLE", "CANCELLED"])
def test_no_failure_shows_a_key(
    status: str, chunks: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def work() -> str:
        answer = aborting(status, ECHO, chunks, x_request_id=KEY)
        async with grpc_server(answer) as server, GRPCTransport(timeouts=PATIENT) as transport:
            try:
                stream = await transport.open(call_to(server.url))
            except HeadraceError as error:
                return _seen(error) + repr(transport)
            events = [e async for read in read_turn(stream, decoder()) for e in read]
            return f"{stream.request_id}{events!r}{stream!r}{transport!r}{vars(transport)!r}"

    seen = asyncio.run(asyncio.wait_for(work(), 60), debug=True) + caplog.text
    assert "CANARY" not in seen
    assert status in seen


# --- from the command line --------------------------------------------------------


@pytest.fixture
def no_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))


@pytest.mark.usefixtures("no_input")
def test_asking_recording_and_decoding_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XAI_API_KEY", KEY)
    file = tmp_path / "x.grpc"
    with grpc_thread(seed_trace()) as server:
        address = f"http://127.0.0.1:{server.port}"
        argv = ["ask", "-m", "xai-grpc:grok-4", "--base-url", address, "--record", str(file)]
        assert main([*argv, "What", "is", "new?"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("### Last Two Tweets")
    assert server.requests[0].messages[0].content[0].text == "What is new?"
    assert server.metadata[0]["authorization"] == f"Bearer {KEY}"
    assert file.read_bytes() == as_grpc(seed_trace())
    request = (tmp_path / "x.grpc.request.json").read_text()
    assert "CANARY" not in request + shown.out + shown.err
    lens = msgspec.json.decode((tmp_path / "x.grpc.chunks.json").read_bytes())["lens"]
    assert len(lens) == len(seed_trace())
    (tmp_path / "x.grpc.chunks.json").unlink()
    for source in ([str(file)], [str(tmp_path)]):
        assert main(["decode", "--format", "message", *source]) == 0
        assert "### Last Two Tweets" in capsys.readouterr().out
    assert main(["decode", "--format", "events", str(file)]) == 0
    records = [msgspec.json.decode(line) for line in capsys.readouterr().out.splitlines()]
    # Without recorded times a read is a message.
    times = {record["at_ms"] for record in records}
    assert len(times) > 5


def test_the_providers_are_listed_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["providers"]) == 0
    assert "xai-grpc" in capsys.readouterr().out
