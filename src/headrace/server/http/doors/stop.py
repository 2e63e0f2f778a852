"""Stops the answers of a conversation, for clients that know it by a name of their own."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from headrace.server.http.run_stream import cancel_run
from headrace.server.service import Service
from headrace.server.storage.store import NotFound, RunRow

# How long a client that stops an answer waits for its end.
_STOP_S = 5.0
_PAUSE_S = 0.01


async def stop_answers(service: Service, owner: str, conversation_id: str) -> bool:
    """Cancel the answers of a conversation that are being written, and wait until they are stored,
    so that the next question can follow them. Returns False if there were none."""
    runs = await service.store.live_under(owner, conversation_id)
    stopped = [await cancel_run(service, run) for run in runs]
    with suppress(TimeoutError, NotFound):
        async with asyncio.timeout(_STOP_S):
            for run in runs:
                await _wait_for_end(service, run)
    return any(stopped)


async def _wait_for_end(service: Service, run: RunRow) -> None:
    while (await service.store.run(run.owner, run.message_id)).is_live:
        live = service.runs.get(run.message_id)
        if live is not None and live.task is not None:
            await asyncio.wait([live.task])
        else:
            # It is being suspended or resumed, and ends then.
            await asyncio.sleep(_PAUSE_S)
