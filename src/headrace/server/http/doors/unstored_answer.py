"""Responses for runs with their log in memory: streamed, or read to the end first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from headrace.events import Record, TurnFailed, TurnFinished
from headrace.projections.ending import ending
from headrace.projections.registry import find_protocol
from headrace.server.http.event_stream import DeferredStream, EventStream, wait_for_departure
from headrace.server.http_error import DoorError
from headrace.server.runs.unstored import STATUS, UnstoredRun
from headrace.server.settings import Settings
from headrace.transport.tee import ByteTee
from headrace.wire.json.value import as_object

T = TypeVar("T")


class PlainFrameEncoder:
    """Turns records into the server-sent events of a foreign protocol, without ids: nobody can
    resume such a stream."""

    def __init__(self, protocol: str, event_id: str, **options: Any) -> None:
        info = find_protocol(protocol)
        package = info.load()
        projection = package.create_projection(event_id, None, **options)
        self._project, self._finish = projection.feed, projection.close
        self._encode = package.encode_frame
        self._frame_type = package.frame_type if info.names_events else None

    def feed(self, records: Sequence[Record]) -> list[bytes]:
        """Return the events of some records, ready to be sent."""
        project = self._project
        return self._to_events([frame for record in records for frame in project(record)])

    def close(self) -> list[bytes]:
        """Return the events that are left when the records have ended."""
        return self._to_events(self._finish())

    def _to_events(self, frames: Sequence[Any]) -> list[bytes]:
        encode, frame_type = self._encode, self._frame_type
        if frame_type is None:
            return [b"data: %b\n\n" % encode(frame) for frame in frames]
        return [
            b"event: %b\ndata: %b\n\n" % (frame_type(frame).encode(), encode(frame))
            for frame in frames
        ]


class PassThroughEncoder:
    """Passes the events of a provider on as they came, if it uses the grammar of the client. An end
    that the provider did not send is added."""

    def __init__(self, run: UnstoredRun, tee: ByteTee, encoder: PlainFrameEncoder) -> None:
        self._run = run
        self._tee = tee
        self._encoder = encoder
        options = as_object(run.asked.body.get("stream_options"))
        self._wants_usage = bool(options.get("include_usage"))
        self._is_chat = run.asked.dialect == "chat"
        self._is_done = False

    def feed(self, records: Sequence[Record]) -> list[bytes]:
        """Return the events that have arrived with some records."""
        if not self._tee.is_used:
            return self._encoder.feed(records)
        frames = self._tee.take_frames()
        if self._is_chat:
            frames = [frame for frame in frames if self._wants_usage or not _is_usage(frame)]
            self._is_done = self._is_done or _DONE in frames[-1:]
        last = records[-1].event
        is_refused = len(self._run.records) == 1
        if isinstance(last, TurnFailed) and (is_refused or last.category in _NOT_SENT):
            self._encoder.feed(self._run.records[:-1])
            return frames + self._encoder.feed(records[-1:]) + self._encoder.close()
        has_ended = isinstance(last, TurnFinished | TurnFailed)
        if self._is_chat and has_ended and not self._is_done:
            frames.append(_DONE)
        return frames

    def close(self) -> list[bytes]:
        """Return the events that are left when the records have ended."""
        return [] if self._tee.is_used else self._encoder.close()


def _is_usage(frame: bytes) -> bool:
    """Return whether a chunk has only the usage, which the client may not have asked for."""
    return b'"choices":[]' in frame.replace(b" ", b"") and b'"usage"' in frame


_DONE = b"data: [DONE]\n\n"
_NOT_SENT = ("incomplete", "network", "timeout", "protocol", "interrupted")
"""Errors that the client has not been sent by the provider."""


def stream_answer(
    run: UnstoredRun,
    encoder: PlainFrameEncoder,
    settings: Settings,
    headers: Sequence[tuple[bytes, bytes]] = (),
) -> Response:
    """Return the response that streams a run. When the client leaves, the run ends."""
    frames = encoder if run.tee is None else PassThroughEncoder(run, run.tee, encoder)
    stream = EventStream(
        _Frames(run, frames),
        heartbeat_s=settings.heartbeat_s,
        send_timeout_s=settings.send_timeout_s,
        headers=list(headers),
    )
    return DeferredStream(stream)


class _Frames:
    """Batches of the frames of a run. Unlike a generator, it closes the run even if nobody has
    begun to read."""

    def __init__(self, run: UnstoredRun, encoder: PlainFrameEncoder | PassThroughEncoder) -> None:
        self._run = run
        self._encoder = encoder
        self._is_closed = False

    def __aiter__(self) -> AsyncIterator[list[bytes]]:
        return self

    async def __anext__(self) -> list[bytes]:
        while batch := await self._run.next_batch():
            if frames := self._encoder.feed(batch):
                return frames
        if self._is_closed or not (frames := self._close()):
            raise StopAsyncIteration
        return frames

    def _close(self) -> list[bytes]:
        self._is_closed = True
        return self._encoder.close()

    async def aclose(self) -> None:
        await self._run.aclose()


async def start_answer(request: Request, starting: Coroutine[Any, Any, T]) -> T:
    """Wait until a run has begun to answer, and return it. When the client leaves before, the run
    ends, and an `HTTPError` is raised that nobody receives."""
    return await _wait_while_connected(request, starting)


async def read_answer(request: Request, run: UnstoredRun) -> list[Record]:
    """Read a run to its end and return its records. When the client leaves, the run ends, and an
    `HTTPError` is raised that nobody receives."""
    try:
        return await _wait_while_connected(request, _read_all(run))
    finally:
        await run.aclose()


async def _wait_while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of some work, which is cancelled when the client leaves."""
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(wait_for_departure(request.receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise DoorError(499, "client_left", "the client has left")
        return await working
    finally:
        leaving.cancel()
        working.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


def describe_failure(run: UnstoredRun, message: str, code: str | None = None) -> DoorError:
    """Return the error for a whole answer that failed."""
    category = ending(run.end).category
    return DoorError(STATUS[category], code or category, message)


async def _read_all(run: UnstoredRun) -> list[Record]:
    while await run.next_batch():
        pass
    return run.records
