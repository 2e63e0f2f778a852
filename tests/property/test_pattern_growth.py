"""No regular expression takes more than linear time, whatever text it gets."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.property.patterns import MAX_RATIO

# Compiled where it cannot be evaluated without running the code around it: from a constructor's
# argument, or inside of a comprehension. Those that are constants are found in their modules.
_UNKNOWN = {
    "headrace.mcp.serving.resource",  # literals, and sets without the literal that follows
    "headrace.encoders.resend_rules",  # a set of characters, up to a number of times
    "headrace.secrets.finder",  # a set of characters
    "headrace.secrets.pattern",
    "headrace.status.tool_phrase",
    "headrace.tools.builtin.page",
    "headrace.turn.key_mask",  # literal keys
}


def measure() -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.property.patterns"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-2_000:]}\n{done.stderr}"
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.timeout(900)
def test_twice_the_text_takes_about_twice_the_time() -> None:
    first, *rows = measure()
    assert first["total"] > 100
    assert {place.partition(":")[0] for place in first["unknown"]} <= _UNKNOWN
    assert [row for row in rows if row["ratio"] > MAX_RATIO] == []


def test_a_quadratic_pattern_is_noticed() -> None:
    code = (
        "import re, signal\n"
        "from tests.property import patterns as p\n"
        "signal.signal(signal.SIGPROF, p._raise_too_slow)\n"
        "use = p.Use('here', re.compile(r'a+b'), 'search')\n"
        "assert p.find_worst(use)[0] > p.MAX_RATIO\n"
        "use = p.Use('here', re.compile(r'(?<!a)a+b'), 'search')\n"
        "assert p.find_worst(use)[0] <= p.MAX_RATIO\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
