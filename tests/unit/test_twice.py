"""Tests that fail beside others run a second time, alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.twice import MAX_REPEATED

ROOT = Path(__file__).parents[2]
# Fails in the first attempt only.
_UNSTEADY = """
import pathlib

def test_steady():
    pass

def test_unsteady():
    mark = pathlib.Path(__file__).with_suffix(".mark")
    if not mark.exists():
        mark.touch()
        raise AssertionError
"""


def run_twice(folder: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(tests)
    variables = dict(os.environ)
    variables.pop("PYTEST_XDIST_WORKER", None)
    # Without plugins, of which some take a second to load.
    variables |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "tests.twice", *options]
    return subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_test_that_passes_alone_passes(tmp_path: Path) -> None:
    done = run_twice(tmp_path, _UNSTEADY)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    assert "second attempt, alone: test_it.py::test_unsteady" in done.stdout


@pytest.mark.parametrize(
    "tests",
    [
        "def test_broken():\n    assert False\n",
        # In a fixture.
        "import pytest\n\n@pytest.fixture\ndef broken():\n    assert False\n\n"
        "def test_it(broken):\n    pass\n",
    ],
)
def test_a_test_that_fails_twice_fails(tmp_path: Path, tests: str) -> None:
    done = run_twice(tmp_path, tests)
    assert done.returncode == 1
    assert done.stdout.count("second attempt") == 1


def test_many_failures_are_not_repeated(tmp_path: Path) -> None:
    broken = [f"def test_{number}():\n    assert False\n" for number in range(MAX_REPEATED + 1)]
    done = run_twice(tmp_path, "\n".join(broken))
    assert done.returncode == 1
    assert "second attempt" not in done.stdout


def test_tests_that_cannot_be_loaded_are_not_repeated(tmp_path: Path) -> None:
    done = run_twice(tmp_path, "import nothing_of_this_name\n")
    assert done.returncode not in (0, 1)
    assert "second attempt" not in done.stdout


def test_a_run_that_stops_at_its_first_failure_is_not_repeated(tmp_path: Path) -> None:
    done = run_twice(tmp_path, _UNSTEADY + "\ndef test_broken():\n    assert False\n", "-x")
    assert done.returncode == 1
    assert "second attempt" not in done.stdout
