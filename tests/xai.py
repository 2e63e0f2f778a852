"""xAI's streams as tests write them, in its published types, and a real gRPC server on
loopback that does what a test writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import grpc
import grpc.aio
from google.protobuf import json_format
from xai_sdk.proto import chat_pb2, chat_pb2_grpc, usage_pb2

from headrace.wire.framing.grpc import add_prefix

Chunk = chat_pb2.GetChatCompletionChunk
PATH = "/xai_api.Chat/GetCompletionChunk"
HEAD = {"id": "r-1", "model": "grok-4-0709", "system_fingerprint": "fp_1"}
NOW = {"seconds": 1_765_000_000}


def chunk(*outputs: Any, is_bare: bool = False, **top: Any) -> Any:
    """A chunk; `is_bare` without the time, as chunks of tool results are."""
    created = {} if is_bare else {"created": NOW}
    return Chunk(**HEAD, **created, outputs=outputs, **top)


def output(index: int = 0, finish: str = "REASON_INVALID", role: str = "", **delta: Any) -> Any:
    """One output of a chunk; without a role it is the model's."""
    said = chat_pb2.Delta(role=role or "ROLE_ASSISTANT", **delta)
    return chat_pb2.CompletionOutputChunk(index=index, finish_reason=finish, delta=said)


def call(
    call_id: str,
    arguments: str = "",
    *,
    name: str = "x_keyword_search",
    type: str = "X_SEARCH",
    status: str = "IN_PROGRESS",
    **more: Any,
) -> Any:
    """A call; of `type` CLIENT_SIDE it is ours to run."""
    return chat_pb2.ToolCall(
        id=call_id,
        type=f"TOOL_CALL_TYPE_{type}_TOOL",
        status=f"TOOL_CALL_STATUS_{status}",
        function=chat_pb2.FunctionCall(name=name, arguments=arguments),
        **more,
    )


def usage(**counts: Any) -> Any:
    return usage_pb2.SamplingUsage(**counts)


def seed_trace() -> list[Any]:
    """The stream that seed 000 analyses (§1.4): an agent that searches twice (output 0), the
    searches (1 and 2), and the answer (3)."""
    search_1 = '{"query":"from:xai","limit":1}'
    search_2 = '{"query":"from:grok","limit":1}'
    words = ["###", " Last", " Two", " Tweets", "\n", "1", ". Hello", " [[1]](https://x.com/a/1)"]
    started = usage(prompt_tokens=2000, completion_tokens=60, reasoning_tokens=200)
    chunks = [
        chunk(output(0, tool_calls=[call("c-1", search_1)]), usage=started),
        chunk(output(0, tool_calls=[call("c-2", search_2)]), usage=started),
        chunk(output(0, "REASON_TOOL_CALLS"), usage=started),
    ]
    for index, (call_id, written) in enumerate([("c-1", search_1), ("c-2", search_2)], 1):
        done = call(call_id, written, status="COMPLETED")
        chunks.append(chunk(output(index, role="ROLE_TOOL", tool_calls=[done]), is_bare=True))
    chunks += [chunk(output(3, content=word)) for word in words]
    total = usage(
        prompt_tokens=4000,
        completion_tokens=90,
        reasoning_tokens=310,
        total_tokens=4400,
        cached_prompt_text_tokens=1500,
        num_sources_used=2,
        server_side_tools_used=["SERVER_SIDE_TOOL_X_SEARCH"] * 2,
        cost_in_usd_ticks=23_000_000,
    )
    sources = ["https://x.com/a/1", "https://x.com/b/2"]
    return [*chunks, chunk(output(3, "REASON_STOP"), usage=total, citations=sources)]


def two_candidates() -> list[Any]:
    """Two answers to one question, interleaved; the second ends first."""
    return [
        chunk(output(0, reasoning_content="Hm."), output(1, reasoning_content="Ah.")),
        chunk(output(0, content="A"), output(1, content="B")),
        chunk(output(1, "REASON_STOP", content="b")),
        chunk(output(0, content="a")),
        chunk(output(0, "REASON_MAX_LEN"), usage=usage(prompt_tokens=3, completion_tokens=9)),
    ]


