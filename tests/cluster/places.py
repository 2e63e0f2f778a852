"""Where the servers of a test keep what they share."""

from __future__ import annotations

from typing import Final

from tests.postgres import shared_server
from tests.valkey import shared_valkey

SHARED: Final = ("postgres", "valkey")
"""Everything in PostgreSQL; or live runs in Valkey, and the rest in PostgreSQL."""


def create_place(kind: str) -> dict[str, str]:
    """Return the settings of servers that share a new database, and perhaps a log."""
    place = {"store": shared_server().create_database()}
    if kind == "valkey":
        place["log"] = shared_valkey().empty()
    return place


def to_options(place: dict[str, str]) -> list[str]:
    """Return the same settings as options of `headrace serve`."""
    return [word for name, value in place.items() for word in (f"--{name}", value)]
