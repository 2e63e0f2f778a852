"""Stored and received bytes that are not UTF-8 are damage like any other: msgspec raises
`UnicodeDecodeError` for them, which is none of its own errors."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from headrace.client.answer import _decode as decode_answer  # pyright: ignore[reportPrivateUsage]
from headrace.content import TextContent
from headrace.mcp.auth.token_file import TokenFile
from headrace.mcp.change import ToolMemory
from headrace.messages import Message
from headrace.prices.estimate import estimate_body_tokens
from headrace.server.storage.sqlite.record_table import closes_run
from headrace.server.storage.store.row import read_snippet

_DAMAGED = b'{"a":{"b":{"description":"\xc3"}}}'


def test_a_damaged_memory_of_tools_is_written_anew(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_bytes(_DAMAGED)
    assert ToolMemory(file).exchange("a", {}) == {}


def test_a_damaged_file_of_tokens_asks_the_user_to_sign_in(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_bytes(_DAMAGED)
    assert asyncio.run(TokenFile(file, "a", None).get_tokens()) is None


def test_a_damaged_frame_is_passed_over() -> None:
    assert decode_answer(b'{"type":"status","text":"\xc0"}') is None


def test_a_damaged_record_closes_no_run() -> None:
    assert (
        closes_run(b'{"seq":1,"at_ms":1,"event":{"type":"run_closed","outcome":"\xc0"}}') is False
    )


def test_a_damaged_message_has_no_snippet() -> None:
    body = msgspec.json.encode(Message(role="user", content=(TextContent("some café"),)))
    assert read_snippet(body, "some")
    assert read_snippet(body.replace("é".encode(), b"\xc3"), "some") == ()


def test_a_damaged_body_is_estimated_by_its_length() -> None:
    assert estimate_body_tokens(b'{"a":"\xc0"}') > 0
