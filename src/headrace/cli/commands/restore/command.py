"""Runs `headrace restore`: puts a copy into a data folder."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from headrace.cli.option import data_folder


def run(options: Namespace) -> int:
    """Check and restore the copy, and say how to serve it."""
    from headrace.server.storage.upkeep.backup import restore

    data = data_folder(options.data)
    restored = restore(Path(options.folder), data)
    print(
        f"{data} has {restored.conversations:,} conversations with {restored.messages:,} messages;"
        f" serve them with: headrace serve --data {data}"
    )
    return 0
