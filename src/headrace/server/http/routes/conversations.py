"""Conversations: list, read, rename, delete, search, export."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from headrace.projections.ux import MessageEvent, to_event
from headrace.server.http.body import body_of
from headrace.server.http_error import JSON, Problem
from headrace.server.service import Service
from headrace.server.storage.store import Conversation, Mark, RunLive, RunRow, StoredMessage

_MAX_TITLE_CHARS = 200
_MAX_PAGE = 100
# A cancel takes far less, unless a tool does not listen.
_STOP_S = 3.0


class Change(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `PATCH /api/conversations/{id}`."""

    title: str | None = None
    leaf_id: str | None = None
    """The message that the next question follows: the branch that is shown."""


class ShownMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message as it is shown: a user's text, or the event that the stream has ended with."""

    id: str
    parent_id: str | None
    role: str
    created_at: int
    text: str = ""
    event: MessageEvent | None = None


class LiveEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is being written."""

    event_id: str
    parent_id: str
    created_at: int


class Conversations:
    """The routes under `/api/conversations`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def routes(self) -> list[Route]:
        one = "/api/conversations/{conversation_id}"
        return [
            Route("/api/conversations", self.find, methods=["GET"]),
            Route(one, self.read, methods=["GET"]),
            Route(one, self.change, methods=["PATCH"]),
            Route(one, self.delete, methods=["DELETE"]),
            Route(f"{one}/export", self.export, methods=["GET"]),
        ]

    async def find(self, request: Request) -> Response:
        """The newest first, page by page; those in which the words of `q` stand, where it is
        given."""
        owner = await self._service.owner(request)
        words, before = (request.query_params.get(name) for name in ("q", "before"))
        limit, store = _limit(request), self._service.store
        if words is None:
            mark = None if before is None else _mark(before)
            # One more tells whether there are more.
            found = await store.conversations(owner, limit + 1, mark)
            return JSON(_page(found, limit))
        if before is not None:
            raise Problem(422, "bad_before", "a search has one page: leave before out")
        return JSON(_page(await store.search(owner, words, limit), limit))

    async def read(self, request: Request) -> Response:
        """One conversation with all its messages, and the answers that are being written."""
        owner = await self._service.owner(request)
        # The live ones first: one that ends in between is then told twice, and never not at all.
        conversation_id = request.path_params["conversation_id"]
        live = await self._service.store.live_under(owner, conversation_id)
        conversation, messages = await self._found(request)
        return JSON(
            {
                "conversation": conversation,
                "messages": [_shown(stored) for stored in messages],
                "live": [_live(run) for run in live],
            }
        )

    async def change(self, request: Request) -> Response:
        """Rename it, or turn to another branch."""
        owner = await self._service.owner(request)
        limit = self._service.settings.max_body_bytes
        body = await body_of(request, Change, limit)
        title = None if body.title is None else _title(body.title)
        conversation_id, store = request.path_params["conversation_id"], self._service.store
        conversation = await store.conversation(owner, conversation_id)
        # The leaf first: it may not be there, and then the title must stay as well.
        if body.leaf_id is not None:
            conversation = await store.select(owner, conversation_id, body.leaf_id)
        if title is not None:
            conversation = await store.rename(owner, conversation_id, title)
        return JSON(conversation)

    async def delete(self, request: Request) -> Response:
        """Stop what is being written to it, and forget it."""
        owner = await self._service.owner(request)
        conversation_id, store = request.path_params["conversation_id"], self._service.store
        live = await store.live_under(owner, conversation_id)
        await asyncio.gather(*(self._stop(run) for run in live))
        try:
            await store.delete(owner, conversation_id)
        except RunLive as error:
            text = "an answer is still being written, and has not stopped yet: try again soon"
            raise Problem(409, "run_live", text, event_id=error.message_id) from None
        return Response(status_code=204)

    async def _stop(self, run: RunRow) -> None:
        await self._service.room.settled(run.id)
        await self._service.runs.stop(run.message_id, _STOP_S)

    async def export(self, request: Request) -> Response:
        """All of it as JSON, or as Markdown to read: the branch that is shown."""
        form = request.query_params.get("format", "json")
        conversation, messages = await self._found(request)
        if form == "json":
            return JSON(_whole(conversation, messages))
        if form == "markdown":
            text = _markdown(conversation, _branch(messages, conversation.leaf_id))
            return PlainTextResponse(text, media_type="text/markdown")
        raise Problem(422, "unknown_format", "there are json and markdown")

    async def _found(self, request: Request) -> tuple[Conversation, list[StoredMessage]]:
        owner = await self._service.owner(request)
        conversation_id = request.path_params["conversation_id"]
        store = self._service.store
        conversation = await store.conversation(owner, conversation_id)
        return conversation, await store.messages(owner, conversation_id)


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", str(_MAX_PAGE))
    if not (text.isascii() and text.isdigit() and len(text) < 4 and 0 < int(text) <= _MAX_PAGE):
        raise Problem(422, "bad_limit", f"limit is 1 to {_MAX_PAGE}")
    return int(text)


def _page(found: list[Conversation], limit: int) -> dict[str, Any]:
    shown = found[:limit]
    last = shown[-1] if len(found) > limit else None
    return {"conversations": shown, "next": last and f"{last.updated_ms}.{last.id}"}


def _mark(text: str) -> Mark:
    """What the `next` of a page says."""
    at_ms, _, last_id = text.partition(".")
    if not (at_ms.isascii() and at_ms.isdigit() and len(at_ms) < 19 and last_id):
        raise Problem(422, "bad_before", "before is the next of the page that came before")
    return Mark(int(at_ms), last_id)


def _branch(messages: list[StoredMessage], leaf_id: str | None) -> list[StoredMessage]:
    """The messages from the root down to the leaf."""
    known = {stored.id: stored for stored in messages}
    way: list[StoredMessage] = []
    while leaf_id is not None and (stored := known.pop(leaf_id, None)) is not None:
        way.append(stored)
        leaf_id = stored.parent_id
    return way[::-1]


def _title(text: str) -> str:
    title = " ".join(text.split())
    if not 0 < len(title) <= _MAX_TITLE_CHARS:
        raise Problem(422, "bad_title", f"a title has 1 to {_MAX_TITLE_CHARS} characters")
    return title


def _shown(stored: StoredMessage) -> ShownMessage:
    message = stored.message
    is_answer = message.role == "assistant"
    return ShownMessage(
        id=stored.id,
        parent_id=stored.parent_id,
        role=message.role,
        created_at=message.created_at_ms,
        text="" if is_answer else message.text,
        event=to_event(message, event_id=stored.id) if is_answer else None,
    )


def _live(run: RunRow) -> LiveEvent:
    return LiveEvent(event_id=run.message_id, parent_id=run.parent_id, created_at=run.created_ms)


def _whole(conversation: Conversation, messages: list[StoredMessage]) -> dict[str, Any]:
    return {"conversation": conversation, "messages": messages}


def _markdown(conversation: Conversation, messages: list[StoredMessage]) -> str:
    parts = [f"# {conversation.title or 'Conversation'}"]
    for stored in messages:
        who = "Assistant" if stored.message.role == "assistant" else "User"
        parts.append(f"## {who}\n\n{stored.message.text}")
    return "\n\n".join(parts) + "\n"
