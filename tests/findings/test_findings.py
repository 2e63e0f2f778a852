"""Every test that the table of findings names exists."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from docs.syntax_tree import parse_source
from tests.findings.finding import Finding
from tests.findings.table import FINDINGS

ROOT = Path(__file__).resolve().parents[2]


@cache
def find_tests(file: str) -> set[str]:
    tree = parse_source((ROOT / file).read_text())
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {function.name for function in functions if function.name.startswith("test_")}


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.what)
def test_the_tests_of_a_finding_exist(finding: Finding) -> None:
    for name in finding.tests:
        file, _, test = name.partition("::")
        assert test in find_tests(file), f"no {name}"


def test_the_table_is_summed_up(record_property: Callable[[str, object], None]) -> None:
    held = sum(bool(finding.tests) for finding in FINDINGS)
    record_property("summary", f"findings: {held} of {len(FINDINGS)} held by a test")
    assert len({(finding.subject, finding.what) for finding in FINDINGS}) == len(FINDINGS)
