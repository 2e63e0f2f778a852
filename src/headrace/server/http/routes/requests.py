"""The routes `/api/requests` and `/api/runs`: what runs wait for, and the answers to it."""

from __future__ import annotations

import uuid
from typing import Any

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.engine.input.requests import check_value
from headrace.errors import UsageError
from headrace.messages import Assembler, InputRequest
from headrace.server.api import (
    MAX_PAGE,
    InputAnswer,
    InputAnswerResult,
    InputRequestList,
    WaitingRunList,
)
from headrace.server.http.body import read_body
from headrace.server.http_error import HTTPError, JSONResponse
from headrace.server.service import Service
from headrace.server.storage.store import InboxEntry, RunRow


class InputRequests:
    """The routes `/api/requests` and those under `/api/runs`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def routes(self) -> list[Route]:
        path = "/api/runs/{run_id}/requests"
        return [
            Route("/api/requests", self.list_all, methods=["GET"]),
            Route(path, self.list_open, methods=["GET"]),
            Route(path + "/{request_id}", self.answer, methods=["POST"]),
        ]

    async def list_open(self, request: Request) -> Response:
        """List what a run waits for."""
        owner = await self._service.owner(request)
        run = await self._service.store.find_run(owner, request.path_params["run_id"])
        return JSONResponse(await self._list(run))

    async def list_all(self, request: Request) -> Response:
        """List what all runs of the user wait for."""
        owner = await self._service.owner(request)
        runs = await self._service.store.open_runs(owner, MAX_PAGE)
        lists = [await self._list(run) for run in runs]
        return JSONResponse(WaitingRunList(runs=[found for found in lists if found.requests]))

    async def _list(self, run: RunRow) -> InputRequestList:
        assembler = await self._read(run) if run.is_live else Assembler()
        return InputRequestList(
            run_id=run.id,
            event_id=run.message_id,
            conversation_id=run.conversation_id,
            # What a tool has stored for itself is not for clients.
            requests=[replace(one, state=None) for one in assembler.open_requests()],
        )

    async def answer(self, request: Request) -> Response:
        """Answer a request. The first answer counts; a later one is told which that was."""
        service = self._service
        owner = await service.owner(request)
        run = await service.store.find_run(owner, request.path_params["run_id"])
        body = await read_body(request, InputAnswer, service.settings)
        asked, is_open = await self._find(run, request.path_params["request_id"])
        if asked.decision is not None:
            self._check_same(asked.decision, asked.value, asked.by, body, owner)
            return _result(asked.request_id, asked.decision, asked.by)
        if not run.is_live or not is_open:
            raise HTTPError(409, "run_over", "the run has gone on without this answer")
        await self._check_time(run, asked)
        if body.decision == "accepted":
            try:
                check_value(asked, body.value)
            except UsageError as error:
                raise HTTPError(422, "bad_value", str(error)) from None
        entry = InboxEntry(
            id=f"ent_{uuid.uuid4().hex}",
            run_id=run.id,
            kind="answer",
            request_id=asked.request_id,
            body={
                "decision": body.decision,
                "value": body.value,
                "is_always": body.is_always,
                "reason": body.reason,
                "by": owner,
            },
            created_ms=service.clock(),
        )
        counted = (await service.add_entry(run, entry)).body
        decision, by = counted["decision"], counted.get("by")
        self._check_same(decision, counted.get("value"), by, body, owner)
        return _result(asked.request_id, decision, by)

    async def _check_time(self, run: RunRow, asked: InputRequest) -> None:
        """Raise an `HTTPError` of 409 if the request has expired, and let the run know it."""
        expires_ms = asked.expires_at_ms
        if expires_ms is not None and expires_ms <= self._service.clock():
            await self._service.runs.claim(run)
            text = "the request has expired: the call was not run"
            raise HTTPError(409, "request_expired", text, decision="expired")

    async def _find(self, run: RunRow, request_id: str) -> tuple[InputRequest, bool]:
        """Return a request, and whether the run still waits for it."""
        assembler = await self._read(run)
        for asked in assembler.all_requests():
            if asked.request_id == request_id:
                return asked, asked in assembler.open_requests()
        raise HTTPError(404, "no_request", "this run has no such request")

    async def _read(self, run: RunRow) -> Assembler:
        assembler = Assembler()
        for record in await self._service.log.read(run.id):
            assembler.feed(record)
        return assembler

    @staticmethod
    def _check_same(
        decision: str, value: Any, by: str | None, body: InputAnswer, owner: str
    ) -> None:
        """Raise an `HTTPError` of 409 if another answer counts."""
        if (decision, value, by) != (body.decision, body.value, owner):
            text = f"the request was already {decision}"
            raise HTTPError(409, "already_answered", text, decision=decision, value=value, by=by)


def _result(request_id: str, decision: Any, by: str | None) -> Response:
    return JSONResponse(InputAnswerResult(request_id=request_id, decision=decision, by=by))
