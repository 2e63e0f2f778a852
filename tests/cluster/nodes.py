"""Servers as processes of their own that share a database."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.cluster.places import to_options
from tests.server.server_process import ServerProcess, fork_server

LEASE_S = 1.5
"""Long enough for a busy machine, and short enough to wait for."""


@contextmanager
def serve_node(place: dict[str, str], data: Path, *options: str) -> Generator[ServerProcess]:
    """One server on a database."""
    with fork_server(data, *options, *to_options(place), "--lease", str(LEASE_S)) as server:
        yield server


@contextmanager
def serve_nodes(
    count: int, place: dict[str, str], data: Path, *options: str
) -> Generator[list[ServerProcess]]:
    """Several servers on a database."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(serve_node(place, data / str(number), *options))
            for number in range(count)
        ]
