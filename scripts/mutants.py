"""Mutation testing: change one expression of a function at a time and see whether a test notices.

    python scripts/mutants.py messages engine --sample 100

For each folder of `src/headrace` the tests of `TESTS` are collected once. Every mutant runs in a
forked process, which replaces the code of one function and runs the tests that execute it, fastest
first, up to the first failure. Tests that fail without a change, too, are left out. Results are
kept in `.mutants/`, so that a run can be continued; a mutant is tested again when the code around
it changes, and one that survived is tested each time. Use `--again` for figures to quote.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.mutant_sites import Mutant, compile_mutant, find_mutants  # noqa: E402
from scripts.mutants_equivalent import EQUIVALENT  # noqa: E402

SOURCE = ROOT / "src" / "headrace"
STATE = ROOT / ".mutants"
TESTS: dict[str, tuple[str, ...]] = {
    "messages": ("tests/unit/messages", "tests/unit/encoders", "tests/property/test_turns.py"),
    "engine": ("tests/engine", "tests/unit/engine"),
    "projections": (
        "tests/unit/projections",
        "tests/seeds/test_003_ux.py",
        "tests/seeds/test_004_thinking.py",
        "tests/property/test_ux.py",
        "tests/property/test_thinking.py",
    ),
}
"""The tests of each folder."""
_LEFT_OUT = ("tests/engine/tools",)
_MAX_TEST_S = 40.0
"""Tests that take longer under the profiler are left out."""
_MUTANT_TIMEOUT_S = 300.0
"""A mutant that takes longer hangs, which its tests notice too."""

Key = tuple[str, str]
"""File and qualified name of a function."""


class MutantRunner:
    """A pytest plugin that tests mutants instead of running the tests once."""

    def __init__(self, folders: list[str], count: int, jobs: int, *, again: bool) -> None:
        self._folders = folders
        self._count = count
        self._jobs = jobs
        self._again = again
        self.results: dict[str, str] = {}
        self.mutants: dict[str, list[Mutant]] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measure the tests, then run the mutants."""
        items = {item.nodeid: item for item in session.items}
        tests = _leave_out_failing(_read_baseline(items, again=self._again), items)
        known = {} if self._again else _read_results()
        functions = _find_functions()
        running: dict[int, tuple[Mutant, float]] = {}
        for folder in self._folders:
            self.mutants[folder] = find_mutants(SOURCE / folder, ROOT, self._count)
            for mutant in self.mutants[folder]:
                result = known.get(mutant.identify())
                if result is not None:
                    self.results[mutant.identify()] = result
                    continue
                while len(running) >= self._jobs:
                    self._collect(running)
                own = [items[t] for t in tests.get(mutant.key, ()) if t.startswith(TESTS[folder])]
                running[_start_mutant(mutant, functions, own)] = (mutant, time.monotonic())
        while running:
            self._collect(running)
        return True

    def _collect(self, running: dict[int, tuple[Mutant, float]]) -> None:
        """Wait until a process ends, or end one that takes too long."""
        while True:
            for process, (mutant, started) in list(running.items()):
                done, status = os.waitpid(process, os.WNOHANG)
                result = _RESULTS.get(os.waitstatus_to_exitcode(status), "killed") if done else None
                if result is None and time.monotonic() - started > _MUTANT_TIMEOUT_S:
                    os.kill(process, signal.SIGKILL)
                    os.waitpid(process, 0)
                    result = "timeout"
                if result is not None:
                    del running[process]
                    self._note(mutant, result)
                    return
            time.sleep(0.02)

    def _note(self, mutant: Mutant, result: str) -> None:
        identity = mutant.identify()
        self.results[identity] = result
        with _RESULTS_PATH.open("a") as log:
            log.write(json.dumps({"mutant": identity, "result": result}) + "\n")
        if result == "survived" and mutant.describe() not in EQUIVALENT:
            _say(f"  survived: {mutant}")


# -- one mutant

_SURVIVED, _KILLED, _INVALID = 0, 1, 2
_RESULTS = {_SURVIVED: "survived", _KILLED: "killed", _INVALID: "invalid"}
_RESULTS_PATH = STATE / "results.jsonl"


def _read_results() -> dict[str, str]:
    """Return the earlier results. A new test may kill what has survived: that is tested again."""
    if not _RESULTS_PATH.exists():
        return {}
    rows = [json.loads(line) for line in _RESULTS_PATH.read_text().splitlines()]
    latest = {row["mutant"]: row["result"] for row in rows}
    return {mutant: result for mutant, result in latest.items() if result != "survived"}


def _start_mutant(
    mutant: Mutant, functions: dict[Key, list[FunctionType]], tests: list[pytest.Item]
) -> int:
    """Start a process that runs the tests against a mutant; return its id."""
    process = os.fork()
    if process:
        return process
    _silence()
    try:
        code = compile_mutant(mutant)
        for function in functions[mutant.key]:
            function.__code__ = code
    except (KeyError, SyntaxError, ValueError):
        os._exit(_INVALID)
    try:
        is_killed = any(not _passes(test) for test in tests)
    except BaseException:  # noqa: BLE001 (whatever a mutant breaks, it was noticed)
        is_killed = True
    os._exit(_KILLED if is_killed else _SURVIVED)


def _passes(item: pytest.Item) -> bool:
    reports = runtestprotocol(item, log=False, nextitem=None)
    return not any(report.failed for report in reports)


