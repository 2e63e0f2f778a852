"""What a supervisor and its workers tell each other: one line of JSON in each direction."""

from __future__ import annotations

from typing import Any

import msgspec


class WorkerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The first line that a worker gets. Options may contain passwords, which do not belong on a
    command line."""

    number: int
    """Number of the worker, from 1 on. One that replaces another has its number."""
    count: int
    """How many workers there are."""
    address: str
    """URL at which all workers serve."""
    folder: str
    """Folder for the sockets by which workers ask each other for metrics."""
    options: dict[str, Any]
    """The resolved options of `headrace serve`."""
    replaced_node: str | None = None
    """Name of the worker that this one replaces, as the database knows it."""


class WorkerReady(msgspec.Struct, frozen=True, kw_only=True):
    """The line that a worker sends when it serves."""

    node: str | None
    """Name of the worker in the database."""
    lines: list[str]
    """What to print about the server."""
    warnings: list[str]
    """What keeps the server from answering, such as a missing API key."""


def encode_line(message: WorkerConfig | WorkerReady) -> bytes:
    """Return a message as a line."""
    return msgspec.json.encode(message) + b"\n"
