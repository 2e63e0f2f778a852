"""The routes under `/api/conversations`: list, search, read, change, delete, export."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from headrace.projections.ux import to_event
from headrace.server import api
from headrace.server.http.attachments import describe_attachments
from headrace.server.http.body import read_body
from headrace.server.http.bounded_response import BoundedResponse
from headrace.server.http.export.export import EXPORT_BYTES, EXPORTS
from headrace.server.http_error import HTTPError, JSONResponse
from headrace.server.service import Service
from headrace.server.storage.store import (
    Conversation,
    ConversationNote,
    MessageQuery,
    PageCursor,
    RunLive,
    RunRow,
    SearchHit,
    StoredMessage,
)

_MAX_TITLE_CHARS = 200
# A cancelled run ends much sooner, unless a tool ignores the cancellation.
_CANCEL_S = 3.0


class Conversations:
    """The routes under `/api/conversations`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def routes(self) -> list[Route]:
        path = "/api/conversations/{conversation_id}"
        return [
            Route("/api/conversations", self.list_or_search, methods=["GET"]),
            Route(path, self.read, methods=["GET"]),
            Route(path, self.change, methods=["PATCH"]),
            Route(path, self.delete, methods=["DELETE"]),
            Route(f"{path}/export", self.export, methods=["GET"]),
        ]

    async def list_or_search(self, request: Request) -> Response:
        """List conversations page by page, the newest first, or search for the words of `q`."""
        owner = await self._service.owner(request)
        words, before = (request.query_params.get(name) for name in ("q", "before"))
        limit, store = _parse_limit(request), self._service.store
        if words is None:
            cursor = None if before is None else _parse_cursor(before)
            # One more than asked for shows whether there is a next page.
            found = await store.conversations(owner, limit + 1, cursor)
            page = _to_page(found, limit, await self._find_live(owner))
            if cursor is None:
                page = replace(page, pinned=await store.pinned(owner, api.MAX_PAGE))
            return JSONResponse(page)
        if before is not None:
            raise HTTPError(422, "bad_before", "a search has only one page: leave out before")
        self._service.quota.count_search(owner)
        hits = await store.search(owner, words, limit)
        page = _to_page([hit.conversation for hit in hits], limit, await self._find_live(owner))
        return JSONResponse(replace(page, hits=_to_hits(hits)))

    async def _find_live(self, owner: str) -> dict[str, api.AnswerState]:
        runs = await self._service.store.open_runs(owner, api.MAX_PAGE)
        # A conversation with several answers waits if one of them does.
        runs.sort(key=lambda run: run.is_suspended)
        return {run.conversation_id: "waiting" if run.is_suspended else "writing" for run in runs}

    async def read(self, request: Request) -> Response:
        """Return a conversation with a page of its messages, by default the newest ones, and the
        answers that are being written."""
        owner, store = await self._service.owner(request), self._service.store
        conversation_id = request.path_params["conversation_id"]
        before, limit = request.query_params.get("before"), _parse_limit(request)
        query = MessageQuery(limit=limit, max_bytes=api.MAX_PAGE_BYTES, before=before)

        async def create() -> Response:
            # The live runs first: one that ends in between is then listed twice, not omitted.
            live = await store.live_under(owner, conversation_id)
            conversation = await store.conversation(owner, conversation_id)
            page = await store.messages(owner, conversation_id, query)
            return JSONResponse(
                api.ConversationDetail(
                    conversation=conversation,
                    messages=[_to_view(stored) for stored in page.messages],
                    live=[_to_live_answer(run) for run in live],
                    earlier=page.messages[0].id if page.has_more else None,
                )
            )

        size = await store.message_bytes(owner, conversation_id, query)
        return BoundedResponse(self._service.response_budget, owner, size, create)

    async def change(self, request: Request) -> Response:
        """Rename a conversation, pin it, mark it as read, or switch to another branch."""
        owner = await self._service.owner(request)
        body = await read_body(request, api.ConversationUpdate, self._service.settings)
        title = None if body.title is None else _clean_title(body.title)
        conversation_id, store = request.path_params["conversation_id"], self._service.store
        conversation = await store.conversation(owner, conversation_id)
        # The leaf first: if it does not exist, the title must not change either.
        if body.leaf_id is not None:
            conversation = await store.select(owner, conversation_id, body.leaf_id)
        if title is not None:
            conversation = await store.rename(owner, conversation_id, title)
        note = ConversationNote(
            is_pinned=body.is_pinned, is_unread=body.is_unread, instructions=body.instructions
        )
        if note.columns:
            conversation = await store.annotate(owner, conversation_id, note)
        return JSONResponse(conversation)

    async def delete(self, request: Request) -> Response:
        """Cancel the runs of a conversation, and delete it."""
        owner = await self._service.owner(request)
        conversation_id, store = request.path_params["conversation_id"], self._service.store
        live = await store.live_under(owner, conversation_id)
        await asyncio.gather(*(self._cancel(run) for run in live))
        try:
            await store.delete(owner, conversation_id)
        except RunLive as error:
            text = "an answer is still being written and has not stopped yet: try again soon"
            raise HTTPError(409, "run_live", text, event_id=error.message_id) from None
        return Response(status_code=204)

    async def _cancel(self, run: RunRow) -> None:
        await self._service.quota.wait_for_start(run.id)
        await self._service.runs.stop(run.message_id, _CANCEL_S)

    async def export(self, request: Request) -> Response:
        """Export a conversation: all branches as JSON, or the one that is shown as Markdown."""
        format_name = request.query_params.get("format", "json")
        export = EXPORTS.get(format_name)
        if export is None:
            raise HTTPError(422, "unknown_format", f"format is {' or '.join(EXPORTS)}")
        owner, store = await self._service.owner(request), self._service.store
        conversation = await store.conversation(owner, request.path_params["conversation_id"])

        async def create() -> Response:
            pieces = export.write(store, owner, conversation)
            return StreamingResponse(pieces, media_type=export.media_type)

        return BoundedResponse(self._service.response_budget, owner, EXPORT_BYTES, create)


