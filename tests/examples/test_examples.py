"""Every example runs as it is, without a key or a network, and prints what the text beside this
file says. The docs show both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
WITHIN_S = 60
# Runs a file as a script, with a rehearsal model that does not pause between words; whoever asks
# for an address or a connection is refused.
OFFLINE = """
import runpy, sys
from headrace.rehearsal import model

model._pace_s = lambda *_: 0.0

def refuse(event, args):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise RuntimeError(f"an example is on its way out: {event} {args}")

sys.addaudithook(refuse)
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def _environment() -> dict[str, str]:
    """Ours, without what would make an example ask a real model."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    kept.pop("HEADRACE_MODEL", None)
    return kept | {"PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "error"}


def _run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=WITHIN_S,
        check=False,
    )


def test_there_are_eight_and_each_says_what_it_prints() -> None:
    names = [path.stem for path in EXAMPLES]
    expected = "conversation mcp_tools middleware planner progress testing tool tracing"
    assert names == expected.split()
    assert sorted(path.stem for path in HERE.glob("*.txt")) == names


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_offline_and_prints_what_it_should(example: Path) -> None:
    ran = _run("-c", OFFLINE, example)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == (HERE / f"{example.stem}.txt").read_text("utf-8")
    assert not set(ran.stdout) & {"\x1b", "\r"}, "control codes are for terminals"


def test_the_example_of_a_test_is_one_for_pytest() -> None:
    example = ROOT / "examples" / "testing.py"
    ran = _run("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", example)
    assert ran.returncode == 0, ran.stdout
    assert ran.stdout.startswith("...")


def test_progress_is_told_in_one_line_that_moves_on_a_terminal() -> None:
    pty = pytest.importorskip("pty", reason="there are no such terminals here")
    ours, theirs = pty.openpty()
    example = ROOT / "examples" / "progress.py"
    with subprocess.Popen(
        [sys.executable, str(example)], stdout=theirs, cwd=ROOT, env=_environment()
    ) as ran:
        os.close(theirs)
        shown = _read_all(ours)
        assert ran.wait(WITHIN_S) == 0
    assert "\r\x1b[K  paragraph 2 of 4\r\x1b[K  paragraph 3 of 4" in shown
    assert "\x1b[2m**Reading \x1b[0m" in shown


def _read_all(terminal: int) -> str:
    """Until the other side is closed, which Linux tells as an error."""
    shown = b""
    try:
        while read := os.read(terminal, 65_536):
            shown += read
    except OSError:
        pass
    finally:
        os.close(terminal)
    return shown.decode()
