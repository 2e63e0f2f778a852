"""The log of requests as text and JSON, and what `/metrics` tells about requests and answers."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from yarl import URL

from headrace.cli.terminal.log_output import JSONFormatter, LineFormatter
from headrace.server.log_limit import limit_logs
from headrace.testing import say, think, turn
from tests.server.server_process import command
from tests.server.serving import Served, scripted, served

_WORD = "zebra"


async def _wait_for_lines(caplog: pytest.LogCaptureFixture, count: int) -> list[dict[str, Any]]:
    """Return the requests that were logged. A client may have its response a little earlier."""
    async with asyncio.timeout(20):
        while len(caplog.records) < count:
            await asyncio.sleep(0.01)
    return [json.loads(JSONFormatter().format(record)) for record in caplog.records]


async def _use(site: Served) -> str:
    """Make one request of each kind; return the id of the stream's request."""
    async with site.open(f"The {_WORD}?", protocol="ux") as response:
        request_id = response.headers["x-request-id"]
        await response.read()
    await site.get(f"/api/conversations?q={_WORD}")
    await site.get("/api/conversations/none")
    return str(request_id)


def test_each_request_is_logged_without_its_content(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with served(scripted(turn(say(f"A {_WORD}."))), tmp_path) as site:
            with caplog.at_level(logging.INFO, "headrace.access"):
                request_id = await _use(site)
                lines = await _wait_for_lines(caplog, 3)
        by_path = {line["path"]: line for line in lines}
        stream = by_path["/api/chat"]
        assert stream["event"] == "request"
        assert (stream["method"], stream["status"]) == ("POST", 200)
        assert stream["request_id"] == request_id
        assert stream["bytes"] > 500
        assert stream["duration_ms"] > 0
        assert (stream["client"], stream["user"]) == ("127.0.0.1", "local")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stream["time"])
        assert by_path["/api/conversations"]["status"] == 200
        assert by_path["/api/conversations/none"]["status"] == 404
        assert _WORD not in json.dumps(lines)
        assert _WORD not in caplog.text

    asyncio.run(main())


def test_requests_are_not_logged_by_default(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with served(scripted(turn(say("A."))), tmp_path) as site:
            with caplog.at_level(logging.WARNING, "headrace"):
                await _use(site)

    asyncio.run(main())
    assert [record for record in caplog.records if record.name == "headrace.access"] == []


def test_metrics_tell_how_answers_ended_and_how_long_requests_took(tmp_path: Path) -> None:
    async def main() -> str:
        async with served(scripted(turn(think("Hm."), say("A."))), tmp_path) as site:
            await _use(site)
            text = ""
            async with asyncio.timeout(20):
                while "headrace_answers_total{" not in text or 'route="/api/chat"' not in text:
                    async with site.http.get(f"{site.url}/metrics") as response:
                        text = await response.text()
            return text

    text = asyncio.run(main())
    assert 'headrace_answers_total{end="end_turn"} 1' in text
    assert re.search(r'headrace_tokens_total\{kind="output"\} [1-9]', text)
    assert "headrace_cost_dollars_total 0.000000" in text
    labels = 'http_request_method="GET",http_response_status_code="404"'
    assert re.search(rf"http_server_request_duration_seconds_count\{{{labels}.*\}} 1\n", text)
    for name in (
        "gen_ai_invoke_agent_duration_seconds",
        "headrace_client_operation_time_to_first_reasoning_seconds",
        "headrace_client_operation_time_to_first_text_seconds",
    ):
        assert f"{name}_count 1" in text


def test_t14_a_path_cannot_add_lines_to_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> list[dict[str, Any]]:
        async with served(scripted(turn(say("A."))), tmp_path) as site:
            with caplog.at_level(logging.INFO, "headrace.access"):
                forged = "%0A2026-01-01%20headrace.access:%20GET%20/admin%1B%5B2J%E2%80%A8%C2%85"
                url = URL(f"{site.url}/api/conversations/x{forged}", encoded=True)
                async with site.http.get(url) as response:
                    assert response.status == 404
                return await _wait_for_lines(caplog, 1)

    (line,) = asyncio.run(main())
    (record,) = caplog.records
    for text in (line["message"], line["path"], LineFormatter().format(record)):
        assert text.splitlines() == [text]
        assert text.isprintable()
    assert "GET%20/admin" in line["path"]


def test_every_line_of_a_json_log_is_json(tmp_path: Path) -> None:
    """Also what the web server beneath says, which any stranger can cause."""
    words = command(tmp_path, "--log-format", "json", "--access-log")
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            host, port = process.stdout.readline().strip().rpartition("/")[2].split(":")
            with socket.create_connection((host, int(port)), 30) as connection:
                connection.sendall(b"GARBAGE\r\n\r\n")
                assert connection.recv(1000).startswith(b"HTTP/1.1 400")
        finally:
            process.terminate()
        _, errors = process.communicate(timeout=60)
    (line,) = [json.loads(line) for line in errors.splitlines()]
    assert (line["logger"], line["level"]) == ("uvicorn.error", "warning")
    assert line["message"] == "Invalid HTTP request received."


def test_t14_the_noise_of_strangers_hides_no_other_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with limit_logs():
        for _ in range(1_000):
            logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
        logging.getLogger("headrace.server").error("the disk is full")
    messages = [record.getMessage() for record in caplog.records]
    assert messages.count("Invalid HTTP request received.") <= 60
    assert "the disk is full" in messages


def test_a_message_is_one_line_of_text_and_a_traceback_several() -> None:
    try:
        raise ValueError("wrong\x1b[2J")
    except ValueError:
        record = logging.LogRecord(
            "headrace.server", logging.ERROR, "", 0, "failed: %s", ("x\ny",), sys.exc_info()
        )
    first, *more = LineFormatter().format(record).split("\n")
    assert first.endswith("headrace.server: failed: x⏎y")
    assert more[0].startswith("Traceback")
    assert more[-1] == "ValueError: wrong␛[2J"


def test_a_traceback_is_one_line_of_json() -> None:
    try:
        raise ValueError("wrong\nvalue")
    except ValueError:
        record = logging.LogRecord(
            "headrace.server", logging.ERROR, "", 0, "failed: %s", ("x",), sys.exc_info()
        )
    line = JSONFormatter().format(record)
    assert "\n" not in line
    found = json.loads(line)
    assert (found["level"], found["message"]) == ("error", "failed: x")
    assert "ValueError" in found["traceback"]
