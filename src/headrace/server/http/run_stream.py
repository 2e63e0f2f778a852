"""Begins stored runs and streams them: what the routes of all protocols share."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Self

from starlette.responses import Response

from headrace.content import TextContent
from headrace.engine import Agent
from headrace.errors import UsageError
from headrace.messages import Message
from headrace.server.http.event_stream import DeferredStream, EventStream
from headrace.server.http_error import HTTPError
from headrace.server.runs.watchers import Watcher
from headrace.server.service import Service
from headrace.server.sse import NOTHING_SEEN, SeenFrame, View
from headrace.server.storage.access_tokens import User
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.outage import retry
from headrace.server.storage.store import InboxEntry, RunRow, RunStart, StartedRun


async def begin_run(
    service: Service,
    start: RunStart,
    agent: Agent,
    request_id: str | None = None,
    *,
    user: User | None = None,
) -> StartedRun:
    """Store the question and start the run that answers it, or find the run that the same key has
    started. A question that this server can answer is counted for the limits of `user`. Raises an
    `HTTPError`, and what `Store.begin()` raises."""
    if service.runs.is_draining or not service.is_ready:
        text = "the server is starting or stopping: try again soon"
        raise HTTPError(503, "stopping", text, retry_after_s=1.0)
    try:
        # Before anything is stored: a model that can never be asked is refused.
        agent.check(*_to_check(start))
    except UsageError as error:
        raise HTTPError(422, "cannot_ask", str(error)) from None
    service.quota.check_stored_bytes(await service.storage.stored_bytes(start.owner))
    agent, start = await service.models.pin_tools(agent, start)
    with service.quota.reserve(start.owner, start.run_id):
        if user is not None:
            await service.count_use(user)
        started = await service.store.begin(start)
        if not started.is_repeated:
            # The run is stored, so it must start: nobody else would, and it would be interrupted.
            branch = await retry(partial(service.store.branch, start.owner, started.run.parent_id))
            history = [stored.message for stored in branch]
            agent = await retry(partial(service.models.add_instructions, agent, started.run))
            if service.titles is not None and start.is_new and len(branch) == 1:
                service.titles.begin(start.owner, started.run.conversation_id, history[0].text)
            await service.runs.begin(started.run, agent, history, request_id)
        return started


def _to_check(start: RunStart) -> tuple[Message, ...]:
    """Return the new message if it has files, which not every model can read."""
    message = None if start.prompt is None else start.prompt.message
    if message is None or all(isinstance(one, TextContent) for one in message.content):
        return ()
    return (message,)


async def cancel_run(service: Service, run: RunRow) -> bool:
    """Cancel a run of the user who asks for it. Returns False if it is over."""
    if not run.is_live:
        return False
    entry = InboxEntry(
        id=f"ent_{uuid.uuid4().hex}",
        run_id=run.id,
        kind="cancel",
        body={"by": run.owner},
        created_ms=service.clock(),
    )
    try:
        await service.add_entry(run, entry)
    except StorageFailed:
        # A full disk must not keep anybody from stopping a run.
        return service.runs.cancel(run.message_id)
    return True


@contextmanager
def watch(service: Service, user: User) -> Generator[Watcher, None, None]:
    """Count a stream that is about to be opened, unless the block raises."""
    watcher = service.watchers.enter(user)
    try:
        yield watcher
    except BaseException:
        watcher.leave()
        raise


async def stream_run(
    service: Service,
    run: RunRow,
    view: View,
    watcher: Watcher,
    *,
    seen: SeenFrame = NOTHING_SEEN,
    headers: Sequence[tuple[bytes, bytes]] = (),
    is_last: Callable[[bytes], bool] | None = None,
) -> Response:
    """Return the response with the frames after the one that the client has seen. With `is_last`
    it ends after the first frame that this function returns True for."""
    watcher.join(run.id)
    frames = await service.frames(run, view, seen)
    settings = service.settings
    stream = EventStream(
        frames if is_last is None else FramesUntil(frames, is_last),
        heartbeat_s=settings.heartbeat_s,
        send_timeout_s=settings.send_timeout_s,
        headers=[
            (b"x-event-id", run.message_id.encode()),
            (b"x-conversation-id", run.conversation_id.encode()),
            (b"x-parent-id", run.parent_id.encode()),
            *headers,
        ],
        on_end=watcher.leave,
    )
    watcher.stop = stream.stop
    return DeferredStream(stream)


class FramesUntil:
    """Batches of frames up to the first one that `is_last` returns True for."""

    def __init__(
        self, frames: AsyncIterator[list[bytes]], is_last: Callable[[bytes], bool]
    ) -> None:
        self._frames = frames
        self._is_last = is_last
        self._is_over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[bytes]:
        if self._is_over:
            raise StopAsyncIteration
        batch = await anext(self._frames)
        for number, frame in enumerate(batch, 1):
            if self._is_last(frame):
                self._is_over = True
                return batch[:number]
        return batch

    async def aclose(self) -> None:
        """Close the frames."""
        close = getattr(self._frames, "aclose", None)
        if close is not None:
            await close()
