"""The kinds of tools that providers run."""

from __future__ import annotations

import time
from typing import Any

import pytest

from headrace.status.tool_kind import tool_kind


@pytest.mark.parametrize(
    ("name", "data", "wanted"),
    [
        ("web_search", None, "web_search"),
        ("websearch", None, "web_search"),
        ("webSearch", None, "web_search"),
        ("google_search", None, "web_search"),
        ("browser.search", None, "web_search"),
        ("x_semantic_search", None, "web_search"),
        ("find", {"type": "web_search_call"}, "web_search"),
        ("web_search_exa", {"type": "mcp_call"}, "mcp"),
        ("codeExecution", None, "code_interpreter"),
        ("collections_search", None, "file_search"),
        ("imagegen", None, "image_generation"),
        ("find", {"type": 7}, None),
        ("index_search", None, None),
        ("regex_search", None, None),
        ("x_research", None, None),
        ("", None, None),
    ],
)
def test_a_tool_is_of_its_kind(name: str, data: Any, wanted: str | None) -> None:
    assert tool_kind(name, data) == wanted


def test_a_long_name_costs_no_more_than_a_short_one() -> None:
    began = time.process_time()
    assert tool_kind("web_" * 50_000) is None
    assert time.process_time() - began < 20
