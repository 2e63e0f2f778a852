"""Conversations: list, read, rename, delete, search, export."""

from __future__ import annotations

from typing import Any, cast

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from headrace.content import TextContent
from headrace.messages import Message
from headrace.server.problem import JSON, Problem
from headrace.server.service import Service, body_of
from headrace.server.store import Conversation, StoredMessage

_MAX_TITLE_CHARS = 200


class Rename(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of `PATCH /api/conversations/{id}`."""

    title: str


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
            Route(one, self.rename, methods=["PATCH"]),
            Route(one, self.delete, methods=["DELETE"]),
            Route(f"{one}/export", self.export, methods=["GET"]),
        ]

    async def find(self, request: Request) -> Response:
        """The newest first; those in which the words of `q` stand, where it is given."""
        owner = await self._service.owner(request)
        words = request.query_params.get("q")
        store = self._service.store
        found = await (store.conversations(owner) if words is None else store.search(owner, words))
        return JSON({"conversations": found})

    async def read(self, request: Request) -> Response:
        """One conversation with all its messages, and the runs that are live in it."""
        return JSON(_whole(*await self._found(request)))

    async def rename(self, request: Request) -> Response:
        owner = await self._service.owner(request)
        limit = self._service.settings.max_body_bytes
        body = cast("Rename", await body_of(request, Rename, limit))
        title = " ".join(body.title.split())
        if not 0 < len(title) <= _MAX_TITLE_CHARS:
            raise Problem(422, "bad_title", f"a title has 1 to {_MAX_TITLE_CHARS} characters")
        store = self._service.store
        return JSON(await store.rename(owner, request.path_params["conversation_id"], title))

    async def delete(self, request: Request) -> Response:
        owner = await self._service.owner(request)
        await self._service.store.delete(owner, request.path_params["conversation_id"])
        return Response(status_code=204)

    async def export(self, request: Request) -> Response:
        """All of it as JSON, or as Markdown to read."""
        form = request.query_params.get("format", "json")
        conversation, messages = await self._found(request)
        if form == "json":
            return JSON(_whole(conversation, messages))
        if form == "markdown":
            text = _markdown(conversation, messages)
            return PlainTextResponse(text, media_type="text/markdown")
        raise Problem(422, "unknown_format", "there are json and markdown")

    async def _found(self, request: Request) -> tuple[Conversation, list[StoredMessage]]:
        owner = await self._service.owner(request)
        conversation_id = request.path_params["conversation_id"]
        store = self._service.store
        conversation = await store.conversation(owner, conversation_id)
        return conversation, await store.messages(owner, conversation_id)


def _whole(conversation: Conversation, messages: list[StoredMessage]) -> dict[str, Any]:
    return {"conversation": conversation, "messages": messages}


def _markdown(conversation: Conversation, messages: list[StoredMessage]) -> str:
    parts = [f"# {conversation.title or 'Conversation'}"]
    for stored in messages:
        who = "Assistant" if stored.message.role == "assistant" else "User"
        parts.append(f"## {who}\n\n{_text(stored.message)}")
    return "\n\n".join(parts) + "\n"


def _text(message: Message) -> str:
    if message.role == "assistant":
        return message.text
    return "\n".join(part.text for part in message.content if isinstance(part, TextContent))
