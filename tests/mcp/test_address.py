"""Addresses of MCP servers: commands are never run by a shell, and secrets are not shown."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from headrace import MCP, UsageError
from headrace.mcp.address import derive_label, read_address


def test_a_command_line_is_split_and_never_given_to_a_shell(tmp_path: Path):
    mark = tmp_path / "mark"
    for line in (
        f"{sys.executable} -c pass; touch {mark}",
        f"{sys.executable} -c pass && touch {mark}",
        f"{sys.executable} -c pass $(touch {mark}) `touch {mark}` | tee {mark}",
    ):
        asyncio.run(MCP(line, is_required=False).list_tools())
    assert not mark.exists()
    assert read_address("a 'b c' \"$(d)\"; e").argv == ("a", "b c", "$(d);", "e")


@pytest.mark.parametrize(
    ("server", "options"),
    [
        ("", {}),
        ("   ", {}),
        ([], {}),
        ("'unclosed", {}),
        ("a\0b", {}),
        ("a", {"env": {"A=B": "c"}}),
        ("a", {"env": {"A": "c\0"}}),
        ("a", {"headers": {"A": "b"}}),
        ("https://", {}),
        ("https://user:password@example.org/mcp", {}),
        ("https://example.org/a b", {}),
        ("https://example.org", {"env": {"A": "b"}}),
        ("https://example.org", {"headers": {"A": "b\r\nHost: evil"}}),
        ("https://example.org", {"headers": {"A: b": "c"}}),
        ("a", {"name": "///"}),
    ],
)
def test_addresses_that_cannot_be_used_are_refused(server: str, options: dict[str, object]):
    with pytest.raises(UsageError):
        MCP(server, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("server", "label"),
    [
        ("python -m weather_server", "weather-server"),
        ("npx -y @modelcontextprotocol/server-memory", "server-memory"),
        ("/usr/local/bin/files --root /", "files"),
        ("https://mcp.example.org/v1?key=abc", "mcp-example-org"),
    ],
)
def test_a_server_is_named_after_its_program_or_host(server: str, label: str):
    assert derive_label(read_address(server)) == label


def test_what_is_shown_of_an_address_holds_no_secret():
    address = read_address(
        "https://example.org/mcp?key=abcdefgh", {"Authorization": "Bearer xyzxyz"}
    )
    assert "abcdefgh" not in repr(address)
    hosted = read_address("https://example.org:8080/s/0123456789abcdef/mcp")
    assert hosted.describe() == "https://example.org:8080"
    assert hosted.secrets == ("0123456789abcdef",)
    assert "xyzxyz" not in repr(address)
    assert {"Bearer xyzxyz", "xyzxyz", "key=abcdefgh"} <= set(address.secrets)
    assert "secret" not in repr(MCP("run --token secret-value", env={"A": "secret"}))
