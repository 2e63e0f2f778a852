"""Runs `headrace backup`: copies a data folder while its server runs."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from headrace.cli.option import data_folder


def run(options: Namespace) -> int:
    """Copy the folder, and print what the copy has."""
    from headrace.server.storage.upkeep.backup import back_up

    data = data_folder(options.data)
    print(f"copying {data} and checking the copy ...", file=sys.stderr, flush=True)
    copied = back_up(data, Path(options.folder))
    print(
        f"{options.folder} has {copied.conversations:,} conversations with {copied.messages:,}"
        f" messages ({copied.size / 1e6:,.1f} MB)"
    )
    return 0