def as_grpc(chunks: Iterable[Any]) -> bytes:
    """The chunks as they lie in a gRPC stream."""
    return b"".join(add_prefix(one.SerializeToString()) for one in chunks)


def as_json(chunks: Iterable[Any], **options: Any) -> list[dict[str, Any]]:
    """The chunks as their JSON."""
    return [json_format.MessageToDict(one, **options) for one in chunks]


Answer = Callable[[Any, Any], AsyncIterator[Any]]


class Server(int):
    """The port of a server, and what it has seen: of each call the request and its metadata."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.requests: list[Any] = []
        self.metadata: list[dict[str, str]] = []
        self.gone = asyncio.Event()
        self.gone_at_s = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{PATH}"


class _Chat(chat_pb2_grpc.ChatServicer):  # type: ignore[misc]
    def __init__(self, server: Server, answers: tuple[Answer | Iterable[Any], ...]) -> None:
        self._server = server
        self._answers = [one if callable(one) else streaming(one) for one in answers]

    async def GetCompletionChunk(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        server = self._server
        server.requests.append(request)
        server.metadata.append(dict(context.invocation_metadata()))
        answer = self._answers[min(len(server.requests), len(self._answers)) - 1]
        try:
            async for one in answer(request, context):
                yield one
        except asyncio.CancelledError:
            server.gone_at_s = asyncio.get_running_loop().time()
            server.gone.set()
            raise


def streaming(chunks: Iterable[Any], pause_s: float = 0.0) -> Answer:
    """Send these chunks, and end."""

    async def answer(request: Any, context: Any) -> AsyncIterator[Any]:
        for one in chunks:
            yield one
            await asyncio.sleep(pause_s)

    return answer


def aborting(status: str, details: str = "", chunks: Iterable[Any] = (), **trailing: str) -> Answer:
    """Send these chunks, then a status."""

    async def answer(request: Any, context: Any) -> AsyncIterator[Any]:
        for one in chunks:
            yield one
        told = tuple((name.replace("_", "-"), value) for name, value in trailing.items())
        await context.abort(getattr(grpc.StatusCode, status), details, told)

    return answer


def stalling(chunks: Iterable[Any] = ()) -> Answer:
    """Send these chunks, then nothing."""

    async def answer(request: Any, context: Any) -> AsyncIterator[Any]:
        for one in chunks:
            yield one
        await asyncio.Event().wait()

    return answer


@asynccontextmanager
async def grpc_server(
    *answers: Answer | Iterable[Any], credentials: Any = None
) -> AsyncIterator[Server]:
    """A server of the published service, on a port of loopback; each call gets the next
    answer, and the last one stays. Chunks are streamed; without an answer, `seed_trace()` is."""
    server = grpc.aio.server()
    where = "127.0.0.1:0"
    if credentials is None:
        told = Server(server.add_insecure_port(where))
    else:
        told = Server(server.add_secure_port(where, credentials))
    servicer = _Chat(told, answers or (seed_trace(),))
    chat_pb2_grpc.add_ChatServicer_to_server(servicer, server)
    await server.start()
    try:
        yield told
    finally:
        await server.stop(None)


@contextmanager
def grpc_thread(chunks: Iterable[Any]) -> Iterator[Server]:
    """The same with threads of its own, for tests that do not wait: every call is answered
    with these chunks."""
    server = grpc.server(ThreadPoolExecutor(2))
    told = Server(server.add_insecure_port("127.0.0.1:0"))

    class Chat(chat_pb2_grpc.ChatServicer):  # type: ignore[misc]
        def GetCompletionChunk(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: N802
            told.requests.append(request)
            told.metadata.append(dict(context.invocation_metadata()))
            yield from chunks

    chat_pb2_grpc.add_ChatServicer_to_server(Chat(), server)
    server.start()
    try:
        yield told
    finally:
        server.stop(None).wait()
