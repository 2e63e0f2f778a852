"""The unit tests of the page, run by vitest; theirs is the output when one fails."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "web"


@pytest.mark.timeout(600)
def test_the_unit_tests_of_the_page_pass():
    run = subprocess.run(
        [WEB / "npm.sh", "run", "--silent", "test"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout


def test_the_lock_names_no_registry():
    lock = (WEB / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
