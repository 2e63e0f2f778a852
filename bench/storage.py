"""What a server writes to the disk, what its searches cost, and how fast it starts after a kill."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.conversations import ConversationCost, conversation_section, conversations
from bench.load.steady import SteadyLoad, steady_loads
from bench.restart import Restart, restart, start_filled
from bench.searches import SearchCosts, searches

_TEXT = """## Storage

A server under steady load, with the processes on two cores as above. *Written* is what it has
passed to write calls for files: the write-ahead log, the database, and what checkpoints move from
one to the other. *WAL* is the largest size of the write-ahead log at any moment.
"""


@dataclass
class Storage:
    """All that was measured."""

    loads: list[SteadyLoad]
    restart: Restart
    searches: SearchCosts
    conversations: list[ConversationCost]
    filled_start_s: float
    """Start of a server with a large data folder."""


def measure_storage(tell: Callable[[str], None], *, is_quick: bool) -> Storage:
    """Measure everything; about three minutes, or half a minute."""
    return Storage(
        steady_loads(tell, is_quick=is_quick),
        restart(tell, is_quick=is_quick),
        searches(tell, is_quick=is_quick),
        conversations(tell, is_quick=is_quick),
        start_filled(tell, is_quick=is_quick),
    )


def section(storage: Storage) -> str:
    """Return the section of the page."""
    lines = [
        _TEXT,
        "| streams | events per second | events | KB written per event | WAL, MB |"
        " delay p50, ms | p99, ms |",
        "|---:|---:|---:|---:|---:|---:|---:|",
        *map(_row, storage.loads),
    ]
    found, start = storage.searches, storage.restart
    text = (
        f"After a kill that has left a WAL of {start.wal_bytes / 1e6:.0f} MB, `headrace serve`"
        f" takes requests\nafter {start.seconds:.1f} s (median of {len(start.starts_s)} starts,"
        f" from {min(start.starts_s):.1f} to {max(start.starts_s):.1f} s; with an empty folder"
        f" {start.empty_s:.1f} s).\nWith a data folder of 1 GB that was closed regularly, it takes"
        f" {storage.filled_start_s:.1f} s.\nAmong {found.messages:,} messages, the most expensive"
        f" search\ntakes {found.cpu_ms:.0f} ms of CPU time. A list of conversations takes"
        f" {found.list_ms:.1f} ms, and {found.beside_ms:.1f} ms\nbeside eight searches."
    )
    return "\n".join([*lines, "", text, "", conversation_section(storage.conversations)])


def _row(load: SteadyLoad) -> str:
    cells = [
        f"{load.streams}",
        f"{load.rate}",
        f"{load.events:,}",
        f"{load.bytes_per_event / 1000:.1f}",
        f"{load.wal_bytes / 1e6:.1f}",
        f"{load.p50_ms:.1f}",
        f"{load.p99_ms:.1f}",
    ]
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    print(section(measure_storage(print, is_quick=False)))
