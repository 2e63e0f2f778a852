"""Run pytest, and the tests that have failed a second time, alone: `python -m tests.twice …`.

Thousands of tests share a machine, and some depend on when something happens: a process that gets
no core for a second can make one of them fail. A few such failures are therefore repeated, one
test at a time with nothing beside it. The output shows both attempts. A test that fails twice
fails the run, and so do more than `MAX_REPEATED` failures, which are no coincidence.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

MAX_REPEATED = 5
# Variable with the name of the file for the names of failed tests.
_FAILED_FILE = "HEADRACE_FAILED_TESTS"
_TESTS_FAILED = 1


def main(arguments: list[str]) -> int:
    """Run pytest with these arguments. Returns its exit status, or that of the second attempt."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "failed"
        status = _run(["-p", "tests.twice", *arguments], {_FAILED_FILE: str(file)})
        failed = file.read_text().splitlines() if file.exists() else []
    if status != _TESTS_FAILED or not 0 < len(failed) <= MAX_REPEATED:
        return status
    sys.stdout.write(f"\nsecond attempt, alone: {', '.join(failed)}\n\n")
    sys.stdout.flush()
    return _run(["-p", "no:xdist", *failed], {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write which tests have failed: in the first attempt, this module is a plugin of pytest.

    Nothing is written with `-x` or `--maxfail`, because tests that were left out may be broken."""
    if terminalreporter.config.getoption("maxfail"):
        return
    stats = terminalreporter.stats
    reports = [*stats.get("failed", []), *stats.get("error", [])]
    failed = dict.fromkeys(report.nodeid for report in reports)
    Path(os.environ[_FAILED_FILE]).write_text("".join(f"{nodeid}\n" for nodeid in failed))


def _run(arguments: list[str], variables: dict[str, str]) -> int:
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(command, env={**os.environ, **variables}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