def _parse_limit(request: Request) -> int:
    text = request.query_params.get("limit", str(api.MAX_PAGE))
    if not (text.isascii() and text.isdigit() and len(text) < 4 and 0 < int(text) <= api.MAX_PAGE):
        raise HTTPError(422, "bad_limit", f"limit must be a number from 1 to {api.MAX_PAGE}")
    return int(text)


def _to_page(
    found: list[Conversation], limit: int, live: dict[str, api.AnswerState]
) -> api.ConversationPage:
    page = found[:limit]
    last = page[-1] if len(found) > limit else None
    cursor = None if last is None else f"{last.updated_ms}.{last.id}"
    return api.ConversationPage(conversations=page, next=cursor, live=live)


def _to_hits(hits: list[SearchHit]) -> dict[str, api.Hit]:
    return {
        hit.conversation.id: api.Hit(message_id=hit.message_id, snippet=hit.snippet)
        for hit in hits
        if hit.message_id is not None
    }


def _parse_cursor(text: str) -> PageCursor:
    at_ms, _, last_id = text.partition(".")
    if not (at_ms.isascii() and at_ms.isdigit() and len(at_ms) < 19 and last_id):
        raise HTTPError(422, "bad_before", "before must be the next of an earlier page")
    return PageCursor(int(at_ms), last_id)


def _clean_title(text: str) -> str:
    title = " ".join(text.split())
    if not 0 < len(title) <= _MAX_TITLE_CHARS:
        raise HTTPError(422, "bad_title", f"a title has 1 to {_MAX_TITLE_CHARS} characters")
    return title


def _to_view(stored: StoredMessage) -> api.MessageView:
    message = stored.message
    is_answer = message.role == "assistant"
    return api.MessageView(
        id=stored.id,
        parent_id=stored.parent_id,
        role=message.role,
        created_at=message.created_at_ms,
        text="" if is_answer else message.text,
        attachments=() if is_answer else describe_attachments(message),
        event=to_event(message, event_id=stored.id) if is_answer else None,
    )


def _to_live_answer(run: RunRow) -> api.LiveAnswer:
    return api.LiveAnswer(
        event_id=run.message_id, parent_id=run.parent_id, created_at=run.created_ms
    )
