"""Behind a real nginx, with the lines that the page on deployment shows."""

from __future__ import annotations

import asyncio
import io
import re
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from headrace.rehearsal.script import say, turn
from tests.server.serving import Served, frames, scripted, served

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/bin:/usr/bin")
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "deploy-behind-nginx.md"
CONFIG = """\
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error warn;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    server {{ listen 127.0.0.1:{port}; {locations} }}
}}
"""
SLOW = turn(say("one two three four five six seven eight nine ten"), pace_s=0.05)

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@asynccontextmanager
async def proxied(folder: Path, *turns: Any) -> AsyncIterator[Served]:
    """A server as it is seen through nginx, under /chat."""
    found = re.search(r"^```nginx\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert found is not None
    async with served(scripted(*turns), folder / "data", prefix="/chat") as server:
        port = free_port()
        locations = found[1].replace("127.0.0.1:8700", server.url.removeprefix("http://"))
        config = folder / "nginx.conf"
        config.write_text(CONFIG.format(folder=folder, port=port, locations=locations))
        assert NGINX is not None
        process = subprocess.Popen([NGINX, "-c", str(config), "-p", str(folder)])
        try:
            await listening(port)
            yield Served(f"http://127.0.0.1:{port}/chat", server.service, server.http)
        finally:
            process.terminate()
            process.wait(20)


async def listening(port: int) -> None:
    for _ in range(500):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.02)
            continue
        writer.close()
        return
    raise AssertionError("nginx does not listen")


def test_frames_come_through_nginx_one_by_one(tmp_path: Path) -> None:
    async def main() -> None:
        async with proxied(tmp_path, SLOW) as server:
            async with server.open("Go.", protocol="ux") as response:
                reads = [chunk async for chunk, _ in response.content.iter_chunks()]
            data = b"".join(reads)
            assert '"type":"message_final"' in frames(data)[-1][1]
            assert len(reads) > 5
            async with server.resume(response.headers["x-event-id"], "6.1", "ux") as response:
                assert data.endswith(await response.read())

    asyncio.run(main())


def test_a_page_behind_nginx_is_no_stranger_and_others_are(tmp_path: Path) -> None:
    async def main() -> None:
        async with proxied(tmp_path, turn(say("Hi."))) as server:
            own = server.url.removesuffix("/chat")
            for origin, status in ((own, 200), ("https://evil.example", 403)):
                async with server.open("x", headers={"origin": origin}) as response:
                    assert response.status == status
            _, told = await server.get("/openapi.json")
            assert told["servers"] == [{"url": "/chat"}]
            async with server.http.get(f"{server.url}/metrics") as response:
                assert response.status == 403
            note = io.BytesIO(b"a note\n" * 500_000)
            kind = {"content-type": "application/octet-stream"}
            async with server.http.post(
                f"{server.url}/api/files?name=note.txt", data=note, headers=kind
            ) as response:
                assert response.status in (200, 201), await response.text()
            long = io.BytesIO(b"x" * 1_200_000)
            async with server.http.post(f"{server.url}/api/chat", data=long) as response:
                assert response.status == 413

    asyncio.run(main())


def test_a_client_that_leaves_through_nginx_leaves_the_run_alone(tmp_path: Path) -> None:
    async def main() -> None:
        async with proxied(tmp_path, SLOW) as server:
            async with server.open("Go.", protocol="ux") as response:
                event_id = response.headers["x-event-id"]
                await response.content.readany()
            assert server.service.runs.count == 1
            timeout = aiohttp.ClientTimeout(total=60)
            url = f"{server.url}/api/chat/{event_id}/stream"
            async with server.http.get(url, timeout=timeout) as response:
                assert '"type":"message_final"' in frames(await response.read())[-1][1]

    asyncio.run(main())
