"""T16: no request breaks the server. Schemathesis makes them up from the OpenAPI document; those
that were thought of are written down."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from headrace.rehearsal.script import say, think, turn
from tests.server.serving import scripted, served

EXAMPLES = int(os.environ.get("HEADRACE_SOAK_REQUESTS", "15"))
NEGATIVE = GenerationMode.NEGATIVE
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


class Background:
    """A server in a thread of its own."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._ready = threading.Event()
        self.url = ""
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()))
        self._thread.start()
        assert self._ready.wait(20)

    async def _main(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        async with served(scripted(turn(think("Hm."), say("Hi."))), self._data) as server:
            self.url = server.url
            self._ready.set()
            await self._over.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()


@pytest.fixture(scope="module")
def background(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Background]:
    server = Background(tmp_path_factory.mktemp("data"))
    yield server
    server.close()


def test_t16_no_request_breaks_the_server(background: Background, record_property: Any) -> None:
    api = schemathesis.openapi.from_url(f"{background.url}/openapi.json")
    found: list[Any] = list(api.get_all_operations())
    operations = [one.ok() for one in found]
    sent: Counter[int] = Counter()

    def check(operation: Any) -> None:
        asked = httpx.post(f"{background.url}/api/chat", json={"message": "x"}, timeout=60).headers
        ids = {"event_id": asked["x-event-id"], "conversation_id": asked["x-conversation-id"]}

        @settings(
            max_examples=EXAMPLES,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(
            case=operation.as_strategy() | operation.as_strategy(generation_mode=NEGATIVE),
            is_there=st.booleans(),
        )
        def each(case: Any, is_there: bool) -> None:
            if is_there:
                case.path_parameters.update(
                    {name: ids[name] for name in case.path_parameters if name in ids}
                )
            answer = case.call(timeout=60)
            sent[answer.status_code] += 1
            case.validate_response(answer, checks=CHECKS)

        each()

    for operation in operations:
        check(operation)
    assert len(operations) > 5
    told = ", ".join(f"{status}: {count}" for status, count in sorted(sent.items()))
    record_property("summary", f"T16: {sent.total()} requests of schemathesis ({told})")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b'{"message": 3}',
        b'{"message": ""}',
        b'{"message": "   "}',
        b'{"message": "x", "base_url": "http://evil.example"}',
        b'{"message": "x", "model": "openai:gpt-5"}',
        b'{"message": "x", "effort": "enormous"}',
        b'{"message": "x", "conversation_id": "../../etc/passwd"}',
        b'{"message": "x", "parent_id": "msg_none"}',
        b'{"message": "x", "beside_id": "msg_none"}',
        b"[" * 100_000,
        b'{"message": "' + b"x" * 2_000_000,
        b'{"message": "\\ud800"}',
        b"\xff\xfe",
    ],
)
def test_a_body_that_makes_no_sense_is_a_clear_answer(body: bytes, background: Background) -> None:
    headers = {"content-type": "application/json"}
    answer = httpx.post(f"{background.url}/api/chat", content=body, headers=headers, timeout=60)
    assert 400 <= answer.status_code < 500
    error = answer.json()["error"]
    assert error["message"]
    assert error["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT", "PATCH", "TRACE", "PROPFIND", "HEAD"])
def test_a_verb_that_is_none_is_refused(verb: str, background: Background) -> None:
    answer = httpx.request(verb, f"{background.url}/api/chat", timeout=60)
    assert answer.status_code == 405
    assert "POST" in answer.headers["allow"]
    assert verb == "HEAD" or answer.json()["error"]["code"] == "wrong_verb"


def test_what_is_not_there_is_said_in_json(background: Background) -> None:
    answer = httpx.get(f"{background.url}/api/nothing", timeout=60)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


@pytest.mark.parametrize("seen", ["x", "-1", "1.2.3.4", "1.x", "9" * 30, "\u0661", ""])
def test_an_id_that_is_none_of_ours_is_refused(seen: str, background: Background) -> None:
    asked = httpx.post(f"{background.url}/api/chat", json={"message": "x"}, timeout=60)
    path = f"{background.url}/api/chat/{asked.headers['x-event-id']}/stream"
    answer = httpx.get(path, headers={b"last-event-id": seen.encode()}, timeout=60)
    assert answer.status_code == 400
