"""A message of any length is read in linear time. If it were not, these tests would time out."""

from __future__ import annotations

import pytest

from headrace.rehearsal.reading import MAX_CHARS, read

LENGTH = 50_000
UNITS = [
    "1", "(", ")", "1(", "(1", "1.", ".", "1+", "1 + ", "1 ", "1%", "1 % of ", "-", "1-1-", "1/",
    " ", "\n", ",", ", ", "a", "a ", "write ", "write a ", "be ", "and ", "are you ", "what ", "x",
    "1x", "1 x ", "1 times ", "slow", "slow ", ", slow", "think ", "think again", "我", "'", "é",
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", UNITS)
def test_a_long_message_is_read_in_linear_time(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.rehearsal.reading.MAX_CHARS", 2 * LENGTH)
    for end in ("", "!"):
        read(unit * (LENGTH // len(unit)) + end)


def test_only_the_start_of_a_long_message_is_read() -> None:
    """The model runs in the event loop of its server, which must not wait for it."""
    assert read("7 " * 450_000 + "What are you?") == read(("7 " * 450_000)[:MAX_CHARS])


@pytest.mark.parametrize(
    ("text", "sums"),
    [
        ("What is 12 * 34?", ("12 * 34",)),
        ("(1 + 2) * 3", ("(1 + 2) * 3",)),
        ("20 percent of 50.5", ("20 / 100 * 50.5",)),
        ("3 times 4 plus 5", ("3 * 4 + 5",)),
        ("1,000 + 1", ("1000 + 1",)),
        ("on 2025-11-16", ()),
    ],
)
def test_calculations_are_found(text: str, sums: tuple[str, ...]) -> None:
    assert read(text).sums == sums
