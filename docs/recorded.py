"""Counts how many recorded streams decode exactly, by API and provider, for `recorded.json`.

The streams belong to other projects and are not part of the repository, so the counts are stored
as data. `make docs` counts again if the streams are there, and else keeps the file.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

FILE = Path(__file__).resolve().parent / "recorded.json"


class Counts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers of streams by API and provider."""

    exact: dict[str, dict[str, int]]
    """Streams that decode exactly."""
    ambiguous: dict[str, dict[str, int]]
    """Streams that decode, but are ambiguous and therefore not scored."""
    wrong: dict[str, dict[str, int]]
    """Streams that decode to something else."""
    unsupported: dict[str, dict[str, int]]
    """Streams of an unsupported API."""


def load() -> Counts:
    """Read the stored counts."""
    return msgspec.json.decode(FILE.read_bytes(), type=Counts)


def refresh() -> None:
    """Count again and store the result, if the streams are there."""
    counts = count()
    if counts is not None:
        text = msgspec.json.format(msgspec.json.encode(counts), indent=2)
        FILE.write_bytes(text + b"\n")


def count() -> Counts | None:
    """Decode and score every recorded stream. Returns None if there are none."""
    from tests.corpus import recorded  # noqa: PLC0415 - a clone may lack what it needs
    from tests.shared import shared_rows  # noqa: PLC0415

    rows = shared_rows(recorded.MANIFEST)
    if not rows:
        return None
    found: dict[str, Counter[tuple[str, str]]] = {
        name: Counter() for name in Counts.__struct_fields__
    }
    for row in rows:
        found[_classify(row)][row["api"], row["provider"]] += 1
    return Counts(**{name: _nest(counter) for name, counter in found.items()})


def _classify(row: dict[str, Any]) -> str:
    from tests.corpus import recorded  # noqa: PLC0415
    from tests.wire import events_of  # noqa: PLC0415

    if row["api"] not in recorded.SUPPORTED:
        return "unsupported"
    expected = recorded.expected()[row["file"]]
    if expected["ambiguous"]:
        return "ambiguous"
    events = events_of(recorded.read(row), framing=recorded.FRAMINGS[row["framing"]])
    result = recorded.row_of(row["file"], events)
    verdict = recorded.compare().compare(expected, result, strict_error=True)
    return "exact" if verdict["all"] and all(verdict["extras"].values()) else "wrong"


def _nest(counter: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (api, provider), number in sorted(counter.items()):
        nested.setdefault(api, {})[provider] = number
    return nested
