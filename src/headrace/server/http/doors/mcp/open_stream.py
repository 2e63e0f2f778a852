"""Streams that stay open without a run: they end when the server stops, or the user's access."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send


async def serve_until(
    stops: Sequence[asyncio.Event], app: ASGIApp, scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer a request with `app`. When one of `stops` is set, the response is ended in order."""
    has_started = has_ended = False

    async def watch(message: Message) -> None:
        nonlocal has_started, has_ended
        has_started = True
        has_ended = message["type"] == "http.response.body" and not message.get("more_body")
        await send(message)

    working = asyncio.ensure_future(_call(app, scope, receive, watch))
    stopping = [asyncio.ensure_future(stop.wait()) for stop in stops]
    try:
        await asyncio.wait({working, *stopping}, return_when=asyncio.FIRST_COMPLETED)
        is_cut = not working.done()
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        if is_cut and has_started and not has_ended:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        working.cancel()
        for waiting in stopping:
            waiting.cancel()


async def _call(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)