def _find_functions() -> dict[Key, list[FunctionType]]:
    """Return the functions of Headrace that exist in this process, by file and name."""
    functions: defaultdict[Key, list[FunctionType]] = defaultdict(list)
    for value in gc.get_objects():
        if type(value) is FunctionType:
            code: CodeType = value.__code__
            if code.co_filename.startswith(str(SOURCE)):
                functions[code.co_filename, code.co_qualname].append(value)
    return functions


def _silence() -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)


# -- what each test executes


def _read_baseline(items: dict[str, pytest.Item], *, again: bool) -> dict[Key, list[str]]:
    """Return the tests that execute each function, fastest first. Test files that have changed are
    measured again."""
    by_file: defaultdict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items.values():
        by_file[item.path].append(item)
    rows: list[dict[str, Any]] = []
    for file, own in by_file.items():
        digest = hashlib.sha256(str(file).encode() + file.read_bytes()).hexdigest()[:16]
        path = STATE / f"baseline-{digest}.json"
        if again or not path.exists():
            _say(f"measuring {file.relative_to(ROOT)} ...")
            process = os.fork()
            if process == 0:
                _measure(own, path)
            os.waitpid(process, 0)
        rows += json.loads(path.read_text())
    tests: defaultdict[Key, list[str]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["seconds"]):
        if row["passed"] and row["seconds"] <= _MAX_TEST_S and row["test"] in items:
            for file_name, name in row["functions"]:
                tests[file_name, name].append(row["test"])
    return tests


def _leave_out_failing(
    tests: dict[Key, list[str]], items: dict[str, pytest.Item]
) -> dict[Key, list[str]]:
    """Leave out tests that fail on the unchanged code when they run as for a mutant, all in one
    process: they would kill every mutant."""
    _say("running the tests on the unchanged code ...")
    path = STATE / "failing.json"
    path.unlink(missing_ok=True)
    process = os.fork()
    if process == 0:
        _silence()
        order = dict.fromkeys(test for own in tests.values() for test in own)
        path.write_text(json.dumps([test for test in order if not _passes(items[test])]))
        os._exit(0)
    os.waitpid(process, 0)
    failing = set(json.loads(path.read_text()))
    for test in sorted(failing):
        _say(f"  fails without a change, left out: {test}")
    return {key: [test for test in own if test not in failing] for key, own in tests.items()}


def _measure(items: list[pytest.Item], path: Path) -> None:
    """Run the tests under a profiler that notes the functions of Headrace; never returns."""
    _silence()
    seen: set[Key] = set()
    prefix = str(SOURCE)

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(prefix):
            seen.add((code.co_filename, code.co_qualname.partition(".<locals>")[0]))

    rows: list[dict[str, Any]] = []
    for item in items:
        seen.clear()
        threading.setprofile(profile)
        sys.setprofile(profile)
        started = time.process_time()
        passed = _passes(item)
        seconds = time.process_time() - started
        sys.setprofile(None)
        functions = [list(key) for key in sorted(seen)]
        rows.append(
            {"test": item.nodeid, "seconds": seconds, "passed": passed, "functions": functions}
        )
    path.write_text(json.dumps(rows))
    os._exit(0)


# -- the command


def _run(folders: list[str], count: int, jobs: int, *, again: bool) -> MutantRunner:
    runner = MutantRunner(folders, count, jobs, again=again)
    left_out = [f"--ignore={path}" for path in _LEFT_OUT]
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--no-summary"]
    paths = dict.fromkeys(path for folder in folders for path in TESTS[folder])
    os.chdir(ROOT)
    code = pytest.main([*options, *left_out, *paths], plugins=[runner])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise SystemExit("the tests cannot be collected")
    return runner


def _report(runner: MutantRunner, folder: str) -> tuple[int, int]:
    """Print the survivors; return how many mutants were killed, of how many."""
    counts: defaultdict[str, int] = defaultdict(int)
    for mutant in runner.mutants[folder]:
        result = runner.results[mutant.identify()]
        if result == "survived" and mutant.describe() in EQUIVALENT:
            result = "equivalent"
        counts[result] += 1
        if result == "survived":
            _say(f"\n{mutant}\n{mutant.diff()}")
    killed = counts["killed"] + counts["timeout"]
    told = ", ".join(f"{number} {result}" for result, number in sorted(counts.items()))
    _say(f"\n{folder}: {len(runner.mutants[folder])} mutants: {told}")
    return killed, killed + counts["survived"]


def _say(text: str) -> None:
    assert sys.__stdout__ is not None
    sys.__stdout__.write(text + "\n")
    sys.__stdout__.flush()


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", help=f"of {', '.join(TESTS)}; all if none is given")
    parser.add_argument("--sample", type=int, default=120, help="mutants per folder")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--again", action="store_true", help="forget all earlier results")
    return parser.parse_args()


def main() -> None:
    """Test the mutants of the folders and print the survivors."""
    arguments = _parse()
    folders = arguments.folders or list(TESTS)
    STATE.mkdir(exist_ok=True)
    os.nice(10)
    runner = _run(folders, arguments.sample, arguments.jobs, again=arguments.again)
    totals = [_report(runner, folder) for folder in folders]
    killed, judged = (sum(numbers) for numbers in zip(*totals, strict=True))
    _say(f"killed: {killed} of {judged} ({100 * killed / max(1, judged):.1f} %)")


if __name__ == "__main__":
    main()
