"""The desk: answers over a line that breaks, and a server that says no."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import pytest

from headrace.client.client import Ask, Desk, Refused, ServedModel
from headrace.client.connection import NO_HEADERS, Line, Reply
from headrace.errors import RequestFailed
from headrace.projections.ux import UXFrame, encode_frame
from headrace.projections.ux.frame import MessageFinal, MessageStarted, TextPiece
from headrace.projections.ux.segment import MessageEvent
from headrace.server.storage.data_folder import FolderHeld
from headrace.testing import run_virtual
from headrace.transport.stream_error import stream_broken

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
    """A line whose every reply has a few events and then breaks."""

    address = "http://example"

    def __init__(self, *batches: list[bytes], status: int = 200, body: bytes = b"") -> None:
        self._batches = list(batches)
        self._status = status
        self._body = body
        self.asked: list[tuple[str, Mapping[str, str]]] = []

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Reply:
        self.asked.append((f"{method} {path.partition('?')[0]}", headers))
        if not self._batches and not self._body:
            raise RequestFailed("gone", category="network")
        ids = {"x-event-id": "m", "x-conversation-id": "c", "x-parent-id": "q"}
        return Reply(self._status, ids, self._pieces(), _nothing)

    async def _pieces(self) -> AsyncIterator[bytes]:
        if self._body:
            yield self._body
            return
        for piece in self._batches.pop(0):
            yield piece
        if self._batches:
            raise stream_broken("network", "it broke")


async def _nothing() -> None:
    await asyncio.sleep(0)


class _Exchange:
    """Always the same line; or none, for those who do not wait."""

    def __init__(self, line: Line, *, is_held: bool = False) -> None:
        self._line = line
        self._is_held = is_held
        self.address = line.address

    @asynccontextmanager
    async def line(self, *, is_patient: bool = True) -> AsyncGenerator[Line, None]:
        if self._is_held and not is_patient:
            raise FolderHeld(None, None)  # type: ignore[arg-type]
        yield self._line


def _desk(line: Line, **options: Any) -> Desk:
    exchange: Any = _Exchange(line, **options)
    return Desk(exchange, lambda: ServedModel(name="default", model="own"), "hr_secret")


async def _answered(desk: Desk) -> list[Any]:
    async with desk.asked(Ask(message="hi")) as answer:
        return [frame async for frames in answer.frames() for frame in frames]


def test_a_connection_that_breaks_is_taken_up_behind_the_last_frame() -> None:
    line = _Breaking([_EVENTS[0], _EVENTS[1] + _UNKNOWN], [], _EVENTS[2:])
    frames = run_virtual(_answered(_desk(line)))
    assert frames == _FRAMES
    first, *more = line.asked
    assert first[0] == "POST /api/chat"
    assert [path for path, _ in more] == ["GET /api/chat/m/stream"] * 2
    assert [headers["last-event-id"] for _, headers in more] == ["2.9", "2.9"]
    assert all(headers["authorization"] == "Bearer hr_secret" for _, headers in line.asked)


def test_a_server_that_does_not_come_back_is_said_and_where_the_answer_is() -> None:
    line = _Breaking(_EVENTS[:2])
    with pytest.raises(RequestFailed, match="the answer goes on there, and /open shows it"):
        run_virtual(_answered(_desk(line)))


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (409, b'{"error":{"code":"run_live","message":"wait for it"}}', "wait for it"),
        (401, b"{}", "the server does not know this token"),
        (502, b"<html>", "the server answered 502"),
        (500, b'{"error":7}', "the server answered 500"),
    ],
)
def test_what_a_server_refuses_is_told_in_its_words(status: int, body: bytes, said: str) -> None:
    with pytest.raises(Refused, match=said) as refused:
        run_virtual(_answered(_desk(_Breaking(status=status, body=body))))
    assert refused.value.status == status


class _Pages(_Breaking):
    """A line to a server that has many conversations."""

    def __init__(self, many: int) -> None:
        super().__init__()
        self._many = many
        self.paths: list[str] = []

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Reply:
        self.paths.append(path)
        given = dict(parse_qsl(path.partition("?")[2]))
        start = int(given.get("before", "+0").removeprefix("+"))
        end = min(start + int(given["limit"]), self._many)
        found = [{"id": f"c{at}", "title": "", "updated_ms": 0} for at in range(start, end)]
        told = {"conversations": found, "next": f"+{end}" if end < self._many else None}
        self._body = msgspec.json.encode(told)
        return Reply(200, {}, self._pieces(), _nothing)


@pytest.mark.parametrize(("most", "many", "pages"), [(20, 300, 1), (250, 300, 3), (999, 120, 2)])
def test_older_conversations_are_asked_for_page_by_page(most: int, many: int, pages: int) -> None:
    line = _Pages(many)
    found = run_virtual(_desk(line).conversations(most))
    assert [one.id for one in found] == [f"c{at}" for at in range(min(most, many))]
    assert len(line.paths) == pages


def test_who_answers_is_known_while_another_has_the_folder() -> None:
    (model,) = run_virtual(_desk(_Breaking(), is_held=True).models())
    assert model.model == "own"
