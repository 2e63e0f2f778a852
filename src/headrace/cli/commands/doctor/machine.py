"""Checks of the machine: SQLite, terminal and clock."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TextIO

from headrace.cli.commands.doctor.finding import Finding

# A clock from before Headrace existed is wrong, and TLS certificates will fail.
_NOT_BEFORE_S = 1_735_689_600


def machine_findings(out: TextIO, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield all findings about the machine."""
    yield _sqlite()
    yield _terminal(out, environ)
    yield clock_finding(time.time())


def _sqlite() -> Finding:
    lacks = [name for name, has in (("WAL", _has_wal()), ("FTS5", _has_fts5())) if not has]
    message = f"{sqlite3.sqlite_version} · WAL · FTS5"
    if lacks:
        message = f"{sqlite3.sqlite_version} without {' and '.join(lacks)}"
        return Finding("sqlite", "error", message, "install a Python whose sqlite3 supports them")
    return Finding("sqlite", "ok", message)


def _has_wal() -> bool:
    with tempfile.TemporaryDirectory(prefix="headrace-doctor-") as folder:
        try:
            with closing(sqlite3.connect(Path(folder) / "try.db")) as connection:
                (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.Error:
            return False
    return str(mode).lower() == "wal"


def _has_fts5() -> bool:
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE VIRTUAL TABLE words USING fts5 (text)")
    except sqlite3.Error:
        return False
    return True


def _terminal(out: TextIO, environ: Mapping[str, str]) -> Finding:
    encoding = (out.encoding or "ascii").lower()
    facts = [f"{shutil.get_terminal_size().columns} columns" if out.isatty() else "a pipe"]
    facts += [environ.get("TERM") or "TERM is not set", _colors(out, environ), encoding]
    message = " · ".join(facts)
    if encoding.replace("-", "") not in ("utf8", "utf8sig"):
        fix = "set LANG=C.UTF-8 or PYTHONUTF8=1: symbols and other scripts are shown as ?"
        return Finding("terminal", "warning", message, fix)
    return Finding("terminal", "ok", message)


def _colors(out: TextIO, environ: Mapping[str, str]) -> str:
    if not out.isatty() or environ.get("TERM") == "dumb":
        return "no colors"
    if environ.get("NO_COLOR"):
        return "no colors (NO_COLOR)"
    is_rich = environ.get("COLORTERM", "") in ("truecolor", "24bit")
    return "24-bit colors" if is_rich else "colors"


def clock_finding(now_s: float) -> Finding:
    """Check whether the clock can be right."""
    now = datetime.fromtimestamp(now_s).astimezone()
    message = f"{now:%Y-%m-%d %H:%M:%S %Z}"
    if now_s < _NOT_BEFORE_S:
        fix = "set the clock: TLS certificates fail with a wrong time"
        return Finding("clock", "error", f"{message} is wrong", fix)
    return Finding("clock", "ok", message)
