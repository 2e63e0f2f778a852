"""The public SSE suites (WHATWG's, and those of eight parsers), whole and in every cut."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.wire.framing import SSEFraming
from tests.shared import shared_rows

CASES = "conformance/sse_cases.jsonl"
MAX_CUT_BYTES = 4400

pytestmark = pytest.mark.shared(CASES)


def read_events(reads: list[bytes]) -> list[dict[str, Any]]:
    framing = SSEFraming()
    frames = [frame for read in reads for frame in framing.feed(read)] + framing.close()
    return [
        {
            "event": frame.event or "message",
            "data": frame.text,
            "id": frame.last_event_id,
            "retry": frame.retry_ms,
        }
        for frame in frames
    ]


def cuts(document: bytes) -> Iterator[list[bytes]]:
    """Single bytes, every cut in two and twenty random ones, as in run_sse_cases.py."""
    yield [document[at : at + 1] for at in range(len(document))]
    for at in range(1, min(len(document), 600)):
        yield [document[:at], document[at:]]
    rng = random.Random(1)
    for _ in range(20):
        ends = sorted(rng.sample(range(len(document) + 1), min(len(document) + 1, 5)))
        yield [document[a:b] for a, b in zip([0, *ends], [*ends, len(document)], strict=True)]


@pytest.mark.parametrize("case", [pytest.param(row, id=row["name"]) for row in shared_rows(CASES)])
def test_public_case_gives_its_events_in_every_cut(case: dict[str, Any]) -> None:
    reads = [base64.b64decode(chunk) for chunk in case["chunks"]]
    assert read_events(reads) == case["expected"]
    document = b"".join(reads)
    if len(document) > MAX_CUT_BYTES:
        return
    for cut in cuts(document):
        assert read_events(cut) == case["expected"], cut
