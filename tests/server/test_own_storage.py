"""A server on a log and a store of its user instead of SQLite."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.errors import UsageError
from headrace.rehearsal.script import say, turn
from headrace.server import create_app
from headrace.server.storage.inspection import open_read_only
from tests.server.memory_storage import MemoryLog, MemoryStore
from tests.server.serving import frames, scripted, served

AGENT = scripted(turn(say("Hello there.")))


def test_everything_is_stored_where_the_user_wants_it(tmp_path: Path) -> None:
    async def main() -> None:
        log = MemoryLog()
        store = MemoryStore(log)
        async with served(AGENT, tmp_path, log=log, store=store) as server:
            event_id, conversation_id, data = await server.ask("Hi.", protocol="ux")
            assert json.loads(frames(data)[-1][1])["type"] == "message_final"
            await server.idle()
            async with server.resume(event_id, protocol="ux") as response:
                assert await response.read() == data
            _, detail = await server.get(f"/api/conversations/{conversation_id}")
            assert [message["role"] for message in detail["messages"]] == ["user", "assistant"]
            _, page = await server.get("/api/conversations")
            assert [one["id"] for one in page["conversations"]] == [conversation_id]
        assert len(log.runs) == 1
        with open_read_only(tmp_path) as connection:
            assert connection.execute("SELECT count(*) FROM runs").fetchone()[0] == 0

    asyncio.run(main())


def test_a_log_without_its_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="both a log and a store"):
        create_app(AGENT, data=tmp_path, log=MemoryLog())


_WITHOUT_STARLETTE = """
import sys
sys.modules["starlette"] = None
import headrace.client
from headrace.server.api import ChatRequest
from headrace.server.storage.log import SQLiteLog
try:
    from headrace.server import create_app
except ImportError as error:
    print(error)
"""


def test_without_starlette_the_extra_is_named_and_the_rest_works() -> None:
    command = [sys.executable, "-c", _WITHOUT_STARLETTE]
    printed = subprocess.check_output(command, text=True)
    assert printed == "the server needs starlette: pip install 'headrace[server]'\n"
