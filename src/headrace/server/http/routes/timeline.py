"""The route `/api/runs/{run_id}/timeline`: when a run did what."""

from __future__ import annotations

from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.server.api import RunTimeline, TimelineLane, TimelineSpan
from headrace.server.http_error import JSONResponse
from headrace.server.runs.log_replay import PAGE_BYTES, read_pages
from headrace.server.service import Service
from headrace.server.storage.store import NotFound, RunRow
from headrace.timeline.from_message import message_timeline
from headrace.timeline.lane import Lane, lanes
from headrace.timeline.timeline import Timeline, TimelineReader

MAX_LANES = 60
"""Most rows of a timeline."""
MAX_LOG_BYTES = 16_000_000
"""Most bytes of records that are read."""
MAX_SPANS = 400
"""Most stretches of time in a row; the rest is left out."""


class TimelineRoute:
    """The route `/api/runs/{run_id}/timeline`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def routes(self) -> list[Route]:
        return [Route("/api/runs/{run_id}/timeline", self.read, methods=["GET"])]

    async def read(self, request: Request) -> Response:
        """Return the timeline of a run, by its records or, if they have expired, its message."""
        owner = await self._service.owner(request)
        # It is as expensive as a search: there may be many records.
        self._service.quota.count_search(owner)
        run = await self._service.store.find_run(owner, request.path_params["run_id"])
        told = await self._read_log(run)
        is_rough = told is None
        if told is None:
            told = await self._read_message(run)
        return JSONResponse(_to_view(told, is_live=run.is_live, is_rough=is_rough))

    async def _read_log(self, run: RunRow) -> Timeline | None:
        """Return the timeline by the records of a run, or None if there are none. Others are served
        between the pages."""
        reader, count = TimelineReader(), 0
        async with aclosing(read_pages(self._service.log, run.id)) as pages:
            async for page in pages:
                for record in page:
                    reader.feed(record)
                count += 1
                if count * PAGE_BYTES >= MAX_LOG_BYTES:
                    break
        reader.close()
        return reader.timeline() if count else None

    async def _read_message(self, run: RunRow) -> Timeline:
        if run.is_live:
            return Timeline()
        branch = await self._service.store.branch(run.owner, run.message_id)
        if not branch:
            raise NotFound("nothing with this id was found")
        return message_timeline(branch[-1].message)


def _to_view(told: Timeline, *, is_live: bool, is_rough: bool) -> RunTimeline:
    return RunTimeline(
        started_ms=told.started_ms,
        duration_ms=told.duration_ms,
        lanes=[_to_lane(lane, told.started_ms) for lane in lanes(told)[:MAX_LANES]],
        is_live=is_live,
        is_rough=is_rough,
        first_text_ms=told.first_text_ms,
        usage=told.usage if told.usage.is_known else None,
    )


def _to_lane(lane: Lane, started_ms: int) -> TimelineLane:
    return TimelineLane(
        kind=lane.kind,
        label=lane.label,
        depth=len(lane.path),
        ms=lane.ms,
        spans=[
            TimelineSpan(
                kind=span.kind,
                start_ms=span.start_ms - started_ms,
                end_ms=span.end_ms - started_ms,
                chars=span.chars,
                is_error=span.is_error,
            )
            for span in lane.spans[:MAX_SPANS]
        ],
    )
