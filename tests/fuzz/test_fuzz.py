"""The fuzzer for a few seconds, and in-process what it and its kin have found before."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from headrace.wire.dialects import DIALECT_NAMES
from headrace.wire.framing import FRAMINGS
from headrace.wire.limits import WireLimits
from tests.fuzz.seeds import streams
from tests.fuzz.targets import check, check_events, options
from tests.wire import events_of, single_bytes

ROOT = Path(__file__).resolve().parents[2]
# The time is for a busy machine: usually the inputs end it.
SECONDS = 60
RUNS = 600

LIMITED = {"wire_limits": WireLimits(max_line_bytes=8, max_total_bytes=24)}
CITED = b'"citations": ["u"]'

# A stream, and the decoder's options; each once broke a promise.
FOUND: dict[str, tuple[bytes, dict[str, Any]]] = {
    "a type that is a list": (b'data: {"type": []}\n\n', {}),
    "a type that is an object": (b'data: {"type": {}}\n\n', {}),
    "sources beside an error inside x_groq": (
        b'data: {"x_groq": {"error": "e"}, ' + CITED + b"}\n\n",
        {"dialect": "chat"},
    ),
    "sources in an event named error": (
        b'event: error\ndata: {"message": "e", ' + CITED + b"}\n\n",
        {"dialect": "chat"},
    ),
    "a long line behind a frame, and the end of all room": (
        b"data:1\n\n" + b"x" * 40,
        {"dialect": "chat", **LIMITED},
    ),
    "a broken array behind an element, and the end of all room": (
        b'[{"a": 1} x' + b" " * 40,
        {"dialect": "chat", "framing": "json-array", **LIMITED},
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_fixed(name: str) -> None:
    stream, options = FOUND[name]
    events = events_of(stream, **options)
    check_events(events)
    assert events_of(single_bytes(stream), **options) == events


def test_no_seed_breaks_a_promise() -> None:
    """Also those that are too long for the small limits."""
    for number, stream in enumerate(streams()):
        for choice in (0, number % 64, 255 - number % 64):
            check(bytes((choice, number % 256)) + stream)


def test_every_dialect_framing_and_limit_is_chosen_by_some_byte() -> None:
    chosen = [options(choice) for choice in range(256)]
    limits = {id(entry["wire_limits"]) for entry in chosen}
    pairs = {(entry["dialect"], entry["framing"], id(entry["wire_limits"])) for entry in chosen}
    assert pairs == set(product((None, *DIALECT_NAMES), FRAMINGS, limits))


def test_coverage_guided_fuzzing_finds_nothing(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    pytest.importorskip("atheris", reason="atheris has no wheel for this platform")
    corpus = tmp_path / "corpus"
    command = [sys.executable, "-m", "tests.fuzz", "--seconds", str(SECONDS), "--runs", str(RUNS)]
    done = subprocess.run(
        [*command, "--corpus", str(corpus), "--artifacts", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    summary = re.search(r"^fuzz: (\d+) inputs; coverage (\d+) -> (\d+) edges.*$", done.stdout, re.M)
    assert summary, done.stdout + done.stderr
    record_property("summary", summary[0])
    assert int(summary[1]) > 500, "the fuzzer hardly ran"
    assert int(summary[3]) > int(summary[2]) > 500, "there is no coverage to be guided by"
    assert any(corpus.iterdir()), "nothing was learnt"
