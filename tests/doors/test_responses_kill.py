"""A response in the background whose server is killed: what clients have seen stays, and the next
server ends it or goes on with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.doors.responses_frames import check_stream
from tests.server.server_process import ServerProcess, fork_server
from tests.server.serving import frames

AGENT = "tests.doors.patient_agent:agent"
ASKED = {"input": "Begin.", "background": True, "stream": True}


def read_until(server: ServerProcess, mark: str) -> list[dict[str, Any]]:
    """Ask, and return the events up to the first one with this text."""
    data = b""
    body = {"model": server.get("/v1/models")["data"][0]["id"], **ASKED}
    with server.http.stream("POST", "/v1/responses", json=body) as response:
        for piece in response.iter_raw():
            data += piece
            if mark.encode() in data and data.endswith(b"\n\n"):
                break
    return [json.loads(payload) for _, payload in frames(data)]


def read_all(server: ServerProcess, response_id: str, after: int | None = None) -> list[Any]:
    query = "" if after is None else f"&starting_after={after}"
    data = server.http.get(f"/v1/responses/{response_id}?stream=true{query}").content
    return [json.loads(payload) for _, payload in frames(data)]


@pytest.mark.parametrize("policy", ["close", "continue"])
def test_nothing_that_was_seen_is_lost(tmp_path: Path, policy: str) -> None:
    options = (AGENT, "--on-interrupt", policy)
    with fork_server(tmp_path, *options) as server:
        seen = read_until(server, "response.mcp_call_arguments.done")
        server.kill()
    response_id = seen[0]["response"]["id"]
    with fork_server(tmp_path, *options) as server:
        after = seen[-1]["sequence_number"]
        rest = read_all(server, response_id, after)
        whole = read_all(server, response_id)
        assert whole == [*seen, *rest]
        check_stream(whole)
        response = server.get(f"/v1/responses/{response_id}")
        status = response.pop("status")
        assert status == 200
        last = whole[-1]["response"]
        assert response["output"] == last["output"]
        if policy == "continue":
            assert last["status"] == "completed"
            assert last["output"][-1]["content"][0]["text"] == "All done."
        else:
            assert (last["status"], last["error"]["type"]) == ("failed", "interrupted")
