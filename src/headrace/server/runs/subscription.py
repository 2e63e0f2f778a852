"""Opens the frames of a run for a client, whether the run is live, was joined late, or is over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from headrace.events import Record, RunSuspended
from headrace.projections.registry import DEFAULT_PROTOCOL
from headrace.server.http_error import HTTPError
from headrace.server.runs.live_run import LiveRun
from headrace.server.runs.live_runs import LiveRuns
from headrace.server.runs.log_replay import Replay, read_pages
from headrace.server.runs.recovery import UNSAVED, missing_records
from headrace.server.runs.seen_position import find_position
from headrace.server.sse import (
    NOTHING_SEEN,
    FrameEncoder,
    FrameId,
    SeenFrame,
    View,
    frame_id_of,
)
from headrace.server.storage.log import Log
from headrace.server.storage.store import RunRow

# How long another server may be ahead, and how often this one looks.
_OTHERS_AHEAD_S = 2.0
_LOOK_AGAIN_S = 0.01


async def frames(
    runs: LiveRuns, log: Log, run: RunRow, view: View, seen: SeenFrame = NOTHING_SEEN
) -> AsyncIterator[list[bytes]]:
    """Return batches of the frames after the one that the client has seen, up to the end of the
    run.

    Raises an `HTTPError` of 410 if the records have expired, or if the run has no such frame.
    The result has a method `aclose()`.
    """
    await _check_epoch(log, run, seen)
    live = await _find_live(runs, log, run)
    if live is not None and not await _wait_until_logged(runs, live, seen.id):
        raise _unknown_frame(run, seen.id)
    after = await _translate(runs, log, run, view.protocol, seen)
    # It may have ended or been suspended meanwhile.
    live = await _find_live(runs, log, run)
    if live is not None:
        return live.subscribe(view, after or seen.id)
    options = {**runs.projection_options.get(view.protocol, {}), **dict(view.options)}
    encoder = FrameEncoder(view.protocol, run.message_id, **options)
    replay = Replay(_stored_pages(log, run), encoder, after or seen.id)
    await replay.start()
    if replay.newest is None:
        text = "the stream of this run has expired: read the answer from its conversation"
        raise HTTPError(410, "expired", text, conversation_id=run.conversation_id)
    if after is None and seen.id > frame_id_of(replay.newest):
        raise _unknown_frame(run, seen.id)
    return replay


async def _wait_until_logged(runs: LiveRuns, live: LiveRun, frame: FrameId) -> bool:
    """Return whether the record of a frame is logged. Another server may have read it, and sent it,
    before the one that has written it knows that it is stored."""
    until_s = time.monotonic() + (_OTHERS_AHEAD_S if runs.has_others else 0.0)
    while not live.has_logged(frame):
        if time.monotonic() >= until_s:
            return False
        await asyncio.sleep(_LOOK_AGAIN_S)
    return True


async def _find_live(runs: LiveRuns, log: Log, run: RunRow) -> LiveRun | None:
    """Return a run that has not ended: live here, live on another server, or suspended."""
    live = runs.get(run.message_id)
    if live is not None:
        return live
    if runs.is_elsewhere(run) or await _is_suspended(log, run):
        return await runs.watch(run)
    return None


async def _check_epoch(log: Log, run: RunRow, seen: SeenFrame) -> None:
    """Raise an `HTTPError` of 410 if the record of a frame is not in the log any more: the log has
    lost it in a power cut, and the server that took the run over has written another one."""
    if seen.epoch is None or seen.id.seq == 0:
        return
    records = await log.read(run.id, seen.id.seq - 1, max_bytes=1)
    if records and records[0].epoch != seen.epoch:
        raise _unknown_frame(run, seen.id)


async def _is_suspended(log: Log, run: RunRow) -> bool:
    """Return whether the run waits for input. It may have begun to after its row was read."""
    if run.is_suspended or not run.is_live:
        return run.is_suspended
    records = await log.read(run.id)
    return bool(records) and isinstance(records[-1].event, RunSuspended)


async def _translate(
    runs: LiveRuns, log: Log, run: RunRow, protocol: str, seen: SeenFrame
) -> FrameId | None:
    """Return the position of a frame of another protocol in this one.

    Returns None for a frame of the same protocol. An id without a name belongs to the default
    protocol; if that has no such frame, an older server has sent it in the same protocol.
    """
    source = seen.protocol or DEFAULT_PROTOCOL
    if source == protocol or seen.id.place == 0:
        return None
    is_live = runs.get(run.message_id) is not None
    pages = read_pages(log, run.id, lambda: seen.id.seq) if is_live else _stored_pages(log, run)
    after = await find_position(pages, source, seen.id, run.message_id)
    if after is None and seen.protocol is not None and await log.read(run.id, 0, 1):
        raise _unknown_frame(run, seen.id)
    return after


async def _stored_pages(log: Log, run: RunRow) -> AsyncGenerator[list[Record], None]:
    """Read the records of a run that is not live in this process.

    If its end could not be written, it is added here, as `Recovery.repair()` will write it.
    """
    if run.is_live:
        records = await log.read(run.id)
        yield [*records, *missing_records(run, records, UNSAVED, "save_failed")]
        return
    async with aclosing(read_pages(log, run.id)) as pages:
        async for page in pages:
            yield page


def _unknown_frame(run: RunRow, after: FrameId) -> HTTPError:
    """A power cut may have lost frames that the client has seen.

    It would wait for an end that never comes, so it is referred to the conversation.
    """
    text = f"the stream has no frame {after}: read the answer from its conversation"
    return HTTPError(410, "unknown_frame", text, conversation_id=run.conversation_id)
