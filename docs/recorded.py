"""How many recorded streams decode exactly, by api and provider: `docs/recorded.json`.

The streams are other people's and not in a clone, so their counts are kept as data. `make docs`
counts them again where they are there, and leaves the file alone where they are not.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

FILE = Path(__file__).resolve().parent / "recorded.json"


class Counts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Streams by api, then by provider."""

    exact: dict[str, dict[str, int]]
    """Decoded to exactly what they say."""
    ambiguous: dict[str, dict[str, int]]
    """Decoded; what they mean can be read in more ways than one, so they are not scored."""
    wrong: dict[str, dict[str, int]]
    """Decoded to something else."""
    unsupported: dict[str, dict[str, int]]
    """Of an api that is not spoken yet."""


def load() -> Counts:
    """The counts as they were last written."""
    return msgspec.json.decode(FILE.read_bytes(), type=Counts)


def refresh() -> None:
    """Count again, where the streams are there."""
    counts = count()
    if counts is not None:
        text = msgspec.json.format(msgspec.json.encode(counts), indent=2)
        FILE.write_bytes(text + b"\n")


def count() -> Counts | None:
    """Decode and score every recorded stream; None where there are none."""
    from tests.corpus import recorded  # noqa: PLC0415 - a clone may lack what it needs
    from tests.shared import shared_rows  # noqa: PLC0415

    rows = shared_rows(recorded.MANIFEST)
    if not rows:
        return None
    found: dict[str, Counter[tuple[str, str]]] = {
        name: Counter() for name in Counts.__struct_fields__
    }
    for row in rows:
        found[_verdict(row)][row["api"], row["provider"]] += 1
    return Counts(**{name: _nested(counter) for name, counter in found.items()})


def _verdict(row: dict[str, Any]) -> str:
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


def _nested(counter: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (api, provider), number in sorted(counter.items()):
        nested.setdefault(api, {})[provider] = number
    return nested
