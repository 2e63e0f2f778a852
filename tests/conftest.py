"""What every test run does: skip what reads absent shared files, and sum up at the end."""

from __future__ import annotations

import gc
import os
import signal
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.findings.table import FINDINGS
from tests.shared import SHARED, shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# The longest tests come first, so that no worker of pytest-xdist ends with one of them while the
# others have nothing left to do.
SLOW = (
    "tests/load/",
    "tests/web/",
    "tests/package/",
    "tests/fuzz/",
    # Processes that wait for each other.
    "tests/cluster/",
    "tests/server/test_continue_after_kill.py",
    "tests/server/test_kill",
    "tests/server/test_storage_process.py",
    "tests/server/test_slow_clients.py",
    "tests/examples/",
    "tests/engine/test_machine.py",
    "tests/engine/test_abort_everywhere.py",
    "tests/server/test_stubborn_tools.py",
    "tests/property/test_pattern_growth.py",
    "tests/browser/test_hostile.py",
)
NOT_THERE = "not there: ../shared/"
NO_ROWS = "got empty parameter set"  # pytest's own words
ALL_ROWS = " (all rows)"

# Most properties are tested for a dozen dialects, so few examples of each are enough. More in
# `make soak`.
EXAMPLES = int(os.environ.get("HEADRACE_SOAK_EXAMPLES", "30"))

# Machines under load are slow; that is no finding. The timeout of each test stands guard.
settings.register_profile(
    "headrace",
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("headrace")

# A shell that runs the suite in the background makes it ignore Ctrl-C, and child processes
# inherit that. A handler of our own is reset to the default in them.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests whose marker `shared(path)` names a path that is not there, and order them."""
    items.sort(key=lambda item: not item.nodeid.startswith(SLOW))
    for item in items:
        missing = [path for path in _shared_paths(item) if shared(path) is None]
        if missing:
            suffix = ALL_ROWS if _has_no_rows(item) else ""
            # First, so that this reason stands and not that of an empty parameter set.
            item.add_marker(pytest.mark.skip(NOT_THERE + missing[0] + suffix), append=False)


def pytest_collection_finish() -> None:
    """Take the collected tests out of garbage collection: there are so many of them that each full
    collection in a test would take a third of a second."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the time per test folder, and one line for what an absent folder skipped."""
    stats = terminalreporter.stats
    reports = [report for reports in stats.values() for report in reports]
    _print_folders(terminalreporter, [r for r in reports if type(r) is pytest.TestReport])
    _print_figures(terminalreporter, stats.get("passed", []))
    _print_sums(terminalreporter, stats.get("passed", []))
    if any("tests/findings" in argument for argument in terminalreporter.config.args):
        _print_findings(terminalreporter)
    _print_skipped(terminalreporter, stats.get("skipped", []))


def _shared_paths(item: pytest.Item) -> Iterator[str]:
    for marker in item.iter_markers("shared"):
        if not marker.args:
            raise pytest.UsageError(f"{item.nodeid}: the marker shared(path) needs a path")
        yield from marker.args


def _has_no_rows(item: pytest.Item) -> bool:
    return any(NO_ROWS in str(skip.kwargs.get("reason")) for skip in item.iter_markers("skip"))


def _print_folders(terminal: pytest.TerminalReporter, reports: Iterable[pytest.TestReport]) -> None:
    seconds: defaultdict[str, float] = defaultdict(float)
    tests: dict[str, set[str]] = {}
    for report in reports:
        folder = _folder(report.nodeid)
        seconds[folder] += report.duration
        tests.setdefault(folder, set()).add(report.nodeid)
    if not tests:
        return
    width = max(len(folder) for folder in [*tests, "folder"])
    terminal.write_line("")
    terminal.write_line(f"{'folder':<{width}}  {'tests':>6}  {'seconds':>8}", bold=True)
    for folder in sorted(tests):
        terminal.write_line(f"{folder:<{width}}  {len(tests[folder]):>6}  {seconds[folder]:>8.2f}")


def _print_figures(terminal: pytest.TerminalReporter, reports: Iterable[pytest.TestReport]) -> None:
    """The figures that tests report with `record_property("summary", …)`."""
    for report in reports:
        for name, value in report.user_properties:
            if name == "summary":
                terminal.write_line(str(value))


def _print_findings(terminal: pytest.TerminalReporter) -> None:
    """The table of findings, if its tests were asked for: `make test ARGS=tests/findings`."""
    terminal.write_line("")
    for subject, what, tests in FINDINGS:
        terminal.write_line(f"{subject}: {what}", bold=True)
        for test in tests or ("no test yet",):
            terminal.write_line(f"    {test}")


def _print_sums(terminal: pytest.TerminalReporter, reports: Iterable[pytest.TestReport]) -> None:
    """The figures that many tests report together with `record_property("sum", (name, number))`,
    one line per subject: `subject: figure` is how they are named."""
    sums: dict[str, dict[str, int]] = {}
    for report in reports:
        for name, value in report.user_properties:
            if name == "sum" and isinstance(value, (list, tuple)):
                label, number = value
                subject, _, figure = str(label).partition(": ")
                figures = sums.setdefault(subject, {})
                figures[figure] = figures.get(figure, 0) + int(number)
    for subject, figures in sums.items():
        listed = ", ".join(f"{number} {figure}" for figure, number in figures.items())
        terminal.write_line(f"{subject}: {listed}")


def _folder(nodeid: str) -> str:
    """`tests/unit` for anything below it; `tests` for a file that lies there itself."""
    folders = nodeid.partition("::")[0].split("/")[:-1]
    return "/".join(folders[:2])


def _print_skipped(terminal: pytest.TerminalReporter, reports: Iterable[pytest.TestReport]) -> None:
    """One line. Without its file nobody knows how many rows a parametrized test would have had:
    it is one test to pytest, so the line says how many of those there are."""
    is_absent = not SHARED.is_dir()
    reasons = [reason for reason in map(_reason, reports) if _is_shared(reason, is_absent)]
    if not reasons:
        return
    sets = sum(NO_ROWS in reason or reason.endswith(ALL_ROWS) for reason in reasons)
    note = f" ({sets} of them over all rows of a file)" if sets else ""
    missing = sorted({r.partition(NOT_THERE)[2].removesuffix(ALL_ROWS) for r in reasons})
    what = "../shared is not there" if is_absent else f"not in ../shared: {', '.join(missing)}"
    terminal.write_line("")
    who = "that read recorded streams and public suites"
    terminal.write_line(f"skipped: {len(reasons)} tests{note} {who} ({what})", yellow=True)


def _is_shared(reason: str, is_absent: bool) -> bool:
    return NOT_THERE in reason or (is_absent and NO_ROWS in reason)


def _reason(report: pytest.TestReport) -> str:
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
