"""Runs `headrace doctor`: checks the installation and says how to fix problems."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator

from headrace.cli.commands.doctor.data import data_findings
from headrace.cli.commands.doctor.finding import Finding, State
from headrace.cli.commands.doctor.machine import machine_findings
from headrace.cli.commands.doctor.package import package_findings
from headrace.cli.commands.doctor.port import port_finding
from headrace.cli.option import data_folder
from headrace.cli.terminal.output import Paint, Style, print_lines, terminal_columns, wants_color
from headrace.cli.terminal.safe_text import wrap_text

_MARKS: dict[State, tuple[str, Style]] = {
    "ok": ("✓", Style.GREEN),
    "note": ("·", Style.DIM),
    "warning": ("!", Style.YELLOW),
    "error": ("✗", Style.RED),
}
_MARK_COLUMNS, _LABEL_COLUMNS = 3, 11
_MAX_LINES = 12


def run(options: Namespace) -> int:
    """Run all checks; the exit code is 1 if something is broken."""
    findings = list(_findings(options))
    if options.json:
        import msgspec

        written = msgspec.json.format(msgspec.json.encode(findings), indent=2)
        sys.stdout.buffer.write(written + b"\n")
    else:
        _print(findings, Paint(wants_color(options.color, sys.stdout)))
    return 1 if any(finding.state == "error" for finding in findings) else 0


def _findings(options: Namespace) -> Iterator[Finding]:
    folder = data_folder(options.data)
    yield from package_findings(os.environ)
    yield from machine_findings(sys.stdout, os.environ)
    yield from data_findings(folder)
    yield port_finding(options.port, folder)


def _print(findings: list[Finding], paint: Paint) -> None:
    columns = max(terminal_columns(sys.stdout), 2 * _LABEL_COLUMNS)
    lines = [line for finding in findings for line in _lines(finding, columns, paint)]
    print_lines(*lines, "", *wrap_text(_summary(findings), columns, 3))


def _lines(finding: Finding, columns: int, paint: Paint) -> Iterator[str]:
    mark, style = _MARKS[finding.state]
    room = columns - _MARK_COLUMNS - _LABEL_COLUMNS
    first, *more = wrap_text(finding.message, room, _MAX_LINES) or [""]
    blank = " " * (_MARK_COLUMNS + _LABEL_COLUMNS)
    yield f"{paint(f'{mark:<{_MARK_COLUMNS}}', style)}{finding.name:<{_LABEL_COLUMNS}}{first}"
    yield from (blank + line for line in more)
    yield from (blank + paint(line, style) for line in wrap_text(finding.fix, room, _MAX_LINES))


def _summary(findings: list[Finding]) -> str:
    broken = sum(finding.state == "error" for finding in findings)
    warnings = sum(finding.state == "warning" for finding in findings)
    if broken:
        return f"problems: {broken}; the fix is below {'each' if broken > 1 else 'it'}"
    if warnings:
        return f"no problems; warnings: {warnings}"
    return "no problems found"
