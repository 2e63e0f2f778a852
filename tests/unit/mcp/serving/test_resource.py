"""`MCPResource`: how the URIs of templates are read."""

from __future__ import annotations

import time

import pytest

from headrace import UsageError
from headrace.mcp import MCPResource


def create(uri: str) -> MCPResource:
    return MCPResource(uri, lambda **values: str(values))


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("notes://{id}", "notes://7", {"id": "7"}),
        ("notes://{id}", "notes://a%20b", {"id": "a b"}),
        ("notes://{id}", "notes://", None),
        ("notes://{id}", "notes://a/b", None),
        ("notes://{id}", "notes://a%2Fb", None),
        ("notes://{id}", "notes://%2e%2e", None),
        ("notes://{id}", "other://7", None),
        ("a://{year}-{month}/x.txt", "a://2026-11/x.txt", {"year": "2026", "month": "11"}),
        ("a://{year}-{month}/x.txt", "a://2026-11-18/x.txt", {"year": "2026", "month": "11-18"}),
        ("a://{year}-{month}/x.txt", "a://2026-11/xotxt", None),
        ("a://{x}]{y}", "a://1]2", {"x": "1", "y": "2"}),
        ("a://{x}^{y}", "a://1^2", {"x": "1", "y": "2"}),
    ],
)
def test_a_uri_is_read_in_one_way(template: str, uri: str, values: dict[str, str] | None) -> None:
    assert create(template).match(uri) == values


def test_variables_need_something_between_them() -> None:
    with pytest.raises(UsageError, match="nothing between them"):
        create("a://{x}{y}")


@pytest.mark.parametrize("template", ["a://{x}/{x}", "a://{1x}"])
def test_variables_are_different_names(template: str) -> None:
    with pytest.raises(UsageError, match="different Python names"):
        create(template)


def test_twice_the_uri_takes_no_four_times_the_time() -> None:
    resource = create("a://{u}-{v}-{w}-{x}")

    def measure(count: int) -> float:
        uri = "a://" + "x-" * count + "/"
        began_s = time.process_time()
        for _ in range(20):
            assert resource.match(uri) is None
        return time.process_time() - began_s

    small_s = min(measure(20_000) for _ in range(5))
    assert min(measure(40_000) for _ in range(5)) < 3 * max(small_s, 1e-3)
