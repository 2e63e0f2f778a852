"""Opens the frames of a run for a client, whether the run is live, was joined late, or is over."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from headrace.events import Record
from headrace.server.http_error import HTTPError
from headrace.server.runs.live_runs import LiveRuns
from headrace.server.runs.log_replay import Replay, read_pages
from headrace.server.runs.recovery import UNSAVED, missing_records
from headrace.server.sse import FrameEncoder, FrameId, frame_id_of
from headrace.server.storage.log import Log
from headrace.server.storage.store import RunRow


async def frames(
    runs: LiveRuns, log: Log, run: RunRow, protocol: str, after: FrameId
) -> AsyncIterator[list[bytes]]:
    """Return batches of the frames after `after`, up to the end of the run.

    Raises an `HTTPError` of 410 if the records have expired, or if the run has no such frame.
    The result has a method `aclose()`.
    """
    live = runs.get(run.message_id)
    if live is not None:
        if not live.has_logged(after):
            raise _unknown_frame(run, after)
        return live.subscribe(protocol, after)
    encoder = FrameEncoder(protocol, run.message_id, **runs.projection_options.get(protocol, {}))
    replay = Replay(_stored_pages(log, run), encoder, after)
    await replay.start()
    if replay.newest is None:
        text = "the stream of this run has expired: read the answer from its conversation"
        raise HTTPError(410, "expired", text, conversation_id=run.conversation_id)
    if after > frame_id_of(replay.newest):
        raise _unknown_frame(run, after)
    return replay


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
