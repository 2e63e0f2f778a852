"""`python -m bench.page.server PORT_FILE`: Headrace, and the peer's page beside it, with a model
that writes long answers at a steady pace."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from headrace.engine import Agent
from headrace.rehearsal.script import ScriptedTurn, say, think, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server import create_app
from headrace.server.listener import open_listener

HERE = Path(__file__).parent
TEXT_CHARS = 20_000
SHORT_CHARS = 600
"""Length of an answer in a conversation of many messages."""
_DELTA_CHARS = 16
_DELTAS_A_TICK = 8
_TICK_S = 0.008
_PARAGRAPH = (
    "Paragraph {number} weighs **one** thing against `another`, and finds that neither is as"
    " plain as it looked: the first is cheaper, the second lasts longer, and what is left is"
    " a question of taste.\n\n"
)
_LIST = "- point {number}, with *some* weight\n- and a second one\n\n"
_CODE = "```python\ndef step_{number}(value):\n    return value + {number}\n```\n\n"


def prose(chars: int) -> str:
    """Markdown as models write it: mostly paragraphs, some lists, a little code."""
    pieces: list[str] = []
    length = number = 0
    while length < chars:
        number += 1
        pattern = _CODE if number % 11 == 0 else _LIST if number % 4 == 0 else _PARAGRAPH
        pieces.append(pattern.replace("{number}", str(number)))
        length += len(pieces[-1])
    return "".join(pieces)[:chars]


class _Pace:
    """Several deltas a tick: a sleep for each would be longer than it says."""

    def __init__(self) -> None:
        self._count = 0

    async def __call__(self, seconds: float) -> None:
        self._count += 1 if seconds else 0
        wait_s = _TICK_S if seconds and self._count % _DELTAS_A_TICK == 0 else 0
        await asyncio.sleep(wait_s)


def _play(heard: Any) -> ScriptedTurn:
    if not heard.user.isdigit():
        return turn(say(prose(SHORT_CHARS)))
    chars = int(heard.user)
    reasoning = think(prose(chars - TEXT_CHARS), deltas=_DELTA_CHARS)
    return turn(reasoning, say(prose(TEXT_CHARS), deltas=_DELTA_CHARS), pace_s=0.001)


async def _peer(request: Request) -> Response:
    return FileResponse(HERE / "peer.html")


def _app(data: Path) -> Starlette:
    transport = ScriptedTransport(_play, dialect="chat", sleep=_Pace(), keeps_requests=False)
    served = create_app(Agent("openai-chat:long", transport=transport, api_key="k"), data=data)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        async with served.router.lifespan_context(served):
            yield

    routes = [
        Route("/peer", _peer),
        Mount("/peer", StaticFiles(directory=HERE)),
        Mount("/", served),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


async def _serve(port_file: Path) -> None:
    with tempfile.TemporaryDirectory() as data:
        listener = open_listener("127.0.0.1", 0)
        config = uvicorn.Config(_app(Path(data)), log_level="error", access_log=False)
        port_file.write_text(str(listener.getsockname()[1]))
        await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
