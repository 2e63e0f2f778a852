"""Runs `headrace providers`: lists the catalog and which keys are set."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace

from headrace.cli.terminal.output import Paint, Style, wants_color
from headrace.providers import CATALOG, Provider, find_key


def run(options: Namespace) -> int:
    """Print the table, or JSON lines."""
    if options.json:
        for provider in CATALOG.values():
            print(json.dumps(_facts(provider)))
        return 0
    _print_table(Paint(wants_color(options.color, sys.stdout)))
    return 0


def _facts(provider: Provider) -> dict[str, object]:
    return {
        "name": provider.name,
        "title": provider.title,
        "dialect": provider.dialect,
        "base_url": provider.base_url,
        "key_variables": provider.key_variables,
        "verified": provider.verified,
        "has_key": find_key(provider, os.environ) is not None,
    }


def _print_table(paint: Paint) -> None:
    rows = [_row(provider) for provider in CATALOG.values()]
    heads = ("provider", "dialect", "key", "what it is")
    widths = [max(len(row[at]) for row in [heads, *rows]) for at in range(3)]
    print(paint(_line(heads, widths), Style.DIM))
    for row in rows:
        is_ready = row[2].startswith(("✓", "–"))
        print(paint(_line(row, widths), Style.GREEN if is_ready else Style.PLAIN))
    print(paint("\nask one: headrace ask -m PROVIDER:MODEL “…”", Style.DIM))


def _row(provider: Provider) -> tuple[str, str, str, str]:
    return provider.name, provider.dialect, _key(provider), provider.title


def _key(provider: Provider) -> str:
    """Return whether the key is set, and in which variable; never the key."""
    if not provider.key_variables:
        return "– none needed"
    mark = "✓" if find_key(provider, os.environ) is not None else "·"
    return f"{mark} {' or '.join(provider.key_variables)}"


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    pad = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
    return "  ".join([*pad, *cells[len(widths) :]])
