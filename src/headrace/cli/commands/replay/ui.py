"""Runs `headrace replay --page`: the web UI shows a replay as a conversation.

Everything is kept in a temporary folder.
"""

from __future__ import annotations

import asyncio
import tempfile
import uuid
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.cli.sources.playback import Playback
from headrace.cli.terminal.output import print_lines
from headrace.cli.terminal.safe_text import visible
from headrace.content import TextContent
from headrace.messages import Message

if TYPE_CHECKING:
    from headrace.engine import Agent
    from headrace.server.service import Service
    from headrace.server.storage.store import RunRow
    from headrace.server.storage.store.store import RunStart

_HOST = "127.0.0.1"


def show_page(playback: Playback, speed: float | None, port: int) -> int:
    """Serve until stopped."""
    with tempfile.TemporaryDirectory(prefix="headrace-replay-") as folder:
        asyncio.run(_serve(playback, speed, port, Path(folder)))
    return 0


async def _serve(playback: Playback, speed: float | None, port: int, folder: Path) -> None:
    from headrace.cli.commands.replay.run import ReplayAgent
    from headrace.server import create_app
    from headrace.server.listener import open_listener
    from headrace.server.process import serve

    listener = open_listener(_HOST, port)
    address = f"http://{_HOST}:{listener.getsockname()[1]}"
    curtain = asyncio.Event()
    title = Path(playback.name).name
    agent = ReplayAgent(title, list(playback.records), speed, curtain)
    app = create_app({"replay": agent}, data=folder / "data", address=address, drain_s=0.0)
    app.add_middleware(_Doorbell, curtain=curtain)
    service: Service = app.state.service
    begun: list[asyncio.Task[None]] = []

    async def begin() -> None:
        row = await _begin(service, agent, _messages(playback, title))
        print_lines(
            f"Headrace replays {visible(title)} when this page is opened:",
            f"{address}/#/c/{row.conversation_id}",
            "stop with Ctrl-C",
        )

    def ready() -> None:
        begun.append(asyncio.ensure_future(begin()))

    await serve(app, listener, ready=ready)


class _Doorbell:
    """Starts the replay when the first client watches."""

    def __init__(self, app: Any, curtain: asyncio.Event) -> None:
        self._app = app
        self._curtain = curtain

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if str(scope.get("path", "")).startswith("/api/chat"):
            self._curtain.set()
        await self._app(scope, receive, send)


def _messages(playback: Playback, title: str) -> list[Message]:
    """Return the conversation before the run; the question comes last."""
    if playback.run is not None and playback.run.earlier:
        return playback.run.earlier
    asked = TextContent(f"(the request that {title} answers)")
    return [Message(role="user", content=(asked,))]


async def _begin(service: Service, agent: Agent, messages: list[Message]) -> RunRow:
    conversation_id = f"conv_{uuid.uuid4().hex}"
    is_new = True
    for asked, answer in pairwise(messages):
        if asked.role != "assistant" and answer.role == "assistant":
            begun = await service.store.begin(_start(service, conversation_id, asked, is_new))
            await service.store.commit(begun.run, answer, [])
            is_new = False
    start = _start(service, conversation_id, messages[-1], is_new)
    # Started at once, since recovery closes runs that nobody holds.
    with service.quota.reserve(start.owner, start.run_id):
        row = (await service.store.begin(start)).run
        await service.runs.begin(row, agent, messages)
    return row


def _start(service: Service, conversation_id: str, asked: Message, is_new: bool) -> RunStart:
    from headrace.server.storage.access_tokens import LOCAL
    from headrace.server.storage.store.store import RunStart, StoredMessage

    prompt = StoredMessage(
        id=f"msg_{uuid.uuid4().hex}",
        conversation_id=conversation_id,
        parent_id=None,
        message=asked,
    )
    return RunStart(
        owner=LOCAL,
        run_id=f"run_{uuid.uuid4().hex}",
        message_id=f"msg_{uuid.uuid4().hex}",
        model="replay",
        now_ms=service.clock(),
        fingerprint="",
        conversation_id=conversation_id,
        is_new=is_new,
        prompt=prompt,
    )
