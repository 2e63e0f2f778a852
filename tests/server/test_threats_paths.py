"""T7: no parameter is a path. What stands outside of what is served cannot be named."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headrace.rehearsal.script import say, turn
from tests.server.operation import CLIENT_NAMES, operations
from tests.server.raw import Answer, head, send
from tests.server.serving import Served, scripted, served

CANARY = b"CANARY-of-a-file-that-nobody-may-read"
STEPS = ("../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..\\", "..%5c", "....//", "..;/", "%252e%252e/")
FILES = ("outside.txt", "headrace.db", "etc/passwd", "outside.txt%00.js")
ROOTS = ("/", "/static/", "/static/chunks/", "//", "/static//")
REFUSALS = (307, 400, 404, 405, 410, 422)


def payloads(root: Path) -> list[str]:
    climbing = [step * depth + file for step in STEPS for depth in (1, 3, 9) for file in FILES]
    outside = str(root / "outside.txt")
    straight = [outside, outside.replace("/", "%2f"), f"file://{outside}", f"//{outside}"]
    return [*climbing, *straight, "%00", "%ff", "~", "$HOME", "C:\\windows\\win.ini", "x" * 9_000]


def check(answer: Answer, payload: str, *, is_name: bool = False) -> None:
    """Nothing of a file is answered. Any text is a name that a client may choose."""
    allowed = (*REFUSALS, 200, 204) if is_name else REFUSALS
    assert answer.status in allowed, (answer.status, payload)
    for secret in (CANARY, b"SQLite format", b"root:"):
        assert secret not in answer.body


async def sent(server: Served, verb: str, target: str, body: Any) -> Answer:
    data = b"" if body is None else json.dumps(body).encode()
    lines = (f"Content-Length: {len(data)}", "Content-Type: application/json")
    return await send(server.url, [head(verb, target, *(lines if data else ())), data])


def test_t7_no_address_and_no_parameter_leads_outside(tmp_path: Path, record_property: Any) -> None:
    (tmp_path / "outside.txt").write_bytes(CANARY)
    found = payloads(tmp_path)

    async def main() -> None:
        options = {"searches_per_minute": 1_000_000}
        async with served(scripted(turn(say("Hi."))), tmp_path / "data", **options) as server:
            _, conversation_id, _ = await server.ask("Go.")
            _, api = await server.get("/openapi.json")
            taking = [one for one in operations(api) if one.path_ids]
            for payload in found:
                for one in taking:
                    path = one.path.format_map(dict.fromkeys(one.path_ids, payload))
                    is_name = bool(CLIENT_NAMES.keys() & set(one.path_ids))
                    answer = await sent(server, one.verb, path, one.body)
                    check(answer, payload, is_name=is_name)
                for root in ROOTS:
                    check(await sent(server, "get", root + payload, None), payload)
            await parameters(server, f"/api/conversations/{conversation_id}/export")
            count = len(found) * (len(taking) + len(ROOTS))
            record_property("summary", f"T7: {count} addresses, none leads outside")

    async def parameters(server: Served, export: str) -> None:
        for payload in found:
            quoted = quote(payload)
            found_by = await sent(server, "get", f"/api/conversations?q={quoted}", None)
            is_refused = b'"too_many_words"' in found_by.body
            nothing = b'{"conversations":[],"next":null,"pinned":[],"hits":{},"live":{}}'
            assert is_refused or found_by.body == nothing, payload
            for name in ("before", "limit"):
                listed = await sent(server, "get", f"/api/conversations?{name}={quoted}", None)
                check(listed, payload)
            change = {"leaf_id": payload}
            check(await sent(server, "patch", export.removesuffix("/export"), change), payload)
            check(await sent(server, "get", f"{export}?format={quoted}", None), payload)
            body = {"message": "x"}
            check(await sent(server, "post", f"/api/chat?protocol={quoted}", body), payload)
            for field in ("conversation_id", "parent_id", "beside_id", "model", "effort"):
                check(await sent(server, "post", "/api/chat", {**body, field: payload}), payload)

    asyncio.run(main())
