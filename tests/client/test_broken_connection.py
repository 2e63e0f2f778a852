"""The client over a connection that breaks, and with a server that refuses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import pytest

from headrace.client import AsyncClient, ClientError
from headrace.client.connection import NO_HEADERS, Connection, Response
from headrace.client.target import ServerTarget
from headrace.projections.ux import UXFrame, encode_frame
from headrace.projections.ux.frame import MessageFinal, MessageStarted, TextPiece
from headrace.projections.ux.segment import MessageEvent
from headrace.testing import run_virtual

_EVENT = MessageEvent(id="m", role="assistant", run_id=None, created_at=0, segments=(), usage=None)
_FRAMES: list[UXFrame] = [
    MessageStarted("m", None, 0),
    TextPiece("m", "Hello "),
    TextPiece("m", "there."),
    MessageFinal(_EVENT),
]
_EVENTS = [
    b"id: %d.1\ndata: %b\n\n" % (number, encode_frame(frame))
    for number, frame in enumerate(_FRAMES, 1)
]
_UNKNOWN = b'id: 2.9\ndata: {"type":"of_tomorrow"}\n\n'


class _Breaking:
    """A connection whose every response has a few events and then breaks."""

    address = "http://example"

    def __init__(self, *batches: list[bytes], status: int = 200, body: bytes = b"") -> None:
        self._batches = list(batches)
        self._status = status
        self._body = body
        self.requests: list[tuple[str, Mapping[str, str]]] = []

    async def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Response:
        self.requests.append((f"{method} {path.partition('?')[0]}", headers))
        if not self._batches and not self._body:
            raise ClientError(None, "network", "gone")
        ids = {"x-event-id": "m", "x-conversation-id": "c", "x-parent-id": "q"}
        return Response(self._status, ids, self._pieces(), _nothing)

    async def aclose(self) -> None:
        await _nothing()

    async def _pieces(self) -> AsyncIterator[bytes]:
        if self._body:
            yield self._body
            return
        for piece in self._batches.pop(0):
            yield piece
        if self._batches:
            raise ClientError(None, "network", "it broke")


async def _nothing() -> None:
    await asyncio.sleep(0)


def _client(connection: Connection) -> AsyncClient:
    return AsyncClient._from(ServerTarget(connection), "hr_secret")


async def _ask(client: AsyncClient) -> list[Any]:
    async with client.ask("hi") as answer:
        return [frame async for frame in answer]


def test_a_connection_that_breaks_is_taken_up_behind_the_last_frame() -> None:
    line = _Breaking([_EVENTS[0], _EVENTS[1] + _UNKNOWN], [], _EVENTS[2:])
    frames = run_virtual(_ask(_client(line)))
    assert frames == _FRAMES
    first, *more = line.requests
    assert first[0] == "POST /api/chat"
    assert [path for path, _ in more] == ["GET /api/chat/m/stream"] * 2
    assert [headers["last-event-id"] for _, headers in more] == ["2.9", "2.9"]
    assert all(headers["authorization"] == "Bearer hr_secret" for _, headers in line.requests)


def test_a_server_that_does_not_come_back_is_said_and_where_the_answer_is() -> None:
    line = _Breaking(_EVENTS[:2])
    with pytest.raises(ClientError, match="still being written there"):
        run_virtual(_ask(_client(line)))


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (
            409,
            b'{"error":{"code":"run_live","message":"wait for it","request_id":"r"}}',
            "wait for it",
        ),
        (401, b"{}", "the server responded with status 401"),
        (502, b"<html>", "the server responded with status 502"),
        (500, b'{"error":7}', "the server responded with status 500"),
    ],
)
def test_what_a_server_refuses_is_told_in_its_words(status: int, body: bytes, said: str) -> None:
    with pytest.raises(ClientError, match=said) as refused:
        run_virtual(_ask(_client(_Breaking(status=status, body=body))))
    assert refused.value.status == status


class _Pages(_Breaking):
    """A connection to a server that has many conversations."""

    def __init__(self, many: int) -> None:
        super().__init__()
        self._many = many
        self.paths: list[str] = []

    async def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Response:
        self.paths.append(path)
        given = dict(parse_qsl(path.partition("?")[2]))
        start = int(given.get("before", "+0").removeprefix("+"))
        end = min(start + int(given["limit"]), self._many)
        found = [
            {"id": f"c{at}", "title": "", "created_ms": 0, "updated_ms": 0}
            for at in range(start, end)
        ]
        told = {"conversations": found, "next": f"+{end}" if end < self._many else None}
        self._body = msgspec.json.encode(told)
        return Response(200, {}, self._pieces(), _nothing)


@pytest.mark.parametrize(("most", "many", "pages"), [(20, 300, 1), (250, 300, 3), (999, 120, 2)])
def test_older_conversations_are_asked_for_page_by_page(most: int, many: int, pages: int) -> None:
    line = _Pages(many)
    found = run_virtual(_client(line).conversations(most))
    assert [one.id for one in found] == [f"c{at}" for at in range(min(most, many))]
    assert len(line.paths) == pages
